-- SPDX-License-Identifier: MIT
-- Programs written for perfmon2 2.x and libpfm 3, as they are: they compile, run and count.

local c = require "support.c"
local real = require "support.real"

local MACHINES = real == "linux" and { "linux" } or { "perf", "sim:itanium2" }

local function run(command, machine)
   local out, status = c.sh(("LPFM_MACHINE=%s %s"):format(machine, command))
   assert.are.equal(0, status, machine .. ": " .. out)
   return out
end

describe("The sampling buffer of a 2.x program", function()
   local CASES = {
      private = "is mapped MAP_PRIVATE, or shared: it is read-only",
      unrounded = "is mapped with the length that was asked for, not rounded to pages",
      part = "is mapped in part",
      twice = "is mapped more than once",
      writable = "cannot be mapped to be written",
      too_long = "cannot be mapped beyond its end",
   }
   local program
   setup(function() program = c.compile("old_map") end)

   for _, machine in ipairs(MACHINES) do
      for case, sentence in pairs(CASES) do
         it(sentence .. ": " .. machine, function()
            run(program .. " " .. case, machine)
         end)
      end
   end
end)
