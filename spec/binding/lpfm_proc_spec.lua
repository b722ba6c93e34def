-- SPDX-License-Identifier: MIT
-- lpfm.proc: children that wait, followers, threads, CPUs.

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local c = require "support.c"
local files = require "support.files"
local handles = require "support.handles"

local interpreter = os.getenv("LPFM_LUA") or "luajit"
local descriptors = handles.settled()

local function lines_of(child_argv, options)
   local name = os.tmpname()
   options = options or {}
   options.stdout = name
   local child = assert(proc.spawn(child_argv, options))
   assert(child:go())
   local result = assert(child:wait(20))
   local text = files.read(name)
   os.remove(name)
   return text, result
end

describe("proc.spawn", function()
   it("leaves what the interpreter does about signals to the interpreter", function()
      proc.on_interrupt(true)
      local child = assert(proc.spawn { "sleep", "1000" })
      child:kill("INT")
      local result = child:wait(20)
      proc.on_interrupt(false)
      assert.equal("INT", result and result.signal_name)
   end)

   it("makes a process that waits for the word", function()
      local child = assert(proc.spawn { "sh", "-c", "exit 7" })
      assert.is_true(child.pid > 0)
      assert.same({ nil, "timeout" }, { child:wait(0.01) })
      assert.equal("lpfm.child (pid " .. child.pid .. ", waiting)", tostring(child))
      assert.is_true(child:go())
      local result = assert(child:wait(20))
      assert.equal(7, result.status)
      assert.is_nil(result.signal)
      assert.is_true(result.rusage.minflt > 0)
      for _, field in ipairs { "utime", "stime", "majflt", "nvcsw", "nivcsw", "maxrss" } do
         assert.equal("number", type(result.rusage[field]))
      end
      assert.same(result, child:wait())
      assert.has_error(function() child:go() end, "go: the child has been started already")
      child:close()
   end)

   it("says why a program cannot be run", function()
      local child = assert(proc.spawn { "/nonexistent/program", "x" })
      local ok, message, errno = child:go()
      assert.is_nil(ok)
      assert.equal("cannot run /nonexistent/program: No such file or directory", message)
      assert.equal(lpfm.errno.ENOENT, errno)
      assert.equal(127, child:wait(20).status)
      child:close()
      ok, message, errno = assert(proc.spawn { "/" }):go()
      assert.is_nil(ok)
      assert.equal("cannot run /: Permission denied", message)
      assert.equal(lpfm.errno.EACCES, errno)
   end)

   it("gives it a directory, an environment and files", function()
      assert.equal("/\n", (lines_of({ "pwd" }, { cwd = "/" })))
      local text = lines_of({ "sh", "-c", "echo $LPFM_ONE-$HOME-${PATH:+path}" },
         { env = { LPFM_ONE = "1", HOME = false } })
      assert.equal("1--path\n", text)
      assert.equal("", (lines_of({ "cat" }, { stdin = false })))
      local _, message = proc.spawn({ "true" }, { stdin = "/nonexistent" })
      assert.equal("spawn: stdin: No such file or directory", message)
      local child = assert(proc.spawn({ "true" }, { cwd = "/nonexistent" }))
      assert.truthy(select(2, child:go()):find("No such file", 1, true))
      child:wait()
   end)

   it("leaves it no descriptor but the first three", function()
      local ctx = assert(lpfm.create { format = "default" })
      local other = assert(proc.spawn { "true" })
      local function sockets(pid)
         local text = lines_of { "ls", "-l", "/proc/" .. pid .. "/fd" }
         return text:gsub("[^\n]*/proc/[^\n]*", "")
      end
      local ours, theirs = sockets(proc.getpid()), sockets("self")
      local seen = 0
      for socket in ours:gmatch("socket:%[%d+%]") do
         assert.falsy(theirs:find(socket, 1, true), theirs)
         seen = seen + 1
      end
      if require "support.real" == "linux" then -- perfmon.ko's descriptors are no sockets
         assert.truthy(ours:find("[perfmon]", 1, true), ours)
         assert.falsy(theirs:find("[perfmon]", 1, true), theirs)
      else
         assert.is_true(seen >= 2)
      end
      other:close()
      ctx:close()
   end)

   it("ends what was never told to go", function()
      local child = assert(proc.spawn { "sleep", "1000" })
      local pid = child.pid
      child:close()
      assert.is_nil((proc.kill(pid, 0)))
      assert.has_error(function() child:wait() end, "the child is closed")
      assert.is_nil(child.pid)
      child = assert(proc.spawn { "true" })
      assert(child:kill "KILL")
      assert.equal("KILL", child:wait(20).signal_name)
      local _, message, errno = child:go()
      assert.equal("cannot run true: the process was ended before", message)
      assert.equal(lpfm.errno.ESRCH, errno)
   end)

   it("tells the signal that ended it", function()
      local child = assert(proc.spawn { "sleep", "1000" })
      assert(child:go())
      assert(child:kill())
      local result = assert(child:wait(20))
      assert.equal(15, result.signal)
      assert.equal("TERM", result.signal_name)
      assert.is_nil(result.status)
      assert.equal(lpfm.errno.ESRCH, select(3, child:kill()))
      assert.has_error(function() child:kill "NOSUCH" end)
   end)

   it("is waited for beside other things", function()
      local child = assert(proc.spawn { "true" })
      assert(child:go())
      assert.equal(child, lpfm.poll({ child }, 20)[1])
      assert.equal(0, child:wait(0).status)
   end)

   it("refuses bad arguments", function()
      for _, bad in ipairs { {}, { 1 }, { "a", {} }, { "a\0b" }, "true", 1 } do
         assert.has_error(function() proc.spawn(bad) end)
      end
      assert.has_error(function() proc.spawn() end)
      for _, bad in ipairs { 1, { cwd = 1 }, { env = 1 }, { env = { 1 } }, { env = { ["A=B"] = "1" } },
         { env = { A = true } }, { stdin = true }, { stdout = {} }, { stderr = -1 }, { x = 1 }, { 1 } } do
         assert.has_error(function() proc.spawn({ "true" }, bad) end)
      end
   end)
end)

