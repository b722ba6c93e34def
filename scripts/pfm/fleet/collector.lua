-- SPDX-License-Identifier: MIT
--- Records again and again, for as long as the machine runs, within a budget of CPU time and of
-- disk.
--
-- Recordings are kept in a folder, the spool, until a store (`pfm.fleet.store`) takes them; they
-- can also be read there. When there are too many, the oldest are deleted. While the machine is
-- down, the disk is full or the database cannot be reached, recordings may be lost: the spool's
-- collector.json counts them, over restarts.
-- @module pfm.fleet.collector
-- @pragma nostrip

local dirent = require "posix.dirent"
local errno = require "posix.errno"
local expect = require "pfm.util.expect"
local launcher = require "pfm.util.launcher"
local lock = require "pfm.util.lock"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local record = require "pfm.record"
local recording = require "pfm.recording"
local render = require "pfm.render"
local stat = require "posix.sys.stat"
local statvfs = require("posix.sys.statvfs").statvfs
local store = require "pfm.fleet.store"
local tables = require "pfm.util.tables"
local text_file = require "pfm.util.text_file"
local time = require "posix.time"

local fail = expect.fail

local collector = {}
collector.__index = collector

local TICK = 100 -- of /proc's CPU times, Hz
local STATE = "collector.json"
local LOCK = "collector.lock" -- locked as long as the process lives that has the spool

-- --- the spool -----------------------------------------------------------------------------------

local function path_in(self, name)
   return self.folder .. "/" .. name
end

-- Lists what is in the spool, the oldest first. A name is HOST-TIME-SAMPLES.data.
local function spooled(self)
   local out = {}
   for _, name in ipairs(dirent.dir(self.folder)) do
      local moment, samples = name:match("%-(%d+T%d+Z)%-(%d+)%.data$")
      local info = moment and stat.stat(path_in(self, name))
      if info then
         out[#out + 1] = { name = name, path = path_in(self, name), time = moment, samples = tonumber(samples),
            bytes = info.st_size }
      end
   end
   table.sort(out, function(a, b) return a.time .. a.name < b.time .. b.name end)
   return out
end

local COUNTS = { "rounds", "recordings", "samples", "delivered", "held", "cpu", "dropped", "dropped_samples",
   "failed" }

local function load_counts(self)
   local ok, old = pcall(render.from_json, text_file.all(path_in(self, STATE)) or "{}")
   if not ok or type(old) ~= "table" then
      self.say("%s is damaged: its counts begin again", path_in(self, STATE))
      old = {}
   end
   self.counts = {}
   for _, name in ipairs(COUNTS) do self.counts[name] = tonumber(old[name]) or 0 end
end

local function count(self, name, n)
   self.counts[name] = self.counts[name] + (n or 1)
end

local function drop(self, entry)
   os.remove(entry.path)
   count(self, "dropped")
   count(self, "dropped_samples", entry.samples)
end

-- Replaces the counts' file in one step; returns true if the disk has no room for it.
local function replace_counts(self)
   local path = path_in(self, STATE)
   local file, _, code = io.open(path .. ".new", "w")
   local ok = file
   if file then
      ok, _, code = text_file.write(file, render.json(self.counts), "\n")
      file:close()
   end
   if ok then os.rename(path .. ".new", path) else os.remove(path .. ".new") end
   return not ok and code == errno.ENOSPC
end

-- Saves the counts; on a full disk, the oldest recordings are deleted to make room for them.
local function save(self)
   while replace_counts(self) do
      local oldest = spooled(self)[1]
      if not oldest then return end
      drop(self, oldest)
   end
end

local function free_bytes(self)
   local found = statvfs(self.folder)
   return found and found.f_bavail * found.f_frsize or math.huge
end

-- Deletes the oldest recordings until the rest, and `coming` bytes, fit the budget and the disk.
local function make_room(self, coming)
   local entries, total = spooled(self), 0
   for _, entry in ipairs(entries) do total = total + entry.bytes end
   local i = 1
   while entries[i] and (total + coming > self.disk or free_bytes(self) < 2 * coming) do
      total = total - entries[i].bytes
      drop(self, entries[i])
      i = i + 1
   end
   return i - 1
end

