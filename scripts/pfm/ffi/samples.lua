-- SPDX-License-Identifier: MIT
--- Typed views of sampling buffers: the part of pfm.ffi that walks over samples, and declares the
-- headers. The walk is a function of the module lpfm, which has LuaJIT compile it.
-- @module pfm.ffi.samples

if not rawget(_G, "jit") then
   error("pfm.ffi needs LuaJIT; in PUC Lua use the module lpfm: ctx:reader(v), buf:fields(...), "
      .. "buf:count_by(...)", 0)
end

-- A Lua state can declare C types and give them metatables only once: if the module is loaded
-- again, it returns the table of the first time.
local registry = debug.getregistry()
if registry["pfm.ffi.samples"] then
   return registry["pfm.ffi.samples"]
end

local expect = require "pfm.util.expect"
local ffi = require "ffi"
local bit = require "bit"
local lpfm = require "lpfm"

ffi.cdef(require "lpfm.cdef")
ffi.cdef "struct pfm_ffi_buffer { struct lpfm_context *const c; };"

local samples = {}

--- The objects of the module lpfm by the typed objects; for a typed buffer a table: `ctx`, `view`.
samples.objects = setmetatable({}, { __mode = "k" })
local objects = samples.objects

local NO_HDR, IIP_HDR = lpfm.const.PFM_DFL_SMPL_NO_HDR, lpfm.const.PFM_DFL_SMPL_IIP_HDR
local int64 = ffi.typeof("int64_t")

--- Returns a 64-bit value as lpfm does: as a signed number if that is exact, else as an lpfm.u64.
-- @param value uint64_t
-- @return number or u64
function samples.exact(value)
   local signed = ffi.cast(int64, value)
   if signed >= -2 ^ 53 and signed <= 2 ^ 53 then
      return tonumber(signed)
   end
   return lpfm.u64(value)
end

-- Returns the C type of a pointer to a sample's header in a context's buffer.
local function entry_of(c)
   if bit.band(c.buf_flags, NO_HDR + IIP_HDR) ~= 0 then
      return "const uint64_t *"
   end
   return c.format == "LPFM_DFL_06" and "const pfm_default_smpl_entry_t *" or "const pfm_dfl_smpl_entry_t *"
end

-- The C types of pointers to buffers' headers, by format.
local header_types = { LPFM_DFL_2X = "const pfm_dfl_smpl_hdr_t *", LPFM_DFL_06 = "const pfm_default_smpl_hdr_t *",
   LPFM_NWAY = "const pfm_nway_smpl_hdr_t *", LPFM_STACK = "const pfm_stack_smpl_hdr_t *" }

local function header_of(c)
   for name, ctype in pairs(header_types) do
      if c.format == name then
         return ffi.cast(ctype, c.buf)
      end
   end
end

-- --- buffers -------------------------------------------------------------------------------------

--- Makes methods check that they are called on an object of their class.
-- @tparam table methods
-- @tparam function is_object
-- @string name the class's
function samples.check_objects(methods, is_object, name)
   for key, fn in pairs(methods) do
      methods[key] = function(self, ...)
         if not is_object(self) then error(expect.misuse(self, name, key), 2) end
         return fn(self, ...)
      end
   end
end

-- What entries() returns of a sample, as Lua expressions that lpfm/ffi/step.lua compiles into its
-- loop.
local VALUES = "tonumber(w.index), cast(entry, at), cast(u64, at + $head), (tonumber(w.size) - $head) / 8"

local buffer = {}
local buffer_class = ffi.metatype("struct pfm_ffi_buffer", {
   __index = buffer,
   __len = function(self)
      return #objects[self].view
   end,
   __tostring = function(self)
      return tostring(objects[self].view)
   end,
})

--- Makes what pfm.ffi's context:buffer() returns.
-- @param ctx the context
-- @param c it as struct lpfm_context *
-- @return buffer, or nil, message, errno
-- @raise if the context is closed
function samples.buffer(ctx, c)
   local view, message, errno = ctx:buffer()
   if not view then
      return nil, message, errno
   end
   c.pinned = true -- close() keeps the mapping: a script may still have pointers into it
   local self = buffer_class(c)
   objects[self] = { ctx = ctx, view = view }
   return self
end

-- --- records of the format stack -----------------------------------------------------------------

local head_type, sample_type, words_type
local HEAD, SAMPLE -- bytes

-- Kinds of records that are no samples: by rec_type, name, pointer type, and size of the record.
local kinds

local function learn_records()
   head_type, sample_type = ffi.typeof("const pfm_stack_smpl_rec_t *"), ffi.typeof("const pfm_stack_smpl_sample_t *")
   words_type = ffi.typeof("const uint64_t *")
   HEAD, SAMPLE = ffi.sizeof("pfm_stack_smpl_rec_t"), ffi.sizeof("pfm_stack_smpl_sample_t")
   kinds = {}
   for name, ctype in pairs { MAP = "map", EXEC = "exec", FORK = "fork", EXIT = "event", LOST = "lost",
      RENAME = "exec", SWITCH = "switch" } do
      ctype = ("pfm_stack_smpl_%s_t"):format(ctype)
      kinds[tonumber(ffi.C["PFM_STACK_SMPL_" .. name])] = { name, ffi.typeof("const " .. ctype .. " *"),
         ffi.sizeof(ctype) }
   end
end

