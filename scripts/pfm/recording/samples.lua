-- SPDX-License-Identifier: MIT
--- The samples of a recording one by one, with names.
-- @module pfm.recording.samples

local stored = require "lpfm.samples"
local fail = require("pfm.util.expect").fail
local render = require "pfm.render"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local layout = require "pfm.recording.layout"
local origin = require "pfm.recording.origin"
local programs = require "pfm.recording.programs"
local tables = require "pfm.util.tables"

local samples = {}

-- The name of a CPU's idle task.
local IDLE = "(idle)"
local LIFE = 2 ^ 32 -- the number of a process's n-th life is pid + n * LIFE

-- Returns the name of a thread from records, or the name of its process. Returns nil if the
-- recording has no records, or if the name of a thread other than the first is known from /proc
-- alone.
local function name_by_records(self, tid, life)
   local ran, number = self:programs(), programs.pid(tid)
   if not ran then return nil end
   return ran:thread_name(tid) or ((number == programs.pid(life) or not self.comms[number]) and ran:name(life))
end

--- Returns the name of a thread.
-- @tparam table self of `recording.open`
-- @number tid the thread, or its number of `samples.thread`
-- @number pid its process, or the life of it (`lives` of `lpfm.samples`)
-- @treturn string "?" where it is not known
-- @usage
-- local samples, s = require "pfm.recording.samples", assert(recording.open "lpfm.data")
-- print(samples.comm(s, 1, 1))
function samples.comm(self, tid, pid)
   if self.sources then
      local part, life = self:part_at(pid)
      return samples.comm(part.self, tid, life)
   end
   local number = programs.pid(pid)
   return render.printable(name_by_records(self, tid, pid) or self.comms[programs.pid(tid)] or (tid == 0 and IDLE)
      or self.comms[number] or "?")
end

--- Returns the name of a process.
-- @tparam table self of `recording.open`
-- @number life the process, or a life of it (`lives` of `lpfm.samples`)
-- @treturn string "?" where it is not known
-- @usage print(require("pfm.recording.samples").process(assert(recording.open "lpfm.data"), 1))
function samples.process(self, life)
   if self.sources then
      local part, own = self:part_at(life)
      return samples.process(part.self, own)
   end
   local ran, pid = self:programs(), programs.pid(life)
   return render.printable(ran and ran:name(life) or self.comms[pid] or (pid == 0 and IDLE) or "?")
end

--- Returns the life of a sample's process at the time of the sample.
-- @tparam table self of `recording.open`
-- @number pid
-- @number tstamp ns
-- @treturn number pid itself, where the recording does not know
-- @usage print(require("pfm.recording.samples").life(assert(recording.open "lpfm.data"), 7, 0))
function samples.life(self, pid, tstamp)
   local ran = self:programs()
   return ran and ran.lives:at(pid, tstamp) or pid
end

--- Returns a number that stands for a sample's thread under the name that it had at the time.
-- @tparam table self of `recording.open`
-- @number tid
-- @number tstamp ns
-- @treturn number for `samples.comm`
-- @usage print(require("pfm.recording.samples").thread(assert(recording.open "lpfm.data"), 7, 0))
function samples.thread(self, tid, tstamp)
   local ran = self:programs()
   return ran and ran.threads:at(tid, tstamp) or tid
end

--- Returns the CPU that a sample was taken on.
-- @tparam table self of `recording.open`
-- @number cpu as the sample has it
-- @number life of its process
-- @treturn ?number nil: its recording does not say
-- @usage print(require("pfm.recording.samples").cpu(assert(recording.open "lpfm.data"), 0, 7))
function samples.cpu(self, cpu, life)
   local own = self.sources and self:part_at(life).self or self
   return not own.head.no_cpu and cpu or nil
end

--- Raises an error if the samples of a recording, or of one of several, have no times: in place of
-- their times they have numbers that only say their order.
-- @tparam table self of `recording.open`
-- @raise
-- @usage require("pfm.recording.samples").need_times(assert(recording.open "lpfm.data"))
function samples.need_times(self)
   for _, source in ipairs(self.sources or { self }) do
      if source.head.no_time then fail("the samples in %s have no times", source.path) end
   end
end

