-- SPDX-License-Identifier: MIT
--- The samples of a file of perf, as blocks of a recording.
-- @module pfm.recording.perfdata.samples

local stored = require "lpfm.samples"
local layout = require "pfm.recording.layout"
local objects = require "lpfm.symbols"
local records = require "pfm.recording.perfdata.records"

local samples = {}

local EXACT = 2 ^ 53
local BLOCK = 4096                          -- samples
local GUEST = 3                             -- from this CPU mode on: hypervisors and guests
local CURRENT, WORD = 2, 8                  -- PERF_SAMPLE_REGS_ABI_64; bytes
local BRANCH = 24                           -- bytes of an entry of a branch stack: from, to, flags

local count, each = records.count, records.each

-- Samples and records without times are ordered as in the file.
local function time_of(self, sample)
   return self.fields.time and sample.time or sample.order
end

-- --- call stacks ---------------------------------------------------------------------------------

local ORDER = { FORK = 1, EXEC = 2, MAP = 3 } -- the order of records with the same time

-- Returns the records of what processes had mapped, in the order of time.
local function mapped_in_order(rows)
   local list, at = {}, {}
   for i, row in ipairs(rows) do
      if ORDER[row[1]] then list[#list + 1], at[row] = row, i end
   end
   table.sort(list, function(a, b)
      if a[2] ~= b[2] then return a[2] < b[2] end
      if a[1] ~= b[1] then return ORDER[a[1]] < ORDER[b[1]] end
      return at[a] < at[b]
   end)
   return list
end

local note = {}

function note.FORK(unwinder, row)
   if row[3] ~= row[5] then unwinder:fork(row[3], row[2], row[5]) end
end

function note.EXEC(unwinder, row)
   unwinder:exec(row[3], row[2])
end

-- An object that is not on this machine as it was recorded gets no path: nothing is unwound by
-- another build.
function note.MAP(unwinder, row, recording)
   local path = recording.elsewhere[row[8]] or not recording.symbols[row[8]] and row[8] or ""
   if row[6] > EXACT or row[7] > EXACT then return end
   unwinder:maps(row[3], row[2], { { row[5], row[6], row[7], path } })
end

local function make_unwinder(recording)
   local unwinder = objects.unwinder()
   for _, row in ipairs(mapped_in_order(recording.records)) do note[row[1]](unwinder, row, recording) end
   return unwinder
end

-- Returns the kernel's frames, which come first in a chain.
local function kernel_part(chain)
   local n = 0
   while chain:byte(n + WORD) and chain:byte(n + WORD) >= 128 do n = n + WORD end
   return chain:sub(1, n)
end

-- Returns the frames as words of 64 bits, the innermost first.
local function frames_of(self, sample, event)
   local chain = sample.chain or ""
   if sample.cookie then
      local user = self.deferred[sample.cookie]
      if not user then count(self, "halved") end
      return chain .. (user or "")
   end
   if not sample.stack then return chain end
   if sample.regs_abi ~= CURRENT then
      count(self, "narrow")
      return chain
   end
   if not self.can_unwind or event.regs ~= self.can_unwind then
      count(self, "foreign")
      return chain
   end
   self.unwinder = self.unwinder or make_unwinder(self.recording)
   local unwound = self.unwinder:frames(sample.regs, sample.stack, "", sample.pid % 2 ^ 32, time_of(self, sample))
   return unwound ~= "" and kernel_part(chain) .. unwound or chain
end

-- --- branches ------------------------------------------------------------------------------------

-- Returns a word of 64 bits in hexadecimal.
local function hex(text, at)
   local out, big = {}, require("lpfm.chunks").byte_order == "big"
   for i = 0, WORD - 1 do out[i + 1] = ("%02x"):format(text:byte(big and at + i or at + WORD - 1 - i)) end
   return (table.concat(out):gsub("^0+(%x)", "%1"))
end

local function mark(flags, bit, letter)
   return math.floor(flags / bit) % 2 == 1 and letter or "-"
end

-- Returns the flags of a branch as perf script prints them: M or P, X, A, and the cycles since the
-- last branch.
local function describe(flags)
   local missed = mark(flags, 1, "M")
   return ("%s/%s/%s/%d"):format(missed ~= "-" and missed or mark(flags, 2, "P"), mark(flags, 4, "X"),
      mark(flags, 8, "A"), math.floor(flags / 16) % 65536)
end

-- Returns the branches before a sample, in words, as `perf script -F brstack` prints them:
-- "0xFROM/0xTO/P/-/-/CYCLES ...": M mispredicted, P predicted, X in a transaction, A an abort.
local function branches_text(text)
   local out = {}
   for at = 1, #text, BRANCH do
      local flags = tonumber(hex(text, at + 2 * WORD):sub(-8), 16)
      out[#out + 1] = ("0x%s/0x%s/%s"):format(hex(text, at), hex(text, at + WORD), describe(flags))
   end
   return table.concat(out, " ")
end

-- --- samples -------------------------------------------------------------------------------------

-- Returns the number of a branch stack among those of all samples, from 1; 0 if a sample has none.
local function branches_of(self, sample)
   local words = sample.branches
   if not words then return 0 end
   local list = self.recording.branches
   if not self.seen[words] then
      list[#list + 1] = branches_text(words)
      self.seen[words] = #list
   end
   return self.seen[words]
end

-- Returns the number of a tracepoint's data, from 1; 0 if the sample is of another event.
local function trace_of(self, sample)
   local id = self.events[sample.attr].tracepoint
   return id and sample.raw and self.recording.traces:add(id, sample.raw) or 0
end

local function keep(self, sample, number, period)
   local event = self.events[number]
   if period > EXACT or sample.time > EXACT then return count(self, "unsound") end
   if number > layout.EVENTS then
      self.crowd[event.name] = (self.crowd[event.name] or 0) + 1
      return
   end
   event.pmd = number - 1
   self.has_values = self.has_values or sample.has_values or sample.branches
   local more = {}
   if self.has_branches then more[1] = branches_of(self, sample) end
   if self.recording.traces then more[#more + 1] = trace_of(self, sample) end
   if self.has_stacks then
      more[#more + 1] = self.recording.stack_table:add(frames_of(self, sample, self.events[sample.attr]))
   end
   local n = #self.samples + 1
   local time = time_of(self, sample)
   self.samples[n], self.times[n] = self.file:encode(event.pmd, period, more, time), time
   self.out_of_order = self.out_of_order or (n > 1 and time < self.times[n - 1])
end

-- Keeps a sample that has the values of several counters: as a sample of each counter that has
-- counted since the sample before.
local function keep_counts(self, sample)
   local of_thread = self.events[sample.attr].inherit and sample.tid or 0
   for _, counted in ipairs(sample.counts) do
      local number = self.file:event_of(counted[1]) or (#self.events == 1 and 1)
      if number then
         local key = counted[1] .. " " .. of_thread
         local grown = counted[2] - (self.counted[key] or 0)
         self.counted[key] = counted[2]
         if grown > 0 then keep(self, sample, number, grown) end
      else
         count(self, "unsound")
      end
   end
end

local function read_samples(self)
   for sample in each(self, "samples") do
      if sample.misc % 8 >= GUEST then
         count(self, "guests")
      elseif sample.counts then
         keep_counts(self, sample)
      else
         keep(self, sample, sample.attr, sample.period)
      end
   end
end

-- Sorts samples by time; those with the same time stay in the file's order.
local function sort_samples(self)
   if not self.out_of_order then return end
   local order, sorted, times = {}, {}, self.times
   for i = 1, #self.samples do order[i] = i end
   table.sort(order, function(a, b)
      if times[a] ~= times[b] then return times[a] < times[b] end
      return a < b
   end)
   for i, at in ipairs(order) do sorted[i] = self.samples[at] end
   self.samples = sorted
end

--- Reads the samples into the blocks of `self.recording`, with their stacks.
-- @tparam table self the reader's state, see `pfm.recording.perfdata.records`
function samples.read(self)
   read_samples(self)
   sort_samples(self)
   for first = 1, #self.samples, BLOCK do
      local last = math.min(first + BLOCK - 1, #self.samples)
      local body = table.concat(self.samples, "", first, last)
      table.insert(self.recording.blocks, stored.head(last - first + 1, #body) .. body)
   end
end

return samples
