-- SPDX-License-Identifier: MIT
--- lpfm annotate: a function's source lines and instructions with their shares of the samples.
-- @module repl.command.annotate

local render = require "pfm.render"
local tables = require "pfm.util.tables"
local options = require "repl.command.options"
local input = require "repl.command.input"
local terminal = require "pfm.util.terminal"
local code = require "pfm.recording.code"
local recording = require "pfm.recording"
local stacks = require "pfm.recording.stacks"
local summary = require "pfm.recording.summary"
local symbols = require "pfm.symbols"

local annotate = {}

local HOT, WARM = 10, 1 -- percent; lines of HOT or more are red, those of WARM or more green

-- --- output --------------------------------------------------------------------------------------

local function paint(percent)
   if percent >= HOT then return "\27[31m", "\27[0m" end
   if percent >= WARM then return "\27[32m", "\27[0m" end
   return "", ""
end

local function percent_cell(view, n, percent)
   local cell = n > 0 and ("%8.2f"):format(percent) or (" "):rep(8)
   if not view.colour or n == 0 then return cell end
   local on, off = paint(percent)
   return on .. cell .. off
end

local function source_line(view, l)
   local text = view.source(l.file, l.line)
   local place = ("%s:%d"):format(stacks.base_name(l.file), l.line)
   return ("%s | %-20s %s"):format(percent_cell(view, l.samples, l.percent), render.printable(place),
      render.printable(text or ""))
end

local function instruction_line(view, i)
   local text = ("%s: %s"):format(symbols.hex(i.address):sub(3), render.printable((i.text:gsub("\t", " "))))
   return ("%s |   %s"):format(percent_cell(view, i.samples, i.percent), (text:gsub(":? $", "")))
end

