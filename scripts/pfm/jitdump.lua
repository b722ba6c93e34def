-- SPDX-License-Identifier: MIT
--- Names and lines of generated code: the files jit-PID.dump in which JIT compilers say what they
-- made and when.
--
-- Linux describes the format in tools/perf/Documentation/jitdump-specification.txt. A process maps
-- its dump, by which the dump is found. Code replaces older code at the same address.
-- @module pfm.jitdump

local jitmap = require "pfm.jitmap"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"
local jitdump = {}

local MAGIC = 0x4A695444 -- "JiTD"
local ARCH_TIME = 1      -- flag of the header: times are of another clock than those of samples
local LOAD, MOVE, DEBUG_INFO, CLOSE = 0, 1, 2, 3
local SAME_FILE = "\255" -- in a DEBUG_INFO entry: the file is that of the entry before
local LARGEST = 2 ^ 26   -- bytes of the largest record that is read, without code
local HEAD = 16          -- bytes of a record's head
local LOAD_HEAD = 40     -- bytes of a LOAD record before the name

-- --- numbers -------------------------------------------------------------------------------------

local function number(bytes, at, size, big)
   local value = 0
   for i = 0, size - 1 do
      local byte = bytes:byte(big and at + i or at + size - 1 - i)
      if not byte then return nil end
      value = value * 256 + byte
   end
   return value
end

-- --- records -----------------------------------------------------------------------------------

local take = {}

-- A DEBUG_INFO record comes before the LOAD record of the code that it describes.
take[DEBUG_INFO] = function(self, body)
   local count = self:number(body, 9, 8) or 0
   local lines, at, file = {}, 17, nil
   for i = 1, count do
      local address, line = self:number(body, at, 8), self:number(body, at + 8, 4)
      local stop = line and body:find("\0", at + 16, true)
      if not stop then break end
      local name = body:sub(at + 16, stop - 1)
      if name ~= SAME_FILE then file = name end
      lines[i] = { address = address, line = line, file = file }
      at = stop + 1
   end
   self.lines = { at = self:number(body, 1, 8), list = lines }
end

