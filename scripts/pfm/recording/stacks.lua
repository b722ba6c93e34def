-- SPDX-License-Identifier: MIT
--- The samples of a recording as stacks, for flame graphs and their like.
--
-- Frames are the process, the thread, and the functions that called each other, with inlined ones.
-- Without call stacks they are process, thread, object, and the function at the sample's address.
-- @module pfm.recording.stacks

local chain = require "pfm.recording.chain"
local programs = require "pfm.recording.programs"
local samples = require "pfm.recording.samples"
local render = require "pfm.render"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"

local stacks = {}

local FIELDS = { "pid", "tid", "set", "ovfl_pmd", "ip" }

local function numbered(name, id, wanted)
   return wanted and ("%s (%d)"):format(name, id) or name
end

--- Returns the last part of a path.
-- @string path
-- @treturn string
-- @usage require("pfm.recording.stacks").base_name("/usr/bin/env") --> "env"
function stacks.base_name(path)
   return path:match("([^/]+)$") or path
end

-- Adds the function at a place, then those inlined there.
local function add_functions(out, where, options, kind)
   local frames = symbols.frames(where)
   for i = #frames, options.inlined == false and #frames or 1, -1 do
      local f = frames[i]
      out[#out + 1] = { kind = i == #frames and kind or "inlined", name = render.printable(f.name),
         file = f.file and render.printable(f.file), line = f.line, object = where.object }
   end
end

