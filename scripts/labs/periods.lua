-- SPDX-License-Identifier: MIT
-- Figures 3.18, 3.19: initial, short and long periods. Run: build/lpfm scripts/labs/periods.lua
local lab = require "labs.lab"
local lpfm = require "lpfm"

lab.sheet [[
   Three sampling periods (figures 3.18, 3.19).
   The value written before the context is attached is the initial period: it skips the program's
   prologue, here 10000 instructions. While the buffer has room, overflows reload the short period, 100.
   When the buffer is full monitoring is masked and the tool is told; pfm_restart() reloads the long
   period, 500, once, to leave out what the tool's work disturbed. The monitored thread runs meanwhile,
   or is blocked (NOTIFY_BLOCK). A buffer here has room for five samples.
]]

local INITIAL, SHORT, LONG, INTERVAL = 10000, 100, 500, 5
local SAMPLE, HEADER = 40, 128 -- bytes

-- Distances between samples in executed instructions, over two buffers; what was executed while masked.
local function measure(flags)
   local m = lab.machine("itanium2")
   local tid = assert(m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10 } } } })
   -- full when less is left than the largest sample, which has all PMDs
   local buf_size = HEADER + INTERVAL * SAMPLE + 8 * #lpfm.pmds()
   local ctx = lab.context { flags = flags, format = "default", buf_size = buf_size }
   local distances, last, masked = {}, 0, 0
   ctx:write_pmcs { { num = 4, value = m:encode("instructions", 4) } }
   ctx:write_pmds { {
      num = 4, value = -INITIAL, short_reset = -SHORT, long_reset = -LONG, flags = { "OVFL_NOTIFY" },
   } }
   ctx:load(tid)
   ctx:start()
   for _ = 1, 2 do
      assert(m:run { until_message = ctx.ctx })
      ctx:read(0)
      for tstamp in ctx.ctx:buffer():fields("tstamp") do
         distances[#distances + 1] = tstamp / 10 - last
         last = tstamp / 10
      end
      local before = m:truth(tid).instructions.total
      m:run { us = 3 }
      masked = m:truth(tid).instructions.total - before
      last = last + 300 -- instructions of 10 ns
      ctx:restart()
   end
   ctx:close()
   return distances, masked
end

local distances, masked = measure()
lab.show("instructions between samples", distances)
lab.show("initial period", distances[1])
lab.show("short period", distances[2])
lab.show("long period, after the restart", distances[INTERVAL + 1])
lab.show("short period again", distances[INTERVAL + 2])
lab.show("executed while the tool worked, thread running", masked)
distances, masked = measure { "NOTIFY_BLOCK" }
lab.show("instructions between samples, thread blocked", distances)
lab.show("executed while the tool worked, thread blocked", masked)
