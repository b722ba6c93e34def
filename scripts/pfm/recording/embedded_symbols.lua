-- SPDX-License-Identifier: MIT
--- Self-contained recordings: the symbols that the samples lie in go into the file, so that it can
-- be read where the programs are not. format.md describes the format; `pfm.recording` reads and
-- writes it.
-- @module pfm.recording.embedded_symbols

local stored = require "lpfm.samples"
local chain = require "pfm.recording.chain"
local jitdump = require "pfm.jitdump"
local jitmap = require "pfm.jitmap"
local programs = require "pfm.recording.programs"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"
local text_file = require "pfm.util.text_file"
local writer = require "pfm.recording.writer"
local expect = require "pfm.util.expect"

local embedded_symbols = {}

-- --- collecting symbols from objects -------------------------------------------------------------

local function new_object(path, handle, err)
   return {
      path = path, build_id = handle and handle:build_id(), count = handle and handle:functions() or 0, missing = err,
      trouble = handle and handle.trouble and handle:trouble() or nil,
      segments = handle and handle:segments() or {}, functions = {}, files = {}, lines = {}, frames = {},
   }
end

-- Returns an object with what is known of places in its file. If that has no build id, the object
-- has the identity of the file that was mapped.
local function file_object(resolver, file)
   local handle, err = resolver:object_of(file.path, file.identity)
   local o, offsets = new_object(file.path, handle, err), {}
   o.inode = not o.build_id and file.identity or nil
   for offset in pairs(file.offsets) do offsets[#offsets + 1] = offset end
   for what, list in pairs(handle and handle:describe(offsets) or {}) do o[what] = list end
   return o
end

-- Notes all generated code that ever was at an address, with the times at which it was made: when a
-- sample is looked at, its time tells which code it was. A map file has no times.
local function note_loads(o, handle, own)
   for _, load in ipairs(handle:loads(own)) do
      if not o.seen[load.order] then
         o.functions[#o.functions + 1] = { load.start, load.size, load.name, load.time, order = load.order }
      end
      o.seen[load.order] = true
      if load.file then
         o.numbers[load.file] = o.numbers[load.file] or #tables.append(o.files, { load.file })
         o.lines[#o.lines + 1] = { own, o.numbers[load.file], load.line, load.time }
      end
   end
end

-- Notes a place in generated code of a process.
local function note_made(objects, where, pid)
   local o = objects[where.map]
   if not o then
      o = new_object(where.map, where.handle)
      o.seen, o.numbers, o.noted = {}, {}, {}
      objects[where.map] = o
   end
   if o.noted[where.own] then return end
   o.noted[where.own] = true
   o.process = pid
   note_loads(o, where.handle, where.own)
end

local function finish(o)
   for _, list in ipairs { o.lines, o.frames } do table.sort(list, tables.by(1)) end
   table.sort(o.functions, tables.by(o.process and "order" or 1)) -- the latest code at a place is the last
   for _, f in ipairs(o.functions) do f.order = nil end
   o.seen, o.numbers, o.noted = nil, nil, nil
   return o
end

local collector = {}
collector.__index = collector

--- Makes a collector of the symbols to store, for use during or after the recording.
-- @tparam table sizes as of `recording:sizes`
-- @tparam[opt] table self the recording, where samples have stacks
-- @tparam[opt] files files of `pfm.recording.files`
-- @treturn collector
-- @usage local s = assert(recording.open "lpfm.data")
-- local c = embedded_symbols.collector(s:sizes(), s)
-- for _, m in ipairs(s.maps) do c:maps(m.pid, m.maps) end
-- for block in s:each_block() do c:block(block) end
-- print(c:objects()[1].path)
function embedded_symbols.collector(sizes, self, files)
   local keys = { "pid", "ip" }
   return setmetatable({ sizes = sizes, groups = stored.counter { keys = self and chain.keys(self, keys) or keys },
      recording = self, records = {}, mapped = {}, files = files }, collector)
end

--- Adds samples.
-- @string block
-- @usage embedded_symbols.collector({}):block(assert(recording.open "lpfm.data"):each_block()())
function collector:block(block)
   self.groups:add(block, self.sizes)
end

--- Adds the mappings of a process.
-- @int pid
-- @tparam table maps as of `symbols.parse_maps`
-- @number[opt] time ns, when the process had them
-- @usage embedded_symbols.collector({}):maps(1, { { 4096, 8192, 0, "/bin/sh" } })
function collector:maps(pid, maps, time)
   self.mapped[#self.mapped + 1] = { pid = pid, maps = maps, time = time }
end

--- Adds records of what programs did.
-- @tparam table records of `pfm.recording.programs`
-- @usage embedded_symbols.collector({}):programs { { "EXEC", 1000, 7, 7, "prog" } }
function collector:programs(records)
   for _, row in ipairs(records) do self.records[#self.records + 1] = row end
end

-- Returns the addresses of samples and of the calls in their stacks: those in user space by
-- process, sorted; the kernel's as keys.
local function addresses_of(self)
   local by_pid, kernel, source = {}, {}, self.recording
   local of_stacks = source and source:has_stacks() and source.stack_table
   for pid, ip, stack in self.groups:rows() do
      local user = by_pid[pid] or {}
      by_pid[pid] = user
      if of_stacks then of_stacks:note(stack, ip, user, kernel) else (ip < 0 and kernel or user)[ip] = true end
   end
   for pid, user in pairs(by_pid) do by_pid[pid] = tables.keys(user) end
   return by_pid, kernel
end

--- Returns the objects in which the samples lie, each as a SYMS chunk has it. It has the functions
-- and lines of everything that was ever mapped at the addresses of a process, because these were
-- collected without their times.
-- @treturn table list of tables, by path
-- @usage #embedded_symbols.collector({}):objects() --> 0
function collector:objects()
   local by_pid, kernel = addresses_of(self)
   local ran = programs.new(self.records, self.mapped, {})
   local resolver = symbols.resolver { mapped = ran, files = self.files }
   local files, made, list = {}, {}, {}
   if next(kernel) then files[1] = { path = "[kernel]", offsets = kernel } end
   for pid, user in pairs(by_pid) do
      local function visit(where)
         if where.map then return note_made(made, where, pid) end
         files[where.object] = files[where.object] or { path = where.object, identity = where.identity, offsets = {} }
      end
      for _, life in ipairs(ran:each_of(pid)) do resolver:visit(life, user, files, visit) end
   end
   for _, file in pairs(files) do list[#list + 1] = finish(file_object(resolver, file)) end
   for _, o in pairs(made) do list[#list + 1] = finish(o) end
   table.sort(list, function(a, b) return a.path < b.path end)
   return list
end

local function collect(self)
   local own = embedded_symbols.collector(self:sizes(), self)
   for _, m in ipairs(self.maps) do own:maps(m.pid, m.maps, m.time) end
   own:programs(self.records)
   for block in self:each_block() do own:block(block) end
   return own:objects()
end

local function values_of(t)
   local out, seen = {}, {}
   for _, value in pairs(t) do
      if not seen[value] then out[#out + 1] = value end
      seen[value] = true
   end
   return out
end

local function samples_in(block)
   return (select(2, stored.counter("ovfl_pmd"):add(block:sub(1, stored.head_size), {})))
end

--- Writes a recording into a file: one of `recording.of`, or what can be read of a file that was
-- cut off. Symbols that the recording lacks are looked up on this machine.
-- @param self of `recording.open` or `recording.of`
-- @string path not that of the recording itself
-- @raise where the file cannot be written
-- @usage embedded_symbols.save(assert(recording.open "lpfm.data"), "whole.data")
function embedded_symbols.save(self, path)
   if self.sources then error("many recordings are not saved as one: merge.files puts them into a file", 0) end
   if path == self.path then error("a recording cannot be saved over itself: " .. path, 0) end
   local file = expect.value(writer.create(path, self.head))
   for _, maps in ipairs(self.maps) do file:json("MAPS", maps) end
   for tid, comm in pairs(self.comms) do file:json("COMM", { { tid = tid, comm = comm } }) end
   if #self.names > 0 then file:json("COMM", self.names) end
   if #self.records > 0 then file:json("PROG", self.records) end
   local stacks = self.stack_table:bytes()
   if stacks then file:chunk("STKS", stacks) end
   for block in self:each_block() do file:block(block, samples_in(block)) end
   for _, object in ipairs(self.symbols and values_of(self.symbols) or collect(self)) do file:json("SYMS", object) end
   file:json("OBJS", values_of(self.objects))
   file:close(self.ends or {})
end

-- --- the symbols that a recording holds ----------------------------------------------------------

-- Has the methods of lpfm.symbols' objects, for the addresses that were sampled.
local embedded = {}
embedded.__index = embedded

local function exactly(list, address)
   local row = list[tables.last_before(list, 1, address)]
   return row and row[1] == address and row or nil
end

function embedded:address(offset)
   for _, s in ipairs(self.value.segments) do
      if offset >= s[1] and offset - s[1] < s[2] then return offset - s[1] + s[3] end
   end
   return #self.value.segments == 0 and offset or nil
end

function embedded:func(address)
   local f = self.value.functions[tables.last_before(self.value.functions, 1, address)]
   if f and (f[2] == 0 or address - f[1] < f[2]) then return f[3], f[1], f[2] end
end

function embedded:line(address)
   local row = exactly(self.value.lines, address)
   if row and self.value.files[row[2]] then return self.value.files[row[2]], row[3] end
end

function embedded:frames(address)
   local row, out = exactly(self.value.frames, address) or {}, {}
   for i = 2, #row, 3 do
      local file = self.value.files[row[i + 1]]
      out[#out + 1] = { name = row[i], file = file, line = file and row[i + 2] }
   end
   return out
end

function embedded:functions()
   return self.value.count or #self.value.functions
end

function embedded:build_id()
   return self.value.build_id
end

function embedded:segments()
   return self.value.segments
end

-- Makes the object of a chunk SYMS; of a dump, one that has a view of each time.
local function object_of(path, value)
   if not value.process then return setmetatable({ value = value }, embedded) end
   local dump = jitdump.stored(value)
   return jitmap.is_path(path) and dump:at(math.huge) or dump
end

-- Returns a function that finds objects among those that a recording contains.
local function finder(self)
   local known = {}
   return function(path, id)
      local value = self.symbols and (id and self.symbols[path .. "\0" .. id] or self.symbols[path])
      local made = jitmap.is_path(path) or jitdump.path_of(path)
      local elsewhere = self.elsewhere and self.elsewhere[path]
      if elsewhere then return symbols.object(elsewhere) end
      if not value then return nil, self.symbols and not self.is_here and made and "it was not recorded" or nil end
      local own = value.build_id or value.inode
      if id and own and id ~= own then return nil, "its symbols were not recorded" end
      known[value] = known[value] or object_of(path, value)
      if value.missing then return nil, value.missing end
      return known[value]
   end
end

--- Identifies this boot of the kernel, during which its addresses hold.
-- @return a text, or nil where it is not known
-- @usage embedded_symbols.this_boot() --> "1f3e...", as in the head.machine.boot of a recording
function embedded_symbols.this_boot()
   return text_file.line("/proc/sys/kernel/random/boot_id")
end

local function same_kernel(self)
   if self.same_kernel ~= nil then return self.same_kernel end
   local boot = self.head.machine.boot
   return boot ~= nil and boot == embedded_symbols.this_boot()
end

--- Returns a resolver for the samples of a recording, by the symbols in the recording; by this
-- machine's programs if it has none, because its recorder was killed.
-- @param self of `recording.open`
-- @treturn resolver see `pfm.symbols`
-- @usage embedded_symbols.resolver(assert(recording.open "lpfm.data")):resolve(1, 4096).func
function embedded_symbols.resolver(self)
   if self.resolver then return self.resolver end
   if self.sources then
      self.resolver = self:resolver_by(embedded_symbols.resolver)
      return self.resolver
   end
   local ran = self:programs()
   local resolver = symbols.resolver { kernel = same_kernel(self), stored = finder(self), mapped = ran,
      files = self.files }
   -- only symbols of a complete recording are final
   if self.symbols and self.ends then self.resolver = resolver end
   return resolver
end

return embedded_symbols
