-- SPDX-License-Identifier: MIT
-- Processes and their children, side by side until the last has ended: lpfm processes.lua PID...
-- Twice a second and at its end, each has a line "4711: 1.283 s of CPU time, 1,024 page faults".
local lpfm, loop, format = require "lpfm", require("pfm.loop").new(), require "pfm.render"

io.stdout:setvbuf "line"
for _, pid in ipairs(arg[1] and arg or error("PIDs are expected", 0)) do
   local ctx = assert(lpfm.create { flags = { "INHERIT" } })
   assert(ctx:write_pmcs { { num = 64, value = 9 }, { num = 66, value = 9 } }) -- time and faults
   assert(ctx:write_pmds { { num = 64, value = 0 }, { num = 66, value = 0 } })
   assert(ctx:load(tonumber(pid) or error(pid .. ": a PID is expected", 0)))
   assert(ctx:start())
   local function show()
      local time, faults = unpack(ctx:read_values { 64, 66 })
      print(("%s: %s of CPU time, %s page faults"):format(pid, format.time(time / 1e9), format.number(faults)))
   end
   local timer = loop:every(0.5, show)
   loop:add(ctx, { END = function() show() loop:remove(timer) loop:remove(ctx) ctx:close() end })
end
loop:run()
