-- SPDX-License-Identifier: MIT
--- Judges a student's script, with three processes: the caller; a judge, which has the lab, its
-- computer and the verdict; and a confined interpreter, which runs the script and answers the
-- judge's calls. A script cannot reach the verdict from its interpreter: it can only return
-- values.
-- @module repl.lab.judge

local sandbox = require "repl.lab.sandbox"
local compiler = require "labs.compiler"
local confine = require "repl.lab.confine"
local fcntl = require "posix.fcntl"
local kit = require "labs.kit"
local lpfm = require "lpfm"
local namespace = require "repl.prompt.namespace"
local proc = require "lpfm.proc"
local socket = require "posix.sys.socket"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"
local wire = require "repl.lab.wire"

local judge = {}

local CONTEXTS = 64 -- the number of contexts that a script may create

--- The number of seconds that a script may take.
judge.limit = 20

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
   local got, err = sandbox.call(function()
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
   local verdicts, why = sandbox.call(function(begin)
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
