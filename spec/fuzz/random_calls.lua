-- SPDX-License-Identifier: MIT
-- Calls the module's functions and its objects' methods at random, with random arguments, in
-- whatever state the objects are, while the collector runs; nothing may be left at the end. arg:
-- seed, number of calls. Prints the number of calls, and to standard error how many of them raised.
--
-- In spec/c/fuzz/starved.c memory runs out during some of the calls, too. In LuaJIT pfm.ffi is
-- called as well.
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local stored = require "lpfm.samples"
local symbols = require "lpfm.symbols"
local PATIENCE = require "support.patience"
local oprofile, pebs = require "pfm.oprofile.oprofile", require "pfm.pebs"
local typed = rawget(_G, "jit") and require "pfm.ffi"
local starve = rawget(_G, "starve")

local random = math.random
math.randomseed(tonumber(arg[1]))

local objects, simulator, blob = {}, nil, ""
local calls, raised = 0, 0

local function keep(object)
   objects[#objects < 60 and #objects + 1 or random(#objects)] = object
end

local function one_of(list)
   return list[random(#list)]
end

local function one_object()
   return objects[random(math.max(#objects, 1))]
end

-- --- values --------------------------------------------------------------------------------------

local words = { "ip", "tid", "value", "num", "OVFL_NOTIFY", "default", "x", "0x10", "flags", "n-way", "default-0.6",
   "smpl_pmds", "cycles", "page-faults", "L2_MISSES:ALL", "itanium2", "u", "", ("y"):rep(300), "a\0b", "-1",
   "0xffffffffffffffff", "99999999999999999999", "[vdso]", "/nonexistent" }
local fields = { "num", "value", "flags", "set", "long_reset", "smpl_pmds", "format", "buf_size", "buf_flags", "id",
   "timeout", "reset_pmds", "random_mask", "short_reset", "ip", "tid", "regions", "switch_cnt", "events", "plm", "pmu",
   "program", "loop", "ns", "name", "cpu", "id_next", "eventid", "random_seed", "format_arg", "last_reset", "keys" }

-- Commands of perfmonctl, without those that bind to a thread or change the configuration.
local commands = { "PFM_CREATE_CONTEXT", "PFM_WRITE_PMCS", "PFM_WRITE_PMDS", "PFM_READ_PMDS", "PFM_START", "PFM_STOP",
   "PFM_RESTART", "PFM_UNLOAD_CONTEXT", "PFM_CREATE_EVTSETS", "PFM_DELETE_EVTSETS", "PFM_GETINFO_EVTSETS",
   "PFM_GETINFO_PMCS", "PFM_GETINFO_PMDS", "PFM_GET_CONFIG", "x" }

local some_value

local function some_table(depth)
   local t = {}
   for i = 1, random(0, 4) do
      t[i] = depth < 3 and some_value(depth + 1) or random(60, 84)
   end
   for _ = 1, random(0, 3) do
      t[one_of(fields)] = depth < 3 and some_value(depth + 1) or random(0, 3)
   end
   return t
end

local makers_of_values = {
   function() return nil end,
   function() return true end,
   function() return random(-2, 100) end,
   function() return random() * 2 ^ random(0, 70) end,
   function() return 0 / 0 end,
   function() return -2 ^ random(0, 64) end,
   function() return 1 / 0 end,
   function() return one_of(words) end,
   function() return one_of(fields) end,
   some_table, some_table, some_table,
   function() return print end,
   function() return coroutine.create(function() end) end,
   function() return io.stdout end,
   function() return newproxy and newproxy() end,
   function() return blob end,
   one_object, one_object,
   function() return random(64, 84) end,
   function()
      return { { num = random(64, 72), value = -random(10000, 1000000), long_reset = -20000, short_reset = -20000,
         smpl_pmds = { random(64, 84) }, flags = { "OVFL_NOTIFY" } } }
   end,
   function()
      return { { num = random(0, 8), value = -random(10, 1000), long_reset = -random(100), short_reset = -random(100),
         smpl_pmds = { random(0, 8), random(80, 84) }, flags = one_of { {}, { "OVFL_NOTIFY" } } } }
   end,
}

function some_value(depth)
   return one_of(makers_of_values)(depth)
end

-- --- calls ---------------------------------------------------------------------------------------

-- Calls fn; every third time, if `starve` is there, memory runs out during the call.
local function try(fn, ...)
   if starve and random(3) == 1 then
      return starve(random(0, 15), fn, ...)
   end
   return pcall(fn, ...)
end

local typed_classes = {}

-- Returns true if cdata is an object of pfm.ffi; other cdata, such as pointers, is not kept.
local function is_typed(value)
   for _, class in ipairs(typed_classes) do
      if require("ffi").istype(class, value) then
         return true
      end
   end
   return false
end

local function note(value)
   if type(value) == "userdata" or is_typed(value) then
      keep(value)
   end
end

-- Calls an iterator a few times, and keeps its samples.
local function use_function(fn, state)
   if fn == print then
      return
   end
   local control
   for _ = 1, random(30) do
      local ok, value = try(fn, random(4) == 1 and some_value(0) or state, control)
      if not ok or value == nil then
         return
      end
      control = value
      note(value)
   end
end

local function use_results(ok, ...)
   raised = raised + (ok and 0 or 1)
   for i = 1, ok and select("#", ...) or 0 do
      local value = select(i, ...)
      if type(value) == "function" then
         use_function(value, (select(i + 1, ...)))
      else
         note(value)
      end
   end
end

-- --- objects -------------------------------------------------------------------------------------

-- Returns a program of sites with accesses that are valid or random.
local function accesses()
   local steps, data = { loop = one_of { "forever", 10, 1000 } }, random(2) == 1 and 0x100000 or some_value(1)
   for i = 1, random(1, 4) do
      steps[i] = one_of {
         { ip = 0x1000 * i, load = { data, random(-64, 4096) } },
         { ip = 0x1000 * i + random(8), store = { 0x200000, 8, random = random(0, 999), seed = some_value(1) } },
         { ip = 0x1000 * i, load = { 0x300000, 64, chase = random(999) }, taken = one_of { "back", "TTN", 0.5, data } },
         { ip = 0x1000 * i, load = some_value(1), taken = some_value(1), bytes = some_value(1) },
         { ops = function() return some_value(1), one_of { "load", "branch", some_value(1) }, some_value(1) end },
         { trace = some_value(1) },
      }
   end
   return { steps }
end

local models = {}
for _, name in ipairs(lpfm.machines()) do
   models[#models + 1] = name:match("^sim:[%w_]+$")
end

local function new_machine()
   local name = one_of { "perf", "sim:k8", one_of(models), one_of(models) }
   local m = assert(lpfm.machine(name, name ~= "perf" and { explain = random(0, 1), cpus = random(2) } or nil))
   simulator = name ~= "perf" and m or nil
   if simulator then
      m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 1, events = { page_faults = 3 } } } } }
      try(m.spawn, m, { program = accesses() })
   end
end

local function typed_context()
   local ctx = one_object()
   return typed and type(ctx) == "userdata" and typed.context(ctx)
end

-- Starts a child process that ends at once; seldom, as it costs as much as many calls.
local function child()
   if random(300) > 1 then
      return
   end
   local c = assert(proc.spawn({ "true" }, { env = { LD_PRELOAD = false, A = one_of { "b", false } } }))
   keep(c)
   c:go()
end

local makers_of_objects = {
   function() return lpfm.create {} end,
   function()
      local format = one_of { "default", "default-0.6", "n-way", "stack" }
      return lpfm.create { format = format, buf_size = random(4000, 30000),
         buf_flags = one_of { {}, { "NO_HDR" }, { "IIP_HDR" } } }
   end,
   function()
      return lpfm.create { format = one_of { "pebs", "pebs-32", "pebs-nehalem", "oprofile" },
         format_arg = one_of { oprofile.argument { cpus = random(0, 66), buf_size = random(0, 9000),
            watermark = random(0, 500) }, pebs.argument { buf_size = random(0, 9000), threshold = random(0, 60),
            periods = { [0] = random(1000) } } } }
   end,
   function() -- BPF programs of random bytes, and of instructions that load
      local code = random(2) == 1 and some_value(0) or (" \0\0\0" .. string.char(4 * random(0, 80) % 256, random(0, 1))
         .. "\0\0"):rep(random(0, 9)) .. "\22" .. ("\0"):rep(7)
      return lpfm.create { format = "program", program = code, buckets = one_of { random(0, 4096), some_value(0) },
         base = one_of { "default", "n-way", "stack", "none", some_value(0) } }
   end,
   function()
      return lpfm.pmds { 64, random(64, 72), { num = random(64, 72), value = -random(1000), smpl_pmds = { 80 } } }
   end,
   function() return lpfm.pmds { random(0, 8), random(0, 8) } end,
   function() return lpfm.pmcs { { num = random(64, 72), value = 9 } } end,
   function() return lpfm.u64(random(2 ^ 31 - 1)) end,
   function() return lpfm.create(some_value(0)) end,
   function() return lpfm.pmds(some_value(0)) end,
   function() return lpfm.create { format = "random", format_arg = some_value(0), buf_size = random(4000, 30000) } end,
   function() return lpfm.perfmonctl(one_object(), one_of(commands), some_value(0)) end,
   function()
      return lpfm.register_format { name = one_of(words), base = one_of { "default", "n-way", some_value(1) },
         handler = one_of { function() end, some_value(1) }, flags = some_value(0) }
   end,
   function() return lpfm.unregister_format(one_of(words)) end,
   function() return stored.counter(one_of(fields), one_of(fields)) end,
   function() return stored.sample({ [one_of(fields)] = some_value(0) }, some_value(1)) end,
   function() return stored.each(stored.head(random(0, 9), some_value(0)) .. some_value(0), some_value(1)) end,
   function() return random(20) == 1 and symbols.object("[vdso]") end,
   child,
   typed_context, typed_context,
   function() return typed and typed.pmds { random(64, 72), random(64, 72), random(0, 8) } end,
   function() return typed and typed.pmcs { { num = random(64, 72), value = 9 } } end,
}

assert(lpfm.register_format { name = "random", base = "default", handler = function(self, overflow)
   if overflow.tstamp % 3 == 0 then
      error("at random")
   end
   return self.buf:record()
end, calls = { value = function(_, ...) return ... end } })

local names = { "write_pmcs", "write_pmds", "read_pmds", "read_values", "read_into", "reader", "load", "start", "stop",
   "restart", "unload", "fd", "read", "messages", "buffer", "create_evtsets", "getinfo_evtsets", "delete_evtsets",
   "closed", "close", "header", "samples", "sample", "fields", "count_by", "snapshot", "get", "set", "values", "hex",
   "signed", "tonumber", "compare", "band", "bor", "bxor", "bnot", "lshift", "rshift", "copy", "pmd", "ip", "tid", 64,
   82, 1, -1, "pmds", "index", 0 / 0, "entries", "hdr", "go", "wait", "kill", "next", "release", "threads", "add",
   "rows", "address", "func", "line", "frames", "functions", "build_id", "act", "encode", "events", "interrupt",
   "run", "set", "share", "spawn", "time", "truth", "ask", "format_error", "buf_size", "caches", "cache_sets",
   "encode_pmcs", "explain" }

-- Functions that affect other processes, or that read a descriptor to its end, which may never
-- come, are not called at random.
local elsewhere = { kill = true, spawn = true, trace = true, setaffinity = true, machine = true, lackey_trace = true }

local functions = {}
for _, module in ipairs { lpfm, proc, stored, symbols } do
   for name, fn in pairs(module) do
      if type(fn) == "function" and not elsewhere[name] then
         functions[#functions + 1] = { name = name, call = fn }
      end
   end
end

-- Sets arguments, from args[at] on, that are not random, since they could wait for long or name
-- another process's thread.
local tame = {
   read = function(args, at) args[at] = 0 return at end,
   messages = function(args, at) args[at] = 0 return at end,
   wait = function(args, at) args[at] = 0 return at end,
   next = function(args, at) args[at] = 0 return at end,
   load = function(args, at)
      args[at] = one_of { proc.gettid(), 100, 101 }
      return at + random(0, 1)
   end,
   run = function(args, at)
      args[at] = { ns = random(0, 3000), until_message = one_of { false, one_object() } or nil }
      return at
   end,
   poll = function(args, at, n)
      args[at + 1] = 0
      return math.max(n, at + 1)
   end,
   interrupt = function(args, at)
      args[at] = { cpu = 0, period = 1000, program = { { ip = 0x2000, ns = 10 } } }
      return at
   end,
}

local function arguments(name, first, at)
   local args, n = { first }, at - 1 + random(0, 4)
   for i = at, n do
      args[i] = some_value(0)
   end
   if tame[name] then
      n = tame[name](args, at, n)
   end
   return args, n
end

local function call(name, fn, self)
   local at = self ~= nil and 2 or 1
   if at == 2 and random(6) == 1 then
      self = some_value(0)
   end
   local args, n = arguments(name, self, at)
   use_results(try(fn, unpack(args, 1, n)))
   calls = calls + 1
end

local function call_method(object)
   local name = one_of(names)
   local found, method = pcall(function() return object[name] end)
   if found and type(method) == "function" and method ~= print then
      call(name, method, object)
   end
end

local operators = {
   function(a, b) return a + b end, function(a, b) return a - b end, function(a, b) return a * b end,
   function(a, b) return a / b end, function(a, b) return a % b end, function(a, b) return a < b end,
   function(a, b) return a <= b end, function(a, b) return a == b end, function(a, b) return a .. b end,
   function(a) return -a end, function(a) return #a end, function(a, b) return a[b] end,
   function(a, b) a[b] = some_value(0) end, tostring,
}

local steps = {
   function() call_method(one_object()) end, function() call_method(one_object()) end,
   function() call_method(one_object()) end, function() call_method(one_object()) end,
   function() if simulator then call_method(simulator) end end,
   function()
      local f = one_of(functions)
      call(f.name, f.call)
   end,
   function()
      use_results(try(one_of(operators), one_object(), some_value(0)))
      calls = calls + 1
   end,
   function()
      if #objects < 10 or random(3) == 1 then
         use_results(try(one_of(makers_of_objects)))
      end
   end,
}

-- --- the run -------------------------------------------------------------------------------------

-- Returns the settings of a configuration that calls can change.
local function limits(cfg)
   return { arg_size_max = cfg.arg_size_max, smpl_buf_size_max = cfg.smpl_buf_size_max,
      ovfl_rate_max = cfg.ovfl_rate_max, thread_gid = cfg.thread_gid, sys_gid = cfg.sys_gid }
end

-- Asserts that nothing is in use; waits, since the library closes its descriptors a moment later.
local function check_idle(machine)
   local deadline = proc.clock() + PATIENCE
   for _, name in ipairs { "thread_sessions", "sys_sessions", "smpl_buf_size_cur" } do
      while lpfm.config()[name] > 0 and proc.clock() < deadline do
         lpfm.poll({}, 0.01)
      end
      local left = lpfm.config()[name]
      assert(left == 0, ("%s: %s is %d at the end"):format(machine, name, left))
   end
end

local handles = require "support.handles"
assert(lpfm.machine("perf"))
local descriptors = handles.settled()
local original = limits(lpfm.config())

if typed then
   for i, name in ipairs { "pmds", "pmcs", "context", "buffer" } do
      typed_classes[i] = require("ffi").typeof("struct pfm_ffi_" .. name)
   end
end

collectgarbage("setpause", 50)
collectgarbage("setstepmul", 2000)

local wanted = tonumber(arg[2])
while calls < wanted do
   one_of(steps)()
   if random(100) == 1 then
      collectgarbage()
   end
   if random(200) == 1 then
      objects = {}
   end
   if random(500) == 1 then
      new_machine()
      lpfm.config(original)
   end
end

objects, simulator = {}, nil
if typed then
   require("jit").flush() -- a compiled loop keeps the objects that it was compiled for
end
collectgarbage()
collectgarbage()
for _, name in ipairs { "perf", "sim:k8" } do
   local m = assert(lpfm.machine(name))
   if name ~= "perf" then
      m:run { ns = 0 } -- destroys what was closed
   end
   handles.settled(descriptors)
   check_idle(name)
end
assert(handles.settled(descriptors) == descriptors, handles.list())
io.stderr:write(("%d of %d calls raised\n"):format(raised, calls))
print(calls)
