-- SPDX-License-Identifier: MIT
-- Programs written for perfmon2 2.x and libpfm 3, as they are: they compile, run and count.

local c = require "support.c"
local lpfm = require "lpfm"
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

describe("Source of 2.x", function()
   it("compiles without a warning: what it uses is in the headers it includes", function()
      local program = c.compile("old_headers")
      for _, machine in ipairs(MACHINES) do
         assert.are.equal("interface 2.82\n", run(program, machine))
      end
   end)

   it("learns the version of the interface, 2.x; the project's own is another number", function()
      assert.are.same({ 2, 82 }, { lpfm.const.PFM_VERSION_MAJ, lpfm.const.PFM_VERSION_MIN })
      assert.are.equal("lpfm 3.0", lpfm._VERSION)
      local file = io.open("/sys/kernel/perfmon/version")
      if real == "linux" then
         assert.are.equal("2.82\n", assert(file):read("*a"))
      end
      if file then file:close() end
   end)
end)
