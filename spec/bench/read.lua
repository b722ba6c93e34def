-- SPDX-License-Identifier: MIT
-- The same as read.c, through ctx:read_pmds with a prepared vector: prints ns per call.
local lpfm = require "lpfm"
local proc = require "lpfm.proc"

local calls = tonumber(arg[1] or 200000)
local ctx = assert(lpfm.create())
local pmcs, nums = {}, {}
for i = 1, 4 do
   nums[i] = 65 + i
   pmcs[i] = { num = 65 + i, value = 9 }
end
assert(ctx:write_pmcs(pmcs))
local prepared = lpfm.pmds(nums)
assert(ctx:load())
assert(ctx:start())

local best = math.huge
for _ = 1, 7 do
   local t, sum = proc.clock(), 0
   for _ = 1, calls do
      local a, b, c, d = ctx:read_pmds(prepared)
      sum = sum + a + b + c + d
   end
   best = math.min(best, (proc.clock() - t) * 1e9 / calls)
   assert(sum >= 0)
end
print(string.format("%.1f", best))