-- Returns the size of the record at an offset, or nil if it does not lie in the buffer.
local function record_size(c, at)
   if at + HEAD > c.buf_size then return nil end
   local size = ffi.cast(head_type, c.buf + at).rec_size
   return size >= HEAD and at + size <= c.buf_size and size or nil
end

local function is_whole(s, size)
   return size >= SAMPLE
      and SAMPLE + 8 * (s.num_pmds + s.num_kernel + s.num_user + s.num_regs) + s.stack_size <= size
end

local function next_record(state)
   local c = state.c
   if c.epoch ~= state.epoch then return state.raise() end
   if state.index >= state.count then return nil end
   local size = record_size(c, state.at)
   while size and ffi.cast(head_type, c.buf + state.at).rec_type ~= ffi.C.PFM_STACK_SMPL_SAMPLE do
      state.at = state.at + size
      size = record_size(c, state.at)
   end
   local s = size and ffi.cast(sample_type, c.buf + state.at)
   if not s or not is_whole(s, size) then
      error(("the buffer is corrupt: sample %d of %d lies outside it"):format(state.index + 1, state.count))
   end
   state.at, state.index = state.at + size, state.index + 1
   return state.index, s, ffi.cast(words_type, s + 1), s.num_pmds
end

local function next_other(state)
   local c = state.c
   if c.epoch ~= state.epoch then return state.raise() end
   while state.at < state.limit do
      local at, size = state.at, record_size(c, state.at)
      if not size then error("the buffer is corrupt: a record lies outside it") end
      local kind = kinds[ffi.cast(head_type, c.buf + at).rec_type]
      state.at = at + size
      if kind and size >= kind[3] then return kind[1], ffi.cast(kind[2], c.buf + at) end
   end
end

local function stack_samples(self)
   if not head_type then learn_records() end
   local c, view = self.c, objects[self].view
   local header = view:header()
   return next_record, { c = c, epoch = c.epoch, at = header.first, index = 0, count = header.count,
      raise = view:samples() }
end

-- --- samples -------------------------------------------------------------------------------------

-- Raises an error if the view is closed, or lpfm does not know the format of its samples.
local function check(self)
   objects[self].view:samples()
end

--- Returns the buffer's header as it is in memory (specification 3.6.3).
-- @return const pfm_dfl_smpl_hdr_t *, of the layout of 0.6 const pfm_default_smpl_hdr_t *, of n-way
-- const pfm_nway_smpl_hdr_t *; good as long as the buffer is kept
-- @raise if the context is closed, or the format is none of these
function buffer:hdr()
   check(self)
   return header_of(self.c)
end

--- Iterates over the samples as they are in memory.
-- @treturn function iterator; a loop gets the sample's index from 1, its header, a pointer to the
-- values of its PMDs (ascending), and how many they are. The header is a const pfm_dfl_smpl_entry_t
-- *, of the layout of 0.6 a const pfm_default_smpl_entry_t *, with IIP_HDR and NO_HDR a const
-- uint64_t *, of the format stack a const pfm_stack_smpl_sample_t *; its frames follow the values
-- @return its state
-- @raise if the context is closed or the format unknown; in the loop if the context was restarted
-- or closed, or the buffer is corrupt
-- @usage
-- local ctx = assert(require("lpfm").create { format = "default" })
-- if jit then
--    local sum = require("ffi").new("uint64_t")
--    for _, e in require("pfm.ffi").context(ctx):buffer():entries() do sum = sum + e.ip + e.tstamp end
--    assert(sum == 0)
-- end
-- ctx:close()
function buffer:entries()
   check(self)
   if self.c.format == "LPFM_STACK" then return stack_samples(self) end
   local entry = entry_of(self.c)
   local _, state = objects[self].view:fields(0) -- lpfm's loop, which is to return VALUES
   return registry["lpfm.fields"].compile(state, VALUES, entry), state
end

--- Iterates over what is in a buffer of the format stack with RECORDS apart from samples, as it is
-- in memory.
-- @treturn function iterator; a loop gets the kind ("MAP", "EXEC", "RENAME", "FORK", "EXIT",
-- "LOST", "SWITCH") and a pointer: const pfm_stack_smpl_map_t *, ..._exec_t *, ..._fork_t *,
-- ..._event_t *, ..._lost_t *, ..._switch_t *
-- @return its state
-- @raise as buffer:entries, and on a buffer of another format
-- @usage
-- local ctx = assert(require("lpfm").create { format = "stack", buf_flags = { "RECORDS" } })
-- if jit then
--    for kind, r in require("pfm.ffi").context(ctx):buffer():records() do print(kind, r.event.pid) end
-- end
-- ctx:close()
function buffer:records()
   check(self)
   if self.c.format ~= "LPFM_STACK" then error("records: a buffer of the format stack expected", 2) end
   if not head_type then learn_records() end
   local c, view = self.c, objects[self].view
   local header = view:header()
   return next_other, { c = c, epoch = c.epoch, at = header.first, limit =
      math.min(header.cur_offs, tonumber(c.buf_size)), raise = view:samples() }
end

for _, name in ipairs { "count_by", "fields", "header", "sample", "samples", "snapshot" } do
   --- Methods of lpfm's own buffers: count_by, fields, header, sample, samples, snapshot.
   buffer[name] = function(self, ...)
      local view = objects[self].view
      return view[name](view, ...)
   end
end

samples.check_objects(buffer, function(value) return ffi.istype(buffer_class, value) end, "buffer")

registry["pfm.ffi.samples"] = samples
return samples
