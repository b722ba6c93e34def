-- SPDX-License-Identifier: MIT
--- Typed views of sampling buffers: the part of pfm.ffi that walks over samples.
--
-- For each kind of loop there is one function, made from a template for the layout of the samples and the
-- fields that are asked for, and used by all loops of that kind: LuaJIT compiles it once. A walk trusts nothing
-- that it finds in the buffer.
-- @module pfm.ffi.samples

local ffi = require "ffi"
local bit = require "bit"
local lpfm = require "lpfm"

local samples = {}

--- The objects of the module that typed ones look at, by these. A typed buffer has its context, and its view.
samples.objects = setmetatable({}, { __mode = "k" })
local objects = samples.objects

local NO_HDR, IIP_HDR = lpfm.const.PFM_DFL_SMPL_NO_HDR, lpfm.const.PFM_DFL_SMPL_IIP_HDR
local int64 = ffi.typeof("int64_t")
local bytes, words = ffi.typeof("const uint8_t *"), ffi.typeof("const uint64_t *")

--- A 64-bit value as the module returns it: a number, read as signed, while that is exact, else an lpfm.u64.
-- @param value uint64_t
-- @return number or u64
function samples.exact(value)
   local signed = ffi.cast(int64, value)
   if signed >= -2 ^ 53 and signed <= 2 ^ 53 then
      return tonumber(signed)
   end
   return lpfm.u64(value)
end

-- --- layouts ---------------------------------------------------------------------------------------

local header_2x = {
   hdr = "const pfm_dfl_smpl_hdr_t *", entry = "const pfm_dfl_smpl_entry_t *",
   size = ffi.sizeof("pfm_dfl_smpl_entry_t"), ip = "e.ip", tid = "e.pid", pid = "e.tgid", cpu = "e.cpu",
   tstamp = "e.tstamp", set = "e.set", ovfl_pmd = "e.ovfl_pmd", last_reset = "e.last_reset_val",
}
local header_06 = {
   hdr = "const pfm_default_smpl_hdr_t *", entry = "const pfm_default_smpl_entry_t *",
   size = ffi.sizeof("pfm_default_smpl_entry_t"), ip = "e.ip", tid = "e.tid", pid = "e.pid", cpu = "e.cpu",
   tstamp = "e.tstamp", set = "e.set", ovfl_pmd = "e.ovfl_pmd", last_reset = "e.last_reset_val",
}
local header_iip = { entry = "const uint64_t *", size = 8, ip = "e[0]" }
local header_none = { entry = "const uint64_t *", size = 0 }
local wide = { ip = true, tstamp = true, last_reset = true }

-- What a sample of this context's begins with.
local function header_of(c)
   if bit.band(c.buf_flags, NO_HDR) ~= 0 then
      return header_none
   elseif bit.band(c.buf_flags, IIP_HDR) ~= 0 then
      return header_iip
   end
   return c.format == "LPFM_DFL_06" and header_06 or header_2x
end

local function has_pmd(layout, num)
   local word = layout.pmds[math.floor(num / 64)]
   return bit.band(bit.rshift(word, num % 64), 1) ~= 0
end

-- The place of a PMD's value among those of a layout, in bytes; false: it is not there.
local function pmd_place(layout, num)
   if not has_pmd(layout, num) then
      return false
   end
   local rank = 0
   for below = 0, num - 1 do
      rank = rank + (has_pmd(layout, below) and 1 or 0)
   end
   return rank * 8
end

local nothing = ffi.new("struct lpfm_layout")

local function find_layout(layouts, key)
   for i = 0, tonumber(layouts.n) - 1 do
      if layouts.list[i].key == key then
         return layouts.list[i]
      end
   end
   return nothing
end

-- The layout that all samples have if they do not say which; with headers: if none of them has values.
local function common_layout(c, keyed)
   local layout = nothing
   for i = 0, tonumber(c.layouts.n) - 1 do
      if c.layouts.list[i].n > 0 then
         layout = c.layouts.list[i]
      end
   end
   if not (keyed and layout.n > 0) then
      return layout
   end
end

-- --- walks -----------------------------------------------------------------------------------------

