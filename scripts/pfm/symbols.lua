-- SPDX-License-Identifier: MIT
--- From addresses in processes to functions, lines and objects.
-- @module pfm.symbols

local jitdump = require "pfm.jitdump"
local jitmap = require "pfm.jitmap"
local objects = require "lpfm.symbols"
local stat = require("posix.sys.stat").stat
local text_file = require "pfm.util.text_file"

local symbols = {}

local MADE = { cold = true, constprop = true, isra = true, llvm = true, lto_priv = true, part = true }

-- --- mappings ------------------------------------------------------------------------------------

--- Reads the executable mappings out of the text of /proc/PID/maps.
-- @string text
-- @treturn table of `{start, stop, offset, path}`
-- @usage symbols.parse_maps("1000-2000 r-xp 00000000 00:00 0 /bin/x\n")[1][4] --> "/bin/x"
function symbols.parse_maps(text)
   local out = {}
   for line in text:gmatch("[^\n]+") do
      local from, to, perms, offset, path = line:match("^(%x+)%-(%x+) (%S+) (%x+) %x+:%x+ %d+%s*(.*)$")
      if from and perms:find("x") then
         out[#out + 1] = { tonumber(from, 16), tonumber(to, 16), tonumber(offset, 16), path }
      end
   end
   return out
end

--- The executable mappings of a live process.
-- @number pid
-- @return a table as of `symbols.parse_maps`, or nil when the process is gone
-- @usage #symbols.read_maps(require("lpfm.proc").getpid())
function symbols.read_maps(pid)
   local text = text_file.all(("/proc/%d/maps"):format(pid))
   if not text or text == "" then return nil end
   return symbols.parse_maps(text)
end

local function find_mapping(maps, address)
   for _, m in ipairs(maps) do
      if address >= m[1] and address < m[2] then return m end
   end
end

-- --- objects, shared by all processes ------------------------------------------------------------

local known = setmetatable({}, { __mode = "v" }) -- as long as someone uses them

-- A program that is built anew is another object.
local function version_of(path)
   local s = stat(path)
   return s and ("%s %d %d %d %d"):format(path, s.st_dev, s.st_ino, s.st_mtime, s.st_size) or path
end

--- An object of this machine as it is now, opened once while it is in use.
-- @string path
-- @return as of `lpfm.symbols.object`; nil and why not
-- @usage symbols.object("/bin/sh"):functions()
function symbols.object(path)
   local version, err = version_of(path), nil
   local object = known[version]
   if not object then
      object, err = objects.object(path)
      known[version] = object
   end
   return object, err
end

--- What identifies an object's build.
-- @string path
-- @return the build id in hexadecimal, or nil
-- @usage symbols.build_id("/bin/sh")
function symbols.build_id(path)
   local object = symbols.object(path)
   return object and object:build_id()
end

local function base_name(path)
   return path:match("([^/]+)$") or path
end

local GENERATED = "[generated code]"

local function is_generated(path)
   return path == GENERATED or path == "" or path:find("^//anon") ~= nil or path:find("^%[anon") ~= nil
      or path:find("^/memfd:") ~= nil
end

--- Is it code that a program made for itself, as JIT compilers do?
-- @string path of a mapping, or the object of a resolved address
-- @treturn bool
-- @usage symbols.is_generated "[generated code]" --> true
symbols.is_generated = is_generated

--- Why an object has no names, without its own name in front.
-- @string path
-- @string why as of `symbols.object`
-- @treturn string
-- @usage symbols.reason("/bin/x", "/bin/x: No such file") --> "No such file"
function symbols.reason(path, why)
   return why:sub(1, #path + 2) == path .. ": " and why:sub(#path + 3) or why
end

-- Words for code that has no symbol.
local function nameless(path, object, err)
   local name = base_name(path)
   if is_generated(path) then return GENERATED end
   if path == "[kernel]" or path:find("^%[") then return path end
   if path:find(" %(deleted%)$") then return ("[%s]"):format(name) end
   if not object then return ("[%s: %s]"):format(name, err and symbols.reason(path, err) or "unreadable") end
   if object:functions() == 0 then return ("[%s: no symbols]"):format(name) end
   return ("[%s]"):format(name)
end

local function hex(n)
   local high = math.floor(n / 2 ^ 32) % 2 ^ 32 -- n + 2^64 would lose its low bits
   return high > 0 and ("0x%x%08x"):format(high, n % 2 ^ 32) or ("0x%x"):format(n)
end

--- An address as people write it; negative numbers are two's complement.
symbols.hex = hex

-- What a recording knows of an object goes before what this machine has now.
local function find_object(self, path)
   local object, err = self.stored(path)
   if object or err then return object, err end
   local opened = self.opened[path]
   if not opened then
      opened = { symbols.object(path) }
      self.opened[path] = opened
   end
   return opened[1], opened[2]
end

local function describe(self, path, address, own)
   local object, err = find_object(self, path)
   local where = { object = path ~= "" and path or GENERATED, address = address, in_file = own }
   local at = own
   if object and path ~= "[kernel]" then at = object:address(own) end
   local func, start
   if object and at then func, start = object:func(at) end
   if func then
      where.func, where.offset = func, at - start
      where.own, where.handle = at, object
   else
      where.func, where.offset = nameless(path, object, err), own
      where.missing = err or (object:functions() == 0 and "no symbols" or "no symbol at this address")
   end
   return where
end

-- --- processes -----------------------------------------------------------------------------------

local resolver = {}
resolver.__index = resolver

--- A resolver of addresses in many processes.
-- @tparam[opt] table options
-- @bool[opt] options.kernel false: do not look at this machine's kernel
-- @func[opt] options.stored from a path to an object that goes before this machine's; nil where there is none, or nil
-- and why it has no symbols
-- @func[opt] options.since from a life of a process to when it began, ns: which of the code that a JIT compiler made at
-- an address was there; by default the latest
-- @func[opt] options.maps from a process to a list of mappings that `resolver:add` was not given, the latest first. A
-- process is told by its number, or by that of a life of it (see `lives` of `lpfm.blocks`)
-- @treturn resolver
-- @usage symbols.resolver { kernel = false }
function symbols.resolver(options)
   options = options or {}
   return setmetatable({
      processes = {}, cache = {}, opened = {}, jits = {}, dumps = {}, kernel = options.kernel ~= false,
      stored = options.stored or function() end, maps = options.maps or function() return {} end,
      since = options.since or function() return math.huge end,
   }, resolver)
end

--- Adds the mappings of a process as they were at some time; of overlapping ones the latest counts.
-- @number pid
-- @tparam table maps as of `symbols.parse_maps`
-- @usage local r = symbols.resolver(); r:add(7, { { 4096, 8192, 0, "/bin/sh" } })
function resolver:add(pid, maps)
   local list = self.processes[pid] or {}
   self.processes[pid] = list
   table.insert(list, 1, maps)
   self.cache[pid], self.dumps[pid] = nil, nil
end

local function maps_of(self, pid)
   if not self.processes[pid] then self.processes[pid] = self.maps(pid) end
   return self.processes[pid]
end

local function locate(self, pid, address)
   for _, maps in ipairs(maps_of(self, pid)) do
      local m = find_mapping(maps, address)
      if m then return m end
   end
end

local function resolve_kernel(self, address)
   local object, err = self.stored("[kernel]")
   if self.kernel or object or err then return describe(self, "[kernel]", address, address) end
   return { func = "[kernel]", object = "[kernel]", offset = address, address = address, missing = "another kernel" }
end

-- The names of a process's generated code: those recorded, or those that its JIT compiler left.
local function map_of(self, pid)
   if self.jits[pid] == nil then
      local map, err = self.stored(jitmap.path(pid))
      self.jits[pid] = map or (not err and jitmap.of(pid)) or false
   end
   return self.jits[pid]
end

-- A process maps the dump of its JIT compiler.
local function dump_path(self, life)
   for _, maps in ipairs(maps_of(self, life)) do
      for _, m in ipairs(maps) do
         local path = jitdump.path_of(m[4])
         if path then return path end
      end
   end
end

local function dump_of(self, life)
   local found = self.dumps[life]
   if found == nil then
      local path = dump_path(self, life)
      local dump, err = nil, nil
      if path then dump, err = self.stored(path) end
      if path and not dump and not err then dump = jitdump.read(path) end
      found = dump and { path = path, view = dump:at(self.since(life)) } or false
      self.dumps[life] = found
   end
   return found
end

local function resolve_dumped(self, life, address)
   local found = dump_of(self, life)
   local name, start
   if found then name, start = found.view:func(address) end
   return name and { func = name, object = GENERATED, offset = address - start, address = address, own = address,
      handle = found.view, map = found.path }
end

local function resolve_generated(self, life, address)
   local dumped = resolve_dumped(self, life, address)
   if dumped then return dumped end
   local pid = life % 2 ^ 32
   local map = map_of(self, pid)
   if not map then return nil end
   local name, start = map:func(address)
   return name and { func = name, object = GENERATED, offset = address - start, address = address, own = address,
      handle = map, map = jitmap.path(pid) }
end

local function resolve_new(self, pid, address)
   if address < 0 then return resolve_kernel(self, address) end
   local m = locate(self, pid, address)
   local generated = (not m or is_generated(m[4])) and resolve_generated(self, pid, address)
   if generated then return generated end
   if not m then
      return { func = "[unknown]", object = "[unknown]", offset = address, address = address, missing = "no mapping" }
   end
   return describe(self, m[4], address, address - m[1] + m[3])
end

--- Where an address lies.
-- @number pid
-- @number address
-- @treturn table `func`, `offset` in it, `object`, `missing` (why there is no function's name);
-- `symbols.line` adds `file` and `line`
-- @usage symbols.resolver():resolve(7, 4096).func --> "[unknown]"
function resolver:resolve(pid, address)
   local cache = self.cache[pid]
   if not cache then
      cache = {}
      self.cache[pid] = cache
   end
   local where = cache[address]
   if not where then
      where = resolve_new(self, pid, address)
      cache[address] = where
   end
   return where
end

--- Forgets what was resolved, not what it is resolved by: that needs no more memory then.
-- @usage symbols.resolver():forget()
function resolver:forget()
   self.cache = {}
end

--- The source line of a resolved address.
-- @tparam table where as of `resolver:resolve`
-- @return file and line, or nil
-- @usage symbols.line(symbols.resolver():resolve(7, 4096))
function symbols.line(where)
   if where.handle and where.file == nil then
      local file, line = where.handle:line(where.own)
      where.file, where.line = file or false, line
   end
   if where.file then return where.file, where.line end
end

--- The name that a function has in its source: without what the compiler adds to copies and parts of it.
-- @string name
-- @treturn string
-- @usage assert(symbols.source_name "chase.constprop.0" == "chase")
function symbols.source_name(name)
   local at = name:match("()%.(%l[%l_]*)")
   while at and not MADE[name:match("^%.(%l[%l_]*)", at)] do at = name:match("()%.%l[%l_]*", at + 1) end
   return at and name:sub(1, at - 1) or name
end

--- The functions at a resolved address: the innermost inlined one first, last the one whose code it is.
-- @tparam table where as of `resolver:resolve`
-- @treturn table of `name`, and where it is known `file` and `line`: of the address, or of the call of the frame before
-- @usage symbols.frames(symbols.resolver():resolve(7, 4096))[1].name
function symbols.frames(where)
   if where.frames then return where.frames end
   local frames = where.handle and where.handle:frames(where.own) or {}
   if #frames == 0 then
      local file, line = symbols.line(where)
      frames[1] = { file = file, line = line }
   end
   frames[#frames].name = where.func -- the symbol table's name tells copies apart: f.cold, f.part.0
   where.frames = frames
   return frames
end

return symbols
