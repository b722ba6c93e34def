-- SPDX-License-Identifier: MIT
--- Resolves addresses in processes to functions, lines and objects.
-- @module pfm.symbols

local files = require "pfm.recording.files"
local jitdump = require "pfm.jitdump"
local jitmap = require "pfm.jitmap"
local mappings = require "pfm.recording.mappings"
local objects = require "lpfm.symbols"
local proc = require "lpfm.proc"
local stat = require("posix.sys.stat").stat
local text_file = require "pfm.util.text_file"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

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
         path = path:gsub("\\012", "\n") -- the kernel escapes newlines alone
         out[#out + 1] = { tonumber(from, 16), tonumber(to, 16), tonumber(offset, 16), path }
      end
   end
   return out
end

--- Reads the executable mappings of a live process.
-- @number pid
-- @return a table as of `symbols.parse_maps`, or nil when the process is gone
-- @usage #symbols.read_maps(require("lpfm.proc").getpid())
function symbols.read_maps(pid)
   local text = text_file.all(("/proc/%d/maps"):format(pid))
   -- a first thread that has ended has no mappings any more; the other threads have
   for _, tid in ipairs(text == "" and proc.threads(pid) or {}) do
      text = text_file.all(("/proc/%d/maps"):format(tid))
      if text and text ~= "" then break end
   end
   if not text or text == "" then return nil end
   return symbols.parse_maps(text)
end

-- --- objects, shared by all processes ------------------------------------------------------------

-- weak: an object lives as long as a resolver holds it
local known = setmetatable({}, { __mode = "v" })

-- Returns a key for the file as it is now: a program that was rebuilt is another object.
local function version_of(path, file)
   local s = stat(file)
   return s and ("%s %d %d %d %d"):format(path, s.st_dev, s.st_ino, s.st_mtime, s.st_size) or path
end

--- Opens an object of this machine as it is now, unless it is open already.
-- @string path
-- @string[opt] id identity that it must have (see `pfm.recording.files`)
-- @string[opt=path] file where it can be opened
-- @return as of `lpfm.symbols.object`; nil and why not
-- @usage symbols.object("/bin/sh"):functions()
function symbols.object(path, id, file)
   file = file or path
   if id and files.is_another(file, id) then
      local what = id:find("^inode") and "it was replaced" or "that had the build id " .. id
      return nil, ("%s: not the file that was mapped, %s"):format(path, what)
   end
   local version = version_of(path, file)
   local object, err = known[version], nil
   if not object then
      object, err = objects.object(path, file)
      known[version] = object
   end
   if not object then return nil, err end
   return object
end

local GENERATED = "[generated code]"

local function is_generated(path)
   return path == GENERATED or mappings.is_anonymous(path) or path:find("^/memfd:") ~= nil
end

--- Returns true if this is code that a program generated, as JIT compilers do.
-- @string path of a mapping, or the object of a resolved address
-- @treturn bool
-- @usage symbols.is_generated "[generated code]" --> true
symbols.is_generated = is_generated

--- Says why an object has no names, without the object's path in front.
-- @string path
-- @string why as of `symbols.object`
-- @treturn string
-- @usage symbols.reason("/bin/x", "/bin/x: No such file") --> "No such file"
function symbols.reason(path, why)
   return why:sub(1, #path + 2) == path .. ": " and why:sub(#path + 3) or why
end

-- Returns words for code that has no symbol.
local function nameless(path, object, err)
   local name = path:match("([^/]+)$") or path
   if is_generated(path) then return GENERATED end
   if path == "[kernel]" or path:find("^%[") then return path end
   if not object and path:find(" %(deleted%)$") then return ("[%s]"):format(name) end
   if not object then
      return ("[%s: %s]"):format(name, err and symbols.reason(path, err):match("^[^,]*") or "unreadable")
   end
   if object:functions() == 0 then return ("[%s: no symbols]"):format(name) end
   return ("[%s]"):format(name)
end

local function hex(n)
   local high = math.floor(n / 2 ^ 32) % 2 ^ 32 -- n + 2^64 would lose its low bits
   return high > 0 and ("0x%x%08x"):format(high, n % 2 ^ 32) or ("0x%x"):format(n)
end

--- Writes an address in hexadecimal; negative numbers are two's complement.
-- @number n
-- @treturn string
-- @usage symbols.hex(4096) --> "0x1000"
-- @function hex
symbols.hex = hex

-- Finds an object; a recording's own copy of it is preferred to the file on this machine.
local function find_object(self, path, id)
   local object, err = self.stored(path, id)
   if object or err then return object, err end
   local key = id and path .. "\0" .. id or path
   local opened = self.opened[key]
      or tables.enter(self.opened, key, { symbols.object(path, id, self.files and self.files:file(path, id)) })
   return opened[1], opened[2]
end

local function describe(self, path, address, own, id)
   local object, err = find_object(self, path, id)
   local where = { object = path ~= "" and path or GENERATED, address = address, identity = id,
      in_file = own }
   local at = own
   if object and path ~= "[kernel]" then at = object:address(own) end
   local func, start
   if object and at then func, start = object:func(at) end
   if func then
      where.func, where.offset = func, at - start
      where.own, where.handle = at, object
   end
   if func == "" then -- a function without a name: its start is shown
      where.func = ("%s+%s"):format(nameless(path, object), hex(start))
      where.missing = object:functions() == 0 and "no symbols" or "no symbol at this address"
   elseif not func then
      where.func, where.offset = nameless(path, object, err), own
      where.missing = err or (object:functions() == 0 and "no symbols" or "no symbol at this address")
   end
   return where
end

-- --- processes -----------------------------------------------------------------------------------

-- The mappings of processes that `resolver:add` was given.
local added = {}
added.__index = added

function added:find(pid, address)
   local its = self[pid]
   return its and its:at(address, its.n)
end

function added:each(pid)
   return (self[pid] or mappings.new()):each()
end

-- Returns nothing: which process forked another is not known here.
function added.parent() end

-- Returns the time for which generated code is looked up: the latest code counts.
function added.since()
   return math.huge
end

local resolver = {}
resolver.__index = resolver

--- Makes a resolver of addresses in many processes.
-- @tparam[opt] table options
-- @bool[opt] options.kernel false: do not look at this machine's kernel
-- @func[opt] options.stored `(path, identity)`: an object that is preferred to this machine's; nil
-- where there is none, or nil and why it has no symbols
-- @param[opt] options.files of `pfm.recording.files`: what is held of the files that were mapped
-- @param[opt] options.mapped of `pfm.recording.programs`: mappings and code over time; a process is
-- given as the number of a life then. By default what `resolver:add` is given, and the latest code
-- @treturn resolver
-- @usage symbols.resolver { kernel = false }
function symbols.resolver(options)
   options = options or {}
   return setmetatable({ mapped = options.mapped or setmetatable({}, added), cache = {}, places = {}, opened = {},
      jits = {}, dumps = {}, kernel = options.kernel ~= false, files = options.files,
      stored = options.stored or function() end }, resolver)
end

--- Adds the mappings of a process as they were at some time; of overlapping ones the latest counts.
-- @number pid
-- @tparam table maps as of `symbols.parse_maps`
-- @usage local r = symbols.resolver(); r:add(7, { { 4096, 8192, 0, "/bin/sh" } })
function resolver:add(pid, maps)
   self.mapped[pid] = self.mapped[pid] or mappings.new()
   for _, m in ipairs(maps) do self.mapped[pid]:add(m) end
   self.cache[pid], self.dumps[pid] = nil, nil
end

local function resolve_kernel(self, address)
   local object, err = self.stored("[kernel]")
   if self.kernel or object or err then return describe(self, "[kernel]", address, address) end
   return { func = "[kernel]", object = "[kernel]", offset = address, address = address, missing = "another kernel" }
end

-- Returns the names of a process's generated code: the recording's, or else the JIT compiler's map.
local function map_of(self, pid)
   if self.jits[pid] == nil then
      local map, err = self.stored(jitmap.path(pid))
      self.jits[pid] = map or (not err and jitmap.of(pid, self.files and self.files:map_file(pid))) or false
   end
   return self.jits[pid]
end

-- Finds the dump of a process's JIT compiler, which the process has mapped.
local function dump_path(self, life)
   for m in self.mapped:each(life) do
      local path = jitdump.path_of(m[4])
      if path then return path, self.files and self.files:file(m[4], m[5]) end
   end
end

local function dump_of(self, life)
   local found = self.dumps[life]
   if found == nil then
      local path, file = dump_path(self, life)
      local dump, err = nil, nil
      if path then dump, err = self.stored(path) end
      if path and not dump and not err then dump = jitdump.read(file or path) end
      found = dump and { path = path, view = dump:at(self.mapped:since(life)) } or false
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

-- Finds generated code. A forked process has the code of its parent, which alone has a map of it.
local function resolve_generated(self, life, address)
   local dumped = resolve_dumped(self, life, address)
   if dumped then return dumped end
   while life do
      local pid = life % 2 ^ 32
      local map, name, start = map_of(self, pid), nil, nil
      if map then name, start = map:func(address) end
      if name then
         return { func = name, object = GENERATED, offset = address - start, address = address, own = address,
            handle = map, map = jitmap.path(pid) }
      end
      life = self.mapped:parent(life)
   end
end

local function unknown(address, why)
   return { func = "[unknown]", object = "[unknown]", offset = address, address = address, missing = why }
end

-- Returns true if a mapping contains generated code, which may differ from one life of its process
-- to the next; a memfd that can be opened as an object does not differ.
local function is_changing(self, m)
   return is_generated(m[4]) and not (m[4]:find("^/memfd:") and find_object(self, m[4], m[5]))
end

local function describe_mapped(self, m, address)
   return describe(self, m[4], address, address - m[1] + m[3], m[5])
end

local function resolve_mapped(self, life, m, address)
   if is_changing(self, m) then
      return resolve_generated(self, life, address) or describe_mapped(self, m, address)
   end
   local places = self.places[m] or {}
   self.places[m] = places
   places[address] = places[address] or describe_mapped(self, m, address)
   return places[address]
end

local function resolve_new(self, life, address)
   local m = self.mapped:find(life, address)
   if m then return resolve_mapped(self, life, m, address) end
   if m == false then return unknown(address, "what was mapped there changed, and it is not known when") end
   return resolve_generated(self, life, address) or unknown(address, "no mapping")
end

--- Finds where an address lies.
-- @number pid
-- @number address
-- @treturn table `func`, `offset` in it, `object`, `missing` (why there is no function's name);
-- `symbols.line` adds `file` and `line`
-- @usage symbols.resolver():resolve(7, 4096).func --> "[unknown]"
function resolver:resolve(pid, address)
   local key = address < 0 and "kernel" or pid
   local cache = self.cache[key] or tables.enter(self.cache, key, {})
   local where = cache[address]
   if not where then
      if address < 0 then where = resolve_kernel(self, address) else where = resolve_new(self, pid, address) end
      cache[address] = where
   end
   return where
end

-- Returns the set of offsets of a mapping's file in `places`. Returns nil if the mapping contains
-- generated code, which is not in the file.
local function offsets_of(self, places, m)
   if is_changing(self, m) then return nil end
   local key = m[5] and m[4] .. "\0" .. m[5] or m[4]
   local file = places[key] or tables.enter(places, key, { path = m[4], identity = m[5], offsets = {} })
   return file.offsets
end

--- Finds all places that addresses had in a life of a process.
-- @number life
-- @tparam table addresses at user level, ascending
-- @tparam table places receives the places in files: for each file a table with `path`, `identity`
-- and `offsets`, which has each offset as a key
-- @func made is called with each place in generated code, as of `resolver:resolve`
-- @usage
-- local resolver = symbols.resolver { mapped = require("pfm.recording.programs").new({}, {}, {}) }
-- resolver:visit(7, { 4096 }, {}, function() error "nothing is mapped there" end)
function resolver:visit(life, addresses, places, made)
   local rows, before, stop = {}, {}, -math.huge
   for _, address in ipairs(addresses) do
      if address >= stop then
         rows, stop = self.mapped:ever(life, address)
         for i, m in ipairs(rows) do before[i] = offsets_of(self, places, m) or false end
      end
      for i, m in ipairs(rows) do
         if before[i] then
            before[i][address - m[1] + m[3]] = true
         else
            made(resolve_generated(self, life, address) or describe_mapped(self, m, address))
         end
      end
      local where = #rows == 0 and resolve_generated(self, life, address)
      if where then made(where) end
   end
end

--- Returns an object that was mapped.
-- @string path
-- @string[opt] identity
-- @return as of `symbols.object`
-- @usage symbols.resolver():object_of("/bin/sh")
function resolver:object_of(path, identity)
   return find_object(self, path, identity)
end

--- Forgets results, which frees their memory; mappings and objects stay.
-- @usage symbols.resolver():forget()
function resolver:forget()
   self.cache, self.places = {}, {}
end

--- Finds the source line of a resolved address.
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

--- Returns a function's name in its source: without what compilers add for copies and parts of it.
-- @string name
-- @treturn string
-- @usage assert(symbols.source_name "chase.constprop.0" == "chase")
function symbols.source_name(name)
   local at = name:match("()%.(%l[%l_]*)")
   while at and not MADE[name:match("^%.(%l[%l_]*)", at)] do at = name:match("()%.%l[%l_]*", at + 1) end
   return at and name:sub(1, at - 1) or name
end

--- Lists the functions at a resolved address: the innermost inlined one first, the outermost last.
-- @tparam table where as of `resolver:resolve`
-- @treturn table of `name`, and where it is known `file` and `line`: of the address, or of the call
-- of the frame before
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

expect.methods("resolver", resolver, {
   add = "pid: number; maps: [{1,2,4}]",
   resolve = "pid: number; address: number",
   visit = "life: number; addresses: [number]; places: table; made: function",
   object_of = "path: path; identity: string?",
   forget = "",
})

expect.signatures("symbols", symbols, {
   parse_maps = "text: string",
   read_maps = "pid: number",
   object = "path: string; id: string?; file: string?",
   is_generated = "path: string",
   reason = "path: string; why: string",
   hex = "n: number",
   resolver = "options: table?",
   line = "where: table",
   source_name = "name: string",
   frames = "where: table",
})

return symbols