-- Makes a file that a killed recorder has left one of the spool's recordings, if it has samples.
local function adopt(self, name)
   local path = path_in(self, name)
   local self_of, n = recording.open(path), 0
   if self_of then
      for _, samples in self_of:group_by({ keys = { "cpu" } }):rows() do n = n + samples end
   end
   local new = n > 0 and name:gsub("%.part$", ("-%d.data"):format(n))
   if new and os.rename(path, path_in(self, new)) then
      count(self, "recordings")
      count(self, "samples", n)
   else
      os.remove(path)
      count(self, "failed")
   end
end

-- Refuses a spool that another process has: its unfinished recording is not left over, and its
-- counts would be lost.
local function claim(self)
   local file, err = io.open(path_in(self, LOCK), "a")
   if not file then fail("cannot write %s", err) end
   self.lock = file
   local free, unlocked = lock(file)
   if not free then fail("another collector records into %s", self.folder) end
   if unlocked then self.say("%s could not be locked against other collectors: %s", self.folder, unlocked) end
end

local function open_spool(self)
   local info = stat.stat(self.folder)
   if not info then
      local ok, err = stat.mkdir(self.folder, 7 * 64 + 5 * 8) -- rwxr-x---
      if not ok then fail("cannot make the folder %s", err) end
   elseif stat.S_ISDIR(info.st_mode) == 0 then
      fail("%s is no folder; recordings that are made again and again need one", self.folder)
   end
   claim(self)
   load_counts(self)
   for _, name in ipairs(dirent.dir(self.folder)) do
      if name:find("%.part$") then adopt(self, name) end
   end
   for _, entry in ipairs(spooled(self)) do self.largest = math.max(self.largest, entry.bytes) end
end

-- --- a round of recording ------------------------------------------------------------------------

