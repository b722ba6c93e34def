-- SPDX-License-Identifier: MIT
--- The samples of a recording one by one, with names.
-- @module pfm.samples

local blocks = require "lpfm.blocks"
local store = require "pfm.store"

local samples = {}

--- What runs where nothing runs.
local IDLE = "(idle)"

--- The name of a thread.
-- @tparam table self session
-- @number tid
-- @number pid its process
-- @treturn string "?" where it is not known
function samples.comm(self, tid, pid)
   return self.comms[tid] or (tid == 0 and IDLE) or self.comms[pid] or "?"
end

--- The events of a recording by their PMD.
-- @tparam table self session
-- @treturn table of `name`, `unit`, `period`, `pmd`
function samples.events(self)
   local out = {}
   for _, e in ipairs(self.head.events) do out[e.pmd] = e end
   return out
end

-- Of samples that were taken each `period`, what they stand for; of others the period that ended with them.
local function period_of(self, event, s)
   return self.head.fixed and event and event.period or -s.last_reset
end

local function with_values(self, s, raw)
   for i, e in ipairs(self.head.with or {}) do s[e.name] = raw.values[i] end
   return s
end

local function pmd_of(self, name)
   for _, e in ipairs(self.head.events) do
      if e.name == name then return e.pmd end
   end
end

-- Samples of all blocks, as they are; of one PMD if only is given.
local function each_raw(next_block, sizes, only)
   local next_raw
   return function()
      while true do
         local raw = next_raw and next_raw()
         if raw and raw.pmd == (only or raw.pmd) then return raw end
         if not raw then
            local block = next_block()
            if not block then return nil end
            next_raw = blocks.each(block, sizes)
         end
      end
   end
end

--- Iterates over the samples in the order of their recording.
-- @tparam table self of `session.open`
-- @tparam[opt] table resolver of `store.resolver`
-- @string[opt] only the name of an event: no other's samples
-- @return an iterator of tables: `event`, `time` (s), `pid`, `tid`, `comm`, `process` (its name), `cpu`, `address`,
-- `period`, `symbol`, `offset`, `object`, `where` (for `symbols.line` and `symbols.frames`), and by their names the
-- values recorded with it
-- @usage for s in samples.each(assert(session.open "lpfm.data")) do print(s.time, s.comm, s.symbol) end
function samples.each(self, resolver, only)
   resolver = resolver or store.resolver(self)
   local events, sizes = samples.events(self), self:sizes()
   local next_raw = each_raw(self:each_block(), sizes, only and pmd_of(self, only))
   return function()
      local raw = next_raw()
      if not raw then return nil end
      local event, where = events[raw.pmd], resolver:resolve(raw.pid, raw.ip)
      return with_values(self, {
         event = event and event.name or tostring(raw.pmd), time = raw.tstamp / 1e9, pid = raw.pid, tid = raw.tid,
         comm = samples.comm(self, raw.tid, raw.pid), process = samples.comm(self, raw.pid, raw.pid), cpu = raw.cpu,
         address = raw.ip, period = period_of(self, event, raw), symbol = where.func, offset = where.offset,
         object = where.object, where = where,
      }, raw)
   end
end

return samples
