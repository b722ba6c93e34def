-- SPDX-License-Identifier: MIT
-- A flame graph of a command, else of a lab's simulation: lpfm flamegraph.lua FILE.svg [COMMAND...]
local export, record, recording = require "pfm.export", require "pfm.record", require "pfm.recording"
local plural = require("pfm.render").plural

local lab = { "sh", "-c", "/proc/$PPID/exe lab bias --sheet >/dev/null" }
local picture, title = arg[1] or "flamegraph.svg", #arg > 1 and table.concat(arg, " ", 2) or "A lab of lpfm"
local command = #arg > 1 and { unpack(arg, 2) } or lab

local data = os.tmpname()
local ok, outcome = pcall(function()
   local done = record.run({ command = command, frequency = 1500, threads = true }, data)
   export.write(assert(recording.open(data)), "flamegraph", picture, { title = title })
   return done
end)
os.remove(data)
if not ok then error(outcome, 0) end
print(("%s: %s"):format(picture, plural(outcome.samples, "sample")))
