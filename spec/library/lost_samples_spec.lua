-- SPDX-License-Identifier: MIT
-- The messages of lpfm record about missing samples: one for each cause.

local lpfm = require "lpfm"
local losses = require("repl.command.record").losses
local profile = require "pfm.profile"
local sim = require "support.sim"

local function said(t)
   for _, name in ipairs { "lost", "throttled", "late", "full" } do t[name] = t[name] or 0 end
   return losses(t)
end

describe("of missing samples, lpfm record says", function()
   it("that none is missing", function()
      assert.equal("none lost", said {})
   end)

   it("that the kernel's buffer was full", function()
      assert.equal("3 samples lost (lpfm emptied the kernel's buffer too slowly; use a larger --buffer or a longer "
         .. "period)", said { lost = 3 })
   end)

   it("how often the kernel throttled the counter, which then took no samples for a while", function()
      assert.equal("sampling held back 1 time by the kernel's limit (use a longer period or raise "
         .. "kernel.perf_event_max_sample_rate)", said { throttled = 1 })
      assert.truthy(said({ throttled = 1, sample_rate = 25000 }):find("limit, 25,000 a second and CPU (", 1, true))
   end)

   it("that they came together with one that filled the buffer", function()
      assert.equal("2 samples lost (they came together with one that filled the buffer)", said { crowded = 2 })
   end)

   it("that the sampling buffer was full, and how many went by meanwhile if that is known", function()
      assert.equal("lpfm emptied its buffer too slowly: full 2 times, nothing was sampled meanwhile (about 40 samples "
         .. "missed; use a larger --buffer)", said { full = 2, missed = 40 })
      assert.equal("lpfm emptied its buffer too slowly: full 1 time, nothing was sampled meanwhile (use a larger "
         .. "--buffer)", said { full = 1 })
   end)

   it("that timers came late, by which nothing is lost", function()
      assert.equal("none lost; timers came late over 12 periods, which have no sample", said { late = 12 })
   end)

   it("all of them, where there are several", function()
      local text = said { lost = 3, throttled = 5, full = 1, late = 2 }
      for _, part in ipairs { "3 samples lost", "sampling held back 5 times", "full 1 time", "over 2 periods" } do
         assert.truthy(text:find(part, 1, true), text)
      end
   end)
end)

describe("a profile counts", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("apart the samples that came together with one that filled the buffer", function()
      local m = sim.machine()
      local tid = m:spawn { program = sim.work(100, { loads = 1 }, 1000) }
      local three = 128 + 2 * 64 + 64 + 8 * (#lpfm.pmds() + 1) -- the third sample fills the buffer
      local result = profile.collect { tids = { tid }, events = "LOADS_RETIRED,IA64_INST_RETIRED", period = 1,
         buffer = three }
      assert.same({ 150, 50, 50, 0, 0 },
         { result.samples, result.crowded, result.full, result.lost, result.throttled })
   end)
end)
