-- SPDX-License-Identifier: MIT
--- Judges a student's script, with three processes: the caller; a judge, which has the lab, its
-- computer and the verdict; and a confined interpreter, which runs the script and answers the
-- judge's calls. A script cannot reach the verdict from its interpreter: it can only return
-- values.
-- @module repl.lab.judge

local compiler = require "labs.compiler"
local confine = require "repl.lab.confine"
local dirent = require "posix.dirent"
local fcntl = require "posix.fcntl"
local kit = require "labs.kit"
local lpfm = require "lpfm"
local namespace = require "repl.prompt.namespace"
local poll = require "posix.poll"
local proc = require "lpfm.proc"
local signal = require "posix.signal"
local socket = require "posix.sys.socket"
local stdlib = require "posix.stdlib"
local text_file = require "pfm.util.text_file"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"
local wire = require "repl.lab.wire"

local judge = {}

local CONTEXTS = 64 -- the number of contexts that a script may create

--- The number of seconds that a script may take.
judge.limit = 20

-- --- a function in a child process ---------------------------------------------------------------

-- Processes that the function starts cannot trace the child. They end with it, even if they made
-- sessions and groups of their own or outlived their parents.
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

-- Calls a function in a child process. It is given a function, which it calls when its time,
-- `seconds`, begins, or begins anew; it returns one value that `wire.dump` accepts. Returns that
-- value; or nil and why there is none: it did not end in time, raised an error, or ended the
-- process. If `quiet` is true, its output is discarded.
local function in_child(fn, seconds, quiet)
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

-- --- the judge -----------------------------------------------------------------------------------

-- Returns a set of method names. The sets COMPUTER and CONTEXT have the methods of the judge's
-- computer and contexts that a script may call: it may measure, but not read the expected result.
local function set_of(words)
   local out = {}
   for word in words:gmatch("%S+") do out[word] = true end
   return out
end

local COMPUTER = set_of "encode events run time"
local CONTEXT = set_of [[close create_evtsets delete_evtsets getinfo_evtsets load read read_pmds restart start stop
   unload write_pmcs write_pmds]]

local function share(value)
   if getmetatable(value) == nil then return nil end
   local ok, methods = pcall(function()
      return value.spawn and COMPUTER or value.write_pmds and CONTEXT
   end)
   return ok and methods or nil
end

-- Sets close-on-exec for all descriptors, so that programs which this process runs inherit none.
local function close_on_exec()
   for _, name in ipairs(namespace.entries("/proc/self/fd") or {}) do
      local fd = tonumber(name)
      if fd and fd > 2 then fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC) end
   end
end

-- Starts an interpreter and returns the judge's end of its socket.
local function start(way, seconds, root_dir)
   close_on_exec()
   local mine, its = assert(socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM, 0))
   local command = confine.command(way, math.ceil(seconds), root_dir)
   local child = assert(proc.spawn(command, { stdin = its, group = true, cwd = "/" }))
   assert(child:go())
   unistd.close(its)
   return wire.new(mine, share)
end

local way -- how scripts are confined: the strongest way that works here, once found
local weakness -- why the strongest way does not work; nil if it works

-- Returns true if an interpreter that is confined in this way answers, or else false and the
-- reason.
local function works(one)
   local root_dir = assert(stdlib.mkdtemp("/tmp/lpfm-script-XXXXXX"))
   local got, err = in_child(function()
      return start(one, judge.limit, root_dir):first()("run", "return 7", "probe", lpfm.create)
   end, judge.limit, true)
   os.remove(root_dir)
   return got == 7, err
end

-- Finds the strongest way that works, once.
local function find_way()
   for _, one in ipairs(confine.ways) do
      local ok, err = works(one)
      if ok then
         way = one
         return
      end
      weakness = weakness or err
   end
   error("the interpreter of scripts does not start: " .. tostring(weakness), 0)
end

--- Says what scripts are not kept from on this computer.
-- @treturn ?string a sentence; nil if namespaces confine them
function judge.weakness()
   if not way then find_way() end
   if way == confine.ways[1] then return nil end
   return "Scripts run without namespaces, which this system does not allow: they can read files and use the network"
      .. (way == confine.ways[3] and ", with all that this user may do." or ".")
end

-- Returns a function by which a script creates a few contexts on the judge's simulated computer.
-- Returns nil on real machines, since the judge may be allowed to measure what the script must not.
local function lent(lab)
   local left = CONTEXTS
   return not lab.machine and function(...)
      if left == 0 then error(("create: a script makes at most %d contexts"):format(CONTEXTS), 0) end
      left = left - 1
      return lpfm.create(...)
   end or nil
end

-- Runs in the judge's process: lets an interpreter run a script, and the page check the result.
local function verdict_of(s, page, first, source, name)
   local ok, value = pcall(first, "run", source, name, lent(s.lab))
   if not ok and value ~= wire.gone then return { say = tostring(value) } end
   if not ok then return { right = false, say = value } end
   local right, say, figures = s:judge_value(page, value)
   return { right = right, say = say, figures = figures }
end

-- Runs scripts in one interpreter, each for at most `limit` seconds. Returns their verdicts, or
-- nil and why there are none.
local function judged(s, page, sources, options)
   if not way then find_way() end
   local limit = options.limit or judge.limit
   local root_dir = assert(stdlib.mkdtemp("/tmp/lpfm-script-XXXXXX"))
   local verdicts, why = in_child(function(begin)
      local first, out = start(way, limit * #sources, root_dir):first(), {}
      first "ready"
      kit.try_format = function(...) return first("kit", "try_format", ...) end
      compiler.confined = function(command) return confine.command(way, math.ceil(limit), root_dir, command) end
      for i, source in ipairs(sources) do
         begin()
         out[i] = verdict_of(s, page, first, source, options.name or "script")
      end
      return out
   end, limit, options.quiet)
   os.remove(root_dir)
   return verdicts, why
end

--- Judges a script that shall solve a task. If the parameters are not the lab's own, the page's
-- example of a mistake runs first: if that solves the task, too, the parameters make the task so
-- small that anything would solve it, and the script does not count.
-- @tparam session s of `repl.lab.session`; its runs up to the page are done
-- @tparam table page
-- @string source of the script
-- @tparam[opt] table options `name` of the script in messages; `limit`, seconds it may take;
-- `quiet`: its output is discarded
-- @treturn ?boolean whether it solves the task; nil if it raised an error
-- @treturn string explanation
-- @treturn table figures of the check
function judge.script(s, page, source, options)
   local sources = next(s.set) and { page.mistake, source } or { source }
   local verdicts, why = judged(s, page, sources, options or {})
   if not verdicts then return false, why, {} end
   local verdict = verdicts[#sources]
   if #sources > 1 and verdicts[1].right and verdict.right then
      return false, ("with %s anything solves this task, so it does not count"):format(s.list_parameters(s.set)), {}
   end
   return verdict.right, verdict.say, verdict.figures or {}
end

--- Judges scripts that are known to end, one after the other in one interpreter.
-- @tparam session s
-- @tparam table page
-- @tparam {string,...} sources
-- @treturn[1] {table,...} `{ right=, say= }` for each script; `right` is nil if it cannot be run
-- @return[2] nil
-- @treturn[2] string why there are none
function judge.scripts(s, page, sources)
   return judged(s, page, sources, { quiet = true })
end

return judge
