-- SPDX-License-Identifier: MIT
--- A function in a process of its own, with a limit of time: what students' scripts do there, or never stop doing, is
-- no affair of the program that judges them.
-- @module repl.lab.apart

local poll = require "posix.poll"
local proc = require "lpfm.proc"
local render = require "pfm.render"
local fcntl = require "posix.fcntl"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"

local apart = {}

local BLOCK = 65536

-- What it prints goes nowhere, and what it reads is at its end.
local function close_streams()
   local null = assert(fcntl.open("/dev/null", fcntl.O_RDWR))
   for fd = 0, 2 do unistd.dup2(null, fd) end
end

-- The child; it ends here, without what the parent would do at its end.
local function carry_out(fn, into)
   unistd.setpid("p", 0, 0) -- what it starts ends with it
   close_streams()
   local ok, result = pcall(fn)
   local text = render.json(ok and { result = result } or { err = tostring(result) })
   while #text > 0 do text = text:sub((unistd.write(into, text) or #text) + 1) end
   unistd._exit(0)
end

-- All that comes, or nil at the deadline.
local function read_until(from, deadline)
   local parts = {}
   while true do
      local left = deadline - proc.clock()
      if left <= 0 then return nil end
      if poll.rpoll(from, math.ceil(left * 1000)) == 1 then
         local part = unistd.read(from, BLOCK)
         if not part or part == "" then return table.concat(parts) end
         parts[#parts + 1] = part
      end
   end
end

--- Calls a function in a child process.
-- @tparam function fn returns one value that JSON can have
-- @tparam number seconds that it may take
-- @return[1] what it returned
-- @return[2] nil
-- @treturn[2] string why there is nothing: it did not end in time, it raised, it ended the process
function apart.call(fn, seconds)
   io.stdout:flush()
   local from, into = assert(unistd.pipe())
   fcntl.fcntl(into, fcntl.F_SETFD, fcntl.FD_CLOEXEC) -- what a script leaves running is not waited for
   local pid = assert(unistd.fork())
   if pid == 0 then
      unistd.close(from)
      carry_out(fn, into)
   end
   unistd.close(into)
   local text = read_until(from, proc.clock() + seconds)
   unistd.close(from)
   signal.kill(-pid, signal.SIGKILL)
   signal.kill(pid, signal.SIGKILL)
   wait.wait(pid)
   if not text then return nil, ("it did not end within %g s"):format(seconds) end
   local got = render.from_json(text)
   if type(got) ~= "table" then return nil, "it ended the program" end
   return got.result, got.err
end

return apart
