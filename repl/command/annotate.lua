-- SPDX-License-Identifier: MIT
--- lpfm annotate: a function's source lines and instructions with their shares of the samples.
--
-- objdump disassembles; lines come from it, and the source from the files that they name.
-- @module repl.command.annotate

local arguments = require "repl.command.arguments"
local render = require "pfm.render"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"
local input = require "repl.command.input"
local terminal = require "pfm.util.terminal"
local shell = require "pfm.util.shell"
local stacks = require "pfm.recording.stacks"
local symbols = require "pfm.symbols"

local annotate = {}

local HOT, WARM = 10, 1 -- percent, in colour on a screen

-- --- functions -----------------------------------------------------------------------------------

-- The functions that samples of an event lie in, the hottest first.
local function functions_of(self, event)
   local by_id, out, total = {}, {}, 0
   for _, row in ipairs(stacks.rows(self)) do
      if row.event == event then
         local id = row.where.object .. "\0" .. row.where.func
         local f = by_id[id]
         if not f then
            f = { name = row.where.func, object = row.where.object, where = row.where, samples = 0, rows = {},
               inner = {} }
            by_id[id], out[#out + 1] = f, f
         end
         f.samples, f.rows[#f.rows + 1], total = f.samples + row.samples, row, total + row.samples
         for _, frame in ipairs(symbols.frames(row.where)) do f.inner[frame.name] = true end
      end
   end
   table.sort(out, function(a, b)
      if a.samples ~= b.samples then return a.samples > b.samples end
      return a.name < b.name
   end)
   return out, total
end

local function base_name(path)
   return path:match("([^/]+)$") or path
end

-- Functions by a name of theirs, as it is or without what the compiler added to it, or of one inlined into them.
local function named(list, name)
   local own, made, around = {}, {}, {}
   for _, f in ipairs(list) do
      local into = f.name == name and own or symbols.source_name(f.name) == name and made or f.inner[name] and around
      if into then into[#into + 1] = f end
   end
   return #own > 0 and own or #made > 0 and made or around
end

local function hint(list, name)
   local names, first = {}, {}
   for i, f in ipairs(list) do
      names[i] = f.name
      if i <= 5 then first[i] = f.name end
   end
   local near = nearest.hint(name, names)
   return near ~= "" and near or "; most samples are in " .. table.concat(first, ", ")
end

local function choose(list, name, object)
   local out = {}
   for _, f in ipairs(name and named(list, name) or list) do
      if not object or f.object == object or base_name(f.object) == object then out[#out + 1] = f end
   end
   if #out > 0 then return out end
   if #list == 0 then error("there are no samples", 0) end
   error(("no samples lie in %s%s"):format(name and "'" .. name .. "'" or object, name and hint(list, name) or ""), 0)
end

-- --- the code ------------------------------------------------------------------------------------

-- Samples by address, the object's own where it is known.
local function by_address(f)
   local counts, low, high = {}, math.huge, -math.huge
   for _, row in ipairs(f.rows) do
      local at = row.where.own or row.where.address
      counts[at] = (counts[at] or 0) + row.samples
      low, high = math.min(low, at), math.max(high, at)
   end
   return counts, low, high
end

-- What objdump prints: instructions, and in front of some the inlined function, file and line they come from.
local function parse_code(text, counts, total)
   local out, file, line, func = {}, nil, nil, nil
   for row in text:gmatch("[^\n]+") do
      local address, code = row:match("^%s+(%x+):\t(.*)$")
      local path, number = row:match("^(/?[^\t]-):(%d+)[ %(%)%w]*$")
      if address then
         local at = tonumber(address, 16)
         local n = counts[at] or 0
         out[#out + 1] = { address = at, text = code:gsub("%s+$", ""), samples = n, percent = n / total * 100,
            file = file, line = line, func = func }
      elseif path then
         file, line = path, tonumber(number)
      else
         func = row:match("^(.+)%(%):$") or func
      end
   end
   return out
end

local function disassemble(f, counts, total, high)
   shell.need("objdump", "binutils")
   local _, start, size = f.where.handle:func(f.where.own)
   local stop = size > 0 and start + size or high + 16
   local line = "objdump -d -l -C --no-show-raw-insn --start-address=%s --stop-address=%s %s"
   local text = shell.read(line:format(symbols.hex(start), symbols.hex(stop), shell.quote(f.object)))
   return parse_code(text, counts, total)
end

-- Code that objdump cannot see: the addresses that have samples.
local function addresses_only(counts, total)
   local out = {}
   for at, n in pairs(counts) do out[#out + 1] = { address = at, text = "", samples = n, percent = n / total * 100 } end
   table.sort(out, function(a, b) return a.address < b.address end)
   return out
end

-- Samples by source line, in the order of files and lines.
local function lines_of(instructions, total)
   local by_id, out = {}, {}
   for _, i in ipairs(instructions) do
      local id = i.file and i.file .. ":" .. i.line
      local l = id and by_id[id]
      if id and not l then
         l = { file = i.file, line = i.line, samples = 0 }
         by_id[id], out[#out + 1] = l, l
      end
      if l then l.samples = l.samples + i.samples end
   end
   for _, l in ipairs(out) do l.percent = l.samples / total * 100 end
   table.sort(out, function(a, b)
      if a.file ~= b.file then return a.file < b.file end
      return a.line < b.line
   end)
   return out
end

local function code_of(self, f, all)
   local counts, _, high = by_address(f)
   local disassembled = f.where.handle ~= nil and f.object:sub(1, 1) == "/"
   local code = disassembled and disassemble(f, counts, f.samples, high) or addresses_only(counts, f.samples)
   local known = self.objects[f.object]
   local id = known and known.build_id and disassembled and symbols.build_id(f.object)
   return {
      symbol = f.name, object = f.object, samples = f.samples, percent = f.samples / all * 100,
      instructions = code, lines = lines_of(code, f.samples), disassembled = disassembled,
      changed = id and id ~= known.build_id or nil,
   }
end

--- Annotates functions.
-- @tparam table self of `recording.open`
-- @string[opt] name the function, or one inlined into others; by default the one with most samples
-- @tparam[opt] table opts `event` (a name), `object` (a path or its last part), `top` (how many functions)
-- @treturn table of `symbol`, `object`, `samples`, `percent` (of the event's samples), `instructions` (of `address`,
-- `text`, `samples`, `percent` of the function's, `file`, `line`, `func`: the inlined one), `lines` (of `file`,
-- `line`, `samples`, `percent`), `disassembled` (false: only the addresses of samples), `changed` (the object, since)
-- @usage require("repl.command.annotate").functions(assert(recording.open "lpfm.data"))[1].lines
function annotate.functions(self, name, opts)
   opts = opts or {}
   local list, all = functions_of(self, stacks.event(self, opts.event))
   local chosen, out = choose(list, name, opts.object), {}
   for i = 1, math.min(opts.top or (name and #chosen or 1), #chosen) do out[i] = code_of(self, chosen[i], all) end
   return out
end

-- --- output --------------------------------------------------------------------------------------

-- The lines of source files, read once; of those that are not there none.
local function source_reader()
   local files = {}
   return function(path, number)
      if files[path] == nil then
         local file = io.open(path, "r")
         files[path] = {}
         for line in file and file:lines() or function() end do
            table.insert(files[path], (line:gsub("\t", "        "):gsub("%c", "")))
         end
         if file then file:close() end
      end
      return files[path][number]
   end
end

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
   local place = ("%s:%d"):format(base_name(l.file), l.line)
   return ("%s | %-20s %s"):format(percent_cell(view, l.samples, l.percent), place, text or "")
end

local function instruction_line(view, i)
   local text = ("%s: %s"):format(symbols.hex(i.address):sub(3), i.text:gsub("\t", " "))
   return ("%s |   %s"):format(percent_cell(view, i.samples, i.percent), (text:gsub(":? $", "")))
end

-- Instructions in their order, under the source line whenever that changes.
local function mixed(view, f, out)
   local lines, before = {}, nil
   for _, l in ipairs(f.lines) do lines[l.file .. ":" .. l.line] = l end
   for _, i in ipairs(f.instructions) do
      local l = i.file and lines[i.file .. ":" .. i.line]
      if l and l ~= before and view.lines then out[#out + 1] = source_line(view, l) end
      before = l or before
      out[#out + 1] = instruction_line(view, i)
   end
end

-- The source from the first line with code to the last, lines without code too where they are few.
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

local function notes_on(f)
   local out = {}
   if f.changed then out[1] = "# Warning: the object has changed since the recording; this may be different code" end
   if not f.disassembled then out[#out + 1] = "# This code is in no file: only the addresses of samples are shown" end
   return out
end

local function function_lines(view, event, f)
   local out = {
      ("# %s in %s: %s of %s, %.2f%% of all"):format(f.symbol, f.object, render.plural(f.samples, "sample"), event.name,
         f.percent),
   }
   for _, note in ipairs(notes_on(f)) do out[#out + 1] = note end
   if view.only_source and #f.lines == 0 then out[#out + 1] = "# No debug information: compile with -g" end
   out[#out + 1] = "# percent | " .. (view.only_source and "source" or view.lines and "source and instructions"
      or "instructions")
   if view.only_source then source_only(view, f, out) else mixed(view, f, out) end
   return out
end

-- --- the command ---------------------------------------------------------------------------------

-- What people from perf type.
local meant = { ["-d"] = "--object", ["--dso"] = "--object", ["--dsos"] = "--object", ["--no-source"] = "--asm" }
local needless = { "--stdio", "--stdio2", "-l", "--print-line", "-P", "--full-paths", "-q", "-v" }
local WORD = "name the function without an option: lpfm annotate parse"
local KERNEL = "for the kernel, the addresses of samples are shown"
local CPU = "'lpfm report --cpu' shows the samples of a CPU"
local TEXT = "the output is text: pipe it into less"
local advice = {
   ["-s"] = WORD, ["--symbol"] = WORD, ["--tui"] = TEXT, ["--gtk"] = TEXT,
   ["-k"] = KERNEL, ["--vmlinux"] = KERNEL, ["-C"] = CPU, ["--cpu"] = CPU,
}

--- The options.
function annotate.options()
   local c = options.command("annotate", "Shows a function's source and instructions with the samples that lie there.",
      "lpfm annotate [options] [symbol]")
   c.mixed = true
   c:option("-f --file", "FILE", "The recording (default: lpfm.data).")
   c:option("-e --event", "EVENT", "Show this event if several were sampled.")
   c:option("--object", "NAME", "Show the function of this program or library.")
   c:option("--top", "N", "Show the N functions with the most samples (default: 1).")
   c:flag("--source", "Show source lines only.")
   c:flag("--asm", "Show instructions only.")
   c:flag("--json", "Print JSON.")
   c:habits(meant, needless, advice)
   c:epilog("Percentages are of the function's samples. Without a symbol, lpfm shows the function with the most.", {
      "lpfm annotate", "lpfm annotate parse", "lpfm annotate --source --top 3",
      "lpfm annotate --object libc.so.6 memcpy",
   })
   return c
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function annotate.main(argv)
   local args, words = annotate.options():parse(argv)
   local symbol = options.only_word(words, "symbol")
   if args.source and args.asm then options.fail("--source and --asm exclude each other") end
   local opts = { event = args.event, object = args.object, top = options.number(args.top, "--top", true) }
   local self = input.open(args.file)
   options.checked(stacks.event, self, opts.event)
   local list = annotate.functions(self, symbol, opts)
   local out = {}
   if args.json then
      out[1] = render.json(list)
   else
      local view = { source = source_reader(), colour = terminal.colours(), lines = not args.asm,
         only_source = args.source }
      for i, f in ipairs(list) do
         if i > 1 then out[#out + 1] = "" end
         for _, line in ipairs(function_lines(view, stacks.event(self, args.event), f)) do out[#out + 1] = line end
      end
   end
   io.stdout:write(table.concat(out, "\n"), "\n")
   input.finish(self, "lpfm annotate")
   return 0
end

--- Shows the source lines and instructions of a function with their samples.
-- @string[opt] name a function; by default the one with most samples
-- @string[opt="lpfm.data"] path
-- @treturn table of `annotate.functions`; prints itself
-- @usage record("ls -lR /etc >/dev/null"); annotate()
function annotate.call(name, path)
   arguments.check("annotate", 'annotate("main", "lpfm.data")', { name, "string?", "the name of a function" },
      { path, "string?", "the name of a recording" })
   local self = input.open(path)
   return setmetatable(annotate.functions(self, name), {
      __tostring = function(list)
         local out, view = {}, { source = source_reader(), lines = true }
         for _, f in ipairs(list) do
            for _, line in ipairs(function_lines(view, stacks.event(self), f)) do out[#out + 1] = line end
         end
         return table.concat(out, "\n")
      end,
   })
end

return annotate
