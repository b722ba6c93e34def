-- SPDX-License-Identifier: MIT
--- Typed views of contexts, register vectors and sampling buffers, for LuaJIT: nothing is copied,
-- and a compiled loop runs at the speed of C.
--
-- The objects are those of the module lpfm, looked at through LuaJIT's ffi: a typed vector is the
-- memory of a vector of lpfm.pmds, a typed buffer the mapping of ctx:buffer(). Functions that exist
-- there too have the same arguments, results and errors here. The declarations come from the
-- headers that the module was built with (lpfm.cdef), also those of perfmonctl.h, as struct
-- pfm06_*.
--
-- Calls are checked: a closed context or an index out of range raises an error. A pointer that a
-- script takes (v.data, buf:hdr(), the e of buf:entries()) is bare C: it is good as long as the
-- script keeps the vector, or the buffer or its context, also after the context was closed.
--
-- In PUC Lua, requiring this module raises an error; the fast functions there are ctx:reader(v),
-- buf:fields() and buf:count_by() of lpfm.
-- @module pfm.ffi
-- @usage
-- local lpfm = require "lpfm"
-- if jit then
--    local typed = require "pfm.ffi"
--    local ctx = assert(lpfm.create())
--    assert(ctx:write_pmds { { num = 66, value = 7 } })
--    local v = typed.pmds { 66 }
--    assert(typed.context(ctx):read_into(v) and v[1] == 7 and v.data[0].reg_value == 7)
--    ctx:close()
-- end

local samples = require "pfm.ffi.samples" -- raises an error in PUC Lua

-- A Lua state can declare C types and give them metatables only once: if the module is loaded
-- again, it returns the table of the first time.
local class_of, registry = debug.getmetatable, debug.getregistry()
if registry["pfm.ffi"] then
   return registry["pfm.ffi"]
end

local ffi = require "ffi"
local bit = require "bit"
local lpfm = require "lpfm"

ffi.cdef [[
   char *strerror(int);
   struct pfm_ffi_pmds { struct lpfm_vector *const c; pfarg_pmd_t *const data; const int n; };
   struct pfm_ffi_pmcs { struct lpfm_vector *const c; pfarg_pmc_t *const data; const int n; };
   struct pfm_ffi_context { struct lpfm_context *const c; };
   struct pfm_ffi_view { struct lpfm_view *const c; };
]]

local typed = {}

--- libperfmon, for calls that have no form of their own here: typed.C.pfm_get_config(cfg).
-- @field C
local C = ffi.load("libperfmon.so.3") -- by this name the linker finds the loaded one
typed.C = C

local RETFL_MASK = lpfm.const.PFM_REG_RETFL_MASK
local E2BIG = lpfm.errno.E2BIG
local exact = samples.exact

-- The object of the module lpfm for each typed object. A typed object only has a pointer to it,
-- which would not keep it alive.
local objects = samples.objects

-- Returns the memory of an lpfm userdata, after a check that the userdata is of this class.
local function memory(object, class, ctype, call)
   if type(object) ~= "userdata" or class_of(object) ~= registry[class] then
      error(("%s: %s expected, got %s"):format(call, class, type(object)), 3)
   end
   local at = ffi.cast(ctype, object)
   if at.head.class == nil then
      error(("%s: the %s was collected"):format(call, class), 3)
   end
   return at
end

-- --- register vectors ----------------------------------------------------------------------------

local vector = {}

local vector_meta = {
   __index = function(self, key)
      if type(key) ~= "number" then
         return vector[key]
      end
      local n = self.n
      if key >= 1 and key <= n and key % 1 == 0 then
         return exact(self.data[key - 1].reg_value)
      elseif key ~= n + 1 then
         error(("index: integer from 1 to %d expected, got %s"):format(n, tostring(key)), 2)
      end
   end,
   __newindex = function(self, key, value)
      objects[self][key] = value
   end,
   __len = function(self)
      return self.n
   end,
   __tostring = function(self)
      return tostring(objects[self])
   end,
}

local pmds_class = ffi.metatype("struct pfm_ffi_pmds", vector_meta)
local pmcs_class = ffi.metatype("struct pfm_ffi_pmcs", vector_meta)

local function new_vector(list, make, name, class)
   local ok, object = true, list
   if type(list) ~= "userdata" then ok, object = pcall(make, list) end
   if not ok then error(object, 3) end
   local c = memory(object, name, "struct lpfm_vector *", name)
   local v = class(c, ffi.cast("void *", c.data), c.n)
   objects[v] = object
   return v
end

--- Makes a typed vector of PMDs.
--
-- Its fields: n, the number of elements; data, the elements as pfarg_pmd_t[n] from 0. v[i] is the
-- value of element i from 1; get, set, values and # are those of lpfm.pmds' object, v:object().
-- @param list what lpfm.pmds takes, or a vector that it made
-- @return vector
-- @raise what lpfm.pmds raises
-- @function pmds
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local v = typed.pmds { 64, 65 }
-- v.data[0].reg_value = 5
-- assert(v:get(1, "value") == 5)
function typed.pmds(list)
   return new_vector(list, lpfm.pmds, "lpfm.pmds", pmds_class)
