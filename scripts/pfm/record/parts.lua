-- SPDX-License-Identifier: MIT
--- A recording in several files, one after the other: each can be read alone, for it begins with
-- what is known of the programs that run.
-- @module pfm.record.parts

local expect = require "pfm.util.expect"
local proc = require "lpfm.proc"
local file = require "pfm.record.file"
local known = require "pfm.record.known"
local profile = require "pfm.profile"
local stat = require "posix.sys.stat"
local time = require "posix.time"
local unistd = require "posix.unistd"

local parts = {}
parts.__index = parts

local LONGEST, STAMP = 255, 17 -- bytes of a file's name, and of the suffix after it

--- Checks that a recording can be one of several files: each is renamed when it is done, which
-- would move a device or a pipe away.
-- @string path of the recording
-- @raise where the path is a device or the like, where no file can be made beside it, and where its
-- name is too long
function parts.check(path)
   local found = stat.stat(path)
   local folder, name = path:match("^(.*)/([^/]*)$")
   local ok, err = unistd.access(not folder and "." or folder == "" and "/" or folder, "w")
   if not ok then error(("cannot write %s: its folder takes no new files (%s)"):format(path, err), 0) end
   if #(name or path) + STAMP > LONGEST then
      error(("cannot write %s: its name is too long: the time is appended to it"):format(path), 0)
   end
   if found and stat.S_ISREG(found.st_mode) == 0 then
      error(("cannot write %s: a recording in several files needs a regular file"):format(path), 0)
   end
end

--- Makes a recording one of several files.
-- @tparam table r of `file.open`; nothing was recorded yet
-- @tparam table limits of `record.run`
-- @treturn parts with `bytes` of the files that are done
function parts.new(r, limits)
   r.known = known.new()
   local signal = limits.switch.signal
   if signal then expect.value(proc.catch(signal)) end
   return setmetatable({ r = r, limits = limits, files = {}, removed = 0, bytes = 0, began = 0,
      losses = profile.losses(r.profile) }, parts)
end

-- Returns PATH.YYYYMMDDHHMMSSCC, as perf has it; CC (1/100 s) is increased if the name is taken.
local function free_name(path)
   local now = time.clock_gettime(time.CLOCK_REALTIME)
   local at = now.tv_sec * 100 + math.floor(now.tv_nsec / 1e7)
   while true do
      local name = ("%s.%s%02d"):format(path, os.date("%Y%m%d%H%M%S", math.floor(at / 100)), at % 100)
      if not stat.lstat(name) then return name end
      at = at + 1
   end
end

-- Gives a finished file its name, unless it was moved off a full disk.
local function rename(r)
   if r.file.moved then return end
   local name = free_name(r.path)
   local ok, err = os.rename(r.file.path, name)
   if not ok then error("cannot rename " .. err, 0) end
   r.file.path = name
end

local function since(losses, before)
   local out = {}
   for name, n in pairs(losses) do out[name] = n - before[name] end
   return out
end

local function put_away(self, ends)
   local r, files = self.r, self.files
   file.close(r, ends)
   rename(r)
   self.bytes = self.bytes + r.file.bytes
   files[#files + 1] = r.file
   if self.limits.max_files and #files > self.limits.max_files then
      os.remove(table.remove(files, 1).path)
      self.removed = self.removed + 1
   end
   if self.limits.written then self.limits.written(r.file) end
end

local function switch(self, elapsed)
   local r = self.r
   local cuts, stacks = profile.divide(r.profile, elapsed)
   local losses = profile.losses(r.profile)
   local ends = since(losses, self.losses)
   ends.missed = ends.full == 0 and 0 or nil
   ends.elapsed, ends.subjects, ends.unmeasured, ends.cuts, ends.stacks = elapsed - self.began, r.profile.subjects, 0,
      cuts, stacks
   put_away(self, ends)
   self.losses, self.began = losses, elapsed
   file.next(r)
   file.begin_with(r, r.known:rest())
end

--- Begins the next file if it is time for that.
-- @number elapsed s since the recording began
function parts:tick(elapsed)
   local its, now = self.limits.switch, self.r.file
   local due = its.signal and proc.caught(its.signal) or its.seconds and elapsed - self.began >= its.seconds
      or its.size and now.samples > 0 and now.bytes >= its.size
   if due then switch(self, elapsed) end
end

-- Totals that are known of the whole recording only, not of its last file.
local WHOLE = { "user", "system", "unsampled" }

--- Ends the last file.
-- @tparam table outcome of `profile.run`; gets `files` and `removed`
-- @tparam table ends totals, as those of a single file
function parts:finish(outcome, ends)
   if #self.files + self.removed > 0 then
      for name, n in pairs(since(profile.losses(self.r.profile), self.losses)) do ends[name] = n end
      for _, name in ipairs(WHOLE) do ends[name] = nil end
      ends.missed = ends.full == 0 and 0 or nil
      ends.elapsed = ends.elapsed - self.began
      local stacks = self.r.profile.stacks
      if stacks then
         local cuts, total = stacks.table:cuts()
         ends.cuts, ends.stacks = next(cuts) and cuts, total
      end
   end
   put_away(self, ends)
   outcome.files, outcome.removed = self.files, self.removed
end

return parts
