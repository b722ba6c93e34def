-- SPDX-License-Identifier: MIT
--- lpfm export: converts recordings to the formats of other tools.
-- @module repl.command.export

local export = require "pfm.export"
local extensions = require "repl.parts"
local input = require "repl.command.input"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"
local render = require "pfm.render"
local stacks = require "pfm.recording.stacks"
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

--- Makes the parser of the command line.
function command.options()
   local c = options.command("export", "Writes a recording in a format that other tools read.",
      "lpfm export [options] [file...]")
   c.mixed = true
   c:option("--format", "FORMAT", "The format (default: that of the output's name).")
   c:option("-o --output", "FILE", "Write to FILE (default: standard output).")
   input.add_option(c)
   c:option("-e --event", "EVENT", "Export this event if several were sampled.")
   c:option("--weight", "WEIGHT", "Weigh stacks by 'samples' or by 'events'.")
   c:flag("--ids", "Tell processes and threads of the same name apart by their IDs.")
   c:flag("--no-inline", "Leave out inlined functions.")
   c:option("--title", "TEXT", "The title of a flame graph or page.")
   c:flag("--icicle", "Draw a flame graph from the top down.")
   c:option("--base", "FILE", "Colour a flame graph by how shares have changed since this older recording.")
   c:option("-x", "SEP", "The separator of csv.")
   c:habits({}, {}, {})
   c:epilog("Formats:\n" .. format_rows() .. "\n\nStacks are process; thread; functions, from the callers on, and "
      .. "those inlined there. Without\ncall stacks (record -g) they are process; thread; object; function; "
      .. "inlined functions.", {
      "lpfm export -o out.svg", "lpfm export -o out.html",
      "lpfm export --format pprof -o prof.pb.gz && pprof -top prof.pb.gz",
      "lpfm export --format folded prog.data | sort -k2 -nr | head",
      "lpfm export -o change.svg --base old.data new.data", "lpfm export -o prog.db prog.data",
   })
   extensions.add_options("export", c)
   return c
end

local function wanted_format(args, default)
   local name = args.format or (args.output and export.format_of(args.output)) or default
   local word = args.files and args.files[1]
   if not name and word and not input.is_there(word) then
      options.fail("'%s' is neither a format%s nor a recording (formats: %s)", word,
         nearest.hint(word, names), table.concat(names, ", "))
   end
   if not name then
      options.fail("no format: expected --format (%s), or -o with a file name ending in one", table.concat(names, ", "))
   end
   local writer, known = export.format(name)
   if not writer then
      options.fail("--format: unknown format '%s'%s (formats: %s)", name, nearest.hint(name, names),
         table.concat(names, ", "))
   end
   return known, writer
end

local function check_weight(weight)
   if weight and weight ~= "samples" and weight ~= "events" then
      options.fail("--weight: '%s' is neither 'samples' nor 'events'", weight)
   end
end

-- Options of some formats, and which formats these are.
local OF_FORMATS = { weight = "flamegraph folded speedscope firefox", ids = "flamegraph folded speedscope",
   no_inline = "flamegraph folded speedscope pprof", title = "flamegraph html", icicle = "flamegraph",
   base = "flamegraph", x = "csv" }

-- Refuses options that the format would not follow.
local function check_options(args, format)
   for name, formats in pairs(OF_FORMATS) do
      if args[name] and not formats:find(format, 1, true) then
         options.fail("--format %s and %s exclude each other", format,
            #name == 1 and "-" .. name or "--" .. name:gsub("_", "-"))
      end
   end
end

-- Refuses to write a database to a stream, and binary data to a terminal.
local function refuse_stream(writer)
   if writer.consumer or (writer.binary and terminal.is_terminal()) then
      options.fail("this format needs a file: -o FILE")
   end
end

-- Writes the recording. If several events were sampled, the format holds one event, and the user
-- chose none, says which events are left out.
local function write(self, name, path, opts)
   export.write(self, name, path, opts)
   if opts.event or not export.format(name).one_event then return end
   local list, others = stacks.sampled(self), {}
   for i = 2, #list do others[#others + 1] = ("'%s'"):format(list[i].name) end
   if #others == 0 then return end
   io.stderr:write(render.clean(("lpfm export: wrote the samples of '%s' alone; -e writes those of %s\n"):format(
      list[1].name, table.concat(others, ", "))))
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function command.main(argv)
   local args, words = command.options():parse(argv)
   local function choose(default)
      input.pick(args, words, "format", function(word) return export.format(word) and not input.is_there(word) end)
      local name, writer = wanted_format(args, default)
      check_weight(args.weight)
      return name, writer
   end
   local done = extensions.run("export", args, words, choose)
   if done then return done end
   local name, writer = choose()
   check_options(args, name)
   local opts = { event = args.event, weight = args.weight, ids = args.ids, inlined = not args.no_inline,
      title = args.title, separator = args.x, icicle = args.icicle,
      base = args.base and input.open(args.base, "lpfm export") }
   local path = args.output ~= "-" and args.output or nil
   if not path then refuse_stream(writer) end
   local self = input.open(args.files, "lpfm export")
   options.checked(stacks.event, self, opts.event)
   write(self, name, path, opts)
   input.finish(self, "lpfm export")
   return input.status(self)
end

--- Turns a recording into a flame graph, pprof, speedscope, Firefox, CSV, JSON, SQL or SQLite.
-- @tparam string|table path of the output, with an extension that chooses the format; or the table
-- of options alone
-- @string[opt="lpfm.data"] file the recording
-- @tparam[opt] table opts options, as for `export.write`, and:
-- @string[opt] opts.format the format, if the output's extension does not determine it
-- @string[opt] opts.output the output
-- @string[opt] opts.file the recording
-- @usage record("ls -lR /etc >/dev/null"); export("out.svg"); export { output = "out.folded", ids = true }
function command.call(path, file, opts)
   if type(path) == "table" and file == nil and opts == nil then path, file, opts = path.output, path.file, path end
   options.arguments("export", 'export("out.svg")', { path, "string", "the name of the output" },
      { file, "string?", "the name of a recording" }, { opts, "table?", "a table of options" })
   local chosen = {}
   for k, v in pairs(opts or {}) do chosen[k] = v end
   local name = chosen.format or export.format_of(path)
   chosen.format, chosen.output, chosen.file = nil, nil, nil
   if not name then
      error(("export: the name '%s' ends in no format: export(\"out.svg\"), or the option format"):format(path), 0)
   end
   write(input.open(file), name, path, chosen)
end

return command
