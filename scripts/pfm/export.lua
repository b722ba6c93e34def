-- SPDX-License-Identifier: MIT
--- lpfm export: recordings in the formats that other tools read.
-- @module pfm.export

local format = require "pfm.format"
local nearest = require "pfm.nearest"
local options = require "pfm.options"
local reading = require "pfm.reading"
local screen = require "pfm.screen"
local shell = require "pfm.shell"

local export = { summary = "turn a recording into a flame graph, pprof, speedscope, CSV, JSON, SQLite" }

local names = { "folded", "flamegraph", "speedscope", "pprof", "csv", "json", "sql", "sqlite" }
local aliases = { svg = "flamegraph", flame = "flamegraph", stacks = "folded", collapsed = "folded",
   stackcollapse = "folded", proto = "pprof", pb = "pprof", database = "sqlite", db = "sqlite", sqlite3 = "sqlite" }

local function format_named(name)
   name = aliases[name] or name
   for _, known in ipairs(names) do
      if known == name then return require("pfm.export." .. name), name end
   end
end

-- --- writing -------------------------------------------------------------------------------------

local function open(path)
   local file, err = io.open(path, "wb")
   if not file then error("cannot write " .. err, 0) end
   return file
end

-- Where a format's writer writes to, and what to call then.
local function destination(writer, path)
   if path and (writer.filter or writer.consumer) then open(path):close() end -- says why it cannot be written
   if writer.program then shell.need(writer.program) end
   if writer.consumer then return shell.writer(writer.consumer(shell.quote(path))) end
   if writer.filter then return shell.writer(writer.filter .. (path and " >" .. shell.quote(path) or "")) end
   if not path then return io.stdout, function() end end
   local file = open(path)
   return file, function()
      local ok, err = file:close()
      if not ok then error(("cannot write %s: %s"):format(path, err), 0) end
   end
end

--- Writes a recording in a format.
-- @tparam table self of `session.open`
-- @string name "folded", "flamegraph", "speedscope", "pprof", "csv", "json", "sql" or "sqlite"
-- @string[opt] path by default standard output; sqlite needs one
-- @tparam[opt] table opts those of the format: `event`, `weight`, `ids`, `inlined`, `title`, `separator`
-- @usage require("pfm.export").write(assert(session.open "lpfm.data"), "flamegraph", "out.svg")
function export.write(self, name, path, opts)
   local writer = format_named(name)
   if not writer then
      error(("there is no format '%s'%s (formats: %s)"):format(name, nearest.hint(name, names),
         table.concat(names, ", ")), 0)
   end
   if writer.consumer and not path then
      error("a database cannot go to a pipe or the screen: -o FILE names a file", 0)
   end
   local out, finish = destination(writer, path)
   local ok, err = pcall(writer.write, self, out, opts or {})
   local done, why = pcall(finish)
   if not ok then error(err, 0) end
   if not done then error(why, 0) end
end

-- --- the command ---------------------------------------------------------------------------------

local function format_rows()
   local out = {}
   for i, name in ipairs(names) do
      local writer = require("pfm.export." .. name)
      out[i] = { name, "." .. writer.extensions[1], writer.summary }
   end
   return table.concat(format.align({ {}, {}, {} }, out, "  "), "\n")
end

--- The options.
function export.options()
   local c = options.command("export", "Writes a recording in a format that other tools read.",
      "lpfm export [options] [file]")
   c.mixed = true
   c:option("--format", "NAME", "The format; without, the output's name says it.")
   c:option("-o --output", "FILE", "Write there (default: standard output).")
   c:option("-f --file", "FILE", "The recording (default: lpfm.data).")
   c:option("-e --event", "NAME", "This event, of several.")
   c:option("--weight", "WHAT", "What stacks weigh: 'samples', or 'events' that they stand for (of clocks: time).")
   c:flag("--ids", "Keep processes and threads of one name apart by their numbers.")
   c:flag("--no-inline", "Leave inlined functions out.")
   c:option("--title", "TEXT", "Of the flame graph.")
   c:option("-x", "SEP", "Separator of csv.")
   c:epilog("Formats:\n" .. format_rows() .. "\n\nA sample has an address and no callers: stacks are process; thread; "
      .. "object; function;\nfunctions inlined there.", {
      "lpfm export -o out.svg", "lpfm export --format pprof -o prof.pb.gz && pprof -top prof.pb.gz",
      "lpfm export --format folded prog.data | sort -k2 -nr | head", "lpfm export -o prog.db prog.data",
   })
   return c
end

-- By the end of the output's name, the longest that fits.
local function format_of_path(path)
   local best, length = nil, 0
   for _, name in ipairs(names) do
      for _, extension in ipairs(require("pfm.export." .. name).extensions) do
         if #extension > length and path:sub(-#extension - 1):lower() == "." .. extension then
            best, length = name, #extension
         end
      end
   end
   return best
end

local function is_file(path)
   local file = io.open(path, "r")
   if file then file:close() end
   return file ~= nil
end

local function wanted_format(args)
   local name = args.format or (args.output and format_of_path(args.output))
   if not name and args.file and not is_file(args.file) then
      options.fail("'%s' is neither a format%s nor a recording (formats: %s)", args.file,
         nearest.hint(args.file, names), table.concat(names, ", "))
   end
   if not name then
      options.fail("which format? --format names it (%s), or the end of -o's file", table.concat(names, ", "))
   end
   local writer, known = format_named(name)
   if not writer then
      options.fail("--format: '%s' is not known%s (formats: %s)", name, nearest.hint(name, names),
         table.concat(names, ", "))
   end
   return known, writer
end

local function check_weight(weight)
   if weight and weight ~= "samples" and weight ~= "events" then
      options.fail("--weight: '%s' is neither 'samples' nor 'events'", weight)
   end
   return weight
end

local function refuse_screen(writer)
   if writer.binary and screen.is_terminal() then
      options.fail("this format is not for the screen: -o FILE names a file")
   end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function export.main(argv)
   local args, words = export.options():parse(argv)
   reading.pick(args, words, "format", function(word) return format_named(word) and not is_file(word) end)
   local name, writer = wanted_format(args)
   local opts = { event = args.event, weight = check_weight(args.weight), ids = args.ids, inlined = not args.no_inline,
      title = args.title, separator = args.x }
   local path = args.output ~= "-" and args.output or nil
   if not path then refuse_screen(writer) end
   local self = reading.open(args.file, "lpfm export")
   export.write(self, name, path, opts)
   reading.finish(self, "lpfm export")
   return 0
end

--- Exports from a script or the prompt.
-- @string path of the output; its end says the format
-- @string[opt="lpfm.data"] file the recording
-- @tparam[opt] table opts of `export.write`, and `format`
-- @usage record("ls -lR /etc >/dev/null"); export("out.svg")
function export.call(path, file, opts)
   opts = opts or {}
   local name = opts.format or format_of_path(path)
   if not name then error(("no format ends in '%s': export(\"out.svg\"), or format=..."):format(path), 0) end
   local self = reading.open(file)
   export.write(self, name, path, opts)
end

return export
