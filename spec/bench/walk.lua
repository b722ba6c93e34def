-- SPDX-License-Identifier: MIT
-- Compares ways through a full sampling buffer with the same work in C: prints "FORM C_NS LUA_NS",
-- in ns per sample. C and Lua take turns in one process, and the median of the CPU times counts.
-- The simulated computer fills the buffer, of arg[1] MiB.
local lpfm = require "lpfm"
local native = require "native"

local ROUNDS = 15
local m = assert(lpfm.machine("sim:k8"))
local ctx = assert(lpfm.create { format = "default", buf_size = tonumber(arg[1] or 64) * 2 ^ 20 })
local tid = m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 1 }, { ip = 0x1004, ns = 1 } } } }
assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0, "u") } })
assert(ctx:write_pmds { { num = 0, value = -101, long_reset = -101, short_reset = -101,
   flags = { "OVFL_NOTIFY" } } })
assert(ctx:load(tid))
assert(ctx:start())
assert(m:run { until_message = ctx })
local buf = ctx:buffer()

local forms = {
   { "fields(a, b)", "walk", function()
      local sum = 0
      for ip, tstamp in buf:fields("ip", "tstamp") do
         sum = sum + ip + tstamp
      end
      return sum
   end },
   { "samples(), s.a + s.b", "walk", function()
      local sum = 0
      for s in buf:samples() do
         sum = sum + s.ip + s.tstamp
      end
      return sum
   end },
   { "count_by(a)", "count", function()
      return buf:count_by("ip")[0x1000]
   end },
   { "count_by(a, b)", "count", function()
      return buf:count_by("ip", "tid")[0x1000][tid]
   end, true },
}

if jit then
   local typed = require("pfm.ffi").context(ctx):buffer()
   table.insert(forms, 1, { "pfm.ffi, entries(), e.a + e.b", "walk", function()
      local sum = require("ffi").new("uint64_t")
      for _, e in typed:entries() do
         sum = sum + e.ip + e.tstamp
      end
      return tonumber(sum)
   end })
   table.insert(forms, 2, { "pfm.ffi, fields(a, b)", "walk", function()
      local sum = 0
      for ip, tstamp in typed:fields("ip", "tstamp") do
         sum = sum + ip + tstamp
      end
      return sum
   end })
end

local function median(list)
   table.sort(list)
   return list[math.ceil(#list / 2)] * 1e9 / #buf
end

for _, form in ipairs(forms) do
   local name, what, fn, both = unpack(form)
   local c, lua = {}, {}
   for i = 1, ROUNDS do
      c[i] = native[what](ctx, both)
      local t = native.now()
      assert(fn() > 0)
      lua[i] = native.now() - t
   end
   print(("%s\t%.2f\t%.2f"):format(name, median(c), median(lua)))
end