local function add(self, load)
   load.order = #self.list
   self.list[#self.list + 1] = load
   self.by_index[load.index] = load
end

take[LOAD] = function(self, body, time)
   local start, size, index = self:number(body, 17, 8), self:number(body, 25, 8), self:number(body, 33, 8)
   local stop = index and body:find("\0", LOAD_HEAD + 1, true)
   if not stop then return end
   local lines = self.lines and self.lines.at == start and self.lines.list or {}
   self.lines = nil
   add(self, { start = start, size = size, index = index, time = time, lines = lines,
      name = (body:sub(LOAD_HEAD + 1, stop - 1):gsub("%c", "?")) })
end

take[MOVE] = function(self, body, time)
   local from, to, size, index = self:number(body, 17, 8), self:number(body, 25, 8), self:number(body, 33, 8),
      self:number(body, 41, 8)
   local moved = index and self.by_index[index]
   if not moved then return end
   local lines = {}
   for i, l in ipairs(moved.lines) do
      lines[i] = { address = l.address - from + to, line = l.line, file = l.file }
   end
   add(self, { start = to, size = size, index = index, time = time, lines = lines, name = moved.name })
end

-- Reads the body of a record; of a LOAD record, the part before the code.
local function read_body(self, id, length)
   if id ~= LOAD then return length <= LARGEST and self.file:read(length) or nil end
   local head = self.file:read(LOAD_HEAD)
   local code = head and self:number(head, 25, 8)
   local rest = code and length - LOAD_HEAD - code
   if not rest or rest < 0 or rest > LARGEST then return nil end
   local name = rest == 0 and "" or self.file:read(rest)
   return name and self.file:seek("cur", code) and head .. name
end

-- Reads to the end of the dump: it may end within a record, if the process was ended.
local function read_records(self)
   while true do
      local head = self.file:read(HEAD)
      local id, size, time = self:number(head or "", 1, 4), self:number(head or "", 5, 4), self:number(head or "", 9, 8)
      if not time or size < HEAD or id == CLOSE then return end
      local next_at = self.file:seek() + size - HEAD
      if take[id] then
         local body = read_body(self, id, size - HEAD)
         if not body then return end
         take[id](self, body, self.timed and time or 0)
      end
      self.file:seek("set", next_at)
   end
end

-- --- dumps ---------------------------------------------------------------------------------------

local dump = {}
dump.__index = dump

local function new(list)
   for _, load in ipairs(list) do table.sort(load.lines, tables.by "address") end
   return setmetatable({ list = jitmap.sorted(list) }, dump)
end

--- Returns the path of a JIT compiler's dump from the path of its mapping in a process.
-- @string path of the mapping
-- @return the dump's path, or nil: another file is mapped
-- @usage jitdump.path_of("/tmp/jit-12.dump (deleted)") --> "/tmp/jit-12.dump"
function jitdump.path_of(path)
   local name = path:gsub(" %(deleted%)$", "")
   return name:find("/jit%-%d+%.dump$") and name or nil
end

--- Reads a dump.
-- @string path
-- @return[1] dump
-- @return[2] nil
-- @treturn[2] string why not
-- @usage print(jitdump.read "/no/jit-1.dump")
function jitdump.read(path)
   local file, err = io.open(path, "rb")
   if not file then return nil, err end
   local head = file:read(40) or ""
   local big = number(head, 1, 4, true) == MAGIC
   local self = { file = file, list = {}, by_index = {} }
   function self.number(_, bytes, at, size) return number(bytes, at, size, big) end
   local size, flags = self:number(head, 9, 4), self:number(head, 33, 8)
   if not flags or (not big and number(head, 1, 4) ~= MAGIC) then
      file:close()
      return nil, path .. ": not a dump of generated code"
   end
   self.timed = flags % (2 * ARCH_TIME) < ARCH_TIME
   file:seek("set", size)
   read_records(self)
   file:close()
   return new(self.list)
end

--- Makes the dump of which a recording holds a copy.
-- @tparam table object a chunk SYMS: `functions` of `{address, size, name, time}`, `lines` of
-- `{address, file, line, time}`, `files`
-- @treturn dump
-- @usage print(jitdump.stored({ functions = { { 4096, 64, "made", 5 } }, lines = {}, files = {} }):at(9):func(4100))
function jitdump.stored(object)
   local list = {}
   for i, f in ipairs(object.functions) do
      list[i] = { start = f[1], size = f[2], name = f[3], time = f[4] or 0, order = i, lines = {} }
   end
   for _, l in ipairs(object.lines) do
      for _, load in ipairs(list) do
         if load.time == (l[4] or 0) and l[1] >= load.start and l[1] < load.start + load.size then
            load.lines[#load.lines + 1] = { address = l[1], line = l[3], file = object.files[l[2]] }
         end
      end
   end
   table.sort(list, tables.by("time", "order"))
   for i, load in ipairs(list) do load.order = i end
   return new(list)
end

--- Lists all code that ever was at an address.
-- @number address
-- @treturn table of `start`, `size`, `name`, `time` (ns)
-- @usage #jitdump.stored({ functions = {}, lines = {}, files = {} }):loads(4096) --> 0
function dump:loads(address)
   return jitmap.covering(self.list, address)
end

--- Lists the times at which code replaced other code, where they are known.
-- @treturn table of times, ns
-- @usage #jitdump.stored({ functions = {}, lines = {}, files = {} }):replacements() --> 0
function dump:replacements()
   local times, seen = {}, {}
   for i, load in ipairs(self.list) do
      for k = i + 1, #self.list do
         local other = self.list[k]
         if other.start >= load.start + load.size then break end
         local time = math.max(load.time, other.time)
         if not seen[time] and time > 0 then times[#times + 1] = time end
         seen[time] = true
      end
   end
   table.sort(times)
   return times
end

-- --- a dump as an object of lpfm.symbols -------------------------------------------------------

-- A view of a dump has the methods of lpfm.symbols' objects; its addresses are the process's.
local view = {}
view.__index = view

--- Returns a view of the code that was made up to a time.
-- @number time ns, of the samples' clock
-- @treturn view with the methods `func`, `line` of the objects of `lpfm.symbols`, and `loads`
-- @usage jitdump.stored({ functions = {}, lines = {}, files = {} }):at(5):func(4096) --> nil
function dump:at(time)
   return setmetatable({ dump = self, time = time }, view)
end

-- Returns the code at an address up to the view's time. If none was made there by then, returns the
-- first that was made later: the view's time may be that of the last exec or mapping.
local function loads_at(self, address)
   local loads = self.dump:loads(address)
   while #loads > 1 and loads[#loads].time > self.time do loads[#loads] = nil end
   return loads
end

function view:func(address)
   return jitmap.latest(loads_at(self, address))
end

local function line_in(load, address)
   local found
   for _, l in ipairs(load.lines) do
      if l.address <= address then found = l end
   end
   if found and found.file then return found.file, found.line end
end

function view:line(address)
   local loads = loads_at(self, address)
   if #loads > 0 then return line_in(loads[#loads], address) end
end

-- Lists all code that ever was at an address, with the address's source line in each.
function view:loads(address)
   local out = {}
   for i, load in ipairs(self.dump:loads(address)) do
      local file, line = line_in(load, address)
      out[i] = { start = load.start, size = load.size, name = load.name, time = load.time, order = load.order,
         file = file, line = line }
   end
   return out
end

function view.frames()
   return {}
end

function view:functions()
   return #self.dump.list
end

function view.segments()
   return {}
end

function view.build_id() end

expect.methods("dump", dump, { loads = "address: number", replacements = "", at = "time: number" })

expect.methods("view", view, {
   func = "address: number",
   line = "address: number",
   loads = "address: number",
   functions = "",
})

expect.signatures("jitdump", jitdump, {
   path_of = "path: string",
   read = "path: path",
   stored = "object: {functions,lines}",
})

return jitdump
