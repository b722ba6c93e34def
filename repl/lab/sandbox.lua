-- SPDX-License-Identifier: MIT
--- A function in a process of its own, with a limit of time. What it starts cannot trace it, and ends with it, whatever
-- that did to get away: sessions and groups of its own, and children that outlive their parents.
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

-- The child; it ends here, without what the parent would do at its end.
local function carry_out(fn, into, quiet)
   unistd.setpid("s") -- a Ctrl-C is the parent's, and so is the terminal
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

-- All that comes, or nil at the deadline: `seconds` after the function has last said that it begins.
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

-- The children of this process.
local function children()
   local out, me = {}, unistd.getpid()
   for pid in dirent.files("/proc") do
      local line = pid:find("^%d+$") and text_file.all("/proc/" .. pid .. "/stat")
      if line and tonumber(line:match("%) %a (%d+)")) == me then out[tonumber(pid)] = true end
   end
   return out
end

-- Ends all children but those that there were before, and those that become ours when their parents end.
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
-- @tparam function fn gets a function to call when its time begins, and may call that again: then it begins anew;
-- returns one value that `wire.dump` takes
-- @tparam number seconds that it may take from then on
-- @tparam[opt] boolean quiet what it prints goes nowhere
-- @return[1] what it returned
-- @return[2] nil
-- @treturn[2] string why there is nothing: it did not end in time, it raised, it ended the process
function sandbox.call(fn, seconds, quiet)
   io.stdout:flush()
   local from, into = assert(unistd.pipe())
   fcntl.fcntl(into, fcntl.F_SETFD, fcntl.FD_CLOEXEC) -- what a script leaves running is not waited for
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
