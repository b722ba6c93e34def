-- SPDX-License-Identifier: MIT
--- Opens the recordings that commands read.
-- @module repl.command.input

local identity = require "pfm.recording.identity"
local options = require "repl.command.options"
local posix_glob = require "posix.glob"
local recording = require "pfm.recording"
local render = require "pfm.render"
local stat = require("posix.sys.stat").stat
local terminal = require "pfm.util.terminal"

local input = {}

local BLINK = 1 -- s between updates of the progress, and before the first

--- Adds the option that names the recording, `args.input`.
-- @tparam command c of `options.command`
function input.add_option(c)
   c:option("-i --input", "FILE", "The recording, or a perf.data (default: lpfm.data).")
end

-- Expands a pattern; glob() of luaposix takes flags, and has names for them, from version 34 on.
local function glob(pattern)
   if posix_glob.GLOB_MARK then return posix_glob.glob(pattern, 0) end
   return posix_glob.glob(pattern)
end

--- Returns true if a file exists, even if it cannot be read.
-- @string path
-- @treturn boolean
function input.is_there(path)
   return stat(path) ~= nil
end

--- Expands patterns of file names; a word that is the name of a file is no pattern.
-- @tparam {string,...} words
-- @treturn {string,...}
function input.expand(words)
   local out = {}
   for _, word in ipairs(words) do
      local found = word:find("[*?%[]") and not stat(word) and glob(word) or { word }
      for _, path in ipairs(found) do out[#out + 1] = path end
   end
   return out
end

-- Adds the recordings in a file, and the messages on damaged ones if the file holds many.
local function add(list, damage, self, path)
   for _, source in ipairs(self.sources or { self }) do
      source.given = not self.sources and path or nil
      list[#list + 1] = source
   end
   for _, d in ipairs(self.sources and self.damage or {}) do
      damage[#damage + 1] = { what = d.what, at = d.at, path = path }
   end
end

--- Removes duplicates from a list of recordings.
-- @tparam {recording,...} list
-- @tparam function say is called with a message about each duplicate
-- @treturn {recording,...}
function input.distinct(list, say)
   local out, again = identity.distinct(list)
   for _, pair in ipairs(again) do
      say(("%s is the recording in %s: it counts once"):format(render.printable(pair[1].path),
         render.printable(pair[2].path)))
   end
   return out
end

-- Opens several files as one recording.
local function open_all(paths)
   local list, damage, refused = {}, {}, {}
   for _, path in ipairs(paths) do
      local self, err = recording.open(path)
      if self then add(list, damage, self, path) else refused[#refused + 1] = render.printable(err) end
   end
   if #refused == #paths then error(table.concat(refused, "; "), 0) end
   list = input.distinct(list, function(why) damage[#damage + 1] = { what = why } end)
   for _, why in ipairs(refused) do damage[#damage + 1] = { what = "left out: " .. why, refused = true } end
   return recording.together(list, { damage = damage })
end

--- Shows on a terminal, at intervals, how many things are done.
-- @string who the beginning of the line
-- @number total number of things
-- @string nouns what the things are: "files"
-- @treturn function `(n)` shows that n are done; without n, it clears the line
function input.counter(who, total, nouns)
   if not terminal.shows(2) then return function() end end
   local clock = require("lpfm.proc").clock
   local last, shown = clock(), false
   return function(n)
      if not n then
         if shown then io.stderr:write("\r", (" "):rep(70), "\r") end
         return
      end
      local now = clock()
      if now - last < BLINK then return end
      last, shown = now, true
      io.stderr:write(("\r%s: %s of %s %s "):format(who, render.number(n), render.number(total), nouns))
   end
end

--- Opens the recording of a command, or several as one. If some of several cannot be read, they are
-- left out and listed in `damage`. Raises an error if none can be read.
-- @tparam[opt="lpfm.data"] ?string|{string,...} path
-- @string[opt] who name of the command: on a terminal, its progress is shown under this name
-- @treturn recording
function input.open(path, who)
   local paths = input.expand(type(path) == "table" and path or { path or "lpfm.data" })
   local self, err
   if #paths > 1 then
      self = open_all(paths)
   else
      self, err = recording.open(paths[1])
   end
   if not self then error(err, 0) end
   if who then self.progress = input.counter(who, (self.ends or {}).samples or math.huge, "samples") end
   return self
end

--- The exit status of a command that has read a recording.
-- @tparam recording self
-- @treturn number 1 if a file was left out, else 0
function input.status(self)
   for _, damage in ipairs(self.damage or {}) do
      if damage.refused then return 1 end
   end
   return 0
end

--- Prints the warnings about a recording to standard error, at the end of a command.
-- @tparam recording self
-- @string who name of the command, which begins the messages
function input.finish(self, who)
   if self.progress then self.progress() end
   options.warn(who, self:warnings())
end

--- Separates the words of a command line into recordings and a word of a known kind.
-- @tparam table args gets `files` (nil if there are none), and the word of that kind in args[field]
-- @tparam table words
-- @string field
-- @tparam function is_known whether a word is of that kind
function input.pick(args, words, field, is_known)
   local files = { args.input }
   for _, word in ipairs(words) do
      if not args[field] and is_known(word) then args[field] = word else files[#files + 1] = word end
   end
   for i, word in ipairs(input.expand(files)) do
      if i > 1 and not stat(word) then
         options.fail("unexpected argument '%s': there is no recording of that name", word)
      end
   end
   args.files = #files > 0 and files or nil
end

return input
