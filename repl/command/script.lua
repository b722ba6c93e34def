-- SPDX-License-Identifier: MIT
--- lpfm script: prints each sample of a recording on a line, or passes samples to a Lua script.
-- @module repl.command.script

local chain = require "pfm.recording.chain"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local render = require "pfm.render"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"
local samples = require "pfm.recording.samples"
local analyze = require "pfm.analyze"
local input = require "repl.command.input"
local recording = require "pfm.recording"
local stacks = require "pfm.recording.stacks"
local stat = require "posix.sys.stat"
local summary = require "pfm.recording.summary"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"
local terminal = require "pfm.util.terminal"
local expect = require "pfm.util.expect"

local script = {}

-- --- lines ---------------------------------------------------------------------------------------

local function source(s)
   local file, line = symbols.line(s.where)
   return file and ("%s:%d"):format(file:match("([^/]+)$"), line) or "?"
end

local fields = {
   comm = function(s) return ("%-15s"):format(s.comm) end,
   pid = function(s) return ("%7d"):format(s.pid) end,
   tid = function(s) return ("%7d"):format(s.tid) end,
   cpu = function(s) return s.cpu and ("[%03d]"):format(s.cpu) or "[-]" end,
   time = function(s) return s.time and ("%.9f:"):format(s.time) or "-:" end,
   event = function(s) return s.event .. ":" end,
   period = function(s) return ("%10.0f"):format(s.period) end,
   address = function(s) return ("%18s"):format(symbols.hex(s.address)) end,
   symbol = function(s) return s.symbol end,
   offset = function(s) return ("%s+%s"):format(s.symbol, symbols.hex(s.offset)) end,
   rank = function(s) return ("%4s"):format(s.rank or "-") end,
   host = function(s) return s.host or "-" end,
   node = function(s) return s.node or "-" end,
   job = function(s) return s.job or "-" end,
   step = function(s) return s.step or "-" end,
   recording = function(s) return s.recording end,
   object = function(s) return ("(%s)"):format(s.object) end,
   line = source,
}
local aliases = { ip = "address", addr = "address", sym = "symbol", symoff = "offset", dso = "object",
   srcline = "line" }
local DEFAULT = "comm,tid,cpu,time,period,event,address,offset,object"

--- Returns the names of the fields that the option `fields` takes.
-- @treturn {string,...} sorted
function script.fields()
   return tables.keys(fields)
end

-- Returns a function that shows a value that was recorded with each sample. A value that is a
-- string is the list of the branches before the sample.
local function with_values(name, unit)
   return function(s)
      local value = s[name]
      if value == nil then return "-" end
      if type(value) == "string" then return value end
      return unit == "address" and type(value) == "number" and symbols.hex(value) or render.number(value)
   end
end