end

--- Makes a typed vector of PMCs, with data as pfarg_pmc_t[n].
-- @param list what lpfm.pmcs takes, or a vector that it made
-- @return vector
-- @raise what lpfm.pmcs raises
-- @see pmds
-- @function pmcs
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- assert(typed.pmcs({ { num = 66, value = 9 } }):get(1, "value") == 9)
function typed.pmcs(list)
   return new_vector(list, lpfm.pmcs, "lpfm.pmcs", pmcs_class)
end

--- Returns a field of an element.
-- @int i from 1
-- @string[opt="value"] name
-- @return its value
-- @raise if there is no such element or field
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- print(typed.pmds({ 64 }):get(1, "num"))
function vector:get(i, name)
   return objects[self]:get(i, name)
end

--- Changes a field of an element.
-- @int i from 1
-- @string name
-- @param value as in ctx:write_pmds
-- @return the vector
-- @raise if there is no such element, no such field to set, or the value is not one for it
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- typed.pmds({ 64 }):set(1, "value", -1000)
function vector:set(i, name, value)
   objects[self]:set(i, name, value)
   return self
end

--- Returns the vector's memory as an object of the module lpfm.
-- @return what lpfm.pmds or lpfm.pmcs returned
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- assert(lpfm.create {}):write_pmds(typed.pmds({ 66 }):object())
function vector:object()
   return objects[self]
end

local function values(self, i, n)
   if i == n then
      return exact(self.data[i].reg_value)
   elseif i < n then
      return exact(self.data[i].reg_value), values(self, i + 1, n)
   end
end

--- Returns all values.
-- @return value of element 1
-- @return value of element 2, ...
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- print(typed.pmds({ 64, 65 }):values())
function vector:values()
   local data, n = self.data, self.n
   if n == 4 then
      return exact(data[0].reg_value), exact(data[1].reg_value), exact(data[2].reg_value),
         exact(data[3].reg_value)
   end
   return values(self, 0, n - 1)
end

-- --- contexts ------------------------------------------------------------------------------------

local context = {}
local context_class = ffi.metatype("struct pfm_ffi_context", {
   __index = context,
   __tostring = function(self)
      return tostring(objects[self])
   end,
})

-- Returns nil, message, errno after a call that refused a vector; takes the mark (the RETFL flags)
-- off the element that was refused.
local function refused(call, v)
   local err, reason = ffi.errno(), ffi.string(C.pfm_explain())
   if reason == "" then
      reason = ffi.string(ffi.C.strerror(err))
   end
   for i = 0, v.n - 1 do
      local e = v.data[i]
      if bit.band(e.reg_flags, RETFL_MASK) ~= 0 then
         e.reg_flags = bit.band(e.reg_flags, bit.bnot(RETFL_MASK))
         return nil, ("%s: element %d: %s"):format(call, i + 1, reason), err
      end
   end
   return nil, ("%s: %s"):format(call, reason), err
end

local function check(self, v, class, call)
   if self.c.fd < 0 then
      error("the context is closed", 3)
   elseif not ffi.istype(class, v) then
      error(call .. ": a vector of pfm.ffi expected, got " .. type(v), 3)
   end
end

-- Returns true, or nil, message, errno. If one plain call is not enough, the module lpfm does it:
-- where elements have flags to write, and where the vector is too long for a call (E2BIG).
local function read(self, v, call)
   if v.c.write_flags then
      return objects[self]:read_into(objects[v])
   elseif C.pfm_read_pmds(self.c.fd, v.data, v.n) == 0 then
      return true
   elseif ffi.errno() == E2BIG then
      return objects[self][call](objects[self], objects[v])
   end
   return refused(call, v)
end

--- Reads PMDs into a typed vector (specification 3.1.4).
-- @tparam vector v
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @raise if the context is closed, or v is no typed vector of PMDs
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx, v = assert(lpfm.create {}), typed.pmds { 66 }
-- assert(typed.context(ctx):read_into(v))
-- ctx:close()
function context:read_into(v)
   check(self, v, pmds_class, "read_into")
   return read(self, v, "read_into")
end

--- Reads PMDs into a typed vector and returns their values (specification 3.1.4).
-- @tparam vector v
-- @return[1] value of element 1, value of element 2, ...
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @raise if the context is closed, or v is no typed vector of PMDs
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create {})
-- print(typed.context(ctx):read_pmds(typed.pmds { 66 }))
-- ctx:close()
function context:read_pmds(v)
   check(self, v, pmds_class, "read_pmds")
   local ok, message, errno = read(self, v, "read_pmds")
   if not ok then
      return nil, message, errno
   end
   return v:values()
end

