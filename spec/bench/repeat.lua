-- SPDX-License-Identifier: MIT
-- A recording of lpfm record made longer: its blocks of samples again and again, all else once.
--   repeat.lua IN OUT SAMPLES
-- Prints how many samples OUT holds.
local recording = require "pfm.recording"

local from = assert(recording.open(arg[1]))
local to = assert(recording.create(arg[2], from.head))
local blocks = {}
for block in from:each_block() do blocks[#blocks + 1] = block end
for _, maps in ipairs(from.maps) do to:json("MAPS", maps) end
while to.samples < tonumber(arg[3]) do
   for _, block in ipairs(blocks) do
      to:block(block, (#block - 128) / 40)
   end
end
for _, symbols in pairs(from.symbols) do to:json("SYMS", symbols) end
local comms = {}
for tid, comm in pairs(from.comms) do comms[#comms + 1] = { tid = tid, comm = comm } end
to:json("COMM", comms)
to:close(from.ends)
print(to.samples)
