-- SPDX-License-Identifier: MIT
-- What kept the CPUs busy, as a map over time or a picture: lpfm cpus.lua SECONDS [cpus.svg]
local plot, profile = require "pfm.plot", require "pfm.profile"
local proc, recording = require "lpfm.proc", require "pfm.recording"

local seconds = tonumber(arg[1] or 5) or error(arg[1] .. ": seconds are expected", 0)
local p = profile.collect { cpus = proc.cpus(), seconds = seconds, frequency = 200 }
local s = recording.of { head = { what = "all CPUs", fixed = true, events = {
   { name = "cpu-clock", pmd = 65, unit = "ns", period = 5e6 } } },
   blocks = p.blocks, maps = p.mapped, comms = p.comms, records = p.records }
local map = plot.recording(s, "heat", { by = "comm", top = 15, slices = 50 })
print(map)
if arg[2] then map:save(arg[2]) end
