-- SPDX-License-Identifier: MIT
--- Single samples by the filters of `pfm.analyze.by`.
-- @module pfm.analyze.filter

local origin = require "pfm.recording.origin"
local columns = require "pfm.analyze.columns"
local keys = require "pfm.analyze.keys"

local filter = {}

--- A test for samples of `pfm.recording.samples`.
-- @tparam table self of `recording.open`
-- @tparam table wanted as `options.filter` of `analyze.by`
-- @treturn function `(sample)`: does it pass?
-- @raise on times and names that are none
-- @usage require("pfm.analyze.filter").test(assert(recording.open "lpfm.data"), { cpu = "0,1" })
function filter.test(self, wanted)
   local tests, chooses, during = keys.tests(wanted), origin.chooses(wanted), nil
   if wanted.from or wanted.to then during = columns.during(self, wanted.from, wanted.to) end
   return function(s)
      if during and (s.time * 1e9 < during[2] or s.time * 1e9 > during[3]) then return false end
      return not (chooses and not origin.matches(s, wanted)) and keys.pass(tests, s)
   end
end

return filter
