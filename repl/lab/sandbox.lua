-- SPDX-License-Identifier: MIT
--- Runs a function in a child process, with a limit of time. Processes that the function starts
-- cannot trace the child. They end with it, even if they made sessions and groups of their own or
-- outlived their parents.
-- @module repl.lab.sandbox

local dirent = require "posix.dirent"
local fcntl = require "posix.fcntl"
local poll = require "posix.poll"
local proc = require "lpfm.proc"
local signal = require "posix.signal"
local text_file = require "pfm.util.text_file"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"
local wire = require "repl.lab.wire"

local sandbox = {}

local BLOCK = 65536
local START = 600 -- s until the function says that it has begun
local BEGUN = "!"

-- Calls the function in the child process, sends its result to the parent, and ends the child
-- without the exit handlers that the parent has set.
local function carry_out(fn, into, quiet)
   unistd.setpid("s") -- Ctrl-C and the terminal are left to the parent
   signal.signal(signal.SIGPIPE, signal.SIG_IGN)
   local null = assert(fcntl.open("/dev/null", fcntl.O_RDWR))
   for fd = 0, quiet and 2 or 0 do unistd.dup2(null, fd) end
   local ok, text = pcall(function()
      return wire.dump { result = fn(function() unistd.write(into, BEGUN) end) }
   end)
   if not ok then text = wire.dump { err = tostring(text) } end
   while #text > 0 do text = text:sub((unistd.write(into, text) or #text) + 1) end
   unistd._exit(0)
end

-- Reads what the child sends, up to end of file. Returns nil at the deadline, which is `seconds`
-- after the function last said that its time begins.
local function read_all(from, seconds)
   local parts, deadline = {}, proc.clock() + START
   while true do
      local left = deadline - proc.clock()
      if left <= 0 then return nil end
      if poll.rpoll(from, math.ceil(left * 1000)) == 1 then
         local part = unistd.read(from, BLOCK)
         if not part or part == "" then return table.concat(parts) end
         local marks = parts[1] and 0 or #part:match("^" .. BEGUN .. "*")
         if marks > 0 then deadline = proc.clock() + seconds end
         if marks < #part then parts[#parts + 1] = part:sub(marks + 1) end
      end
   end
end

-- Returns the children of this process.
local function children()
   local out, me = {}, unistd.getpid()
   for pid in dirent.files("/proc") do
      local line = pid:find("^%d+$") and text_file.all("/proc/" .. pid .. "/stat")
      if line and tonumber(line:match("%) %a (%d+)")) == me then out[tonumber(pid)] = true end
   end
   return out
end

-- Kills all children except those in `before`, also those that this process adopts when their
-- parents end.
local function end_children(before)
   while true do
      local found = false
      for pid in pairs(children()) do
         if not before[pid] then
            found = true
            signal.kill(pid, signal.SIGKILL)
            wait.wait(pid)
         end
      end
      if not found then return end
   end
end

--- Calls a function in a child process.
-- @tparam function fn is given a function, and calls it when its time begins, or begins anew; it
-- returns one value that `wire.dump` accepts
-- @tparam number seconds that fn may take from that moment
-- @tparam[opt] boolean quiet its output is discarded
-- @return[1] what it returned
-- @return[2] nil
-- @treturn[2] string why there is no value: it did not end in time, raised an error, or ended the
-- process
function sandbox.call(fn, seconds, quiet)
   io.stdout:flush()
   local from, into = assert(unistd.pipe())
   fcntl.fcntl(into, fcntl.F_SETFD, fcntl.FD_CLOEXEC) -- programs that fn starts do not inherit it
   local before, adopted, shielded = children(), proc.adopt(true) == true, proc.shield(true) == true
   local pid = assert(unistd.fork())
   if pid == 0 then
      unistd.close(from)
      carry_out(fn, into, quiet)
   end
   unistd.close(into)
   local ok, text = pcall(read_all, from, seconds)
   unistd.close(from)
   end_children(before)
   proc.adopt(adopted)
   proc.shield(shielded)
   if not ok then error(text, 0) end
   if not text then return nil, ("it did not end within %g s"):format(seconds) end
   local is_whole, got = pcall(wire.load, text)
   if not is_whole then return nil, wire.gone end
   return got.result, got.err
end

return sandbox