-- Samples of a layout as a walk sees them: how large they are, and where its PMDs are in them.
local function new_body(walk, layout)
   local body = { n = layout.n, size = walk.head + layout.n * 8 }
   for i, num in ipairs(walk.pmds) do
      local place = pmd_place(layout, num)
      body[i] = place and walk.head + place
   end
   return body
end

-- From now on samples are like this.
local function hold(walk, body)
   walk.n, walk.size = body.n, body.size
   for i = 1, #walk.pmds do
      walk[i] = body[i]
   end
end

-- The next sample has this set << 16 | PMD.
local function turn(walk, key)
   local body = walk.bodies[key] or new_body(walk, find_layout(walk.c.layouts, key))
   walk.bodies[key], walk.key = body, key
   hold(walk, body)
end

local function stale(walk)
   error(walk.c.fd < 0 and "the buffer is closed" or "the sample is stale: the context was restarted", 3)
end

local function broken(walk)
   local index, count = walk.index + 1, walk.count
   walk.count = 0
   error(("the buffer is corrupt: sample %d of %d lies outside it"):format(index, count), 3)
end

-- The offset of the first sample, and how many there are; of n-way in the region to be read next.
local function first_sample(buffer)
   local hdr, count = buffer:hdr(), buffer:header().count
   if buffer.c.format ~= "LPFM_NWAY" then
      return ffi.sizeof(hdr[0]), count
   end
   return tonumber(hdr.hdr_regions[hdr.hdr_tail % lpfm.const.PFM_NWAY_MAX_REGIONS].offs), count
end

-- A walk before the first sample. pmds: the numbers of those whose places it needs.
local function new_walk(buffer, pmds)
   local c, header = buffer.c, header_of(buffer.c)
   local keyed = header.set ~= nil
   local first, count = first_sample(buffer)
   local walk = { c = c, ctx = objects[buffer].ctx, epoch = c.epoch, base = ffi.cast(bytes, c.buf), pmds = pmds,
      limit = tonumber(c.buf_size), index = 0, count = count, offset = first, head = header.size,
      bodies = {}, key = -1 }
   local layout = common_layout(c, keyed)
   hold(walk, new_body(walk, layout or nothing))
   return walk, header, keyed and not layout
end

-- Steps to the next sample, at; the sample's header is e.
local STEP = [[
local kind, exact, turn, stale, broken, cast, words, entry = ...
return function(walk)
   if walk.kind ~= kind then error("the state is that of another kind of loop", 2) end
   if walk.c.epoch ~= walk.epoch then stale(walk) end
   $again
      local index, offset = walk.index, walk.offset
      if index >= walk.count then return nil end
      local at = walk.base + offset
      local e = cast(entry, at)
      $turn
      local after = offset + walk.size
      if after > walk.limit then broken(walk) end
      walk.index, walk.offset = index + 1, after
      $test
      return $results
   $done
end]]

local TURN = [[if offset + walk.head > walk.limit then broken(walk) end
      local key = e.set * 65536 + e.ovfl_pmd
      if key ~= walk.key then turn(walk, key) end]]

local steps = {} -- by kind: the type of header, and the text that they are made from

-- The function that steps, and the walk.
local function loop(walk, header, keyed, filter, results)
   local text = STEP:gsub("%$(%w+)", { turn = keyed and TURN or "", results = results,
      again = filter and "while true do" or "", test = filter and ("if %s then"):format(filter) or "",
      done = filter and "end end" or "" })
   local kind = header.entry .. text
   if not steps[kind] then
      local make = assert(loadstring(text, "=pfm.ffi walk"))
      steps[kind] = make(kind, samples.exact, turn, stale, broken, ffi.cast, words, ffi.typeof(header.entry))
   end
   walk.kind = kind
   return steps[kind], walk
end

