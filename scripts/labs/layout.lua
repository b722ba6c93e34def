-- SPDX-License-Identifier: MIT
-- Figures 3.28, 3.29, 3.30: samples in the buffer. Run: build/lpfm scripts/labs/layout.lua
local lab = require "labs.lab"
local lpfm = require "lpfm"

lab.sheet [[
   The layout of samples (figures 3.28, 3.29, 3.30).
   The buffer of the default format starts with a header; samples follow without gaps, each a header and
   a body: the values of the PMDs in smpl_pmds, by ascending number. Here PMD4 records PMD5 and PMD7.
   When PMD4 and PMD5 overflow at once, each has its own sample, first PMD4's, and both have the same
   time stamp. After each sample the format checks whether the largest possible one (its header and all
   PMDs of the PMU) would still fit; if not, the buffer is full and what is left is wasted. The layout is
   that of section 3.6; addresses are offsets in bytes.
]]

local UUID = "4d72bec0-0664-4143-82b4-d3fd27243c97"
local HEADER, SAMPLE, VALUE = 40, 40, 8
local MODEL = "itanium2"

local function word(bytes, offset, size)
   local value = 0
   for i = size, 1, -1 do
      value = value * 256 + bytes:byte(offset + i)
   end
   return value
end

-- Runs until the buffer is full or the program has ended; the bytes of the buffer, and its header.
local function record(buf_size, pmds)
   local m = lab.machine(MODEL)
   local tid = assert(m:spawn {
      program = {
         { loop = 1000, { ip = 0x1000, ns = 10, events = { loads = 1, stores = 1, fp_ops = 2 } } },
      },
   })
   local ctx = lab.context { format = UUID, buf_size = buf_size }
   ctx:write_pmcs {
      { num = 4, value = m:encode("loads", 4) }, { num = 5, value = m:encode("stores", 5) },
      { num = 7, value = m:encode("fp_ops", 7) },
   }
   ctx:write_pmds(pmds)
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   local buffer = ctx.ctx:buffer()
   local bytes, header = buffer:snapshot(), buffer:header()
   ctx:close()
   return bytes, header
end

local function period(num, p, smpl_pmds)
   return { num = num, value = -p, short_reset = -p, long_reset = -p, smpl_pmds = smpl_pmds }
end

do -- 3.28
   local bytes = record(4096, { period(4, 600, { 5, 7 }), { num = 5 }, { num = 7 } })
   local body = HEADER + SAMPLE
   lab.show("sample starts at", HEADER)
   lab.show("ovfl_pmd of the sample", word(bytes, HEADER + 8, 2))
   lab.show("body starts at", body)
   lab.show("first value of the body, PMD5", word(bytes, body, 8))
   lab.show("second value of the body, PMD7", word(bytes, body + VALUE, 8))
   lab.show("next sample starts at", body + 2 * VALUE)
end

do -- 3.29
   local bytes, header = record(4096, { period(4, 600), period(5, 600), { num = 7 } })
   local second = HEADER + SAMPLE
   lab.show("simultaneous overflows, samples", header.count)
   lab.show("first sample, ovfl_pmd", word(bytes, HEADER + 8, 2))
   lab.show("second sample, ovfl_pmd", word(bytes, second + 8, 2))
   lab.show("first sample, time stamp", word(bytes, HEADER + 24, 8))
   lab.show("second sample, time stamp", word(bytes, second + 24, 8))
end

do -- 3.30
   local largest = SAMPLE + VALUE * #lpfm.pmds() -- of the machine just used
   local size = HEADER + 3 * SAMPLE + largest - 8
   local _, header = record(size, { period(4, 100), { num = 5 }, { num = 7 } })
   lab.show("largest sample", largest)
   lab.show("buffer size", size)
   lab.show("left after two samples", size - HEADER - 2 * SAMPLE)
   lab.show("left after three samples", size - HEADER - 3 * SAMPLE)
   lab.show("samples when full", header.count)
   lab.show("times full", header.overflows)
   lab.show("wasted", size - header.cur_offs)
end
