-- SPDX-License-Identifier: MIT
-- Makes random calls on simulated computers, under ASan and UBSan, and checks after each call.
-- One interpreter: the program is C.
local c = require "support.c"
local effort = require "support.effort"

local STEPS = effort(500000)
local SEEDS = { 1, 2 }

describe("random steps", function()
   local program

   setup(function()
      program = c.make("build/spec/stress")
   end)

   it("lose and double no event, and leave nothing behind", function()
      local runs = {}
      for i, seed in ipairs(SEEDS) do
         runs[i] = c.background(program .. " " .. seed .. " " .. STEPS)
      end
      for i, run in ipairs(runs) do
         local out, status = run()
         assert.are.equal(0, status, "seed " .. SEEDS[i] .. ": " .. out)
         assert.is_truthy(out:find("seed " .. SEEDS[i] .. ": " .. STEPS .. " steps", 1, true), out)
         for _, what in ipairs { "overflows", "set switches", "samples", "messages", "context switches",
            "child contexts" } do
            local n = tonumber(out:match("(%d+) " .. what))
            assert.is_true(n > (what == "child contexts" and 50 or 1000), what .. ": " .. out)
         end
      end
   end)

   it("are the same again for the same seed", function()
      local first = c.sh(program .. " 7 1000")
      assert.are.equal(first, (c.sh(program .. " 7 1000")))
      assert.are_not.equal(first, (c.sh(program .. " 8 1000")))
   end)
end)
