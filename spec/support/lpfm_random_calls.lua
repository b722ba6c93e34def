-- SPDX-License-Identifier: MIT
-- Random calls of the module's functions on random objects with random arguments, the collector
-- running all the time. arg: seed, number of calls. Prints how many calls were made.
local lpfm = require "lpfm"
local proc = require "lpfm.proc"

local random = math.random
math.randomseed(tonumber(arg[1]))
collectgarbage("setpause", 50)
collectgarbage("setstepmul", 2000)

local objects = {}

local function keep(object)
   objects[#objects < 60 and #objects + 1 or random(#objects)] = object
end

local function one_of(list)
   return list[random(#list)]
end

local words = { "ip", "tid", "value", "num", "OVFL_NOTIFY", "default", "x", "0x10", "flags", "n-way", "default-0.6",
   "smpl_pmds" }
local fields = { "num", "value", "flags", "set", "long_reset", "smpl_pmds", "format", "buf_size", "buf_flags", "id",
   "timeout", "reset_pmds", "random_mask", "short_reset", "ip", "tid", "regions", "switch_cnt" }

-- Not those that bind to a thread, or change the configuration.
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
   function() return one_of(words) end,
   some_table, some_table, some_table,
   function() return print end,
   function() return io.stdout end,
   function() return objects[random(math.max(#objects, 1))] end,
   function() return objects[random(math.max(#objects, 1))] end,
   function() return random(64, 84) end,
   function()
      return { { num = random(64, 72), value = -random(10000, 1000000), long_reset = -20000, short_reset = -20000,
         smpl_pmds = { random(64, 84) }, flags = { "OVFL_NOTIFY" } } }
   end,
}

function some_value(depth)
   return one_of(makers_of_values)(depth)
end

local makers_of_objects = {
   function() return lpfm.create {} end,
   function()
      return lpfm.create { format = one_of { "default", "default-0.6", "n-way" }, buf_size = random(4000, 30000),
         buf_flags = one_of { {}, { "NO_HDR" }, { "IIP_HDR" } } }
   end,
   function()
      return lpfm.pmds { 64, random(64, 72), { num = random(64, 72), value = -random(1000), smpl_pmds = { 80 } } }
   end,
   function() return lpfm.pmcs { { num = random(64, 72), value = 9 } } end,
   function() return lpfm.u64(random(2 ^ 31 - 1)) end,
   function() return lpfm.create(some_value(0)) end,
   function() return lpfm.pmds(some_value(0)) end,
   function() return lpfm.create { format = "random", format_arg = some_value(0), buf_size = random(4000, 30000) } end,
   function() return lpfm.perfmonctl(objects[random(math.max(#objects, 1))], one_of(commands), some_value(0)) end,
   function()
      return lpfm.register_format { name = one_of(words), base = one_of { "default", "n-way", some_value(1) },
         handler = one_of { function() end, some_value(1) }, flags = some_value(0) }
   end,
   function() return lpfm.unregister_format(one_of(words)) end,
}

assert(lpfm.register_format { name = "random", base = "default", handler = function(self, overflow)
   if overflow.tstamp % 3 == 0 then
      error("at random")
   end
   return self.buf:record()
end, calls = { value = function(_, ...) return ... end } })

local names = { "write_pmcs", "write_pmds", "read_pmds", "read_values", "read_into", "load", "start", "stop", "restart",
   "unload", "fd", "read", "messages", "buffer", "create_evtsets", "getinfo_evtsets", "delete_evtsets", "closed",
   "close", "header", "samples", "sample", "fields", "count_by", "snapshot", "get", "set", "values", "hex", "signed",
   "tonumber", "compare", "band", "lshift", "copy", "pmd", "ask",
   "format_error", "buf_size", "ip", "tid", 64, 82, 1, -1, "pmds", "index", 0 / 0 }

-- An iterator is called a few times, its cursors kept.
local function use_function(fn)
   if fn == print then
      return
   end
   for _ = 1, random(30) do
      local ok, value = pcall(fn)
      if not ok or value == nil then
         return
      end
      keep(value)
   end
end

local function use_results(ok, ...)
   for i = 1, ok and select("#", ...) or 0 do
      local value = select(i, ...)
      if type(value) == "function" then
         use_function(value)
      elseif type(value) == "userdata" then
         keep(value)
      end
   end
end

-- Arguments that would wait for long, or bind to a thread that is none of ours, are not random.
local function arguments(object, name)
   local args, n = { random(5) == 1 and some_value(0) or object }, random(4)
   for i = 2, n do
      args[i] = some_value(0)
   end
   if name == "read" or name == "messages" then
      args[2], n = 0, 2
   elseif name == "load" then
      args[2], n = proc.gettid(), random(2)
   end
   return args, n
end

local calls = 0
while calls < tonumber(arg[2]) do
   if #objects < 10 or random(10) == 1 then
      use_results(pcall(one_of(makers_of_objects)))
   end
   local object = objects[random(math.max(#objects, 1))]
   local name = one_of(names)
   local found, method = pcall(function() return object[name] end)
   if found and type(method) == "function" then
      local args, n = arguments(object, name)
      use_results(pcall(method, unpack(args, 1, n)))
      calls = calls + 1
   end
   if random(200) == 1 then
      objects = {}
   end
   tostring(object)
end
print(calls)
