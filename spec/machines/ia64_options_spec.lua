-- SPDX-License-Identifier: MIT
-- The Itaniums' own options of dispatch_events: each sets the bits that Intel's manuals give it.

local lpfm = require "lpfm"

local PROGRAMS = { itanium = {}, itanium2 = {}, montecito = {} }

-- Adds options that put `value` into `width` bits of a PMC, from bit `at` on.
local function add(model, pmc, at, width, value, options, event)
   table.insert(PROGRAMS[model], { pmc = pmc, at = at, width = width, value = value, options = options,
      event = event or "IA64_INST_RETIRED" })
end

-- Debug registers are PMCs from 256 (code) and 264 (data); a mask's register has the levels in bits
-- 56 to 59.
for model in pairs(PROGRAMS) do
   add(model, 4, 20, 3, 5, { counters = { { thres = 5 } } })
   add(model, 256, 0, 63, 0x4000, { code_ranges = { { 0x4000, 0x8000 } } })
   add(model, 257, 56, 4, 9, { code_ranges = { { 0x4000, 0x8000, plm = 9 } } })
   add(model, 264, 0, 63, 0x10000, { data_ranges = { { 0x10000, 0x20000 } } }, "LOADS_RETIRED")
end

for _, model in ipairs { "itanium", "itanium2" } do
   add(model, 4, 24, 2, 2, { counters = { { ism = 2 } } })
   add(model, 8, 3, 27, 0x7bcdef0, { opcode8 = "0x3de6f780" })
   add(model, 9, 33, 27, 0x5123456, { opcode9 = "0xa2468ac00000000" })
   add(model, 10, 0, 4, 5, { iear = { mode = "cache", plm = 5 } })
   add(model, 11, 0, 4, 9, { dear = { mode = "cache", plm = 9 } })
   add(model, 11, 16, 4, 6, { dear = { mode = "cache", umask = 6 } })
   add(model, 11, 24, 2, 2, { dear = { mode = "cache", ism = 2 } })
   add(model, 12, 0, 4, 5, { btb = { plm = 5 } })
   add(model, 12, 8, 2, 2, { btb = { tm = 2 } })
   add(model, 12, 10, 2, 1, { btb = { ptm = 1 } })
   add(model, 12, 12, 2, 3, { btb = { ppm = 3 } })
end

add("itanium", 10, 7, 1, 1, { iear = { mode = "tlb" } })
add("itanium", 10, 16, 4, 7, { iear = { mode = "cache", umask = 7 } })
add("itanium", 10, 24, 2, 1, { iear = { mode = "cache", ism = 1 } })
add("itanium", 11, 7, 1, 1, { dear = { mode = "tlb" } })
add("itanium", 12, 7, 1, 1, { btb = { tar = 1 } })
add("itanium", 12, 14, 1, 1, { btb = { tac = 1 } })
add("itanium", 12, 15, 1, 1, { btb = { bac = 1 } })

add("itanium2", 10, 5, 8, 0x3f, { iear = { mode = "cache", umask = 0x3f } })
add("itanium2", 10, 14, 2, 2, { iear = { mode = "cache", ism = 2 } })
add("itanium2", 11, 7, 2, 2, { dear = { mode = "alat" } })
add("itanium2", 12, 7, 1, 1, { btb = { ds = 1 } })
add("itanium2", 12, 14, 2, 2, { btb = { brt = 2 } })
add("itanium2", 14, 13, 1, 1, { code_ranges = { { 0x4000, 0x4100 } } })
add("itanium2", 14, 13, 1, 0, { code_ranges = { { 0x4000, 0x4100 } }, fine = false })
add("itanium2", 8, 60, 1, 0, { opcode8 = "0x10" })

for option, pmc in pairs { opcode1 = 32, opcode2 = 34 } do
   for slot, bit in pairs { b = 48, f = 49, i = 50, m = 51 } do
      add("montecito", pmc, bit, 1, 1, { [option] = { [slot] = 1 } })
   end
   add("montecito", pmc, 0, 41, 0x1234567890f, { [option] = { m = 1, mask = 0x1234567890f } })
   add("montecito", pmc + 1, 0, 41, 0x1fedcba9876, { [option] = { m = 1, match = 0x1fedcba9876 } })
end
add("montecito", 32, 56, 1, 1, { code_ranges = { { 0x4000, 0x8000 } }, invert = true })
add("montecito", 37, 0, 4, 5, { iear = { mode = "cache", plm = 5 } })
add("montecito", 37, 5, 8, 0x3f, { iear = { mode = "cache", umask = 0x3f } })
add("montecito", 38, 13, 1, 1, { code_ranges = { { 0x4000, 0x8000 } } })
add("montecito", 38, 13, 1, 0, { code_ranges = { { 0x4000, 0x8000 } }, fine = false })
add("montecito", 39, 0, 4, 5, { etb = { plm = 5 } })
add("montecito", 39, 8, 2, 2, { etb = { tm = 2 } })
add("montecito", 39, 10, 2, 1, { etb = { ptm = 1 } })
add("montecito", 39, 12, 2, 3, { etb = { ppm = 3 } })
add("montecito", 39, 14, 2, 2, { etb = { brt = 2 } })
add("montecito", 40, 0, 4, 9, { dear = { mode = "cache", plm = 9 } })
add("montecito", 40, 7, 2, 2, { dear = { mode = "alat" } })
add("montecito", 40, 16, 4, 6, { dear = { mode = "cache", umask = 6 } })
add("montecito", 42, 0, 4, 5, { ipear = { plm = 5 } })
add("montecito", 42, 11, 8, 201, { ipear = { delay = 201 } })

