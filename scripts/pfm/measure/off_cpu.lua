-- SPDX-License-Identifier: MIT
--- Where threads wait: samples of switches, each weighted with the time until the thread was back.
--
-- A sample of context-switches is taken where its thread leaves the CPU. It is kept until a SWITCH
-- record tells when the thread is back; the time between is what the sample stands for. If a record
-- between them may be missing, the sample is dropped and counted as unknown. Threads that were not
-- back when the recording ended have the event still-off-cpu.
-- @module pfm.measure.off_cpu

local layout = require "pfm.recording.layout"
local stored = require "lpfm.samples"
local tables = require "pfm.util.tables"

local off_cpu = {}
off_cpu.__index = off_cpu

local IDLE, NOBODY = 0, 2 ^ 32 - 1 -- thread ids that do not wait: a CPU's idle task; ended threads

--- The event that is sampled to find waits.
off_cpu.SAMPLED = "context-switches/period=1/"

--- The events that samples of SAMPLED become, in the form of the list in a recording's head.
off_cpu.events = {
   { name = "off-cpu", pmd = layout.PMDS - 2, unit = "ns", weighted = true },
   { name = "preempted", pmd = layout.PMDS - 3, unit = "ns", weighted = true },
   { name = "still-off-cpu", pmd = layout.PMDS - 4, unit = "ns", weighted = true },
}
local WAITED, PREEMPTED, STILL = off_cpu.events[1].pmd, off_cpu.events[2].pmd, off_cpu.events[3].pmd

--- Starts an account of waits.
-- @int pmd that counts context switches
-- @tparam table sizes by PMD, how many values its samples have
-- @bool[opt] on_exec nothing is sampled before the first exec
-- @treturn table with counts so far: `waited`, `preempted`, `still` (samples), `unknown` (samples
-- without a known end), `unseen` (waits without a sample), `earlier` (threads that left the CPU
-- before the recording began, and came back)
-- @usage print(require("pfm.measure.off_cpu").new(69, { [69] = 1 }).waited) --> 0
function off_cpu.new(pmd, sizes, on_exec)
   return setmetatable({ pmd = pmd, sizes = sizes, size = stored.entry_size + 8 * sizes[pmd], queue = {}, away = {},
      seen = {}, gone = {}, earlier = 0,
      waited = 0, preempted = 0, still = 0, unknown = 0, unseen = 0, ended = 0, began = not on_exec }, off_cpu)
end

-- --- records and samples -------------------------------------------------------------------------

-- The order of records with the same time: lost ones first, and a thread's sample before the record
-- of the same switch.
local ORDER = { LOST = 1, EXIT = 2, FORK = 3, EXEC = 3, SAMPLE = 4, out = 5, preempted = 5, ["in"] = 6 }

