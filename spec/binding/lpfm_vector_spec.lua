-- SPDX-License-Identifier: MIT
-- Prepared register vectors.

local lpfm = require "lpfm"
local handles = require "support.handles"

assert(lpfm.machine(require "support.real"))
local descriptors = handles.settled()

local CPU_CLOCK, PAGE_FAULTS, MINOR = 65, 66, 67

describe("a prepared vector", function()
   local ctx

   before_each(function()
      ctx = assert(lpfm.create {})
      assert(ctx:write_pmds { { num = CPU_CLOCK, value = 65 }, { num = PAGE_FAULTS, value = 66 },
         { num = MINOR, value = -67 } })
   end)

   after_each(function()
      ctx:close()
   end)

   it("reads values as return values", function()
      local v = lpfm.pmds { MINOR, PAGE_FAULTS, { num = CPU_CLOCK } }
      local a, b, c, none = ctx:read_pmds(v)
      assert.same({ -67, 66, 65 }, { a, b, c })
      assert.is_nil(none)
      assert.same({ -67, 66, 65 }, { v:values() })
      assert.same({ -67, 66, 65 }, { v[1], v[2], v[3] })
      assert.is_nil(v[4])
      assert.equal(3, #v)
   end)

   it("reads into itself, and into a list", function()
      local v = lpfm.pmds { PAGE_FAULTS, MINOR }
      assert.is_true(ctx:read_into(v))
      assert.equal(66, v[1])
      assert.same({ 66, -67 }, ctx:read_values(v))
   end)

   it("is read by a function of its own", function()
      local v = lpfm.pmds { PAGE_FAULTS, MINOR }
      local read = ctx:reader(v)
      assert.same({ 66, -67 }, { read() })
      v:set(1, "num", CPU_CLOCK)
      assert.same({ 65, -67 }, { read() })
      v:set(2, "num", 300)
      local ok, message = read()
      assert.is_nil(ok)
      assert.truthy(message:find("^read_pmds: element 2: .*PMD300"), message)
      for _, bad in ipairs { {}, 1, ctx, io.stdout, lpfm.pmcs {} } do
         assert.has_error(function() ctx:reader(bad) end)
      end
      v = nil -- luacheck: ignore
      collectgarbage()
      assert.is_nil((read()))
      ctx:close()
      assert.has_error(read, "the context is closed")
      assert.has_error(function() ctx:reader(lpfm.pmds {}) end, "the context is closed")
   end)

   it("writes, also after it was changed", function()
      local v = lpfm.pmds { { num = PAGE_FAULTS, value = 5, long_reset = -9 } }
      assert(ctx:write_pmds(v))
      assert.equal(5, ctx:read_pmds(v))
      v[1] = "0x10"
      assert.equal(v, v:set(1, "flags", { "OVFL_NOTIFY" }))
      assert(ctx:write_pmds(v))
      assert.equal(16, ctx:read_pmds(v))
      assert.equal(-9, v:get(1, "long_reset"))
      assert.same({ "OVFL_NOTIFY" }, v:get(1, "flags"))
   end)

   it("reads although it carries the flags of a write", function()
      local v = lpfm.pmds { { num = PAGE_FAULTS, value = 5, flags = { "OVFL_NOTIFY" } }, MINOR }
      assert(ctx:write_pmds(v))
      assert.same({ 5, 0 }, { ctx:read_pmds(v) })
      assert.same({ "OVFL_NOTIFY" }, v:get(1, "flags"))
      v:set(2, "num", 300)
      local ok, message = ctx:read_pmds(v)
      assert.is_nil(ok)
      assert.truthy(message:find("^read_pmds: element 2: "))
      assert.same({ "OVFL_NOTIFY" }, v:get(1, "flags"))
      assert.same({}, v:get(2, "flags"))
   end)

   it("of PMCs writes PMCs", function()
      local v = lpfm.pmcs { { num = PAGE_FAULTS, value = 9 }, { num = MINOR, value = 8 } }
      assert(ctx:write_pmcs(v))
      assert.same({ 9, 8 }, { v:values() })
      assert.has_error(function() ctx:write_pmds(v) end)
      assert.has_error(function() ctx:read_pmds(v) end)
      assert.has_error(function() ctx:write_pmcs(lpfm.pmds { 66 }) end)
   end)

   it("is used again after a refusal", function()
      local v = lpfm.pmds { PAGE_FAULTS, 300 }
      for _ = 1, 2 do
         local ok, message = ctx:read_pmds(v)
         assert.is_nil(ok)
         assert.truthy(message:find("^read_pmds: element 2: .*PMD300"), message)
      end
      v:set(2, "num", MINOR)
      assert.same({ 66, -67 }, { ctx:read_pmds(v) })
   end)

   it("may be empty", function()
      local v = lpfm.pmds {}
      assert.equal(0, #v)
      assert.equal(0, select("#", v:values()))
   end)

   it("refuses what is not there", function()
      local v = lpfm.pmds { PAGE_FAULTS }
      for _, i in ipairs { 0, -1, 3, 1.5, 2 ^ 40, 0 / 0 } do
         assert.has_error(function() return v[i] end)
         assert.has_error(function() v[i] = 1 end)
         assert.has_error(function() v:get(i) end)
      end
      assert.has_error(function() v:get(1, "x") end, "get: unknown field 'x'")
      assert.has_error(function() v:set(1, "last_reset", 1) end)
      assert.has_error(function() v:set(1, "value") end)
      assert.has_error(function() v:set(1, "value", {}) end)
      assert.has_error(function() v.x = 1 end)
      assert.is_nil(v.x)
      assert.equal("lpfm.pmds: 1 element", tostring(v))
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
