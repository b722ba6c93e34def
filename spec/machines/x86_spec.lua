-- SPDX-License-Identifier: MIT
-- What perfmon.ko programs on x86 for the value of a PMC (kernel/pmu/x86.h); this needs no PMU.

local c = require "support.c"

local INTEL_RULES = { -- the PMC's value, what is programmed, why
   { "0x1003c", "0x91003c", "cycles at user level: off the fixed counter" },
   { "0x53003c", "0x93003c", "EN and INT as libpfm sets them: EN is the kernel's" },
   { "0x200c0", "0x9200c0", "instructions in the kernel" },
   { "0x0101003c", "0x0111003c", "with a counter mask it is on no fixed counter anyhow" },
   { "0x0181003c", "0x0191003c", "inverted by the user: as it is" },
   { "0x9003c", "0x91003c", "PC is the kernel's" },
   { "0x0", "0x900000", "nothing" },
   { "0x10001412e", "0x10091412e", "in transactions" },
   { "0x20001412e", "0x91412e", "what cannot interrupt is never programmed" },
   { "0x2100c0", "0xb100c0", "the other thread, too: whether one may is asked before" },
   { "0x4000100c0", "0x9100c0", "PEBS's own bit is not ours" },
}
local AMD_RULES = {
   { "0x10076", "0x110076", "cycles" },
   { "0x5300c0", "0x1300c0", "instructions at both levels" },
   { "0x100030076", "0x100130076", "the event's upper bits stay" },
   { "0x10001003c", "0x10011003c", "and there is no fixed counter to keep off" },
   { "0x020000010076", "0x020000110076", "host only" },
}

describe("the x86 driver's programming", function()
   local program

   setup(function()
      program = c.compile("x86_config", "-Ikernel/core -Ikernel/user -Ikernel/pmu")
   end)

   for maker, rules in pairs { intel = INTEL_RULES, amd = AMD_RULES } do
      for _, rule in ipairs(rules) do
         it(("on %s for %s: %s"):format(maker, rule[1], rule[3]), function()
            local wanted = rule[2]:gsub("^0x0+", "0x")
            assert.are.equal(wanted .. "\n", (c.sh(("%s %s %s"):format(program, maker, rule[1]))))
         end)
      end
   end
end)