local function enqueue(self, time, what, tid, sample)
   if tid == IDLE or tid == NOBODY then return end
   self.queue[#self.queue + 1] = { time = time, what = what, tid = tid, sample = sample, order = ORDER[what],
      i = #self.queue }
end

--- Takes the samples of context switches out of a block, and keeps them.
-- @string samples their bytes
-- @int n how many
-- @treturn string the others
-- @treturn int how many
-- @usage print(require("pfm.measure.off_cpu").new(69, { [69] = 1 }):take("", 0)) --> "" 0
function off_cpu:take(samples, n)
   local others, i = {}, 0
   for s in stored.each(stored.head(n, #samples) .. samples, self.sizes) do
      if s.ovfl_pmd == self.pmd then
         enqueue(self, s.tstamp, "SAMPLE", s.tid, s)
      else
         others[#others + 1] = samples:sub(i * self.size + 1, (i + 1) * self.size)
      end
      i = i + 1
   end
   return table.concat(others), #others
end

--- Notes what a record says of where threads are.
-- @tparam table r of `buffer:records`
-- @usage require("pfm.measure.off_cpu").new(69, { [69] = 1 }):record { kind = "EXIT", tid = 7, tstamp = 1 }
function off_cpu:record(r)
   if r.kind == "SWITCH" then
      enqueue(self, r.tstamp, r.how, r.tid)
   elseif r.kind == "EXIT" or r.kind == "FORK" or r.kind == "EXEC" then
      enqueue(self, r.tstamp, r.kind, r.tid)
   elseif r.kind == "LOST" and (r.why == "source" or r.why == "records") then
      self.queue[#self.queue + 1] = { time = r.tstamp, what = "LOST", order = ORDER.LOST, i = #self.queue }
   end
end

--- Notes that nothing is observed any more.
-- @int time ns
-- @usage require("pfm.measure.off_cpu").new(69, { [69] = 1 }):stopped(5)
function off_cpu:stopped(time)
   self.ended = math.max(self.ended, time)
end

-- --- finding the waits ---------------------------------------------------------------------------

local function put(out, s, pmd, waited)
   out[#out + 1] = { time = s.tstamp, bytes = stored.sample({ ip = s.ip, tid = s.tid, pid = s.pid, cpu = s.cpu,
      ovfl_pmd = pmd, last_reset = -waited, tstamp = s.tstamp }, s.values) }
end

-- Forgets a thread's switch away from the CPU when its return was not recorded.
local function forget(self, tid)
   local its = self.away[tid]
   if its and its.sample then self.unknown = self.unknown + 1 end
   if its and not its.sample then self.unseen = self.unseen + 1 end
   self.away[tid] = nil
end

local step = {}

-- A lost record may be a thread's return and its next departure: all threads that are away are
-- forgotten.
function step.LOST(self)
   for _, tid in ipairs(tables.keys(self.away)) do forget(self, tid) end
end

-- A thread that ends is running. A little later it leaves the CPU for the last time, which is no
-- wait: further samples and switches of it are ignored, until there is a new thread of that id.
function step.EXIT(self, e)
   forget(self, e.tid)
   self.gone[e.tid] = true
end

function step.FORK(self, e)
   self.away[e.tid], self.gone[e.tid], self.seen[e.tid] = nil, nil, true
end

function step.EXEC(self, e)
   self.began, self.seen[e.tid] = true, true
end

function step.SAMPLE(self, e)
   if self.gone[e.tid] then return end
   forget(self, e.tid)
   self.away[e.tid], self.seen[e.tid] = { sample = e.sample }, true
end

function step.out(self, e)
   local its = self.away[e.tid]
   if self.gone[e.tid] then return end
   if not its or its.how then
      forget(self, e.tid)
      its = {}
      self.away[e.tid] = its
   end
   its.how = e.what
end
step.preempted = step.out

step["in"] = function(self, e, out)
   local its = self.away[e.tid]
   if not its and not self.seen[e.tid] then self.earlier = self.earlier + 1 end
   self.seen[e.tid] = true
   if not (its and its.sample and its.how) then return forget(self, e.tid) end
   local preempted = its.how == "preempted"
   local count = preempted and "preempted" or "waited"
   self[count] = self[count] + 1
   put(out, its.sample, preempted and PREEMPTED or WAITED, e.time - its.sample.tstamp)
   self.away[e.tid] = nil
end

-- Adds samples of the threads that do not run again: how long they were away when the recording
-- ended.
local function put_still(self, out)
   for tid, its in pairs(self.away) do
      if its.sample and its.how then
         self.still = self.still + 1
         put(out, its.sample, STILL, math.max(0, self.ended - its.sample.tstamp))
         self.away[tid] = nil
      end
   end
   step.LOST(self)
end

--- Renumbers the call stacks of the samples that are kept.
-- @func renumber gets a stack's number, returns the new one
-- @usage require("pfm.measure.off_cpu").new(69, { [69] = 1 }):renumber(function(number) return number end)
function off_cpu:renumber(renumber)
   local function change(its)
      local values = its.sample and its.sample.values
      if values then values[#values] = renumber(values[#values]) end
   end
   for _, e in ipairs(self.queue) do change(e) end
   for _, its in pairs(self.away) do change(its) end
end

--- Returns the samples of the threads that run again.
-- @int[opt] time ns: everything up to then has come; nil: all, with those of threads that do not
-- run again
-- @treturn string bytes
-- @treturn int how many
-- @usage print(require("pfm.measure.off_cpu").new(69, { [69] = 1 }):finished()) --> "" 0
function off_cpu:finished(time)
   local queue, out, n = self.queue, {}, 0
   table.sort(queue, tables.by("time", "order", "i"))
   for _, e in ipairs(queue) do
      if time and e.time > time then break end
      if self.began or e.what == "EXEC" then step[e.what](self, e, out) end
      n = n + 1
   end
   self.queue = {}
   for i = n + 1, #queue do
      self.queue[i - n] = queue[i]
      queue[i].i = i - n - 1
   end
   if not time then put_still(self, out) end
   table.sort(out, function(a, b) return a.time < b.time end)
   for i, s in ipairs(out) do out[i] = s.bytes end
   return table.concat(out), #out
end

return off_cpu
