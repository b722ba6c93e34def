-- SPDX-License-Identifier: MIT
--- Single samples by the filters of `pfm.analyze.by`.
-- @module pfm.analyze.filter

local origin = require "pfm.recording.origin"
local columns = require "pfm.analyze.columns"
local symbols = require "pfm.symbols"

local filter = {}

local function base_name(path)
   return path:match("([^/]+)$") or path
end

-- What a filter is compared with.
local cells = {
   symbol = function(s) return s.symbol, symbols.source_name(s.symbol) end,
   object = function(s) return base_name(s.object), base_name(s.where.path or s.object) end,
   comm = function(s) return s.comm end, event = function(s) return s.event end,
   tid = function(s) return tostring(s.tid) end, pid = function(s) return tostring(s.pid) end,
   cpu = function(s) return tostring(s.cpu) end,
}

local function values_in(text)
   local out = {}
   for value in (tostring(text) .. ","):gmatch("%s*([^,]*)%s*,") do out[value] = true end
   return out
end

--- A test for samples of `pfm.recording.samples`.
-- @tparam table self of `recording.open`
-- @tparam table wanted as `options.filter` of `analyze.by`, without `set`
-- @treturn function `(sample)`: does it pass?
-- @raise on times that are none
-- @usage require("pfm.analyze.filter").test(assert(recording.open "lpfm.data"), { cpu = "0,1" })
function filter.test(self, wanted)
   local tests, during = {}, nil
   for name in pairs(cells) do tests[name] = wanted[name] and values_in(wanted[name]) end
   local chooses = origin.chooses(wanted)
   if wanted.from or wanted.to then during = columns.during(self, wanted.from, wanted.to) end
   return function(s)
      if during and (s.time * 1e9 < during[2] or s.time * 1e9 > during[3]) then return false end
      if chooses and not origin.matches(s, wanted) then return false end
      for name, values in pairs(tests) do
         local text, other = cells[name](s)
         if not values[text] and not values[other or text] then return false end
      end
      return true
   end
end

return filter
