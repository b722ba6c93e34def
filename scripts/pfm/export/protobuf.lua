-- SPDX-License-Identifier: MIT
--- Messages of Protocol Buffers as bytes, as far as pprof's format needs them.
-- @module pfm.export.protobuf

local protobuf = {}

local VARINT, BYTES = 0, 2 -- wire types

--- Encodes a number in 7 bits a byte, the lowest first; a negative one as 64-bit two's complement.
-- @number n whole, from -2^63 up to below 2^64 as far as a Lua number is exact
-- @treturn string
function protobuf.varint(n)
   local high, low = math.floor(n / 2 ^ 32) % 2 ^ 32, n % 2 ^ 32
   local out = {}
   repeat
      local bits = low % 128
      low = math.floor(low / 128) + high % 128 * 2 ^ 25
      high = math.floor(high / 128)
      local last = low == 0 and high == 0
      out[#out + 1] = string.char(last and bits or bits + 128)
   until last
   return table.concat(out)
end

local function key(field, wire)
   return protobuf.varint(field * 8 + wire)
end

--- Encodes a field with a number.
-- @number field its number in the message
-- @param n a number or a boolean; nil, false and 0 are left out, as in proto3
-- @treturn string
function protobuf.number(field, n)
   if n == true then n = 1 end
   return n and n ~= 0 and key(field, VARINT) .. protobuf.varint(n) or ""
end

--- Encodes a field with bytes: a text, or a message.
-- @number field
-- @string bytes
-- @treturn string
function protobuf.bytes(field, bytes)
   return key(field, BYTES) .. protobuf.varint(#bytes) .. bytes
end

--- Encodes a field with numbers, packed.
-- @number field
-- @tparam table list of numbers
-- @treturn string
function protobuf.packed(field, list)
   local out = {}
   for i, n in ipairs(list) do out[i] = protobuf.varint(n) end
   return protobuf.bytes(field, table.concat(out))
end

return protobuf
