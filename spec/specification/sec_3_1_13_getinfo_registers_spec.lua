-- SPDX-License-Identifier: MIT
-- Sections 3.1.13, PFM_GETINFO_PMCS, and 3.1.14, PFM_GETINFO_PMDS.
local c = require "support.c"
local lpfm = require "lpfm"
local real = require "support.real"
local sim = require "support.sim"

local MODELS = sim.models()

local by_num = sim.by_num

-- Returns a AND b of 64-bit values, as lpfm.u64.
local function band(a, b)
   local r, bit = lpfm.u64(0), lpfm.u64(1)
   a, b = lpfm.u64(a), lpfm.u64(b)
   for _ = 1, 64 do
      if a % 2 == lpfm.u64(1) and b % 2 == lpfm.u64(1) then
         r = r + bit
      end
      a, b, bit = a / 2, b / 2, bit * 2
   end
   return r
end

local ALL = lpfm.u64("0xffffffffffffffff")

describe("3.1.13 PFM_GETINFO_PMCS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("'There is no need to have a context to access this command'; 'at any time'", function()
      local m = sim.machine()
      assert.are.equal("PMC4", by_num(lpfm.pmcs())[4].name)
      local ctx = sim.context()
      sim.start(ctx, m:spawn { program = sim.work(100) })
      assert.are.equal("PMC4", by_num(lpfm.pmcs())[4].name)
   end)

   it("reg_type: PMC 'is the case for Itanium 2', and IBR, DBR; MSR on x86; SPR", function()
      sim.machine("itanium2")
      local regs = by_num(lpfm.pmcs())
      assert.are.same({ "PMC", "PMC", "IBR", "IBR", "DBR", "DBR" }, { regs[4].type, regs[15].type, regs[256].type,
         regs[263].type, regs[264].type, regs[271].type })
      for _, model in ipairs { "k8", "p6" } do
         sim.machine(model)
         assert.are.equal("MSR", by_num(lpfm.pmcs())[0].type)
      end
      sim.machine("armv8")
      assert.are.equal("SPR", by_num(lpfm.pmcs())[0].type)
   end)

   it("reg_index: 'the index or address of the actual hardware register'", function()
      sim.machine("itanium2")
      local regs = by_num(lpfm.pmcs())
      assert.are.same({ 4, 15, 0, 7, 0, 7 }, { regs[4].index, regs[15].index, regs[256].index, regs[263].index,
         regs[264].index, regs[271].index })
      sim.machine("k8")
      assert.are.equal(0xc0010003, by_num(lpfm.pmcs())[3].index)
      sim.machine("p6")
      assert.are.equal(0x187, by_num(lpfm.pmcs())[1].index)
   end)

   it("reg_index: 'the special value PFM_REG_IDX_NONE' where the name says all", function()
      local reg = by_num(lpfm.pmcs())[64]
      assert.are.same({ "SW", "task-clock" }, { reg.type, reg.name })
      assert.is_nil(reg.index)
   end)

   it("'it must be possible to craft the assembly instruction(s)' of type and index: MRS X0 of ARMv8", function()
      sim.machine("armv8")
      local pmcs, pmds = by_num(lpfm.pmcs()), by_num(lpfm.pmds())
      for word, reg in pairs { [0xd53bec00] = pmcs[0], [0xd53beca0] = pmcs[5], [0xd53befe0] = pmcs[31],
         [0xd53be800] = pmds[0], [0xd53be8a0] = pmds[5], [0xd53b9d00] = pmds[31] } do
         assert.are.same({ "SPR", word }, { reg.type, 0xd5200000 + reg.index * 32 }, reg.name)
      end
   end)

   local function each_has_its_own(machine)
      local seen = {}
      for _, list in ipairs { lpfm.pmcs(), lpfm.pmds() } do
         local here = {}
         assert.is_true(#list > 0, machine)
         for _, reg in ipairs(list) do
            local key = reg.type .. " " .. (reg.index or reg.name)
            assert.is_nil(here[key], machine .. ": " .. key)
            here[key] = true
            assert.are.equal(reg.name, seen[key] or reg.name, machine .. ": " .. key)
            seen[key] = reg.name
         end
      end
   end

   it("'The mapping ... is unique for each PMC register', and for each PMD, and between them", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         each_has_its_own(model)
      end
   end)

   it("... on " .. real, function()
      assert(lpfm.machine(real))
      each_has_its_own(real)
   end)

   it("reg_rsvd_mask: bits beyond the register's are reserved and 'zero-extended' in the default", function()
      for _, model in ipairs { "k8", "p6" } do
         sim.machine(model)
         for num = 0, 1 do
            local reg = by_num(lpfm.pmcs())[num]
            local upper = lpfm.u64("0xffffffff00000000")
            assert.is_true(band(reg.rsvd_mask, upper) == upper)
            assert.is_true(band(reg.def_value, upper) == lpfm.u64(0))
         end
      end
   end)

   it("'final_value = (value & ~reg_rsvd_mask) | (reg_def_value & reg_rsvd_mask)', 'done silently'", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         local ctx = sim.context { flags = { "SYSTEM_WIDE" } }
         for _, reg in ipairs(lpfm.pmcs()) do
            if reg.type ~= "SW" and reg.type ~= "IBR" and reg.type ~= "DBR" then
               -- a model's write check may set bits: Itanium's pm (5.2) and enable
               local checked = table.concat(reg.kind, " "):find("WC", 1, true) and lpfm.u64(0x800050) or lpfm.u64(0)
               for _, value in ipairs { "0", "0xffffffffffffffff", "0x5555aaaa5555aaaa" } do
                  local v = lpfm.pmcs { { num = reg.num, value = value } }
                  assert(ctx:write_pmcs(v))
                  local rsvd = lpfm.u64(reg.rsvd_mask)
                  local final = band(value, ALL - rsvd) + band(reg.def_value, rsvd)
                  local what = ("%s %s <- %s: %s, not %s"):format(model, reg.name, value, lpfm.u64(v[1]):hex(),
                     final:hex())
                  assert.is_true(band(v[1], ALL - checked) == band(final, ALL - checked), what)
               end
            end
         end
      end
   end)

   it("'Reserved bits must retain their default value': the interrupt bit of K8 stays set, and 64 bits are counted",
      function()
         local m = sim.machine("k8")
         local ctx = sim.context()
         local value = m:encode("l2_misses", 0) - 0x100000 -- without bit 20
         local tid = m:spawn { program = sim.work(4, { l2_misses = "0x700000000000" }) }
         assert(ctx:write_pmcs { { num = 0, value = value } })
         sim.start(ctx, tid)
         assert(m:run { until_exit = tid })
         assert.are.equal(4 * 0x700000000000, sim.value(ctx, 0))
      end)

   it("reg_def_value: what an unwritten PMC has, with which nothing is measured", function()
      sim.machine("itanium2")
      assert.are.equal(0x800000, by_num(lpfm.pmcs())[4].def_value)
      sim.machine("armv8")
      assert.are.equal(0xc0000000, by_num(lpfm.pmcs())[0].def_value)
   end)

   it("through perfmonctl(): fields, errors, limits", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.13")
      assert.are.equal(0, status, out)
   end)
end)

