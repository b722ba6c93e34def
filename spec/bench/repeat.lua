-- SPDX-License-Identifier: MIT
-- Lengthens a recording of lpfm record: writes its blocks of samples again and again, all else
-- once.
--   repeat.lua IN OUT SAMPLES
-- Prints how many samples OUT holds.
local counter = require("lpfm.samples").counter
local recording = require "pfm.recording"

local from = assert(recording.open(arg[1]))
local to = assert(recording.create(arg[2], from.head))
local blocks, sizes = {}, from:sizes()
for block in from:each_block() do blocks[#blocks + 1] = { block, (counter("set"):add(block, sizes)) } end
for _, maps in ipairs(from.maps) do to:json("MAPS", maps) end
if #from.records > 0 then to:json("PROG", from.records) end
local stacks = from.stack_table:bytes()
if stacks then to:chunk("STKS", stacks) end
while to.samples < tonumber(arg[3]) do
   for _, block in ipairs(blocks) do to:block(unpack(block)) end
end
for _, symbols in pairs(from.symbols or {}) do to:json("SYMS", symbols) end
local comms = {}
for tid, comm in pairs(from.comms) do comms[#comms + 1] = { tid = tid, comm = comm } end
to:json("COMM", comms)
to:close(from.ends)
print(to.samples)
