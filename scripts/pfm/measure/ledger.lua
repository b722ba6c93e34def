-- SPDX-License-Identifier: MIT
--- What each thread of a command counted: an inheriting context writes it into its buffer when the thread ends.
-- @module pfm.measure.ledger

local ledger = {}
ledger.__index = ledger

local BUFFER, REGIONS = 4 * 2 ^ 20, 4

--- Arguments of `lpfm.create` for a context with such a buffer.
-- @treturn table
-- @usage print(require("pfm.measure.ledger").create_args().format) --> stack
function ledger.create_args()
   return { format = "stack", buf_size = BUFFER, regions = REGIONS, max_frames = 1,
      buf_flags = { "NO_KERNEL", "NO_USER", "RECORDS" } }
end

--- A ledger of the command that a subject is.
-- @tparam table subject of `pfm.measure`, its context loaded
-- @treturn table
-- @usage
-- local ledger = require "pfm.measure.ledger"
-- local ctx = assert(lpfm.create(ledger.create_args()))
-- print(#ledger.new({ tid = 7, pid = 7, ctx = ctx }).rows)
-- ctx:close()
function ledger.new(subject)
   local first = { tid = subject.tid, pid = subject.pid, counts = {} }
   return setmetatable({ ctx = subject.ctx, buffer = subject.ctx:buffer(), rows = { first },
      by_tid = { [subject.tid] = first }, names = {}, lost = 0 }, ledger)
end

local take = {}

function take.FORK(self, r)
   local row = { tid = r.tid, pid = r.pid, counts = {}, comm = (self.by_tid[r.ptid] or {}).comm }
   self.rows[#self.rows + 1], self.by_tid[r.tid] = row, row
end

function take.EXEC(self, r)
   local row = self.by_tid[r.tid]
   if row then row.comm = r.comm end
end
take.RENAME = take.EXEC

function take.COUNT(self, r)
   local counts = (self.by_tid[r.tid] or {}).counts
   if counts then counts[r.num] = (counts[r.num] or 0) + r.value end
end

function take.LOST(self, r)
   if r.why == "records" then self.lost = self.lost + r.count end
end

local function read_region(self, ahead)
   for r, to in self.buffer:records(self.from, ahead) do
      self.from = to
      if take[r.kind] then take[r.kind](self, r) end
   end
end

--- Reads what came since the last time.
-- @bool[opt] all the context counts no more
function ledger:read(all)
   local ahead = 0
   while self.buffer:header(ahead) do
      local full = self.buffer:header(ahead).full
      read_region(self, ahead)
      if not full then return end
      self.from = nil
      if all then ahead = ahead + 1 elseif not self.ctx:restart() then return end
   end
end

--- The counts of the thread that the command began with, by what is left of the sums.
-- @tparam table sums by PMD
function ledger:settle(sums)
   local first = self.rows[1]
   for num, sum in pairs(sums) do first.counts[num] = sum end
   for i = 2, #self.rows do
      for num, n in pairs(self.rows[i].counts) do first.counts[num] = (first.counts[num] or 0) - n end
   end
end

return ledger
