-- SPDX-License-Identifier: MIT
-- merge.lua - writes recordings of ranks to merge: each has SAMPLES samples in 200 functions of the
-- same program, and 2,000 stacks that no other recording has.
--   merge.lua DIR RECORDINGS SAMPLES
local stored = require "lpfm.samples"
local recording = require "pfm.recording"

local dir, count, samples = arg[1], tonumber(arg[2]), tonumber(arg[3])
local FUNCTIONS, STACKS, BLOCK, DEPTH = 200, 2000, 10000, 8
local BASE = 0x400000

local function word(n)
   local out = {}
   for i = 1, 8 do
      out[i] = string.char(n % 256)
      n = math.floor(n / 256)
   end
   return table.concat(out)
end

local function stacks(rank)
   local out = { word(1) }
   for i = 1, STACKS do
      out[#out + 1] = word(DEPTH)
      for k = 1, DEPTH - 1 do out[#out + 1] = word(BASE + rank * 2 ^ 20 + (i * k % FUNCTIONS) * 256 + k) end
      out[#out + 1] = word(BASE + rank * 2 ^ 20 + i) -- no other stack ends with this address
   end
   return table.concat(out)
end

local function symbols()
   local functions, lines = {}, {}
   for i = 0, FUNCTIONS - 1 do
      functions[i + 1] = { i * 256, 256, ("function_%d"):format(i) }
      for k = 1, DEPTH do lines[#lines + 1] = { i * 256 + k, 1, i * 10 + k } end
   end
   return { path = "/bin/prog", build_id = "0123456789abcdef", count = FUNCTIONS, segments = { { 0, 2 ^ 20, 0 } },
      functions = functions, files = { "prog.c" }, lines = lines, frames = {} }
end

local function write(rank)
   local w = assert(recording.create(("%s/r%d.data"):format(dir, rank), { what = "prog", fixed = true, time = 1000,
      stacks = "frame pointers", events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 } },
      machine = { name = "perf", pmu = "software", host = "n" .. rank % 4, boot = "b" .. rank % 4 },
      job = { rank = rank, ranks = count, id = "1" } }))
   w:json("MAPS", { pid = 7, maps = { { BASE + rank * 2 ^ 20, BASE + (rank + 1) * 2 ^ 20, 0, "/bin/prog" } } })
   w:json("COMM", { { tid = 7, pid = 7, comm = "prog" } })
   w:chunk("STKS", stacks(rank))
   for from = 1, samples, BLOCK do
      local list = {}
      for i = from, math.min(samples, from + BLOCK - 1) do
         local stack = i % STACKS + 1
         list[#list + 1] = stored.sample({ ip = BASE + rank * 2 ^ 20 + (stack % FUNCTIONS) * 256 + 1, tid = 7, pid = 7,
            tstamp = i * 1000, ovfl_pmd = 65, last_reset = -1000 }, { stack })
      end
      local bytes = table.concat(list)
      w:block(stored.head(#list, #bytes) .. bytes, #list)
   end
   w:json("SYMS", symbols())
   w:json("OBJS", { { path = "/bin/prog", build_id = "0123456789abcdef" } })
   w:close { lost = 0, full = 0, missed = 0 }
end

for rank = 0, count - 1 do write(rank) end