describe("lpfm.proc", function()
   it("knows threads", function()
      local tids = assert(proc.threads(proc.getpid()))
      local found = {}
      for _, tid in ipairs(tids) do
         found[tid] = true
      end
      assert.is_true(found[proc.gettid()])
      local _, message, errno = proc.threads(2 ^ 31 - 1)
      assert.truthy(message:find("^threads: process "))
      assert.equal(lpfm.errno.ESRCH, errno)
   end)

   it("knows CPUs and binds to them", function()
      local cpus, before = proc.cpus(), proc.getaffinity()
      assert.is_true(#cpus >= #before and #before >= 1)
      assert(proc.setaffinity(before[1]))
      assert.same({ before[1] }, proc.getaffinity())
      assert(proc.setaffinity(before))
      assert.same(before, proc.getaffinity())
      assert.equal(lpfm.errno.EINVAL, select(3, proc.setaffinity(1023)))
      assert.has_error(function() proc.setaffinity(1024) end)
      assert.has_error(function() proc.setaffinity({ "x" }) end)
   end)

   it("remembers Ctrl-C while told to", function()
      assert.is_false(proc.interrupted())
      proc.on_interrupt(true)
      assert(proc.kill(proc.getpid(), "SIGINT"))
      assert.is_true(proc.interrupted())
      assert.is_false(proc.interrupted())
      proc.on_interrupt(false)
      assert.has_error(function() proc.on_interrupt(1) end)
   end)

   it("remembers other signals once told to", function()
      for _, name in ipairs { "USR2", "SIGUSR2" } do
         assert.is_true(proc.catch(name))
         assert.is_false(proc.caught(name))
         assert(proc.kill(proc.getpid(), name))
         assert.is_true(proc.caught(name))
         assert.is_false(proc.caught(name))
      end
      for _, name in ipairs { "KILL", "STOP" } do
         local ok, err, errno = proc.catch(name)
         assert.same({ nil, lpfm.errno.EINVAL }, { ok, errno })
         assert.truthy(err:find("^catch: "), err)
      end
      assert.has_error(function() proc.catch "NONE" end, "catch: unknown signal 'NONE'")
      assert.has_error(function() proc.caught() end)
      assert.has_error(function() proc.caught(-1) end)
   end)

   it("raises the limit of descriptors, for itself alone", function()
      local code = [[local proc = require "lpfm.proc"
         print(proc.raise_nofile())
         io.stdout:flush()
         local child = proc.spawn { "sh", "-c", "ulimit -n" }
         child:go()
         child:wait()
         os.execute "ulimit -n"]]
      local out, status = c.sh(("ulimit -Sn 300; ulimit -Hn 400; exec %s -e '%s'"):format(interpreter, code))
      assert.equal(0, status)
      assert.equal("400\n300\n400\n", out)
   end)

   it("has a clock that does not go back", function()
      local before = proc.clock()
      assert.is_true(proc.clock() >= before)
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
