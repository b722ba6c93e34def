-- SPDX-License-Identifier: MIT
-- Figures 3.3, 3.17: 64-bit counters on a narrow PMU. Run: build/lpfm scripts/labs/emulation.lua
local lab = require "labs.lab"
local lpfm = require "lpfm"

lab.sheet [[
   64-bit emulation (figures 3.3, 3.17).
   The counters of this PMU (armv8) have 32 bits; the interface shows 64. The lower 32 live in the
   hardware, the upper 32 in software: when the hardware counter passes 0xffffffff and starts from 0
   again, its interrupt adds 1 to the upper half. That is no overflow to the tool. A sampling period p is
   written as -p, here -100000: the hardware gets the lower half of it, and when both halves wrap, after
   exactly p events, the tool is told.
]]

local function hex(value)
   return lpfm.u64(value):hex()
end

local m = lab.machine("armv8")

-- A program of n events, and a context that counts them in PMD0 from value on.
local function monitor(n, value, flags)
   local tid = assert(m:spawn { program = { { loop = n, { ip = 0x1000, ns = 10, events = { loads = 1 } } } } })
   local ctx = lab.context()
   ctx:write_pmcs { { num = 0, value = m:encode("loads", 0) } }
   ctx:write_pmds { { num = 0, value = value, flags = flags } }
   ctx:load(tid)
   ctx:start()
   return ctx, tid
end

local function width()
   for _, pmd in ipairs(lpfm.pmds()) do
      if pmd.num == 0 then
         return pmd.width
      end
   end
end

lab.show("bits of the hardware counter", width())

do -- 3.3
   local ctx, tid = monitor(2, "0xfffffffe")
   lab.show("written", hex(lab.value(ctx, 0)))
   m:run { ns = 10 }
   lab.show("after 1 event", hex(lab.value(ctx, 0)))
   assert(m:run { until_exit = tid })
   lab.show("after 2 events, the hardware wrapped", hex(lab.value(ctx, 0)))
   local message = ctx.ctx:read(0)
   lab.show("overflow messages", message and message.type == "OVFL" and 1 or 0)
   ctx:close()
end

do -- 3.17
   local ctx, tid = monitor(200000, -100000, { "OVFL_NOTIFY" })
   local value = hex(lab.value(ctx, 0))
   lab.show("period", 100000)
   lab.show("pmd_value", value)
   lab.show("lower half, in the hardware", "0x" .. value:sub(-8))
   assert(m:run { until_message = ctx.ctx })
   lab.show("events before the overflow", m:truth(tid).loads.total)
   lab.show("PMD after the overflow", hex(lab.value(ctx, 0)))
   ctx:close()
end
