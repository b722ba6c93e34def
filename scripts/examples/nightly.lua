-- SPDX-License-Identifier: MIT
-- A profile a night: DIR/DATE.svg, and a line in profiles.csv: lpfm nightly.lua DIR ./prog args
local analyze, export, record = require "pfm.analyze", require "pfm.export", require "pfm.record"
local format, recording = require "pfm.render", require "pfm.recording"

local dir, day = arg[2] and arg[1] or error("a folder and a command are expected", 0), os.date("%Y-%m-%d")
local data = ("%s/%s.data"):format(dir, day)
local outcome = record.run({ command = { unpack(arg, 2) }, threads = true, frequency = 997 }, data)
local s = assert(recording.open(data))
export.write(s, "flamegraph", ("%s/%s.svg"):format(dir, day), { title = format.command(s.head.command) .. ", " .. day })
local log, top = assert(io.open(dir .. "/profiles.csv", "a")), analyze.by(s).rows[1]
log:write(format.csv({ day, outcome.samples, outcome.elapsed, top and top.symbol, top and top.percent }, 5), "\n")
log:close()
return outcome.status