--- Says where the recording of a sample comes from.
-- @tparam table self of `recording.open`
-- @number life of its process
-- @treturn table see `pfm.recording.origin`
-- @usage print(require("pfm.recording.samples").origin(assert(recording.open "lpfm.data"), 7).host)
function samples.origin(self, life)
   if self.sources then return (self:part_at(life)).from end
   self.from = self.from or origin.of(self)
   return self.from
end

--- Returns the event that a sample is of.
-- @tparam table self of `recording.open`
-- @number pmd the PMD that overflowed
-- @number[opt=0] set
-- @treturn table of the recording's `head.events`, or nil
-- @usage require("pfm.recording.samples").event(assert(recording.open "lpfm.data"), 65).name
function samples.event(self, pmd, set)
   if not self.event_at then
      self.event_at = {}
      for _, e in ipairs(self.head.events) do self.event_at[layout.place(e.pmd, e.set)] = e end
   end
   return self.event_at[layout.place(pmd, set)] or self.event_at[pmd]
end

--- Returns the name of the event that a sample is of.
-- @tparam table self of `recording.open`
-- @number pmd
-- @number[opt=0] set
-- @treturn string
-- @usage require("pfm.recording.samples").event_name(assert(recording.open "lpfm.data"), 65)
function samples.event_name(self, pmd, set)
   local event = samples.event(self, pmd, set)
   return event and event.name or "PMD" .. pmd
end

-- Returns what a sample stands for: the fixed period, or else the period that ended with it.
local function period_of(self, event, s)
   return self.head.fixed and event and event.period or -s.last_reset
end

-- Returns the names of the values in an event's samples.
local function value_names(self, event)
   local by_pmd, list = {}, {}
   for i, e in ipairs(self.head.with or {}) do by_pmd[e.pmd], list[i] = e.name, e.pmd end
   local names = {}
   for i, pmd in ipairs(event and event.values or list) do names[i] = by_pmd[pmd] or "PMD" .. pmd end
   return names
end

