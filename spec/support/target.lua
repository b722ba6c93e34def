-- SPDX-License-Identifier: MIT
--- Starts programs under test as children, with pipes to their standard input and output.
local unistd = require "posix.unistd"
local poll = require "posix.poll"
local signal = require "posix.signal"
local wait = require "posix.sys.wait"
local stdlib = require "posix.stdlib"
local fcntl = require "posix.fcntl"
local PATIENCE = require "support.patience"

local target = {}
target.__index = target

local function close_others(keep)
   for fd = 3, 255 do
      if fd ~= keep then
         unistd.close(fd)
      end
   end
end

--- Starts a program.
-- @param argv array: path and arguments
-- @return the child: pid, and the methods below
function target.start(argv)
   local in_r, in_w = assert(unistd.pipe())
   local out_r, out_w = assert(unistd.pipe())
   local pid = assert(unistd.fork())
   if pid == 0 then
      unistd.dup2(in_r, 0)
      unistd.dup2(out_w, 1)
      close_others()
      stdlib.setenv("LD_PRELOAD")
      unistd.execp(argv[1], { unpack(argv, 2) })
      unistd._exit(127)
   end
   unistd.close(in_r)
   unistd.close(out_w)
   for _, fd in ipairs { in_w, out_r } do
      fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
   end
   return setmetatable({ pid = pid, input = in_w, output = out_r }, target)
end

--- Returns true if output, or its end, comes within so many seconds.
function target:can_read(seconds)
   return poll.rpoll(self.output, math.floor(seconds * 1000)) == 1
end

--- Waits for a line of output and returns it; nil at the end.
function target:read_line()
   local line = ""
   while true do
      assert(self:can_read(PATIENCE), "the target says nothing")
      local char = unistd.read(self.output, 1)
      if not char or char == "" then
         return nil
      elseif char == "\n" then
         return line
      end
      line = line .. char
   end
end

function target:write(text)
   assert(unistd.write(self.input, text))
end

--- Stops the program, and waits until it has stopped. Signals that were sent before, such as SIGIO,
-- are handled then.
function target:stop()
   signal.kill(self.pid, signal.SIGSTOP)
   local _, state = assert(wait.wait(self.pid, wait.WUNTRACED))
   assert(state == "stopped", state)
end

--- Ends the program if it has not ended, and closes its pipes.
function target:finish()
   if self.input then
      unistd.close(self.input)
      unistd.close(self.output)
      self.input = nil
   end
   signal.kill(self.pid, signal.SIGKILL)
   wait.wait(self.pid)
end

return target
