-- SPDX-License-Identifier: MIT
--- The fields of a tracepoint in the raw data of a sample.
-- @module pfm.recording.perfdata.field_values

local u64 = require("lpfm").u64

local values = {}

--- Makes a number of 64 bits.
-- @function u64
values.u64 = u64

--- Returns bytes as a Lua number, which is exact below 2^53.
-- @string bytes at most 8
-- @bool[opt] big the first byte is the highest
-- @treturn number
-- @usage print(require("pfm.recording.perfdata.field_values").number("\1\2")) --> 513
function values.number(bytes, big)
   local value = 0
   for i = 1, #bytes do value = value * 256 + bytes:byte(big and i or #bytes + 1 - i) end
   return value
end

--- Returns bytes as a number of 64 bits.
-- @string bytes at most 8
-- @bool[opt] big the first byte is the highest
-- @bool[opt] signed the highest bit is the sign
-- @treturn u64
-- @usage print(require("pfm.recording.perfdata.field_values").integer("\255", false, true):signed()) --> -1
function values.integer(bytes, big, signed)
   if big then bytes = bytes:reverse() end
   local value = u64(values.number(bytes:sub(1, 4))) + u64(values.number(bytes:sub(5, 8))):lshift(32)
   if signed and #bytes < 8 and bytes:byte(-1) >= 128 then value = value - u64(1):lshift(8 * #bytes) end
   return value
end

-- Returns a part of the raw data; raises an error if the data is too short.
local function slice(raw, offset, size)
   if offset + size > #raw then error("the raw data ends before", 0) end
   return raw:sub(offset + 1, offset + size)
end

--- Returns the bytes of a field, wherever they lie.
-- @tparam table self of `tracepoints.read`
-- @tparam table field
-- @string raw
-- @treturn string
-- @raise if the raw data ends before the field
-- @usage print(#require("pfm.recording.perfdata.field_values").bytes({}, { offset = 0, size = 2 }, "ab")) --> 2
function values.bytes(self, field, raw)
   local bytes = slice(raw, field.offset, field.size)
   if not field.where then return bytes end
   local place = values.number(bytes, self.big)
   local offset, size = place % 65536, math.floor(place / 65536)
   if field.where == "here" then offset = offset + field.offset + field.size end
   return slice(raw, offset, size)
end

--- Returns a field as a number.
-- @tparam table self of `tracepoints.read`
-- @tparam table field
-- @string raw
-- @treturn u64
-- @raise if the raw data ends before the field
-- @usage print(require("pfm.recording.perfdata.field_values").value({}, { offset = 0, size = 1 }, "a"))
function values.value(self, field, raw)
   return values.integer(slice(raw, field.offset, math.min(field.size, 8)), self.big, field.signed)
end

--- Returns a text up to the first byte 0.
-- @string bytes
-- @treturn string
-- @usage print(require("pfm.recording.perfdata.field_values").text "ab\0c") --> ab
function values.text(bytes)
   return (bytes:match("^[^%z]*"))
end

-- Returns an array's elements as u64; their size follows from their number, else from the C type.
local function elements(self, field, bytes)
   local kind = field.kind
   local size = field.count and field.count > 0 and #bytes / field.count or kind:find("char") and 1
      or kind:find("short") and 2 or kind:find("long long") and 8 or kind:find("long") and self.long
      or kind:find("64") and 8 or kind:find("16") and 2 or kind:find("8") and 1 or 4
   local out = {}
   for at = 0, #bytes - size, size do
      out[#out + 1] = values.integer(bytes:sub(at + 1, at + size), self.big, field.signed)
   end
   return out
end

--- Returns an element of an array.
-- @tparam table self of `tracepoints.read`
-- @tparam table field
-- @string raw
-- @int i from 0
-- @treturn u64
-- @raise if the array has no such element
-- @usage local field = { offset = 0, size = 2, kind = "char", count = 2 }
-- print(require("pfm.recording.perfdata.field_values").element({}, field, "ab", 1))
function values.element(self, field, raw, i)
   return elements(self, field, values.bytes(self, field, raw))[i + 1] or error("the array has fewer elements", 0)
end

--- Returns the text that shows a field: a text, a number, an array.
-- @tparam table self of `tracepoints.read`
-- @tparam table field
-- @string raw
-- @treturn string
-- @raise if the raw data ends before the field
-- @usage local field = { offset = 0, size = 1, kind = "char" }
-- print(require("pfm.recording.perfdata.field_values").shown({}, field, "a")) --> 97
function values.shown(self, field, raw)
   if field.is_text then return values.text(values.bytes(self, field, raw)) end
   if field.is_array or field.where then
      local out = {}
      for i, value in ipairs(elements(self, field, values.bytes(self, field, raw))) do out[i] = value:hex() end
      return "ARRAY[" .. table.concat(out, ", ") .. "]"
   end
   local value = values.value(self, field, raw)
   if field.kind:find("%*") then return value:hex() end
   return field.signed and value:signed() or tostring(value)
end

return values
