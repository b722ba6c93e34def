-- SPDX-License-Identifier: MIT
-- Makes random calls on simulated computers, and compares what they return with a model that was
-- written from the specification's text alone (spec/c/oracle).
-- One interpreter: the program is C.
local c = require "support.c"
local effort = require "support.effort"

local SEEDS = { 1, 2 }
local COMPARISONS = effort(10000000) -- for each seed

describe("a second oracle", function()
   local program

   setup(function()
      program = c.compile("oracle", "spec/c/oracle/oracle_*.c -Ikernel -Ikernel/core -Ikernel/user")
   end)

   local function number(out, what)
      return tonumber(out:match("(%d+) " .. what)) or error(what .. ": " .. out)
   end

   it("expects what every call, message, sample and buffer has", function()
      local runs = {}
      for i, seed in ipairs(SEEDS) do
         runs[i] = c.background(("%s %d %d"):format(program, seed, COMPARISONS))
      end
      for i, run in ipairs(runs) do
         local out, status = run()
         assert.are.equal(0, status, "seed " .. SEEDS[i] .. ": " .. out)
         assert.is_true(number(out, "comparisons") >= COMPARISONS, out)
         assert.is_true(number(out, "models") >= 15, out)
         for _, what in ipairs { "overflows", "messages", "set switches", "restarts", "births", "calls of" } do
            assert.is_true(number(out, what) > COMPARISONS / 10000, what .. ": " .. out)
         end
      end
   end)

   it("prints the same for the same seed, and repeats one of its sequences of calls", function()
      local first = c.sh(program .. " 7 100000")
      assert.are.equal(first, (c.sh(program .. " 7 100000")))
      assert.are_not.equal(first, (c.sh(program .. " 8 100000")))
      local life, status = c.sh(program .. " --life 8 sim:itanium2 50")
      assert.are.equal(0, status, life)
      assert.is_truthy(life:find("-- run", 1, true), life)
   end)
end)