-- Lists instructions in order, each stretch of them below its source line. The share of a line is
-- shown only where it occurs first.
local function mixed(view, f, out)
   local lines, before = {}, {}
   for _, l in ipairs(f.lines) do lines[l.file .. ":" .. l.line] = l end
   for _, i in ipairs(f.instructions) do
      local id = i.file and i.file .. ":" .. i.line
      local l = id and lines[id]
      if l and (l.file ~= before.file or l.line ~= before.line) and view.lines then
         out[#out + 1] = source_line(view, l)
         lines[id] = { file = l.file, line = l.line, samples = 0, percent = 0 }
      end
      before = l or before
      out[#out + 1] = instruction_line(view, i)
   end
end

-- Lists the source lines of the function that have code. Lines between two of these are listed,
-- too, if the two are at most GAP lines apart.
local function source_only(view, f, out)
   local GAP, before = 5, nil
   for _, l in ipairs(f.lines) do
      if before and before.file == l.file and l.line - before.line <= GAP then
         for n = before.line + 1, l.line - 1 do
            out[#out + 1] = source_line(view, { file = l.file, line = n, samples = 0, percent = 0 })
         end
      elseif before then
         out[#out + 1] = ("%8s |"):format("")
      end
      out[#out + 1] = source_line(view, l)
      before = l
   end
end

local function function_lines(view, f)
   local out = {
      ("# %s in %s: %s of %s, %.2f%% of all"):format(render.printable(f.symbol), render.printable(f.object),
         render.plural(f.samples, "sample"), render.printable(f.event), f.percent),
   }
   if f.why then out[2] = ("# Only the addresses of samples are shown: %s"):format(render.printable(f.why)) end
   if view.only_source and #f.lines == 0 then out[#out + 1] = "# No debug information: compile with -g" end
   out[#out + 1] = "# percent | " .. (view.only_source and "source" or view.lines and "source and instructions"
      or "instructions")
   if view.only_source then source_only(view, f, out) else mixed(view, f, out) end
   return out
end

-- --- the command ---------------------------------------------------------------------------------

-- Options of perf, and the option of lpfm for each.
local meant = { ["--top"] = "--functions", ["-d"] = "--object", ["--dso"] = "--object", ["--dsos"] = "--object",
   ["--no-source"] = "--asm" }
local needless = { "--stdio", "--stdio2", "-l", "--print-line", "-P", "--full-paths", "-q", "-v" }
local KERNEL = "for the kernel, the addresses of samples are shown"
local CPU = "'lpfm report --cpu' shows the samples of a CPU"
local TEXT = "the output is text: pipe it into less"
local advice = {
   ["--tui"] = TEXT, ["--gtk"] = TEXT,
   ["-k"] = KERNEL, ["--vmlinux"] = KERNEL, ["-C"] = CPU, ["--cpu"] = CPU,
}

--- Makes the parser of the command line.
function annotate.options()
   local c = options.command("annotate", "Shows a function's source and instructions with the samples that lie there.",
      "lpfm annotate [options] [file] [symbol]")
   c.mixed = true
   input.add_option(c)
   c:option("-e --event", "EVENT", "Show this event of several (default: the one with most samples there).")
   c:option("-s --symbol", "SYMBOL", "Show this function, as its name alone does.")
   c:option("--object", "OBJECT", "Show the function of this program or library.")
   c:option("--functions", "N", "Show the N functions with the most events (default: 1).")
   c:flag("--source", "Show source lines only.")
   c:flag("--asm", "Show instructions only.")
   c:flag("--json", "Print JSON.")
   c:habits(meant, needless, advice)
   c:epilog("Percentages are of the events that the function's samples stand for. Without a symbol, lpfm shows the\n"
      .. "function with the most.", {
      "lpfm annotate", "lpfm annotate parse", "lpfm annotate --source --functions 3 perf.data",
      "lpfm annotate --object libc.so.6 memcpy",
   })
   return c
end

-- If the first word is a recording, it is the file to read, and the next word is the function.
local function take_file(args, words)
   if not args.input and words[1] and recording.is_one(words[1]) then args.input = table.remove(words, 1) end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function annotate.main(argv)
   local args, words = annotate.options():parse(argv)
   take_file(args, words)
   local symbol = options.only_word(words, "symbol") or args.symbol
   if args.source and args.asm then options.fail("--source and --asm exclude each other") end
   local opts = { event = args.event, object = args.object, top = options.number(args.functions, "--functions", true) }
   local self = input.open(args.input)
   options.checked(stacks.event, self, opts.event)
   local list = code.functions(self, symbol, opts)
   local out = {}
   if args.json then
      for _, f in ipairs(list) do
         for _, i in ipairs(f.instructions) do i.address = symbols.hex(i.address) end
      end
      out[1] = render.json(list)
   else
      out[1] = summary.simulated(self)
      local view = { source = code.source_reader(), colour = terminal.colours(), lines = not args.asm,
         only_source = args.source }
      for i, f in ipairs(list) do
         if i > 1 then out[#out + 1] = "" end
         for _, line in ipairs(function_lines(view, f)) do out[#out + 1] = line end
      end
   end
   io.stdout:write(table.concat(out, "\n"), "\n")
   input.finish(self, "lpfm annotate")
   return 0
end

--- Returns the source lines and instructions of a function with their samples, as lines of text.
-- @tparam table self recording
-- @string name of the function
-- @tparam table opts of `code.functions`
-- @treturn {string,...}
function annotate.lines(self, name, opts)
   local out, view = {}, { source = code.source_reader(), lines = true }
   for _, f in ipairs(code.functions(self, name, opts)) do tables.append(out, function_lines(view, f)) end
   return out
end

--- Shows the source lines and instructions of a function with their samples.
-- @string[opt] name a function; by default that of the most events
-- @string[opt="lpfm.data"] path
-- @treturn table of `code.functions`; the prompt shows it as text
-- @usage record("ls -lR /etc >/dev/null"); annotate()
function annotate.call(name, path)
   options.arguments("annotate", 'annotate("main", "lpfm.data")', { name, "string?", "the name of a function" },
      { path, "string?", "the name of a recording" })
   local self = input.open(path)
   return options.shown(code.functions(self, name), function() return annotate.lines(self, name, {}) end)
end

return annotate
