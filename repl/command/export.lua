-- SPDX-License-Identifier: MIT
--- lpfm export: recordings in the formats that other tools read.
-- @module repl.command.export

local export = require "pfm.export"
local input = require "repl.command.input"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"
local render = require "pfm.render"
local terminal = require "pfm.util.terminal"

local command = {}

local names = export.names

local function format_rows()
   local out = {}
   for i, name in ipairs(names) do
      local writer = require("pfm.export." .. name)
      out[i] = { name, "." .. writer.extensions[1], writer.summary }
   end
   return table.concat(render.align({ {}, {}, {} }, out, "  "), "\n")
end

--- The options.
function command.options()
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

local function is_file(path)
   local file = io.open(path, "r")
   if file then file:close() end
   return file ~= nil
end

local function wanted_format(args)
   local name = args.format or (args.output and export.format_of(args.output))
   if not name and args.file and not is_file(args.file) then
      options.fail("'%s' is neither a format%s nor a recording (formats: %s)", args.file,
         nearest.hint(args.file, names), table.concat(names, ", "))
   end
   if not name then
      options.fail("which format? --format names it (%s), or the end of -o's file", table.concat(names, ", "))
   end
   local writer, known = export.format(name)
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
   if writer.binary and terminal.is_terminal() then
      options.fail("this format is not for the screen: -o FILE names a file")
   end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function command.main(argv)
   local args, words = command.options():parse(argv)
   input.pick(args, words, "format", function(word) return export.format(word) and not is_file(word) end)
   local name, writer = wanted_format(args)
   local opts = { event = args.event, weight = check_weight(args.weight), ids = args.ids, inlined = not args.no_inline,
      title = args.title, separator = args.x }
   local path = args.output ~= "-" and args.output or nil
   if not path then refuse_screen(writer) end
   local self = input.open(args.file, "lpfm export")
   export.write(self, name, path, opts)
   input.finish(self, "lpfm export")
   return 0
end

--- Turns a recording into a flame graph, pprof, speedscope, CSV, JSON, SQL or SQLite.
-- @string path of the output; its end says the format
-- @string[opt="lpfm.data"] file the recording
-- @tparam[opt] table opts of `export.write`, and `format`
-- @usage record("ls -lR /etc >/dev/null"); export("out.svg")
function command.call(path, file, opts)
   opts = opts or {}
   local name = opts.format or export.format_of(path)
   if not name then error(("no format ends in '%s': export(\"out.svg\"), or format=..."):format(path), 0) end
   local self = input.open(file)
   export.write(self, name, path, opts)
end

return command
