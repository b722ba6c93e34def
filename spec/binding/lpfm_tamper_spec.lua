-- SPDX-License-Identifier: MIT
-- Changes by the debug library (registry, upvalues, environments), each in a child process, make
-- calls fail, but never end the interpreter by a signal.

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local files = require "support.files"
local handles = require "support.handles"

assert(lpfm.machine(require "support.real"))
local descriptors = handles.settled()
local interpreter = "/proc/self/exe"

-- The head of all scripts. work() uses classes, registry keys and upvalues, and ignores errors.
local BEGIN = [[
local lpfm, R = require "lpfm", debug.getregistry()
local kept = {}
lpfm.machine(%q)
local function filled(o)
   local c = assert(lpfm.create(o))
   c:write_pmcs { { num = 66, value = 9 } }
   c:write_pmds { { num = 66, value = -10, long_reset = -10, short_reset = -10 } }
   c:load()
   c:start()
   for i = 1, 100 do kept[#kept + 1] = ("x"):rep(9000 + #kept) end
   c:stop()
   c:unload()
   return c
end
local function work()
   local called = {}
   local function try(f, ...)
      local got = { pcall(f, ...) }
      for i = 2, 4 do
         if type(got[i]) == "function" then called[#called + 1] = { got[i], got[i + 1] } end
      end
      return got[2]
   end
   local c = try(filled, { format = "default", buf_size = 20000 })
   if c then
      try(c.on_message, c, function() end)
      try(c.messages, c, 0)
      local v = try(lpfm.pmds, { 66 })
      try(function() return v[1], c:reader(v) end)
      local b = try(c.buffer, c)
      try(function()
         try(b.samples, b)
         try(b.fields, b, "ip")
         try(b.records, b)
         local kept = try(b.copy, b)
         try(function() return #kept, kept:samples() end)
         for s in b:samples() do try(function() return s.ip, s.stack, s.copy, tostring(s) end) break end
      end)
   end
   local stacks = try(filled, { format = "stack", buf_flags = { "RECORDS" } })
   try(function()
      local b = stacks:buffer()
      try(b.records, b)
      for s in b:samples() do try(function() return s.stack[1], s.stack.copy, #s.stack end) break end
   end)
   try(function() return lpfm.create { flags = { "MAP_SETS" } }:view():read(66) end)
   try(function() return lpfm.u64(5) + 1 end)
   try(lpfm.register_format, { name = "tampered", handler = function() end })
   try(lpfm.unregister_format, "tampered")
   try(function() return require("lpfm.samples").counter("ip"):rows() end)
   try(function() return require("lpfm.samples").each("", {}) end)
   try(function() return require("lpfm.regions").enter("x") end)
   try(lpfm.machine)
   return called
end
local function collect() for _ = 1, 4 do collectgarbage() end end
]]

local function run(script)
   local text = BEGIN:format(require "support.real") .. script
   local path = os.tmpname()
   files.write(path, text)
   local child = assert(proc.spawn({ interpreter, path }, { stdout = false, stderr = false }))
   child:go()
   local ended = child:wait()
   child:close()
   os.remove(path)
   return ended
end

local function survives(what, script)
   local ended = run(script)
   assert.is_nil(ended.signal, what .. ": ended by signal " .. tostring(ended.signal))
   assert.equal(0, ended.status, what .. ": the script's status")
end

describe("the debug library", function()
   it("cannot take the memory of a buffer, cursor or loop away", function()
      survives("environments", [[
         for _, get in ipairs {
            function(b) return b end, function(b) return b:copy() end, function(b) return b:sample(1) end,
            function(b) return (select(2, b:fields("ip"))) end,
         } do
            local c = filled { format = "default", buf_size = 20000 }
            local o = get(c:buffer())
            debug.setfenv(o, {})
            c = nil
            collect()
            local junk = {}
            for i = 1, 3000 do junk[i] = newproxy and newproxy() or ("z"):rep(100 + i) end
            for _, f in ipairs {
               function() return #o end, function() return tostring(o) end, function() return o.ip end,
               function() return o:header() end, function() return o:get("u64", 0) end,
            } do pcall(f) end
         end]])
   end)

   it("changes the registry without ending the interpreter by a signal", function()
      survives("each key", [[
         work()
         local keys = {}
         for key in pairs(R) do
            if type(key) == "string" and key:match "^lpfm" then keys[#keys + 1] = key end
         end
         assert(#keys > 8)
         for _, key in ipairs(keys) do
            local kept = R[key]
            for _, value in ipairs { false, 5, "x", {} } do
               R[key] = value or nil
               for _, f in ipairs(work()) do pcall(f[1], f[2]) end
            end
            R[key] = kept
            collect()
         end]])
   end)

   it("changes upvalues without ending the interpreter by a signal", function()
      survives("each upvalue", [[
         local function tamper(f, ...)
            for i = 1, 9 do
               local name, kept = debug.getupvalue(f, i)
               if not name then break end
               for _, value in ipairs { false, 5, "x", {}, io.stdout, lpfm.u64(1) } do
                  debug.setupvalue(f, i, value or nil)
                  pcall(f, ...)
               end
               debug.setupvalue(f, i, kept)
            end
         end
         for _, f in ipairs(work()) do
            if debug.getinfo(f[1], "S").what == "C" then tamper(f[1], f[2]) end
         end
         for key, class in pairs(R) do
            if type(key) == "string" and key:match "^lpfm" and type(class) == "table" then
               for name, f in pairs(class) do
                  if type(f) == "function" and name ~= "__gc" then tamper(f, {}, "x") end
               end
            end
         end
         for _, name in ipairs { "lpfm", "lpfm.proc", "lpfm.regions", "lpfm.samples" } do
            for _, f in pairs(require(name)) do
               if type(f) == "function" and debug.getinfo(f, "S").what == "C" and debug.getupvalue(f, 1) then
                  tamper(f, "x")
               end
            end
         end
         collect()]])
   end)

   it("runs the finalizer of an object before its time, and the second run is silent", function()
      survives("finalizers", [[
         local c = lpfm.create {}
         debug.getmetatable(c).__gc(c)
         assert(not pcall(tostring, c))
         c = nil
         collect()
         assert(lpfm.register_format { name = "tampered", handler = function() end })
         local h = R["lpfm.formats"].tampered
         debug.getmetatable(h).__gc(h)
         h = nil
         R["lpfm.formats"].tampered = nil
         collect()]])
   end)
end)

describe("smpl_pmds and reset_pmds", function()
   it("must be lists without holes", function()
      local ctx = assert(lpfm.create {})
      for _, list in ipairs { { [1] = 67, [3] = 68 }, { [67] = true }, { [2] = 67 }, { 67, a = 1 } } do
         for _, field in ipairs { "smpl_pmds", "reset_pmds" } do
            local ok, message = pcall(ctx.write_pmds, ctx, { { num = 66, [field] = list } })
            assert.is_false(ok)
            assert.matches("element 1: field '" .. field .. "'", message, 1, true)
         end
      end
      assert(ctx:write_pmds { { num = 66, smpl_pmds = { 67, 68 }, reset_pmds = {} } })
      ctx:close()
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