-- What stands for a field or a PMD in a step's text: as it is in the buffer, whether it has 64 bits, and what
-- says whether it is there. PMDs come to the list pmds, whose places the walk keeps.
local function term(header, name, pmds)
   if type(name) == "string" then
      return header[name], wide[name], ""
   end
   pmds[#pmds + 1] = name
   return ("cast(words, at + walk[%d])[0]"):format(#pmds), true, ("walk[%d] and "):format(#pmds)
end

local function result(header, name, pmds)
   local text, is_wide, if_there = term(header, name, pmds)
   return if_there .. (is_wide and ("exact(%s)"):format(text) or text)
end

-- A value as uint64_t, from whatever the module takes for one.
local function to_u64(value)
   local u = lpfm.u64(value)
   return ffi.cast("uint64_t", u:rshift(32):tonumber()) * 2 ^ 32 + u:band(0xffffffff):tonumber()
end

-- The condition that a table of required values stands for; the values come to the list wanted.
local function condition(header, filter, pmds, wanted)
   local terms = {}
   for name, value in pairs(filter) do
      local text, _, if_there = term(header, name, pmds)
      wanted[#wanted + 1] = to_u64(value)
      terms[#terms + 1] = ("%s%s == walk.wanted[%d]"):format(if_there, text, #wanted)
   end
   return terms[1] and table.concat(terms, " and ")
end

-- --- buffers ---------------------------------------------------------------------------------------

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

--- What pfm.ffi's context:buffer() does.
-- @param ctx the context
-- @param c it as struct lpfm_context *
-- @return buffer, or nil, message, errno
-- @raise if the context is closed
function samples.buffer(ctx, c)
   local view, message, errno = ctx:buffer()
   if not view then
      return nil, message, errno
   end
   c.pinned = true -- pointers outlive a close
   local self = buffer_class(c)
   objects[self] = { ctx = ctx, view = view }
   return self
end

-- Raises if the view is closed, or its samples cannot be told apart.
local function check(self)
   objects[self].view:samples()
end

--- The buffer's header as it is in memory (specification 3.6.3).
-- @return const pfm_dfl_smpl_hdr_t *, of the layout of 0.6 const pfm_default_smpl_hdr_t *, of n-way
-- const pfm_nway_smpl_hdr_t *; good as long as the buffer is kept
-- @raise if the context is closed, or the format is none of these
function buffer:hdr()
   check(self)
   local c = self.c
   if c.format == "LPFM_NWAY" then
      return ffi.cast("const pfm_nway_smpl_hdr_t *", c.buf)
   end
   return ffi.cast(c.format == "LPFM_DFL_06" and header_06.hdr or header_2x.hdr, c.buf)
end

--- Iterates over the samples, giving the named fields of each: as buffer:fields of the module lpfm, and
-- faster.
-- @param ... names of fields, or numbers of PMDs, at most 16; a PMD that a sample does not hold is false
-- @tparam[opt] table filter, at the end: values that fields must have
-- @treturn function iterator
-- @return its state
-- @raise on wrong types; in the loop if the context was restarted or closed, or the buffer is corrupt
function buffer:fields(...)
   objects[self].view:fields(...) -- it says what is wrong
   local names = { ... }
   local filter = type(names[#names]) == "table" and table.remove(names)
   local header, pmds, wanted, results = header_of(self.c), {}, {}, {}
   for i, name in ipairs(names) do
      results[i] = result(header, name, pmds)
   end
   local where = filter and condition(header, filter, pmds, wanted)
   local walk, _, keyed = new_walk(self, pmds)
   walk.wanted = wanted
   return loop(walk, header, keyed, where, table.concat(results, ", "))
end

--- Iterates over the samples as they are in memory.
-- @treturn function iterator; a loop gets the sample's index from 1, its header, a pointer to the values of
-- its PMDs (ascending), and how many they are. The header is a const pfm_dfl_smpl_entry_t *, of the layout of
-- 0.6 a const pfm_default_smpl_entry_t *, with IIP_HDR and NO_HDR a const uint64_t *
-- @return its state
-- @raise if the context is closed or the format unknown; in the loop if the context was restarted or closed,
-- or the buffer is corrupt
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
   local walk, header, keyed = new_walk(self, {})
   return loop(walk, header, keyed, nil, "index + 1, e, cast(words, at + walk.head), walk.n")
end

for _, name in ipairs { "count_by", "header", "sample", "samples", "snapshot" } do
   --- These are the module's own: count_by, header, sample, samples, snapshot.
   buffer[name] = function(self, ...)
      local view = objects[self].view
      return view[name](view, ...)
   end
end

return samples
