-- SPDX-License-Identifier: MIT
--- Names of generated code: the files /tmp/perf-PID.map in which JIT compilers say what they made.
--
-- A line is "START SIZE name", the numbers in hexadecimal. `jitmap.start` writes such a file for
-- LuaJIT's own traces.
-- @module pfm.jitmap

local demangle = require("lpfm.symbols").demangle
local readlink = require("posix.unistd").readlink
local tables = require "pfm.util.tables"
local stat = require("posix.sys.stat").stat
local text_file = require "pfm.util.text_file"
local expect = require "pfm.util.expect"

local jitmap = {}

local LARGEST = 2 ^ 28 -- bytes of a file that is read

-- --- reading -------------------------------------------------------------------------------------

local map = {}
map.__index = map

--- Sorts code by address, and in `order` at one address: there the last counts, for new code has
-- replaced the older.
-- @tparam {table,...} list each `start`, `size`, `order`; gets `reach`
-- @treturn table the list
-- @usage jitmap.sorted({ { start = 8, size = 4, order = 1 } })[1].reach --> 12
function jitmap.sorted(list)
   table.sort(list, tables.by("start", "order"))
   local reach = 0
   for _, e in ipairs(list) do
      reach = math.max(reach, e.start + e.size)
      e.reach = reach -- the highest end of this and all earlier entries
   end
   return list
end

--- Reads the text of a map file.
-- @string text
-- @treturn map
-- @usage jitmap.parse("7f0000001000 40 made"):func(0x7f0000001010) --> "made", 0x7f0000001000, 0x40
function jitmap.parse(text)
   local list = {}
   for line in text:gmatch("[^\n]+") do
      local start, size, name = line:match("^0?x?(%x+)%s+0?x?(%x+)%s+(.+)$")
      local bytes = size and tonumber(size, 16)
      if bytes and bytes > 0 then
         list[#list + 1] = { start = tonumber(start, 16), size = bytes, order = #list, time = 0,
            name = (demangle((name:gsub("%z", "?"))):gsub("%c", "?")) }
      end
   end
   return setmetatable({ list = jitmap.sorted(list) }, map)
end

