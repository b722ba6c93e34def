-- SPDX-License-Identifier: MIT
-- The labs print the numbers of the specification's figures.

local LABS = {
   bias = {
      "fixed period, iteration 1: IP2 IP4 IP6", -- figure 3.20
      "fixed period, iteration 2: IP2 IP4 IP6",
      "fixed period, samples of IP1 to IP6: 0 2000 0 2000 0 2000",
      "random period, iteration 1: IP3 IP5",
      "random period, iteration 2: IP1 IP2 IP6",
   },
   multiplex = { -- 3.32
      "actual A: 25", "actual B: 75", "multiplexed A: 16", "multiplexed B: 40", "scaled A: 32", "scaled B: 80",
   },
   timeouts = {
      "requested timeout, ms: 15", "effective timeout, ms: 20", "set 1 becomes active at, ms: 20", -- 3.35
      "timeout left when masked, ms: 12", "timeout left 7 ms later, ms: 12", -- 3.36
      "with a masked period set 1 becomes active at, ms: 27",
      "timeout left when the thread blocks, ms: 8", "timeout left when the thread runs again, ms: 8", -- 3.37
      "with a blocked thread set 1 becomes active at, ms: 50",
   },
   switching = { -- 3.38
      "at the start, threshold of PMD4 in set 0: 2", "after 1000 A, threshold of PMD4 in set 0: 1",
      "after 1000 A, PMD4 in set 0: -1000", "after 1999 A, active set: 0", "after 2000 A, active set: 1",
      "set 0 was left because of PMD: 4", "after 1000 B in set 1, active set: 0",
      "after 1000 B in set 1, threshold of PMD4 in set 0: 2", "set 1 was left because of PMD: 5",
   },
   periods = { -- 3.18, 3.19
      "instructions between samples: 10000 100 100 100 100 500 100 100 100 100",
      "executed while the tool worked, thread running: 300",
      "instructions between samples, thread blocked: 10000 100 100 100 100 500 100 100 100 100",
      "executed while the tool worked, thread blocked: 0",
   },
   layout = {
      "sample starts at: 40", "body starts at: 80", "first value of the body, PMD5: 600", -- 3.28
      "second value of the body, PMD7: 1200", "next sample starts at: 96",
      "first sample, ovfl_pmd: 4", "second sample, ovfl_pmd: 5", -- 3.29
      "first sample, time stamp: 6000", "second sample, time stamp: 6000",
      "samples when full: 3", "times full: 1", "wasted: 288", -- 3.30
   },
   emulation = {
      "after 1 event: 0xffffffff", "after 2 events, the hardware wrapped: 0x100000000", "overflow messages: 0", -- 3.3
      "pmd_value: 0xfffffffffffe7960", "lower half, in the hardware: 0xfffe7960", -- 3.17
      "events before the overflow: 100000", "PMD after the overflow: 0x0",
   },
}

local build, lua = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"

for lab, lines in pairs(LABS) do
   describe("scripts/labs/" .. lab .. ".lua", function()
      local pipe = assert(io.popen(("%s/%s/lpfm scripts/labs/%s.lua 2>&1"):format(build, lua, lab)))
      local text = pipe:read("*a")
      pipe:close()
      local out = {}
      for line in text:gmatch("[^\n]+") do
         out[line] = true
      end

      it("says first what it is about", function()
         assert.is_truthy(text:match("^%w[^\n]+%(figures? [%d., ]+%)%.\n"), text)
      end)
      for _, line in ipairs(lines) do
         it("prints " .. line, function()
            assert.is_true(out[line], text)
         end)
      end
   end)
end