local function parse_fields(text, self)
   local out, with = {}, {}
   for _, e in ipairs(self.head.with or {}) do with[e.name] = e.unit or true end
   text = text or DEFAULT .. (with.trace and ",trace" or "")
   for name in (text .. ","):gmatch("%s*([^,]*)%s*,") do
      local known = fields[aliases[name] or name]
      if not known and with[name] then known = with_values(name, with[name]) end
      if not known then
         options.fail("--fields: unknown field '%s'%s (fields: %s)", name, nearest.hint(name, script.fields()),
            table.concat(script.fields(), ", "))
      end
      out[#out + 1] = known
   end
   return out
end

local function print_samples(self, iterate, wanted)
   local mark = summary.simulated(self)
   if mark then options.print { mark } end
   for s in iterate() do
      local cells = {}
      for i, field in ipairs(wanted) do cells[i] = field(s) end
      options.print { table.concat(cells, " ") }
   end
end

-- --- lines of perf -------------------------------------------------------------------------------

-- Lines as `perf script` prints them, for tools that read its output: FlameGraph's
-- stackcollapse-perf.pl, the Firefox Profiler and others.
local UNKNOWN = "[unknown]"

local function object_of(where)
   if where.object == "[kernel]" then return "[kernel.kallsyms]" end
   if symbols.is_generated(where.object) then return where.map or "//anon" end
   return where.missing == "no mapping" and UNKNOWN or where.object
end

local function hex(n)
   return symbols.hex(n):sub(3)
end

-- Returns a name without the parameters of a C++ function, as perf prints it.
local function plain(name)
   local short = name:gsub("%s*%b()%s*c?o?n?s?t?$", "")
   return short ~= "" and not short:find("operator$") and not short:find("::$") and short or name
end

-- Returns "NAME+0xOFFSET" as perf prints it, with the offset increased by `more`.
local function name_of(name, where, more)
   if where.missing then return UNKNOWN end
   return ("%s+0x%s"):format(plain(render.printable(name)), hex(where.offset + more))
end

-- Adds the lines of a frame: first the inlined functions, last the function that contains them.
local function frame_lines(out, where, address, more)
   local frames = symbols.frames(where)
   for i = 1, #frames - 1 do
      out[#out + 1] = ("\t%16s %s (inlined)"):format(hex(address), name_of(frames[i].name, where, more))
   end
   out[#out + 1] = ("\t%16s %s (%s)"):format(hex(address), name_of(where.func, where, more),
      render.printable(object_of(where)))
end

-- Adds the lines of a stack; an address in an object is shown as an offset in its file. A caller
-- has its return address less 1 in `where.address`. perf prints this address in stacks that DWARF
-- unwound, and the return address itself in others, for which `more` is 1.
local function stack_lines(self, out, resolver, s)
   local places, before = chain.places(self, resolver, s.life, s.address, s.stack), 0
   for i, where in ipairs(places) do
      local entered = before < 0 and where.address >= 0 -- the entry into the kernel
      local unwound = self.head.stacks == "DWARF" and where.address >= 0
      local more = (i == 1 or entered or unwound) and 0 or 1
      frame_lines(out, where, (where.address >= 0 and where.in_file or where.address) + more, more)
      before = where.address
   end
   out[#out + 1] = ""
end

local function head_of(self, s, width)
   local comm = s.tid == 0 and "swapper" or s.comm == "?" and ":" .. s.tid or s.comm
   local us = s.time and math.floor((math.floor(s.time * 1e9 + 0.5) + (self.time_base or 0)) / 1e3)
   local time = us and ("%5d.%06d: "):format(math.floor(us / 1e6), us % 1e6) or ""
   local cpu = s.cpu and ("[%03d] "):format(s.cpu) or ""
   local period = s.trace and "" or ("%10.0f "):format(s.period)
   return ("%s %5d %s%s%s%s: %s"):format(self:has_stacks() and comm or ("%16s"):format(comm), s.tid, cpu, time, period,
      (" "):rep(width - #s.event) .. s.event,
      s.trace and s.trace:gsub("[^\t]+", render.printable) or "")
end

-- Prints samples as `perf script` does.
local function print_as_perf(self, iterate)
   local resolver, width = embedded_symbols.resolver(self), 0
   for _, e in ipairs(self.head.events) do width = math.max(width, #e.name) end
   for s in iterate() do
      local out = { head_of(self, s, width) }
      if self:has_stacks() then
         stack_lines(self, out, resolver, s)
      elseif not s.trace then
         out[1] = ("%s%17s %s (%s)"):format(out[1], hex(s.address), name_of(s.symbol, s.where, 0),
            render.printable(object_of(s.where)))
      end
      io.stdout:write(table.concat(out, "\n"), "\n")
   end
end

-- --- scripts -------------------------------------------------------------------------------------

-- Functions that a script may define; their names are perf's.
local HANDLERS = { begin = "trace_begin", each = "process_event", finish = "trace_end" }

local function call(name, ...)
   local handler = rawget(_G, name)
   if handler then handler(...) end
end

local function run_handlers(iterate)
   call(HANDLERS.begin)
   for s in iterate() do call(HANDLERS.each, s) end
   call(HANDLERS.finish)
   return 0
end

local function run_script(chunk, name, arguments, self, iterate)
   rawset(_G, "recorded", self)
   rawset(_G, "session", self) -- the former name of `recorded`
   rawset(_G, "samples", iterate)
   local run = require("repl.chunk").run
   local status = run(chunk, name, arguments, 1)
   if status ~= 0 or not rawget(_G, HANDLERS.each) then return status end
   return run(function() return run_handlers(iterate) end, name, arguments, 1)
end

-- Loads a script. An empty file is refused: it is probably a recording that was never written.
local function load_script(path)
   local found = stat.stat(path)
   if found and found.st_size == 0 and stat.S_ISREG(found.st_mode) ~= 0 then
      error(path .. " is empty: it is neither a recording nor a script", 0)
   end
   local chunk, err = loadfile(path)
   if not chunk then error({ message = err }, 0) end -- err has the position in the script
   return chunk
end

-- --- the command ---------------------------------------------------------------------------------

-- Options of perf that ask for the default behaviour.
local needless = { "--ns", "-G", "--hide-call-graph", "--header", "-v", "--force", "--stdio" }
local LUA = "scripts are written in Lua; scripts/examples has some"
local advice = {
   ["-g"] = LUA, ["--gen-script"] = LUA,
   ["-D"] = "'lpfm export json' prints everything",
}

--- Makes the parser of the command line.
function script.options()
   local c = options.command("script", "Prints every sample of a recording, or runs a Lua script over them.",
      "lpfm script [options] [file...] [script.lua [arguments]]")
   input.add_option(c)
   c:option("--format", "FORMAT", "'perf': print as 'perf script' does, for tools that read that.")
   c:option("-F --fields", "FIELDS", "Print these (default: " .. DEFAULT .. "); also pid, symbol, line.")
   c:option("-s --script", "FILE", "Run this script.")
   c:option("-E --eval", "CODE", "Run CODE instead of a script.")
   input.add_filters(c)
   c:habits(input.habits {}, needless, advice)
   c:epilog("A script has samples(), which iterates over tables with the fields event, time (s), pid, tid, comm,\n"
      .. "process, cpu, address, period, symbol, offset, object, the values recorded with a sample, and rank, host,\n"
      .. "node, job, step and recording, where it comes from; and recorded, the opened recording.\n"
      .. "require(\"pfm.stacks\").frames(recorded, sample) are the functions of a sample's call stack (record -g).\n"
      .. "If it defines trace_begin, process_event(sample) and trace_end, they are called.", {
      "lpfm script | head", "lpfm script -F time,comm,symbol -i prog.data",
      "lpfm script -E 'n = 0 for s in samples() do if s.cpu == 0 then n = n + 1 end end print(n)'",
      "lpfm script top10.lua", "lpfm script --format perf | stackcollapse-perf.pl | flamegraph.pl >out.svg",
   })
   return c
end

-- Parses options; words that are recordings come first, and options may follow them.
local function parse(argv)
   local args, words = script.options():parse(argv)
   if args.input or not words[1] or not recording.is_one(words[1]) then return args, words end
   local moved, files = tables.slice(argv, 1, #argv - #words), {}
   while words[#files + 1] and recording.is_one(words[#files + 1]) do files[#files + 1] = words[#files + 1] end
   for i = #files + 1, #words do moved[#moved + 1] = words[i] end
   args, words = script.options():parse(moved)
   args.input = args.input or files
   return args, words
end

-- Returns the script to run, and its arguments.
local function pick(args, words)
   if args.eval then
      local chunk = expect.value(loadstring(args.eval, "=-E"))
      return chunk, "-E", words
   end
   local path = args.script or words[1]
   return path and load_script(path), path, tables.slice(words, args.script and 1 or 2)
end

-- Returns a function for the script that returns an iterator of the selected samples; it can be
-- called several times. Returns another function that says what the filter missed, if the script
-- has asked for all samples. As of grep, that there are none at all is no message for programs,
-- which see it.
local function iterator(self, args)
   if args.event and not pcall(stacks.event, self, args.event) then -- more than one event
      for name in args.event:gmatch("[^,%s]+") do options.checked(stacks.event, self, name) end
   end
   local wanted = input.filter(args)
   if not next(wanted) then return function() return samples.each(self) end, function() end end
   local passes, unmet = options.checked(analyze.test, self, wanted)
   local complete, found = false, false
   local function each()
      local next_sample = samples.each(self)
      return function()
         local s = next_sample()
         while s and not passes(s) do s = next_sample() end
         complete, found = complete or not s, found or s ~= nil
         return s
      end
   end
   return each, function()
      if not complete or not (found or terminal.shows(2)) then return end
      local missed = unmet()
      for _, its in ipairs(missed) do options.warn("lpfm script", { its.text }) end
      if not found and #missed == 0 then options.warn("lpfm script", { "no samples match the filter" }) end
   end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function script.main(argv)
   local args, words = parse(argv)
   local chunk, name, arguments = pick(args, words)
   if args.format and args.format ~= "perf" then options.fail("--format: '%s' is not 'perf'", args.format) end
   if args.format and (chunk or args.fields) then
      options.fail("--format excludes %s", chunk and "a script" or "--fields")
   end
   if chunk and args.fields then options.fail("--fields excludes a script") end
   if args.eval and args.script then options.fail("--eval and --script exclude each other") end
   local self = input.open(args.input)
   local iterate, tell_missed = iterator(self, args)
   local status
   if args.format then
      print_as_perf(self, iterate)
   elseif chunk then
      status = run_script(chunk, name, arguments, self, iterate)
   else
      print_samples(self, iterate, parse_fields(args.fields, self))
   end
   tell_missed()
   input.finish(self, "lpfm script")
   return status and status ~= 0 and status or input.status(self)
end

return script