-- Returns the bits of a PMC after dispatch_events, or nil and the reason.
local function bits(model, p)
   local out, why = lpfm.dispatch_events { events = { p.event }, pmu = model, [model] = p.options }
   for _, pmc in ipairs(out and out.pmcs or {}) do
      if pmc.num == p.pmc then
         return lpfm.u64(pmc.value):rshift(p.at):band(lpfm.u64(1):lshift(p.width) - 1):tonumber()
      end
   end
   return nil, why or "it is not written"
end

local function refused(model, options, why)
   assert.has_error(function()
      lpfm.dispatch_events { events = { "IA64_INST_RETIRED" }, pmu = model, [model] = options }
   end, "dispatch_events: " .. why)
end

describe("the own options of an Itanium", function()
   for model, programs in pairs(PROGRAMS) do
      it("are bits of their registers: " .. model, function()
         for i, p in ipairs(programs) do
            local got, why = bits(model, p)
            assert.are.equal(p.value, got, ("%d: %s in PMC%d from bit %d: %s"):format(i, next(p.options), p.pmc, p.at,
               tostring(why)))
         end
      end)
   end

   it("tell what ranges cover beyond their limits", function()
      local out = assert(lpfm.dispatch_events { events = { "IA64_INST_RETIRED" }, pmu = "itanium",
         itanium = { code_ranges = { { 0x4000, 0x8000 } } } })
      assert.are.same({ code = { { before = 0, behind = 0 } }, data = {} }, out.ranges)
      -- the first Itanium has no fine mode: ranges are aligned powers of two
      out = assert(lpfm.dispatch_events { events = { "LOADS_RETIRED" }, pmu = "montecito",
         montecito = { data_ranges = { { 0x1000, 0x2800 } } } })
      assert.are.equal(1, #out.ranges.data)
   end)

   it("without a check count an event that ranges do not restrict", function()
      for model in pairs(PROGRAMS) do
         local request = { events = { "CPU_CYCLES" }, pmu = model, [model] = { code_ranges = { { 0x4000, 0x8000 } } } }
         assert.are.equal("FEATCOMB", (select(4, lpfm.dispatch_events(request))))
         request[model].counters = { { unchecked = true } }
         assert.is_truthy(lpfm.dispatch_events(request))
      end
   end)

   it("of events that count both say which lines are meant", function()
      local request = { events = { "L1I_FILLS" }, pmu = "montecito",
         montecito = { code_ranges = { { 0x4000, 0x8000 } } } }
      assert.are.equal("IRRFLAGS", (select(4, lpfm.dispatch_events(request))))
      request.montecito.demand_fetch = true
      assert.is_truthy(lpfm.dispatch_events(request))
      request.montecito.demand_fetch, request.montecito.prefetch_match = nil, true
      assert.is_truthy(lpfm.dispatch_events(request))
   end)

   it("are refused by name", function()
      refused("itanium", { btb = { ds = 1 } }, "itanium.btb: field 'ds': unknown field")
      refused("itanium", { btb = 3 }, "itanium: field 'btb': table expected, got 3")
      refused("itanium", { dear = { mode = "alat" } }, "itanium.dear: field 'mode': \"cache\" or \"tlb\" expected, " ..
         "got 'alat'")
      refused("itanium2", { dear = {} }, "itanium2.dear: field 'mode': \"cache\", \"tlb\" or \"alat\" expected, " ..
         "got nil")
      refused("itanium", { fine = false }, "itanium: field 'fine': unknown field")
      refused("itanium2", { btw = {} }, "itanium2: field 'btw': unknown field")
      refused("itanium2", { [7] = 1 }, "itanium2: unexpected number as the name of a field")
      refused("itanium2", { invert = 1 }, "itanium2: field 'invert': boolean expected, got 1")
      refused("itanium2", { code_ranges = { 3 } }, "itanium2: element 1: field 'code_ranges': range {start, end} " ..
         "expected, got 3")
      refused("itanium2", { counters = { 3 } }, "itanium2: element 1: field 'counters': table expected, got 3")
      refused("itanium", { counters = { {}, {}, {}, {}, {} } }, "itanium: field 'counters': itanium has 4 counters")
      refused("montecito", { opcode8 = 1 }, "montecito: field 'opcode8': unknown field")
      refused("montecito", { opcode2 = { mask = 2 ^ 41 } }, "montecito.opcode2: field 'mask': 0 to 2199023255551 " ..
         "expected, got 2199023255552")
      refused("montecito", { ipear = { delay = 256 } }, "montecito.ipear: field 'delay': 0 to 255 expected, got 256")
      refused("montecito", { counters = { { ism = 2 } } }, "montecito: element 1: field 'ism': unknown field")
   end)

   it("are for events of its own alone, whose structures they are", function()
      for model in pairs(PROGRAMS) do
         for _, other in ipairs { "itanium", "itanium2", "montecito", "k8" } do
            if other ~= model then
               assert.has_error(function()
                  lpfm.dispatch_events { events = { "cycles" }, pmu = other, [model] = {} }
               end, ("dispatch_events: %s: for events of %s alone"):format(model, model))
            end
         end
      end
   end)
end)
