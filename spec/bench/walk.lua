-- SPDX-License-Identifier: MIT
-- The same as walk.c, from Lua: prints "cursor NS", "fields NS", "count_by NS" a sample. arg[1]: MiB.
local lpfm = require "lpfm"
local proc = require "lpfm.proc"

local m = assert(lpfm.machine("sim:k8"))
local ctx = assert(lpfm.create { format = "default", buf_size = tonumber(arg[1] or 64) * 2 ^ 20 })
local tid = m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 1 }, { ip = 0x1004, ns = 1 } } } }
assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0, "u") } })
assert(ctx:write_pmds { { num = 0, value = -101, long_reset = -101, short_reset = -101, flags = { "OVFL_NOTIFY" } } })
assert(ctx:load(tid))
assert(ctx:start())
assert(m:run { until_message = ctx })
local buf = ctx:buffer()

local forms = {
   { "cursor", function()
      local sum = 0
      for s in buf:samples() do
         sum = sum + s.ip + s.tstamp
      end
      return sum
   end },
   { "fields", function()
      local sum = 0
      for ip, tstamp in buf:fields("ip", "tstamp") do
         sum = sum + ip + tstamp
      end
      return sum
   end },
   { "count_by", function()
      return buf:count_by("ip")[0x1000]
   end },
}

for _, form in ipairs(forms) do
   local best = math.huge
   for _ = 1, 5 do
      local t = proc.clock()
      assert(form[2]() > 0)
      best = math.min(best, (proc.clock() - t) * 1e9 / #buf)
   end
   print(string.format("%s %.2f", form[1], best))
end
