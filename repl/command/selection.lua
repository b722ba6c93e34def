-- SPDX-License-Identifier: MIT
--- The options that select samples, for all commands that read recordings.
-- @module repl.command.selection

local analyze = require "pfm.analyze"
local options = require "repl.command.options"

local selection = {}

--- The names of the filters.
selection.names = { "symbol", "object", "comm", "tid", "pid", "cpu", "event", "rank", "host", "node", "job", "step" }

--- Adds the options to a command.
-- @tparam command c of `options.command`
function selection.add_options(c)
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

--- perf's names for the options that select samples, and for other options of a command.
-- @tparam table own the command's: perf's option to lpfm's
-- @treturn table for `command:habits`
function selection.habits(own)
   local out = {}
   for _, map in ipairs { meant, own } do
      for theirs, ours in pairs(map) do out[theirs] = ours end
   end
   return out
end

--- Returns sort keys without those that come again.
-- @string[opt] text names with commas
-- @treturn ?string
function selection.keys(text)
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
function selection.read(args)
   local filter = {}
   for _, name in ipairs(selection.names) do filter[name] = args[name] end
   if args.time then
      local from, to = args.time:match("^%s*([^,]*),([^,]*)%s*$")
      if not from then from, to = args.time:match("^%s*([%d.]+%%)%-([%d.]+%%)%s*$") end -- as in perf
      if not from then options.fail("--time: '%s' is not two times, e.g. 1.5,2 or 10%%,20%%", args.time) end
      filter.from, filter.to = from ~= "" and from or nil, to ~= "" and to or nil
   end
   return filter
end

return selection