--- Finds all code in a list that ever was at an address.
-- @tparam table list of `jitmap.sorted`
-- @number address
-- @treturn table of elements of the list, in their `order`
-- @usage #jitmap.covering(jitmap.sorted({ { start = 8, size = 4, order = 1 } }), 9) --> 1
function jitmap.covering(list, address)
   local out = {}
   local i = tables.last_before(list, "start", address)
   while i > 0 and list[i].reach > address do
      if address < list[i].start + list[i].size then out[#out + 1] = list[i] end
      i = i - 1
   end
   table.sort(out, function(a, b) return a.order < b.order end)
   return out
end

--- Returns the latest of the code that was at an address. If it is not known when it replaced other
-- code (its `time` is 0), the name says that it may have been the other.
-- @tparam table loads of `jitmap.covering`, up to the latest
-- @return its name, where it starts, its size; or nil
-- @usage
-- local loads = { { name = "first", time = 0 }, { name = "second", time = 0 } }
-- print((jitmap.latest(loads))) --> second (or earlier code)
function jitmap.latest(loads)
   local latest = loads[#loads]
   if not latest then return nil end
   local name = latest.name
   for _, load in ipairs(latest.time == 0 and loads or {}) do
      if load.name ~= latest.name then name = latest.name .. " (or earlier code)" end
   end
   return name, latest.start, latest.size
end

-- A map has the methods of lpfm.symbols' objects; its addresses are the process's.

--- Finds the code at an address.
-- @number address
-- @return its name, where it starts, its size; or nil
-- @usage jitmap.parse("1000 40 made"):func(0x1010)
function map:func(address)
   return jitmap.latest(self:loads(address))
end

--- Lists all code that ever was at an address. A map file does not say when: each `time` is 0.
-- @number address
-- @treturn table of `start`, `size`, `name`, `time`
-- @usage #jitmap.parse("1000 40 made"):loads(0x1010) --> 1
function map:loads(address)
   return jitmap.covering(self.list, address)
end

-- A map file has no lines, inlined functions, mapped segments or build id.
function map.line() end

function map.frames()
   return {}
end

function map:functions()
   return #self.list
end

function map.segments()
   return {}
end

function map.build_id() end

local function read(path)
   local file = io.open(path, "r")
   local size = file and file:seek("end")
   local text
   if size and size <= LARGEST then
      file:seek("set", 0)
      text = file:read(size)
   end
   if file then file:close() end
   return text
end

--- Returns where a process's map file is.
-- @number pid
-- @treturn string
-- @usage jitmap.path(12) --> "/tmp/perf-12.map"
function jitmap.path(pid)
   return ("/tmp/perf-%d.map"):format(pid)
end

--- Says where the map file of a process in a container is: in /tmp there, by the pid there.
-- @number pid
-- @treturn ?string nil: the process is in no container, or has ended
-- @usage print(jitmap.inner_path(require("lpfm.proc").getpid()))
function jitmap.inner_path(pid)
   local root = ("/proc/%d/root"):format(pid)
   local own, its = stat "/", stat(root)
   if not its then return nil end
   local is_here = its.st_ino == own.st_ino and its.st_dev == own.st_dev
   if is_here and readlink(("/proc/%d/ns/pid"):format(pid)) == readlink "/proc/self/ns/pid" then return nil end
   local status = text_file.all(("/proc/%d/status"):format(pid)) or ""
   local inner = tonumber(status:match("\nNSpid:[%s%d]-(%d+)\n"))
   if not inner or is_here and inner == pid then return nil end
   return root .. jitmap.path(inner)
end

--- Returns true if this is the path of a map file.
-- @string path
-- @treturn boolean
-- @usage jitmap.is_path("/tmp/perf-12.map") --> true
function jitmap.is_path(path)
   return path:find("^/tmp/perf%-%d+%.map$") ~= nil
end

--- Reads the map file of a process.
-- @number pid
-- @string[opt] file where it can be opened
-- @return a map, or nil when there is none
-- @usage jitmap.of(require("lpfm.proc").getpid())
function jitmap.of(pid, file)
   local text = read(file or jitmap.inner_path(pid) or jitmap.path(pid))
   return text and jitmap.parse(text)
end

-- --- writing, for LuaJIT's traces ----------------------------------------------------------------

local jit = rawget(_G, "jit")

local function place_of(func, pc)
   local info = require("jit.util").funcinfo(func, pc)
   return info.loc or (info.ffid and require("jit.vmdef").ffnames[info.ffid]) or "?"
end

-- Returns words for where a trace comes from: the exit of another trace, or the end of the trace to
-- which it is stitched. Returns "" for a root trace.
local function origin(parent, exit)
   if not parent then return "" end
   return exit >= 0 and (", from exit %d of %d"):format(exit, parent) or (", behind %d"):format(parent)
end

local function writer(file)
   local util, name = require "jit.util", nil
   return function(what, trace, func, pc, parent, exit)
      if what == "start" then
         name = ("%s [trace %d%s]"):format(place_of(func, pc), trace, origin(parent, exit))
      elseif what == "stop" and name then
         local code, address = util.tracemc(trace)
         if code then file:write(("%x %x %s\n"):format(address, #code, name)) end
      end
   end
end

--- Writes the traces that LuaJIT compiles from now on into /tmp/perf-PID.map, so that `lpfm record`
-- of this process finds their names. Traces compiled before have none.
-- @string[opt] path another file
-- @return the path, or nil and a message where Lua code is not compiled
-- @usage require("pfm.jitmap").start(); require("pfm.jitmap").stop()
function jitmap.start(path)
   if not jit then return nil, "only LuaJIT compiles Lua code: this is " .. _VERSION end
   path = path or jitmap.path(require("lpfm.proc").getpid())
   local file, err = io.open(path, "w")
   if not file then return nil, err end
   file:setvbuf("line")
   jitmap.stop()
   jitmap.handler, jitmap.file = writer(file), file
   jit.attach(jitmap.handler, "trace")
   return path
end

--- Stops writing.
-- @usage jitmap.stop()
function jitmap.stop()
   if not jitmap.handler then return end
   jit.attach(jitmap.handler)
   jitmap.file:close()
   jitmap.handler, jitmap.file = nil, nil
end

expect.methods("map", map, { func = "address: number", loads = "address: number", functions = "" })

expect.signatures("jitmap", jitmap, {
   parse = "text: string",
   path = "pid: number",
   inner_path = "pid: number",
   is_path = "path: string",
   of = "pid: number; file: path?",
   start = "path: path?",
   sorted = "list: [{start,size,order}]",
   covering = "list: [{start,size,order}]; address: number",
   latest = "loads: [{name,time}]",
})

return jitmap