-- Returns the CPU time of this process and of its children that have ended, in s.
local function used()
   local values, rest = {}, (text_file.all("/proc/self/stat") or ""):match(".*%) (.*)") or ""
   for field in rest:gmatch("%S+") do values[#values + 1] = tonumber(field) or 0 end
   return os.clock() + ((values[14] or 0) + (values[15] or 0)) / TICK
end

-- Makes a name of the host and the time, with milliseconds, since rounds may be short.
local function name_now()
   local now = time.clock_gettime(time.CLOCK_REALTIME)
   return ("%s-%s%03dZ"):format(launcher.host() or "host", os.date("!%Y%m%dT%H%M%S", now.tv_sec),
      math.floor(now.tv_nsec / 1e6))
end

local function record_once(self)
   local name = name_now()
   local part = path_in(self, name .. ".part")
   local ok, outcome, file = pcall(record.run, tables.copy(self.spec), part)
   proc.on_interrupt(true)
   local why = not ok and outcome or file.moved and file.moved.why
   if ok and outcome.interrupted then self.stopped = true end
   if why then
      if tostring(why):find("interrupted$") then self.stopped = true end
      -- the file was moved to another disk, since this one is full
      if ok then os.remove(file.path) end
      os.remove(part)
      count(self, "failed")
      return self.say("this round is lost: %s", why)
   end
   os.rename(part, path_in(self, ("%s-%d.data"):format(name, outcome.samples)))
   self.largest = math.max(self.largest, file.bytes)
   count(self, "recordings")
   count(self, "samples", outcome.samples)
end

-- Says once that the store cannot be reached, and once that it is back.
local function note_away(self, why, waiting)
   if why and not self.away then self.say("%s; recordings wait in %s", why, self.folder) end
   if self.away and not why then self.say("%s is back", self.store.name) end
   self.away, self.waiting = why, waiting
end

-- Delivers the spool's recordings to the store; delivered ones are deleted here.
local function deliver(self)
   local entries, paths, refused = spooled(self), {}, {}
   for i, entry in ipairs(entries) do paths[i] = entry.path end
   local options = tables.copy(self.given)
   options.patience = 0
   local result = self.store:load(paths, options)
   for _, r in ipairs(result.refused) do
      refused[r.path] = true
      self.say("left out: %s", r.why)
   end
   for i = 1, #paths - result.left do
      if refused[paths[i]] then
         drop(self, entries[i])
      else
         os.remove(paths[i])
         count(self, "delivered")
      end
   end
   note_away(self, result.why, result.left)
end

local function turn(self)
   local before = used()
   local dropped = make_room(self, self.largest)
   if dropped > 0 then self.say("no more room in %s: dropped %s", self.folder, render.plural(dropped, "recording")) end
   record_once(self)
   if self.store then deliver(self) end
   make_room(self, 0)
   local cost = used() - before
   count(self, "rounds")
   count(self, "cpu", cost)
   save(self)
   return cost
end

-- --- the collector -------------------------------------------------------------------------------

local FIELDS = { "spec", "folder", "every", "cpu", "disk", "store", "given", "rounds", "say" }

--- Prepares a collector.
-- @tparam table options
-- @tparam table options.spec what to record, as for `profile.prepare`, with `seconds`: how long
-- each time
-- @string options.folder the spool; made where it is missing
-- @number options.every s from one beginning to the next
-- @number[opt=0.01] options.cpu of the CPU time of the machine, the share that the collector and
-- the clients of its store may take; where a round took more, the next one waits
-- @int[opt=2^30] options.disk bytes of the spool; the oldest recordings go
-- @string[opt] options.store URL of a store that gets the recordings, which then leave the spool
-- @tparam[opt] table options.given attributes of the recordings there, see `store.given`
-- @int[opt] options.rounds number of rounds; by default without end
-- @func[opt] options.say `(format, ...)`, called with messages for the user
-- @treturn table the collector; its `counts`, of all runs with this spool, are `rounds`, made
-- `recordings` and `samples`, recordings `delivered` to the store or `dropped` for want of room,
-- `dropped_samples`, `failed` rounds, `held` rounds (which had to begin later than due), `cpu` s
-- @raise where the spool cannot be
-- @usage
-- local one = require("pfm.fleet.collector").new { spec = { cpus = { 0 }, seconds = 0.1 }, folder = "spool", every = 1,
--    rounds = 1 }
-- print(one:run().recordings)
-- os.execute "rm -r spool"
function collector.new(options)
   expect.fields("collector.new", options, FIELDS)
   expect.kind("spec", options.spec, "table")
   expect.kind("folder", options.folder, "path")
   expect.kind("every", options.every, "number")
   if options.every < (options.spec.seconds or math.huge) then
      fail("recordings of %g s cannot begin every %g s", options.spec.seconds or 0, options.every)
   end
   local self = setmetatable({ spec = options.spec, folder = options.folder, every = options.every,
      cpu = expect.number("cpu", options.cpu) or 0.01, disk = expect.number("disk", options.disk) or 2 ^ 30,
      rounds = expect.whole("rounds", options.rounds) or math.huge, given = options.given or {},
      say = options.say or function() end, largest = 0, cpus = #proc.cpus(),
      store = options.store and store.open(options.store) }, collector)
   open_spool(self)
   return self
end

--- Waits until a moment, or until it is interrupted.
-- @number moment of `lpfm.proc.clock`
-- @usage
-- local spec = { cpus = { 0 }, seconds = 0.1 }
-- local one = require("pfm.fleet.collector").new { spec = spec, folder = "spool", every = 1 }
-- one:wait(require("lpfm.proc").clock() + 0.01)
-- os.execute "rm -r spool"
function collector:wait(moment)
   while not self.stopped and proc.clock() < moment do
      lpfm.poll({}, math.min(moment - proc.clock(), 1))
      self.stopped = proc.interrupted()
   end
end

--- Collects until it is interrupted (SIGINT, SIGTERM), or the rounds are over.
-- @treturn table its `counts`
-- @usage
-- local one = require("pfm.fleet.collector").new { spec = { cpus = { 0 }, seconds = 0.1 }, folder = "spool", every = 1,
--    rounds = 1 }
-- print(one:run().dropped)
-- os.execute "rm -r spool"
function collector:run()
   proc.on_interrupt(true)
   local ok, err = pcall(function()
      local round = 0
      while not self.stopped do
         local began = proc.clock()
         local due = turn(self) / (self.cpu * self.cpus)
         round = round + 1
         if round >= self.rounds then break end
         if due > self.every then count(self, "held") end
         self:wait(began + math.max(self.every, due))
      end
   end)
   proc.on_interrupt(false)
   save(self)
   if not ok then error(err, 0) end
   return self.counts
end

expect.methods("collector", collector, { wait = "moment: number", run = "" })

expect.signatures("collector", collector, {
   new = "options: {spec}",
})

return collector
