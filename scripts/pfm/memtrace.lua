-- SPDX-License-Identifier: MIT
--- The instructions and memory accesses of a program, recorded by valgrind's lackey, to be replayed
-- on the simulated computer: `{trace=file}` in a program, `?sim`.
-- @module pfm.memtrace

local lpfm = require "lpfm"
local expect = require "pfm.util.expect"
local text_file = require "pfm.util.text_file"
local proc = require "lpfm.proc"
local stat = require "posix.sys.stat"
local unistd = require "posix.unistd"

local memtrace = {}

local LACKEY = { { "tool", "lackey" }, { "trace-mem", "yes" }, { "basic-counts", "no" },
   { "child-silent-after-fork", "yes" } }

local PATIENCE = 2 -- s that an interrupted command gets to end by itself

-- Creates the command, which does not run yet, with its trace going to descriptor fd.
local function held(command, fd)
   local argv = { "valgrind", "-q" }
   local function option(name, value) argv[#argv + 1] = ("--%s=%s"):format(name, value) end
   for _, pair in ipairs(LACKEY) do option(unpack(pair)) end
   option("log-fd", fd)
   argv[#argv + 1] = "--"
   for _, word in ipairs(command) do argv[#argv + 1] = word end
   return expect.value(proc.spawn(argv, { pass = fd }))
end

local function go(child)
   local ok, message, errno = child:go()
   if ok then return end
   if errno == lpfm.errno.ENOENT then message = "valgrind is missing (Debian: apt install valgrind)" end
   error(message, 0)
end

local function write(path, bytes)
   local file = expect.value(io.open(path, "wb"))
   local ok, message = file:write(bytes)
   if ok then ok, message = file:close() end
   if ok then return end
   text_file.remove(path)
   error(("cannot write %s: %s"):format(path, message), 0)
end

-- Raises an error if the file cannot be written, and returns true if there was nothing in it.
local function try_to_write(path)
   local found = stat.stat(path)
   -- A pipe must not be opened on trial: its reader would see the end.
   if found and stat.S_ISREG(found.st_mode) == 0 then return false end
   local file = expect.value(io.open(path, "ab"))
   local is_empty = file:seek("end") == 0
   file:close()
   return is_empty
end

-- Waits for the command after Ctrl-C, which the terminal sends to the command, too. If the command
-- goes on, it gets SIGTERM, then SIGKILL.
local function stop(child)
   for _, signal in ipairs { "TERM", "KILL" } do
      local status = child:wait(PATIENCE)
      if status then return status end
      child:kill(signal)
   end
   return expect.value(child:wait())
end

-- Reads what the command writes until it ends or Ctrl-C comes, and waits for it.
local function follow(child, from)
   local has_fd, ended = pcall(child.fd, child)
   local bytes, message, errno = lpfm.lackey_trace(from, has_fd and ended or nil)
   local interrupted = proc.interrupted()
   unistd.close(from)
   local at_end = not interrupted and (bytes or errno == lpfm.errno.ENODATA)
   local status = at_end and child:wait()
   interrupted = interrupted or proc.interrupted()
   return { bytes = bytes, message = message, errno = errno, interrupted = interrupted, status = status or stop(child) }
end

-- Raises the error of a command without a trace, with the exit status for a shell: 130 after
-- Ctrl-C; else the command's if it failed (126 or 127: it could not be run).
local function fail_untraced(spec, outcome)
   if outcome.errno ~= lpfm.errno.ENODATA then error(outcome.message, 0) end
   local message = ("%s is not written: %s"):format(spec.file, outcome.interrupted and
      "interrupted before anything was traced" or
      ("no instruction of '%s' was traced"):format(table.concat(spec.command, " ")))
   local status = outcome.interrupted and 130 or outcome.status.status
   expect.fail_with_status(status ~= 0 and status or nil, message)
end

local function trace(spec)
   local from, to = unistd.pipe()
   expect.value(from, to)
   local child = held(spec.command, to)
   local ok, message = pcall(go, child)
   unistd.close(to)
   if not ok then
      unistd.close(from)
      error(message, 0)
   end
   return follow(child, from)
end

--- Runs a command under valgrind and records what its instructions access: its first process, with
-- its threads. Branches are not recorded. Ctrl-C ends the command, and what was recorded until then
-- is kept.
-- @tparam table spec
-- @tparam {string,...} spec.command the program and its arguments
-- @string spec.file where to write the trace
-- @treturn table `file`, `bytes`; `interrupted`: by Ctrl-C; `status` or `signal` of the command
-- @raise if there is no valgrind, nothing was recorded, or the file cannot be written
-- @usage
-- local memtrace = require "pfm.memtrace"
-- local ok, result = pcall(memtrace.record, { command = { "true" }, file = os.tmpname() })
-- print(ok and result.bytes or result)            -- without valgrind, that it is missing
function memtrace.record(spec)
   expect.kind("command", spec.command, "[string]+")
   local was_empty = try_to_write(expect.kind("file", spec.file, "path"))
   proc.on_interrupt(true)
   local ok, outcome = pcall(trace, spec)
   proc.on_interrupt(false)
   if was_empty and not (ok and outcome.bytes) then text_file.remove(spec.file) end
   if not ok then error(outcome, 0) end
   if not outcome.bytes then fail_untraced(spec, outcome) end
   write(spec.file, outcome.bytes)
   return { file = spec.file, bytes = #outcome.bytes, interrupted = outcome.interrupted, status = outcome.status.status,
      signal = outcome.status.signal }
end

expect.signatures("memtrace", memtrace, {
   record = "spec: {command}",
})

return memtrace
