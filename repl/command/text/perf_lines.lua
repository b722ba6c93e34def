-- SPDX-License-Identifier: MIT
--- Prints samples as `perf script` does, for tools that read its output: FlameGraph's
-- stackcollapse-perf.pl, the Firefox Profiler and others.
-- @module repl.command.text.perf_lines

local chain = require "pfm.recording.chain"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local render = require "pfm.render"
local symbols = require "pfm.symbols"

local perf_lines = {}

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

--- Prints samples.
-- @param self of `recording.open`
-- @tparam function iterate gives an iterator of samples (`pfm.recording.samples`)
-- @usage require("repl.command.text.perf_lines").print(s, function() return samples.each(s) end)
function perf_lines.print(self, iterate)
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

return perf_lines