--- Writes PMCs from a typed vector (specification 3.1.2), by lpfm, which notes how the context is
-- programmed.
-- @tparam vector v
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @raise if the context is closed, or v is no typed vector of PMCs
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create {})
-- assert(typed.context(ctx):write_pmcs(typed.pmcs { { num = 66, value = 9 } }))
-- ctx:close()
function context:write_pmcs(v)
   check(self, v, pmcs_class, "write_pmcs")
   return objects[self]:write_pmcs(objects[v])
end

--- Writes PMDs from a typed vector (specification 3.1.3), by lpfm, which notes how the context is
-- programmed.
-- @tparam vector v
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @raise if the context is closed, or v is no typed vector of PMDs
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create {})
-- assert(typed.context(ctx):write_pmds(typed.pmds { { num = 66, value = -10 } }))
-- ctx:close()
function context:write_pmds(v)
   check(self, v, pmds_class, "write_pmds")
   return objects[self]:write_pmds(objects[v])
end

--- Returns the context's sampling buffer, as a typed view.
-- @treturn[1] buffer see pfm.ffi.samples
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno: EINVAL if the context has no buffer
-- @raise if the context is closed
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create { format = "default" })
-- assert(typed.context(ctx):buffer())
-- ctx:close()
function context:buffer()
   return samples.buffer(objects[self], self.c)
end

local view = {}
local VIEW_MAX, MAX_PMDS = 16, lpfm.const.PFM_MAX_PMDS -- enum LPFM_VIEW_MAX

local view_class = ffi.metatype("struct pfm_ffi_view", {
   __index = function(self, key)
      return view[key] or objects[self][key]
   end,
   __tostring = function(self)
      return tostring(objects[self])
   end,
})

--- Makes a view of a set of the context, to read running counters of the calling thread without a
-- system call.
-- @int[opt=0] set
-- @treturn[1] view with the fields of context:view()'s
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @raise if the context is closed
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create { flags = { "MAP_SETS" } })
-- print(typed.context(ctx):view():read(66))
-- ctx:close()
function context:view(set)
   local object, message, errno = objects[self]:view(set)
   if not object then
      return nil, message, errno
   end
   local v = view_class(memory(object, "lpfm.view", "struct lpfm_view *", "view"))
   objects[v] = object
   return v
end

local function put_nums(c, i, n, num, ...)
   if type(num) ~= "number" or not (num >= 0 and num < MAX_PMDS and num % 1 == 0) then
      error(("read: PMD: integer from 0 to %d expected, got %s"):format(MAX_PMDS - 1, tostring(num)), 3)
   end
   c.nums[i] = num
   if i < n then
      return put_nums(c, i + 1, n, ...)
   end
end

local function view_values(c, i, n)
   if i == n then
      return exact(c.values[i])
   end
   return exact(c.values[i]), view_values(c, i + 1, n)
end

--- Reads PMDs, all as of one moment.
-- @int ... numbers of 1 to 16 PMDs
-- @return[1] value of the first, value of the second, ...
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno
-- @raise if the context is closed
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create { flags = { "MAP_SETS" } })
-- local view = typed.context(ctx):view()
-- local faults, clock = view:read(66, 64)
-- print(faults, clock)
-- ctx:close()
function view:read(...)
   local c, n = self.c, select("#", ...)
   if c.view.page == nil then
      error("the context is closed", 2)
   elseif n < 1 or n > VIEW_MAX then
      error(("read: 1 to %d PMDs expected, got %d"):format(VIEW_MAX, n), 2)
   end
   put_nums(c, 0, n - 1, ...)
   if C.pfm_read_mapped(c.view, c.nums, c.values, n) < 0 then
      return objects[self]:read(...) -- returns the reason
   end
   return view_values(c, 0, n - 1)
end

--- Returns the context itself, for the calls that a typed context does not have.
-- @return what lpfm.create returned
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create {})
-- assert(typed.context(ctx):object() == ctx)
-- ctx:close()
function context:object()
   return objects[self]
end

--- Makes a typed view of a context.
-- @param ctx what lpfm.create returned
-- @return context
-- @raise if it is not a context
-- @function context
-- @usage
-- local typed, lpfm = require "pfm.ffi", require "lpfm"
-- local ctx = assert(lpfm.create {})
-- local c, v = typed.context(ctx), typed.pmds { 66 }
-- c:read_into(v)
-- print(v:values())
-- ctx:close()
function typed.context(ctx)
   local self = context_class(memory(ctx, "lpfm.context", "struct lpfm_context_object *", "context").ctx)
   objects[self] = ctx
   return self
end

samples.check_objects(vector, function(value)
   return ffi.istype(pmds_class, value) or ffi.istype(pmcs_class, value)
end, "vector")
samples.check_objects(context, function(value) return ffi.istype(context_class, value) end, "context")
samples.check_objects(view, function(value) return ffi.istype(view_class, value) end, "view")

registry["pfm.ffi"] = typed
return typed
