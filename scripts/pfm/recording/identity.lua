-- SPDX-License-Identifier: MIT
--- Identifies the recording in a file: two files with the same chunks are one recording.
-- @module pfm.recording.identity

local chunks = require "lpfm.chunks"
local render = require "pfm.render"
local layout = require "pfm.recording.layout"
local stat = require "posix.sys.stat"

local identity = {}

--- The size of the head of a chunk.
identity.HEAD_SIZE = 16

local HEAD_SIZE = identity.HEAD_SIZE

-- --- the id of a recording -----------------------------------------------------------------------

-- Two sums are made over the words of all chunks' heads, which hold the CRCs of the bodies.
local PRIMES, FACTORS = { 2147483647, 2147483629 }, { 1000003, 1999993 }

local function add_words(sums, head)
   for at = 1, #head, 4 do
      local a, b, c, d = head:byte(at, at + 3)
      for i = 1, 2 do
         sums[i] = (sums[i] * FACTORS[i] + ((d * 256 + c) * 256 + b) * 256 + a) % PRIMES[i]
      end
   end
end

local function id_of(head, text, sums)
   local time = math.floor(head.time or 0) % 2 ^ 32
   return ("%08x%08x%08x%08x"):format(time, chunks.crc32(text), sums[1], sums[2])
end

-- --- reading chunks ------------------------------------------------------------------------------

--- Returns the message for a file that is cut off or damaged.
-- @string what "cut" or "damaged"
-- @int at byte
-- @return nil
-- @treturn string
function identity.damaged(what, at)
   return nil, what == "cut" and "is cut off in the middle of a chunk" or "is damaged at byte " .. render.number(at)
end

--- Reads the head, which `reader.check` still has to check.
-- @param file of `chunks.open`
-- @tparam ?table place its `head` of `identity.look_over`
-- @treturn ?table
function identity.head_at(file, place)
   local value = place and render.from_json(file:body(place.at, place.length))
   return type(value) == "table" and value or nil
end

--- Looks at all chunks of a file.
-- @param file of `chunks.open`
-- @treturn[1] table where chunks lie (`at`, `length`): `head`, lists `syms` and `sources`;
-- `ended`, there is an end; `done`, where a merged file ends
-- @return[2] nil
-- @treturn[2] string what is wrong with it
function identity.look_over(file)
   local found, heads = { syms = {}, sources = {}, sums = { 1, 1 } }, 0
   while true do
      local tag, at, length = file:next()
      if not tag then
         if at ~= "end" then return identity.damaged(at, length) end
         return found
      end
      local place = { at = at, length = length }
      if tag == "HEAD" then
         heads, found.head = heads + 1, found.head or place
         if heads > 1 + #found.sources then
            return nil, ("holds another recording from byte %s on"):format(render.number(at))
         end
      elseif tag == "SYMS" then
         found.syms[#found.syms + 1] = place
      elseif tag == "SRCE" then
         found.sources[#found.sources + 1] = place
      elseif tag == "ENDS" then
         found.ended = true
      elseif tag == "DONE" then
         found.done = at - HEAD_SIZE
      end
      add_words(found.sums, file:body(at - HEAD_SIZE, HEAD_SIZE))
   end
end

--- Returns the id of a recording; sorted ids are in the order of time.
-- @param file of `chunks.open`
-- @tparam table found of `identity.look_over`
-- @tparam table head of `identity.head_at`
-- @treturn string 32 hexadecimal digits
function identity.id(file, found, head)
   return id_of(head, file:body(found.head.at, found.head.length), found.sums)
end

--- Returns the id of the recording in a file; a merged file has the same id for that recording.
-- @string path
-- @treturn ?string 32 hexadecimal digits; nil for a file that is damaged, or has many recordings,
-- or is none
-- @usage assert(#require("pfm.recording.identity").of("lpfm.data") == 32)
function identity.of(path)
   local file = chunks.open(path)
   if not file then return nil end
   local found = identity.look_over(file)
   local head = found and identity.head_at(file, found.head)
   local id = head and layout.checks.HEAD(head) and identity.id(file, found, head) or nil
   file:close()
   return id
end

-- Returns a text by which most recordings differ, made of the head and the end only.
local function outline_of(self)
   local head, ends = self.head, self.ends or {}
   local clock = head.clock or {}
   return ("%s %s %s %s"):format(tostring(head.time), tostring(clock.ns), tostring(head.what), tostring(ends.samples))
end

-- Identifies a recording by its content, and a damaged one by its file.
local function identity_of(self)
   local id = self.id or identity.of(self.path)
   local info = not id and stat.stat(self.path)
   return id or info and ("%d %d"):format(info.st_dev, info.st_ino) or self
end

-- Finds the same recording among others with the same outline.
local function same_as(self, others)
   if #others == 0 then return nil end
   local id = identity_of(self)
   for _, other in ipairs(others) do
      if identity_of(other) == id then return other end
   end
end

--- Removes duplicates from recordings.
-- @tparam {recording,...} recordings of `recording.open`, or the `sources` of one
-- @treturn {recording,...} without duplicates
-- @treturn {table,...} pairs: a duplicate, and the recording that stays
-- @usage local a, b = assert(recording.open "lpfm.data"), assert(recording.open "lpfm.data")
-- print(#require("pfm.recording.identity").distinct { a, b }) --> 1
function identity.distinct(recordings)
   local by_outline, out, again = {}, {}, {}
   for _, self in ipairs(recordings) do
      local outline = outline_of(self)
      local others = by_outline[outline] or {}
      by_outline[outline] = others
      local other = same_as(self, others)
      if other then
         again[#again + 1] = { self, other }
      else
         others[#others + 1], out[#out + 1] = self, self
      end
   end
   return out, again
end

return identity
