-- SPDX-License-Identifier: MIT
--- The samples of a recording as stacks, for flame graphs and their like.
--
-- A sample of perfmon has an address and no chain of callers. What is known stands in for one: process, thread, object,
-- function, and within the function those that the compiler inlined there.
-- @module pfm.recording.stacks

local samples = require "pfm.recording.samples"
local render = require "pfm.render"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local symbols = require "pfm.symbols"

local stacks = {}

local FIELDS = { "pid", "tid", "set", "pmd", "ip" }

local function numbered(name, id, wanted)
   return wanted and ("%s (%d)"):format(name, id) or name
end

local function base_name(path)
   return path:match("([^/]+)$") or path
end

--- The frames of a place: its object, the function, those inlined there.
-- @tparam table where of `symbols.resolver`
-- @tparam table options `inlined=false`
-- @treturn table frames
-- @usage stacks.code(stacks.rows(assert(recording.open "lpfm.data"))[1].where, {})[1].kind --> "object" or "kernel"
function stacks.code(where, options)
   local kind = where.object == "[kernel]" and "kernel" or "object"
   local out = { { kind = kind, name = render.printable(base_name(where.object)) } }
   local frames = symbols.frames(where)
   for i = #frames, options.inlined == false and #frames or 1, -1 do
      local f = frames[i]
      out[#out + 1] = { kind = i == #frames and "symbol" or "inlined", name = render.printable(f.name),
         file = f.file and render.printable(f.file), line = f.line }
   end
   return out
end

-- The root first.
local function frames_of(self, options, row)
   local out = {
      { kind = "process", name = numbered(samples.comm(self, row.pid, row.pid), row.pid, options.ids) },
      { kind = "thread", name = numbered(samples.comm(self, row.tid, row.pid), row.tid, options.ids) },
   }
   for _, frame in ipairs(stacks.code(row.where, options)) do out[#out + 1] = frame end
   return out
end

local function before(a, b)
   for i = 1, #FIELDS do
      local x, y = a[FIELDS[i]], b[FIELDS[i]]
      if x ~= y then return x < y end
   end
   return false
end

--- Counts equal samples.
-- @tparam table self of `recording.open`
-- @treturn table rows of `pid`, `tid`, `set`, `pmd`, `ip`, `samples`, `events` (that they stand for), `event` (of the
-- recording's head), `where` (see `symbols.resolver`), sorted by the first five
-- @usage stacks.rows(assert(recording.open "lpfm.data"))[1].samples
function stacks.rows(self)
   local resolver, out = embedded_symbols.resolver(self), {}
   for pid, tid, set, pmd, ip, n, periods in self:tally({ keys = FIELDS }):rows() do
      local event = samples.event(self, pmd, set)
      local period = self.head.fixed and event and event.period
      out[#out + 1] = { pid = pid, tid = tid, set = set, pmd = pmd, ip = ip, samples = n, event = event,
         events = period and n * period or periods, where = resolver:resolve(pid, ip) }
   end
   table.sort(out, before)
   return out
end

--- The event that a picture of one event shows.
-- @tparam table self of `recording.open`
-- @string[opt] name by default the first
-- @treturn table event of the recording's head
-- @usage stacks.event(assert(recording.open "lpfm.data")).name --> "cpu-clock"
function stacks.event(self, name)
   local names = {}
   for i, e in ipairs(self.head.events) do
      if e.name == (name or e.name) then return e end
      names[i] = e.name
   end
   error(("%s was not recorded: %s"):format(name and "'" .. name .. "'" or "an event", table.concat(names, ", ")), 0)
end

--- Collects the stacks of an event.
-- @tparam table self of `recording.open`
-- @tparam[opt] table options `event` (a name), `ids` (numbers of processes and threads, which keeps equal names apart),
-- `inlined=false` (without the functions inlined), `weight`: "samples" or "events" (default: `samples`)
-- @treturn table of `{frames=, weight=}`, each stack once, sorted; frames have `kind` (process, thread, object or
-- kernel, symbol, inlined), `name`, perhaps `file` and `line`
-- @treturn number sum of the weights
-- @usage stacks.collect(assert(recording.open "lpfm.data"), { ids = true })[1].name
function stacks.collect(self, options)
   options = options or {}
   local event, weight = stacks.event(self, options.event), options.weight or "samples"
   local by_name, out, total = {}, {}, 0
   for _, row in ipairs(stacks.rows(self)) do
      if row.event == event then
         local frames = frames_of(self, options, row)
         local name = stacks.name(frames)
         local stack = by_name[name]
         if not stack then
            stack = { frames = frames, weight = 0, name = name }
            by_name[name], out[#out + 1] = stack, stack
         end
         stack.weight, total = stack.weight + row[weight], total + row[weight]
      end
   end
   table.sort(out, function(a, b) return a.name < b.name end)
   return out, total
end

--- A stack on one line, its frames separated by semicolons, as flamegraph.pl and others read it.
-- @tparam table frames
-- @treturn string
-- @usage stacks.name { { name = "prog" }, { name = "main" } } --> "prog;main"
function stacks.name(frames)
   local names = {}
   for i, f in ipairs(frames) do names[i] = f.name:gsub(";", ":"):gsub("[\r\n]", " ") end
   return table.concat(names, ";")
end

return stacks
