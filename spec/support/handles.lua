-- SPDX-License-Identifier: MIT
--- Counts open descriptors and mapped sampling buffers of this process, of which a spec leaves
-- none.
local lfs = require "lfs"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local dirent = require "posix.dirent"
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

-- libperfmon opens descriptors of its own with the first context of a machine, and keeps them:
-- these contexts make it open them before any test counts descriptors.
local machine = lpfm.machine().name
assert(lpfm.machine("sim"))
assert(lpfm.create {}):close()
assert(lpfm.machine(machine))
assert(lpfm.create {}):close()

--- Returns what is open, one per line. (luaposix' readlink() fails for these links, because their
-- size is not the length of their target.)
function handles.list()
   local lines = {}
   for fd in dirent.files("/proc/self/fd") do
      local target = lfs.symlinkattributes("/proc/self/fd/" .. fd, "target")
      lines[#lines + 1] = ("%s: %s"):format(fd, target or "closed since")
   end
   return table.concat(lines, "\n")
end

--- Returns how many are open, after libperfmon has closed its ends of those that the test has
-- closed.
-- @param want how many are expected: the function waits until there are no more, and returns this
-- number even if there are fewer, since some may have been about to be closed when they were
-- counted; without it, the function waits until the number is stable
function handles.settled(want)
   local deadline = proc.clock() + PATIENCE
   local before
   if jit then jit.flush() end -- compiled code refers to objects
   repeat
      collectgarbage() -- an object that the first round finalizes may have referred to others
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