-- Adds a sample's values by name; with call stacks, the last value is the number of the stack.
local function with_values(self, s, raw, names, resolver)
   for i, name in ipairs(names) do s[name] = raw.values[i] end
   if self.branches and s.branches then s.branches = self.branches[s.branches] or "" end
   if self.traces and s.trace then s.trace = self.traces:text(s.trace, resolver) end
   if self:has_stacks() then s.stack = tonumber(raw.values[#names + 1]) or 0 end
   return s
end

--- Returns the values recorded with a sample.
-- @tparam table self of `recording.open`
-- @tparam table raw the sample, of `lpfm.samples.each`
-- @tparam[opt] table resolver of `embedded_symbols.resolver`, for functions of the kernel in what
-- tracepoints say
-- @treturn table by name
-- @usage
-- local samples, s = require "pfm.recording.samples", assert(recording.open "lpfm.data")
-- for raw in require("lpfm.samples").each(s:each_block()(), s:sizes()) do print(next(samples.values(s, raw))) end
function samples.values(self, raw, resolver)
   local names = value_names(self, samples.event(self, raw.ovfl_pmd, raw.set))
   return with_values(self, {}, raw, names, resolver)
end

-- Returns the blocks, sorted by the times of their first samples.
local function in_order(self, read, sizes)
   local list = {}
   for i = 1, #self.blocks do
      local raw = stored.each(read(i), sizes)()
      if raw then list[#list + 1] = { i = i, time = raw.tstamp } end
   end
   table.sort(list, tables.by("time", "i"))
   return list
end

-- Inserts into a list that is sorted by time, the latest first.
local function insert(list, one)
   local at = #list + 1
   while at > 1 and list[at - 1].raw.tstamp < one.raw.tstamp do at = at - 1 end
   table.insert(list, at, one)
end

--- Iterates over the samples of one recording in the order of time, as they are in its blocks. A
-- block has the samples of one context in order; blocks of several contexts overlap.
-- @tparam table self of `recording.open`; if it has a function `progress`, that is called now and
-- then with the number of samples read so far
-- @return an iterator of what `lpfm.samples.each` gives
-- @usage
-- local samples = require "pfm.recording.samples"
-- for raw in samples.each_raw(assert(recording.open "lpfm.data")) do print(raw.tstamp, raw.tid) end
function samples.each_raw(self)
   local read, sizes, n, next_block = self:block_reader(), self:sizes(), 0, 1
   local list = in_order(self, read, sizes)
   local open = {} -- blocks with samples left, the one with the next sample last
   return function()
      while list[next_block] and (#open == 0 or list[next_block].time <= open[#open].raw.tstamp) do
         local next_raw = stored.each(read(list[next_block].i), sizes)
         insert(open, { raw = next_raw(), next = next_raw })
         next_block = next_block + 1
         if self.progress then self.progress(n) end
      end
      local one = table.remove(open)
      if not one then
         read()
         return nil
      end
      local raw = one.raw
      one.raw = one.next()
      if one.raw then insert(open, one) end
      n = n + 1
      return raw
   end
end

-- Iterates over many recordings one after the other, with the common numbers and times.
local function each_of_all(self, resolver, only)
   local i, next_sample, part = 0, nil, nil
   local own = { resolve = function(_, life, address) return resolver:resolve(life + part.first * LIFE, address) end }
   return function()
      while true do
         local s = next_sample and next_sample()
         if s then
            s.life, s.thread = s.life + part.first * LIFE, s.tid + part.first * LIFE
            s.time = s.time and s.time + part.shift / 1e9
            if (s.stack or 0) > 0 then s.stack = s.stack + part.stacks end
            for name, value in pairs(part.from) do s[name] = value end
            return s
         end
         i = i + 1
         part = self.parts[i]
         if not part then return nil end
         part.self.progress, next_sample = self.progress, samples.each(part.self, own, only)
      end
   end
end

--- Iterates over the samples in the order of time; of many recordings, one after the other.
-- @tparam table self of `recording.open`; if it has a function `progress`, that is called now and
-- then with the number of samples read so far
-- @tparam[opt] table resolver of `embedded_symbols.resolver`
-- @string[opt] only the name of an event: visit its samples only
-- @return an iterator of tables: `event`, `time` (s; nil if the recording has no times), `pid`,
-- `tid`, `comm`, `process` (the name of the process), `cpu` (nil if the recording has no CPUs),
-- `address`, `period`, `set`, `symbol`, `offset`, `object`, `where` (for `symbols.line` and
-- `symbols.frames`), and by their names the values recorded with it; `stack`, the number of its
-- stack; `life`, the process in the life that it had then; `thread`, the number of the thread among
-- those of all recordings; where the recording comes from: the fields of `origin.of`
-- @usage
-- local samples = require "pfm.recording.samples"
-- for s in samples.each(assert(recording.open "lpfm.data")) do print(s.time, s.comm, s.symbol) end
function samples.each(self, resolver, only)
   resolver = resolver or embedded_symbols.resolver(self)
   if self.sources then return each_of_all(self, resolver, only) end
   local next_raw, names, from, timed = samples.each_raw(self), {}, samples.origin(self), not self.head.no_time
   return function()
      local raw, event = next_raw(), nil
      while raw do
         event = samples.event(self, raw.ovfl_pmd, raw.set)
         if not only or (event and event.name == only) then break end
         raw = next_raw()
      end
      if not raw then return nil end
      local time = timed and raw.tstamp / 1e9 or nil
      local key, life = event or raw.ovfl_pmd, samples.life(self, raw.pid, raw.tstamp)
      local where = resolver:resolve(life, raw.ip)
      names[key] = names[key] or value_names(self, event)
      return with_values(self, {
         event = event and event.name or "PMD" .. raw.ovfl_pmd, time = time, pid = raw.pid, tid = raw.tid,
         set = raw.set, life = life, comm = samples.comm(self, samples.thread(self, raw.tid, raw.tstamp), life),
         process = samples.process(self, life), cpu = samples.cpu(self, raw.cpu, life),
         address = raw.ip, period = period_of(self, event, raw), symbol = render.printable(where.func),
         offset = where.offset, object = render.printable(where.object), where = where, thread = raw.tid,
         rank = from.rank, host = from.host, node = from.node, job = from.job, step = from.step,
         recording = from.recording,
      }, raw, names[key], resolver)
   end
end

return samples
