-- SPDX-License-Identifier: MIT
-- Where and when programs miss the simulated caches: misses by set over time, and pictures of them.
local caches = require "pfm.caches"
local files = require "support.files"
local sim = require "support.sim"

local A = 0x1000000

-- Returns a computer that has only an L1D: 64 sets of 8 lines of 64 bytes.
local function computer()
   return sim.machine("k8", { l1d = "32768:8:64", l1i = 0, l2 = 0, l3 = 0, itlb = 0, dtlb = 0 })
end

local function sum_by_set(course)
   local sums = {}
   for _, step in ipairs(course) do
      for set, misses in ipairs(step) do sums[set] = (sums[set] or 0) + misses end
   end
   return sums
end

describe("the course of misses", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- Successive lines from A on are in successive sets; with a stride of 64 lines all are in one.
   it("has each miss in its set", function()
      for stride, expected in pairs { [64] = function() return 10 end,
         [4096] = function(set) return set == 1 and 640 or 0 end } do
         local m = computer()
         local course = caches.course(m, { tid = m:spawn { program = {
            { loop = 640, { ip = 0x1000, load = { A, stride } } } } } })
         for set, misses in ipairs(sum_by_set(course)) do assert.are.equal(expected(set), misses) end
         assert.are.same(sum_by_set(course), m:cache_sets("L1D"))
      end
   end)

   it("has as many steps for a long program as for a short one, and no miss is lost", function()
      for _, n in ipairs { 1, 1000, 300000 } do
         local m = computer()
         local tid = m:spawn { program = { { loop = n, { ip = 0x1000, load = { A, 64 } } } } }
         local course = caches.course(m, { tid = tid })
         assert.is_true(#course >= 1 and #course <= 64, #course)
         local total = 0
         for _, misses in ipairs(sum_by_set(course)) do total = total + misses end
         assert.are.equal(n, total)
         assert.is_true(#course * course.step >= m:time())
      end
   end)

   it("says that there is no such cache", function()
      local m = computer()
      assert.has_error(function() caches.course(m, { tid = 100, cache = "L2" }) end,
         "cache_sets: CPU 0 has no cache L2")
      sim.refused("EINVAL", "CPU 7 has no cache L1D", m:cache_sets("L1D", 7))
   end)

   it("is drawn as a heat map of sets and as a line over time, in the terminal and as SVG", function()
      local m = computer()
      local course = caches.course(m, { tid = m:spawn { program = {
         { loop = 5000, { ip = 0x1000, load = { A, 4096 } } }, { loop = 100000, { ip = 0x1010, load = A } } } } })
      local heat, line = caches.sets(course), caches.misses(course)
      assert.are.equal(32, #heat.rows)
      assert.are.equal("sets 0-1", heat.rows[1].label)
      assert.is_true(heat.rows[1][1] > 0)
      assert.are.equal(0, heat.rows[2][1])
      assert.are.equal(0, line.series[1][#course][2]) -- the second loop hits
      assert.is_truthy(heat:text { width = 80, utf8 = false, colour = false }:find("sets 62-63", 1, true))
      assert.is_truthy(line:text { width = 80, utf8 = false, colour = false }:find("misses of the L1D", 1, true))
      local path = os.tmpname() .. ".svg"
      heat:save(path)
      assert.is_truthy(files.read(path):find("<svg", 1, true))
      line:save(path)
      assert.is_truthy(files.read(path):find("<svg", 1, true))
      os.remove(path)
   end)
end)
