-- SPDX-License-Identifier: MIT
--- What each thread of a command counted: an inheriting context writes it into its buffer when the
-- thread ends.
-- @module pfm.measure.ledger

local lpfm = require "lpfm"
local expect = require "pfm.util.expect"
local host = require "pfm.measure.host"
local text_file = require "pfm.util.text_file"

local ledger = {}
ledger.__index = ledger

local BUFFER, REGIONS = 4 * 2 ^ 20, 4

--- Returns arguments of `lpfm.create` for a context with a buffer for counts of threads that end.
-- @treturn table
-- @usage print(require("pfm.measure.ledger").create_args().format) --> stack
function ledger.create_args()
   return { format = "stack", buf_size = BUFFER, regions = REGIONS, max_frames = 1,
      buf_flags = { "NO_KERNEL", "NO_USER", "RECORDS" } }
end

-- Returns the nearest ancestor that has counters open: this process and its commands may have
-- inherited them. readlink() of luaposix does not read the links in /proc/PID/fd.
local function measured_by()
   local ancestors, pid = {}, "self"
   repeat
      pid = tonumber((text_file.all(("/proc/%s/status"):format(pid)) or ""):match("\nPPid:%s*(%d+)"))
      ancestors[#ancestors + 1] = pid
   until not pid or pid == 0
   local pipe = assert(io.popen(([[for pid in %s; do
      if ls -l /proc/$pid/fd 2>/dev/null | grep -qF '[perf_event]'; then echo $pid; fi
   done]]):format(table.concat(ancestors, " "))))
   local nearest = pipe:read("*n")
   pipe:close()
   return nearest
end

--- Makes the ledger of a command.
-- @tparam table subject of `pfm.measure`, its context loaded
-- @treturn table
-- @usage
-- local ledger = require "pfm.measure.ledger"
-- local ctx = assert(lpfm.create(ledger.create_args()))
-- print(#ledger.new({ tid = 7, pid = 7, ctx = ctx }).rows)
-- ctx:close()
function ledger.new(subject)
   local first = { tid = subject.tid, pid = subject.pid, counts = {}, num_counts = 0, born = true }
   first.leader = first
   local parts = {}
   for i = 1, subject.ctx:buf_parts() do parts[i] = { buffer = expect.value(subject.ctx:buffer { part = i - 1 }) } end
   return setmetatable({ ctx = subject.ctx, parts = parts, rows = { first },
      by_tid = { [subject.tid] = first }, lost = 0,
      outer = lpfm.machine().name == "perf" and measured_by() or nil }, ledger)
end

local take = {}

local function add_row(self, r)
   local row = { tid = r.tid, pid = r.pid, counts = {}, num_counts = 0 }
   self.rows[#self.rows + 1], self.by_tid[r.tid] = row, row
   row.leader = self.by_tid[r.pid] -- of this process, not of a later one that gets the same number
   return row
end

-- A thread's other records may come before its FORK, from the ring of another CPU. If the thread
-- has had its FORK, this FORK is of a new thread that has the same ID.
function take.FORK(self, r)
   local row = self.by_tid[r.tid]
   if not row or row.born then row = add_row(self, r) end
   row.born, row.comm = true, row.comm or (self.by_tid[r.ptid] or {}).comm
end

function take.EXEC(self, r)
   (self.by_tid[r.tid] or add_row(self, r)).comm = r.comm
end
take.RENAME = take.EXEC

function take.COUNT(self, r)
   local row = self.by_tid[r.tid] or add_row(self, r)
   row.counts[r.num], row.num_counts = (row.counts[r.num] or 0) + r.value, row.num_counts + 1
   self.has_counts = true
end

function take.LOST(self, r)
   if r.why == "records" then self.lost = self.lost + r.count end
end

local function read_region(self, part, ahead)
   for r, to in part.buffer:records(part.from, ahead) do
      part.from = to
      if take[r.kind] then take[r.kind](self, r) end
   end
end

-- Reads the new records of a part of the buffer. A restart gives a full region back, unless `all`
-- is true. If the buffer has several parts, a restart does not say which part's region it gives
-- back: then the part is read up to the end of the first full region, and no restart is made.
local function read_part(self, part, all)
   local ahead = 0
   while part.buffer:header(ahead) do
      local full = part.buffer:header(ahead).full
      read_region(self, part, ahead)
      if not full then return end
      if all then ahead = ahead + 1 elseif #self.parts > 1 or not self.ctx:restart() then return end
      part.from = nil
   end
end

--- Reads the records since the last time.
-- @bool[opt] all the context has stopped: full regions of the buffer are not given back to it
function ledger:read(all)
   for _, part in ipairs(self.parts) do read_part(self, part, all) end
end

-- Splits the rows into threads of which the counts are known and others, those with the fewest
-- records first. A thread has a COUNT record for each CPU and PMD. One thread has none: the first,
-- or the one that the kernel gave its counters to. If threads end at the same time, the kernel may
-- lose or mix records (see has_record() in kernel/perf/ring.c): the counts of a thread that has
-- fewer or more records are not known.
local function split_rows(self, expected)
   local known, unknown = {}, {}
   for _, row in ipairs(self.rows) do
      local into = row.num_counts == expected and known or unknown
      into[#into + 1] = row
   end
   table.sort(unknown, function(a, b) return a.num_counts < b.num_counts end)
   return known, unknown
end

-- When the kernel switches between two threads that have inherited the same counters, it exchanges
-- their counts, in the order of its lists of counters. Where there are counters of two tools, the
-- lists of the first thread and of others have different orders, so that counts go to wrong
-- counters, and the sums are wrong, too.
local MIXED = "the kernel may have mixed their counts with those of process %d, which measures lpfm itself"

local LOST = "the kernel lost records of them, and may have mixed others; thread %d has their counts beside its own"
local UNREPORTED =
   "this kernel does not report the counts of a thread that ends; thread %d has their counts beside its own"

--- Completes the counts from the sums: what the known counts leave of them is given to one thread
-- with unknown counts. Further threads with unknown counts are removed from the rows, and their
-- counts are in that rest, too.
-- @tparam table sums by PMD
-- @treturn int number of threads of which the counts are not known; 1 if records were lost and it
-- is not known how many
-- @treturn[opt] string why, and where their counts are
function ledger:settle(sums)
   local num_pmds = 0
   for _ in pairs(sums) do num_pmds = num_pmds + 1 end
   local known, unknown = split_rows(self, num_pmds * #host.now().cpus())
   local rest = table.remove(unknown, 1) or table.remove(known, 1)
   for num, sum in pairs(sums) do
      for _, row in ipairs(known) do sum = sum - (row.counts[num] or 0) end
      rest.counts[num] = sum
   end
   self.rows = known
   table.insert(known, 1, rest)
   if self.outer then return #known + #unknown, MIXED:format(self.outer) end
   if #unknown == 0 and self.lost == 0 then return 0 end
   return math.max(#unknown, 1), (self.has_counts and LOST or UNREPORTED):format(rest.tid)
end

return ledger
