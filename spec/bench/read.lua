-- SPDX-License-Identifier: MIT
-- Compares reads of four registers with pfm_read_pmds() in C: prints "FORM C_NS LUA_NS" for each
-- form. C and Lua take turns in one process, and the least of each counts. The context is loaded
-- and started only if arg[1] is "loaded".
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local native = require "native"

local FIRST, N, ROUNDS, calls = 66, 4, 1500, 500
assert(lpfm.machine("perf"))
local ctx = assert(lpfm.create())
local nums = {}
for i = 1, N do
   nums[i] = FIRST + i - 1
end
if arg[1] == "loaded" then
   ROUNDS = 100
   for _, num in ipairs(nums) do
      assert(ctx:write_pmcs { { num = num, value = 9 } })
   end
   assert(ctx:load() and ctx:start())
end
local prepared = lpfm.pmds(nums)
local read = ctx:reader(prepared)

local forms = {
   { "ctx:read_into(prepared)", function()
      for _ = 1, calls do
         ctx:read_into(prepared)
      end
   end },
   { "ctx:read_pmds(prepared)", function()
      local sum = 0
      for _ = 1, calls do
         local a, b, c, d = ctx:read_pmds(prepared)
         sum = sum + a + b + c + d
      end
      assert(sum >= 0)
   end },
   { "ctx:reader(prepared)()", function()
      local sum = 0
      for _ = 1, calls do
         local a, b, c, d = read()
         sum = sum + a + b + c + d
      end
      assert(sum >= 0)
   end },
   { "ctx:read_values(list)", function()
      for _ = 1, calls do
         ctx:read_values(nums)
      end
   end },
   { "ctx:read_pmds(list)", function()
      for _ = 1, calls do
         ctx:read_pmds(nums)
      end
   end },
}

if jit then
   local typed = require "pfm.ffi"
   local t, v = typed.context(ctx), typed.pmds(nums)
   table.insert(forms, 1, { "pfm.ffi, read_into(v), v.data[i].reg_value", function()
      local sum, data = require("ffi").new("uint64_t"), v.data
      for _ = 1, calls do
         t:read_into(v)
         sum = sum + data[0].reg_value + data[1].reg_value + data[2].reg_value + data[3].reg_value
      end
      assert(sum < 2^63)
   end })
   table.insert(forms, 2, { "pfm.ffi, read_pmds(v)", function()
      local sum = 0
      for _ = 1, calls do
         local a, b, c, d = t:read_pmds(v)
         sum = sum + a + b + c + d
      end
      assert(sum >= 0)
   end })
end

for _, form in ipairs(forms) do
   local c, lua = math.huge, math.huge
   for _ = 1, ROUNDS do
      c = math.min(c, native.read(ctx:fd(), calls, FIRST, N))
      local t = proc.clock()
      form[2]()
      lua = math.min(lua, proc.clock() - t)
   end
   print(("%s\t%.1f\t%.1f"):format(form[1], c * 1e9 / calls, lua * 1e9 / calls))
end
