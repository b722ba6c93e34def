-- SPDX-License-Identifier: MIT
--- Opens the recordings that commands read, and reads the options that select samples of them.
-- @module repl.command.input

local analyze = require "pfm.analyze"
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
-- @string head the beginning of the line
-- @number total number of things
-- @string nouns what the things are: "files"
-- @treturn function `(n)` shows that n are done; without n, it clears the line
function input.counter(head, total, nouns)
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
      io.stderr:write(("\r%s: %s of %s %s "):format(head, render.number(n), render.number(total), nouns))
   end
end

--- Opens the recording of a command, or several as one. If some of several cannot be read, they are
-- left out and listed in `damage`. Raises an error if none can be read.
-- @tparam[opt="lpfm.data"] ?string|{string,...} path
-- @string[opt] command name of the command: on a terminal, its progress is shown under this name
-- @treturn recording
function input.open(path, command)
   local paths = input.expand(type(path) == "table" and path or { path or "lpfm.data" })
   local self, err
   if #paths > 1 then
      self = open_all(paths)
   else
      self, err = recording.open(paths[1])
   end
   if not self then error(err, 0) end
   if command then self.progress = input.counter(command, (self.ends or {}).samples or math.huge, "samples") end
   return self
end

--- Returns the exit status of a command that has read a recording.
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
-- @string command name of the command, which begins the messages
function input.finish(self, command)
   if self.progress then self.progress() end
   options.warn(command, self:warnings())
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

-- --- the options that select samples -------------------------------------------------------------

--- The names of the filters.
input.filters = { "symbol", "object", "comm", "tid", "pid", "cpu", "event", "rank", "host", "node", "job", "step" }

--- Adds the options to a command.
-- @tparam command c of `options.command`
function input.add_filters(c)
   c:option("-e --event", "EVENTS", "Only samples of these events, separated by commas.")
   c:option("--symbol", "SYMBOLS", "Only samples in these functions.")
   c:option("--object", "OBJECTS", "Only samples in these programs and libraries, by name or path.")
   c:option("--comm", "NAMES", "Only samples of threads with these names.")
   c:option("--pid", "PIDS", "Only samples of these processes.")
   c:option("--tid", "TIDS", "Only samples of these threads.")
   c:option("-C --cpu", "CPUS", "Only samples on these CPUs, e.g. 0-3,5.")
   c:option("--rank", "RANKS", "Of many recordings, only these ranks', e.g. 0-3,5.")
   c:option("--host", "HOSTS", "Of many recordings, only those of these hosts.")
   c:option("--node", "NODES", "Of many recordings, only those of these nodes, as the launcher calls them.")
   c:option("--job", "JOBS", "Of many recordings, only those of these jobs.")
   c:option("--step", "STEPS", "Of many recordings, only those of these steps of jobs.")
   c:option("--time", "FROM,TO", "Only samples of this time: seconds since the first sample, or percent, e.g. 10%,20%.")
end

-- Options of perf, and the option of lpfm for each.
local meant = {
   ["--symbols"] = "--symbol", ["-S"] = "--symbol", ["--symbol-filter"] = "--symbol", ["--dsos"] = "--object",
   ["--dso"] = "--object", ["-d"] = "--object", ["--comms"] = "--comm", ["-c"] = "--comm",
}

--- Returns perf's names for the options that select samples, and for other options of a command.
-- @tparam table own the command's: perf's option to lpfm's
-- @treturn table for `command:habits`
function input.habits(own)
   local out = {}
   for _, map in ipairs { meant, own } do
      for theirs, ours in pairs(map) do out[theirs] = ours end
   end
   return out
end

--- Returns sort keys without those that come again.
-- @string[opt] text names with commas
-- @treturn ?string
function input.keys(text)
   if not text then return nil end
   local out, taken = {}, {}
   for name in (text .. ","):gmatch("%s*([^,]*)%s*,") do
      local key = analyze.key(name) or name
      out[#out + 1] = not taken[key] and name or nil
      taken[key] = true
   end
   return table.concat(out, ",")
end

--- Makes a filter of the options.
-- @tparam table args
-- @treturn table for `pfm.analyze.by`
function input.filter(args)
   local filter = {}
   for _, name in ipairs(input.filters) do filter[name] = args[name] end
   if args.time then
      local from, to = args.time:match("^%s*([^,]*),([^,]*)%s*$")
      -- "10%-20%" is the form of perf.
      if not from then from, to = args.time:match("^%s*([%d.]+%%)%-([%d.]+%%)%s*$") end
      if not from then options.fail("--time: '%s' is not two times, e.g. 1.5,2 or 10%%,20%%", args.time) end
      filter.from, filter.to = from ~= "" and from or nil, to ~= "" and to or nil
   end
   return filter
end

return input
