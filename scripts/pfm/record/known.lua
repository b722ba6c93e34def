-- SPDX-License-Identifier: MIT
--- What a recorder knows of programs: each further file of a recording begins with it.
-- @module pfm.record.known

local host = require "pfm.measure.host"
local tables = require "pfm.util.tables"

local known = {}
known.__index = known

--- Makes an object that knows nothing yet.
-- @treturn known
-- @usage print(#require("pfm.record.known").new():rest().records) --> 0
function known.new()
   return setmetatable({ maps = {}, names = {}, records = {}, gone = {} }, known)
end

local PID = 3 -- index of the pid in a row of `pfm.recording.programs`

--- Adds mappings of a process, as a MAPS chunk has them.
function known:add_maps(row)
   self.maps[#self.maps + 1] = row
end

--- Adds the name of a thread, as a COMM chunk has it.
function known:add_name(row)
   self.names[#self.names + 1] = row
end

--- Adds records of what programs did.
-- @tparam table rows of `pfm.recording.programs`
function known:add_records(rows)
   for _, row in ipairs(rows) do
      if row[1] ~= "LOST" then self.records[#self.records + 1] = row end
   end
end

-- Returns the set of processes that still matter: those that live, or lived at the last look
-- (samples of one that has just ended may still come); and parents of these, since a forked process
-- has its parent's mappings until it executes something.
local function needed(self)
   local out, gone, process_of = {}, {}, host.now().process_of
   local function look(pid)
      if out[pid] ~= nil then return end
      local is_gone = not process_of(pid)
      out[pid] = not (is_gone and self.gone[pid])
      gone[pid] = is_gone
   end
   for _, row in ipairs(self.maps) do look(row.pid) end
   for _, row in ipairs(self.names) do look(row.pid) end
   for _, row in ipairs(self.records) do look(row[PID]) end
   for i = #self.records, 1, -1 do
      local row = self.records[i]
      if row[1] == "FORK" and out[row[PID]] then out[row[5]] = true end
   end
   self.gone = gone
   return out
end

local function filter(list, is_needed)
   return tables.filter(list, is_needed)
end

--- Forgets what is no longer of use: an ended process at the second call after its end.
-- @treturn known itself, with `maps`, `names` and `records`
-- @usage local its = require("pfm.record.known").new()
-- its:add_records { { "EXIT", 5, 2 ^ 22 + 1, 2 ^ 22 + 1 } }
-- print(#its:rest().records, #its:rest().records) --> 1 0
function known:rest()
   local is = needed(self)
   self.maps = filter(self.maps, function(row) return is[row.pid] end)
   self.names = filter(self.names, function(row) return is[row.pid] end)
   self.records = filter(self.records, function(row) return is[row[PID]] end)
   return self
end

return known