describe("3.1.14 PFM_GETINFO_PMDS", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("reg_type and reg_index of the counters of each model", function()
      for model, expect in pairs { itanium2 = { 4, "PMD", 4, 47 }, k8 = { 0, "MSR", 0xc0010004, 48 },
         p6 = { 1, "MSR", 0xc2, 40 }, armv8 = { 31, "SPR", 0xdce8, 32 } } do
         sim.machine(model)
         local reg = by_num(lpfm.pmds())[expect[1]]
         assert.are.same(expect, { reg.num, reg.type, reg.index, reg.width })
         assert.are.equal(expect[1], reg.ctrl)
      end
   end)

   it("reg_def_value: 'generally 0'", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         for _, reg in ipairs(lpfm.pmds()) do
            assert.are.equal(0, reg.def_value, reg.name)
         end
      end
   end)

   it("'final_value = (value & ~reg_rsvd_mask) | (reg_def_value & reg_rsvd_mask)'", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         local ctx = sim.context()
         for _, reg in ipairs(lpfm.pmds()) do
            if table.concat(reg.kind or {}, " "):find("RO", 1, true) then
               sim.refused("EINVAL", "is read-only", ctx:write_pmds { { num = reg.num, value = 1 } })
            elseif reg.num < 80 then
               assert(ctx:write_pmds { { num = reg.num, value = "0xfedcba9876543210" } })
               local rsvd = lpfm.u64(reg.rsvd_mask)
               local final = band("0xfedcba9876543210", ALL - rsvd) + band(reg.def_value, rsvd)
               assert.is_true(final == lpfm.u64(sim.value(ctx, reg.num)), reg.name)
            end
         end
      end
   end)

   it("agrees with cf_impl_pmcs and cf_impl_pmds", function()
      for _, model in ipairs(MODELS) do
         sim.machine(model)
         local cfg = lpfm.config()
         for field, list in pairs { impl_pmcs = lpfm.pmcs(), impl_pmds = lpfm.pmds() } do
            local nums = {}
            for i, reg in ipairs(list) do
               nums[i] = reg.num
            end
            assert.are.same(cfg[field], nums)
         end
      end
   end)

   it("through perfmonctl(): fields, errors, limits", function()
      local out, status = c.sh(c.compile("perfmonctl_errors") .. " 3.1.14")
      assert.are.equal(0, status, out)
   end)
end)
