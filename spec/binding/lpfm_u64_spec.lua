-- SPDX-License-Identifier: MIT
-- 64-bit values go in and come out exactly.

local lpfm = require "lpfm"
local handles = require "support.handles"

local descriptors = handles.settled()

local u64 = lpfm.u64
local MAX = "18446744073709551615"

describe("lpfm.u64", function()
   it("takes numbers, strings and itself", function()
      assert.equal("5", tostring(u64(5)))
      assert.equal(MAX, tostring(u64(-1)))
      assert.equal("9223372036854775808", tostring(u64(2 ^ 63)))
      assert.equal("9223372036854775808", tostring(u64(-2 ^ 63)))
      assert.equal("255", tostring(u64("0xff")))
      assert.equal("255", tostring(u64("0XFF")))
      assert.equal(MAX, tostring(u64(MAX)))
      assert.equal(MAX, tostring(u64("-1")))
      assert.equal(MAX, tostring(u64(u64(MAX))))
   end)

   if jit then
      it("takes LuaJIT's 64-bit cdata, and no other", function()
         local ffi = require "ffi"
         assert.equal("18446744073709551615", tostring(u64(ffi.cast("uint64_t", ffi.new("int64_t", -1)))))
         assert.equal("-7", u64(ffi.new("int64_t", -7)):signed())
         local others = { ffi.new("int"), ffi.new("int[2]"), ffi.new("struct { int x; }"), ffi.typeof("int") }
         for _, other in ipairs(others) do
            assert.has_error(function() u64(other) end)
         end
      end)
   end

   it("refuses what is not an integer of 64 bits", function()
      for _, bad in ipairs { 1.5, 0 / 0, math.huge, -math.huge, 2 ^ 64, -2 ^ 63 - 2 ^ 12, "", " 1", "1 ", "0x", "x1",
         "1e3", "18446744073709551616", "-9223372036854775809", "0x10000000000000000", "1\0", {}, true, print,
         io.stdout, coroutine.create(function() end) } do
         assert.has_error(function() u64(bad) end)
      end
      assert.has_error(function() u64() end, "u64: 64-bit integer expected, got no value")
      assert.has_error(function() u64(1.5) end, "u64: 64-bit integer expected, got 1.5")
   end)

   it("calculates modulo 2^64", function()
      assert.equal("1", tostring(u64(MAX) + 2))
      assert.equal("1", tostring(2 + u64(MAX)))
      assert.equal(MAX, tostring(u64(1) - 2))
      assert.equal("18446744073709551614", tostring(u64(MAX) * 2))
      assert.equal("9223372036854775807", tostring(u64(MAX) / 2))
      assert.equal("5", tostring(u64(MAX) % 10))
      assert.equal("-3", (-u64(3)):signed())
      assert.has_error(function() return u64(1) / 0 end, "u64: division by zero")
      assert.has_error(function() return u64(1) % 0 end, "u64: division by zero")
      assert.has_error(function() return u64(1) + {} end)
   end)

   it("compares unsigned", function()
      assert.is_true(u64(MAX) == u64(-1))
      assert.is_true(u64(1) < u64(-1))
      assert.is_true(u64(1) <= u64(1))
      assert.is_false(u64(-1) < u64(1))
      assert.equal(-1, u64(1):compare(2))
      assert.equal(0, u64(-1):compare(MAX))
      assert.equal(1, u64(-1):compare(0))
   end)

   it("has bits", function()
      assert.equal("0xff", u64("0xf0"):bor(15):hex())
      assert.equal("0x30", u64("0xf0"):band("0x3f"):hex())
      assert.equal("0xcf", u64("0xf0"):bxor("0x3f"):hex())
      assert.equal("0xffffffffffffff0f", u64("0xf0"):bnot():hex())
      assert.equal("0x8000000000000000", u64(1):lshift(63):hex())
      assert.equal("0x1", u64(-1):rshift(63):hex())
      assert.has_error(function() u64(1):lshift(64) end)
      assert.has_error(function() u64(1):rshift(-1) end)
   end)

   it("shows itself", function()
      assert.equal("0xffffffffffffffff", u64(-1):hex())
      assert.equal("-1", u64(-1):signed())
      assert.equal("v=" .. MAX .. "!", "v=" .. u64(-1) .. "!")
   end)

   it("becomes a number only where that is exact", function()
      assert.equal(2 ^ 53, u64(2 ^ 53):tonumber())
      assert.equal(-2 ^ 53, u64(-2 ^ 53):tonumber())
      assert.equal(2 ^ 63, u64(2 ^ 63):tonumber())
      assert.equal(0, u64(0):tonumber())
      assert.has_error(function() u64("9007199254740993"):tonumber() end)
      assert.has_error(function() u64(2 ^ 63 + 2 ^ 11):bor(1):tonumber() end)
   end)

   it("tells its own methods from other objects", function()
      local hex = u64(1).hex
      for _, other in ipairs { 1, "1", {}, io.stdout, lpfm.pmds { 64 } } do
         assert.has_error(function() hex(other) end)
      end
      assert.equal("lpfm.u64", getmetatable(u64(1)))
   end)

   it("carries values through registers unchanged", function()
      local ctx = assert(lpfm.create {})
      for _, value in ipairs { 0, 1, -1, 2 ^ 53, -2 ^ 53, u64(2 ^ 53) + 1, u64(2 ^ 63), u64(2 ^ 63) + 1,
         -u64(2 ^ 53) - 1 } do
         assert(ctx:write_pmds { { num = 66, value = value, long_reset = value } })
         local back = ctx:read_pmds({ 66 })[1].value
         assert.equal(tostring(u64(value)), tostring(u64(back)))
         assert.equal(type(value), type(back))
      end
      ctx:close()
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
