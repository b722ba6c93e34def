-- SPDX-License-Identifier: MIT
-- Tests that a measurement on the simulated computer lasts as long as was asked for, to the ns.

local count = require "pfm.count"
local lpfm = require "lpfm"
local sim = require "support.sim"

-- Counts CPU 0's clock from another time on for each i.
local function run(i, spec)
   local m = sim.machine "itanium2"
   m:spawn { program = { { loop = "forever", { ip = 1, ns = 10 } } } }
   m:run { ns = i * 7919 + 13 }
   spec.cpus, spec.events = { 0 }, "cpu-clock"
   return count.run(spec)
end

local function ns(seconds)
   return math.floor(seconds * 1e9 + 0.5)
end

describe("A measurement on the simulated computer", function()
   after_each(function() lpfm.machine "perf" end)

   local function lasts(i, delay)
      local result = run(i, { seconds = i / 1000, delay = delay })
      assert.equal(i * 1000000, ns(result.elapsed), "of " .. i .. " ms")
      assert.equal(i * 1000000, tonumber(result.events[1].value), "counted in " .. i .. " ms")
   end

   it("lasts as many ns as were asked for, whenever it begins", function()
      for i = 1, 200 do lasts(i) end
   end)

   it("lasts so long after a delay, too", function()
      for i = 1, 200 do lasts(i, i / 777000) end
   end)

   it("has intervals of which it is the sum, and none of nothing", function()
      for i = 1, 100 do
         local sum, parts = 0, 0
         local result = run(i, { seconds = i / 1000, interval = i / 7000, on_interval = function(part)
            sum, parts = sum + ns(part.elapsed), parts + 1
            assert.equal(ns(part.elapsed), tonumber(part.events[1].value), "counted in part " .. parts)
         end })
         assert.equal(7, parts, "parts of " .. i .. " ms")
         assert.equal(sum, ns(result.elapsed), "the sum of the parts")
      end
   end)
end)