-- Adds the frames of a single place: its object, then its functions.
local function add_place(out, where, options)
   local kind = where.object == "[kernel]" and "kernel" or "object"
   out[#out + 1] = { kind = kind, name = render.printable(stacks.base_name(where.object)) }
   add_functions(out, where, options, "symbol")
end

--- Returns the frames of a row's code: functions, the outermost first; without call stacks, the
-- object before them.
-- @tparam table places where the code is, the innermost first, of `chain.places`
-- @bool chained the places are of a call stack
-- @tparam table options `inlined=false`
-- @treturn table frames
-- @usage local stacks, s = require "pfm.recording.stacks", assert(recording.open "lpfm.data")
-- print(stacks.code(stacks.rows(s)[1].places, s:has_stacks(), {})[1].name)
function stacks.code(places, chained, options)
   local out = {}
   if not chained then
      add_place(out, places[1], options)
      return out
   end
   for i = #places, 1, -1 do
      add_functions(out, places[i], options, places[i].object == "[kernel]" and "kernel" or "symbol")
   end
   return out
end

-- Returns all frames of a row, from the root on.
local function frames_of(self, options, row)
   local out = {
      { kind = "process", name = numbered(samples.process(self, row.life), row.pid, options.ids) },
      { kind = "thread", name = numbered(samples.comm(self, row.thread, row.life), row.tid, options.ids) },
   }
   return tables.append(out, stacks.code(row.places, self:has_stacks(), options))
end

local function before(a, b)
   if a.life ~= b.life then return a.life < b.life end
   if a.thread ~= b.thread then return a.thread < b.thread end
   for i = 1, #FIELDS do
      local x, y = a[FIELDS[i]], b[FIELDS[i]]
      if x ~= y then return x < y end
   end
   return (a.stack or 0) < (b.stack or 0)
end

-- Returns how many events n samples stand for: n times the period if that is fixed, else the sum of
-- their periods.
local function events_of(self, event, n, events)
   local period = self.head.fixed and event and event.period
   return period and n * period or events
end

-- Makes a row of `stacks.rows` from the values that `recording:group_by` gives: those of FIELDS,
-- perhaps the stack, samples and events.
local function row_of(self, resolver, chained, life, tid, set, pmd, ip, ...)
   if not life then return nil end
   local stack, n, events = ...
   if not chained then stack, n, events = nil, ... end
   -- a value of 64 bits in a damaged file is no stack's number
   if type(stack) ~= "number" then stack = nil end
   local event = samples.event(self, pmd, set)
   local places = chain.places(self, resolver, life, ip, stack)
   return { pid = programs.pid(life), tid = programs.pid(tid), thread = tid, set = set, ovfl_pmd = pmd, ip = ip,
      stack = stack, samples = n, events = events_of(self, event, n, events), event = event, places = places,
      where = places[1], life = life }
end

-- Iterates over the rows of `stacks.rows`, in no order.
local function each_row(self)
   local resolver, keys = embedded_symbols.resolver(self), chain.keys(self, FIELDS)
   local next_row, chained = self:group_by({ keys = keys }):rows(), #keys > #FIELDS
   return function() return row_of(self, resolver, chained, next_row()) end
end

--- Counts equal samples.
-- @tparam table self of `recording.open`
-- @treturn table rows of `pid`, `tid`, `set`, `ovfl_pmd`, `ip`, `stack` (its number, if there are
-- stacks), `samples`, `events` (that they stand for), `event` (of the recording's head), `places`
-- (see `chain.places`), `where` (the first of them), `life` (the process in the life that it had:
-- see `lives` of `lpfm.samples`), sorted by `life` and the first six
-- @usage local stacks = require "pfm.recording.stacks"
-- return stacks.rows(assert(recording.open "lpfm.data"))[1].samples
function stacks.rows(self)
   local out = {}
   for row in each_row(self) do out[#out + 1] = row end
   table.sort(out, before)
   return out
end

--- Counts samples by their own location, whatever their callers are.
-- @tparam table self of `recording.open`
-- @treturn table rows of `where`, `samples`, `events` (that they stand for), `event` (of the
-- recording's head)
-- @usage local stacks = require "pfm.recording.stacks"
-- return stacks.places(assert(recording.open "lpfm.data"))[1].where.func
function stacks.places(self)
   local resolver, out = embedded_symbols.resolver(self), {}
   for pid, set, pmd, ip, n, events in self:group_by({ keys = { "pid", "set", "ovfl_pmd", "ip" } }):rows() do
      local event = samples.event(self, pmd, set)
      out[#out + 1] = { where = resolver:resolve(pid, ip), samples = n, events = events_of(self, event, n, events),
         event = event }
   end
   return out
end

--- Returns the events that have samples.
-- @tparam table self of `recording.open`
-- @treturn {table,...} events of the recording's head, in its order
-- @usage local stacks = require "pfm.recording.stacks"
-- return #stacks.sampled(assert(recording.open "lpfm.data")) --> 1
function stacks.sampled(self)
   local out, sampled = {}, {}
   for set, pmd in self:group_by({ keys = { "set", "ovfl_pmd" } }):rows() do
      sampled[samples.event(self, pmd, set) or 0] = true
   end
   for _, e in ipairs(self.head.events) do
      if sampled[e] then out[#out + 1] = e end
   end
   return out
end

--- Returns the event that a picture of one event shows.
-- @tparam table self of `recording.open`
-- @string[opt] name by default the first that has samples
-- @treturn table event of the recording's head
-- @usage local stacks = require "pfm.recording.stacks"
-- return stacks.event(assert(recording.open "lpfm.data")).name --> "cpu-clock"
function stacks.event(self, name)
   local list, names = self.head.events, {}
   if #list == 0 then error(("there is no recording in %s that can be read"):format(self.path), 0) end
   local first = not name and (#list > 1 and stacks.sampled(self)[1] or list[1])
   if first then return first end
   for i, e in ipairs(list) do
      if e.name == name then return e end
      names[i] = e.name
   end
   error(("%s was not recorded in %s; the events there: %s"):format(name and "'" .. name .. "'" or "an event",
      self.path or "the recording", table.concat(names, ", ")), 0)
end

--- Collects the stacks of an event.
-- @tparam table self of `recording.open`
-- @tparam[opt] table options `event` (a name), `ids` (numbers of processes and threads, which keeps
-- equal names apart), `inlined=false` (without the functions inlined), `weight`: "samples" or
-- "events" (default: "events" where samples have weights of their own, else "samples")
-- @treturn table of `{frames=, weight=}`, each stack once, sorted; frames have `kind` (process,
-- thread, object or kernel, symbol, inlined), `name`, perhaps `file` and `line`
-- @treturn number sum of the weights
-- @usage stacks.collect(assert(recording.open "lpfm.data"), { ids = true })[1].name
function stacks.collect(self, options)
   options = options or {}
   local event = stacks.event(self, options.event)
   local weight = options.weight or event.weighted and "events" or "samples"
   local by_name, out, total = {}, {}, 0
   for row in each_row(self) do
      if row.event == event then
         local frames = frames_of(self, options, row)
         local name = stacks.name(frames)
         local stack = by_name[name] or tables.enter(by_name, name, { frames = frames, weight = 0, name = name }, out)
         stack.weight, total = stack.weight + row[weight], total + row[weight]
      end
   end
   table.sort(out, function(a, b) return a.name < b.name end)
   return out, total
end

--- Returns a stack as one line, frames separated by semicolons, as flamegraph.pl reads it.
-- @tparam table frames
-- @treturn string
-- @usage local stacks = require "pfm.recording.stacks"
-- return stacks.name { { name = "prog" }, { name = "main" } } --> "prog;main"
function stacks.name(frames)
   local names = {}
   for i, f in ipairs(frames) do names[i] = f.name:gsub(";", ":"):gsub("[\r\n]", " ") end
   return table.concat(names, ";")
end

return stacks
