-- SPDX-License-Identifier: MIT
--- The instructions and memory accesses of a program, recorded by valgrind's lackey, to be replayed on the simulated
-- computer: `{trace=file}` in a program, `?sim`.
-- @module pfm.memtrace

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local unistd = require "posix.unistd"

local memtrace = {}

local LACKEY = { { "tool", "lackey" }, { "trace-mem", "yes" }, { "basic-counts", "no" },
   { "child-silent-after-fork", "yes" } }

local function expect(result, message)
   if not result then error(message, 0) end
   return result
end

-- The command, held, writing its trace to descriptor fd.
local function held(command, fd)
   local argv = { "valgrind", "-q" }
   local function option(name, value) argv[#argv + 1] = ("--%s=%s"):format(name, value) end
   for _, pair in ipairs(LACKEY) do option(unpack(pair)) end
   option("log-fd", fd)
   argv[#argv + 1] = "--"
   for _, word in ipairs(command) do argv[#argv + 1] = word end
   return expect(proc.spawn(argv))
end

local function go(child)
   local ok, message, errno = child:go()
   if ok then return end
   if errno == lpfm.errno.ENOENT then message = "valgrind is missing (Debian: apt install valgrind)" end
   error(message, 0)
end

local function write(path, bytes)
   local file = expect(io.open(path, "wb"))
   local ok, message = file:write(bytes)
   if ok then ok, message = file:close() end
   if not ok then error(("cannot write %s: %s"):format(path, message), 0) end
end

--- Runs a command under valgrind and records what its instructions access: its first process, with its threads.
-- Branches are not recorded.
-- @tparam table spec
-- @tparam {string,...} spec.command the program and its arguments
-- @string spec.file where to write the trace
-- @treturn table `file`, `bytes`; `status` or `signal` of the command
-- @raise if there is no valgrind, or the file cannot be written
-- @usage
-- local memtrace = require "pfm.memtrace"
-- local ok, result = pcall(memtrace.record, { command = { "true" }, file = os.tmpname() })
-- print(ok and result.bytes or result)            -- without valgrind, that it is missing
function memtrace.record(spec)
   local from, to = unistd.pipe()
   expect(from, to)
   local child = held(spec.command, to)
   local ok, message = pcall(go, child)
   unistd.close(to)
   local bytes
   if ok then bytes, message = lpfm.lackey_trace(from) end
   unistd.close(from)
   expect(bytes, message)
   local status = expect(child:wait())
   write(spec.file, bytes)
   return { file = spec.file, bytes = #bytes, status = status.status, signal = status.signal }
end

return memtrace
