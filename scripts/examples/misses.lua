-- SPDX-License-Identifier: MIT
-- Without a PMU: where a program on the simulated Itanium 2 misses its cache. lpfm misses.lua
local lpfm, plot = require "lpfm", require "pfm.plot"

local m = assert(lpfm.machine("sim:itanium2"))
local body = { loop = 20000, { ip = 0x1000, ns = 5, events = { l2_misses = 1 } }, { ip = 0x1010, ns = 5 },
   { ip = 0x1020, ns = 20, events = { l2_misses = 3 } } }
local tid = assert(m:spawn { program = { body } })
local ctx = assert(lpfm.create { format = "default", buf_size = 2 ^ 20 })
assert(ctx:write_pmcs { { num = 4, value = m:encode("l2_misses", 4) } })
assert(ctx:write_pmds { { num = 4, value = -100, long_reset = -200, short_reset = -200, random_mask = 0x7f,
   flags = { "OVFL_NOTIFY", "RANDOM" } } }) -- with a fixed period the loop would be in step
assert(ctx:load(tid) and ctx:start() and m:run { until_exit = tid })
local counts, bars = {}, {}
for ip in ctx:buffer():fields("ip") do counts[ip] = (counts[ip] or 0) + 1 end
for ip, n in pairs(counts) do bars[#bars + 1] = { ("0x%x"):format(ip), n } end
table.sort(bars, function(a, b) return a[1] < b[1] end)
print(plot.bars(bars, { title = "samples of L2 misses" }))
