-- SPDX-License-Identifier: MIT
--- Open descriptors and mapped sampling buffers of this process: each spec ends with none left.
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local dirent = require "posix.dirent"
local unistd = require "posix.unistd"
local PATIENCE = require "support.patience"

local jit = rawget(_G, "jit")

local handles = {}

local function count()
   local n = 0
   for _ in dirent.files("/proc/self/fd") do
      n = n + 1
   end
   for line in io.lines("/proc/self/maps") do
      if line:find("/memfd:perfmon-buffer", 1, true) then n = n + 1 end
   end
   return n
end

-- libperfmon's own descriptors come with the first context of a machine in user space, and stay.
local machine = lpfm.machine().name
assert(lpfm.machine("sim"))
assert(lpfm.create {}):close()
assert(lpfm.machine(machine))
assert(lpfm.create {}):close()

--- What is open, a line each.
function handles.list()
   local lines = {}
   for fd in dirent.files("/proc/self/fd") do
      lines[#lines + 1] = ("%s: %s"):format(fd, unistd.readlink("/proc/self/fd/" .. fd) or "")
   end
   return table.concat(lines, "\n")
end

--- How many are open once nothing is in use: libperfmon closes its ends a moment after the test has closed its own.
-- @param want how many are expected; it is returned if there are fewer, for then some were being closed when they were
-- counted; without it, the function waits until the number is stable
function handles.settled(want)
   local deadline = proc.clock() + PATIENCE
   local before
   if jit then jit.flush() end -- compiled code keeps what it was compiled with
   repeat
      collectgarbage() -- what one round finalizes may have held something else
      collectgarbage()
      local now = count()
      if want and now <= want then return want end
      if not want and now == before then return now end
      before = now
      lpfm.poll({}, 0.01)
   until proc.clock() > deadline
   return before
end

return handles
