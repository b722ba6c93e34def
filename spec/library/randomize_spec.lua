-- SPDX-License-Identifier: MIT
-- pfm.randomize and pfm.bias: periods that vary, and whether a program needs them (3.4.2, figures
-- 3.4 and 3.20).

local bias = require "pfm.bias"
local stored = require "lpfm.samples"
local c = require "support.c"
local cjson = require "cjson"
local profile = require "pfm.profile"
local randomize = require "pfm.randomize"
local sim = require "support.sim"

local run = c.lpfm

-- Returns a thread with the loop of figure 3.20: six instructions, each with one event.
local function loop(iterations)
   local m = sim.machine()
   local body = { loop = iterations or 20000 }
   for ip = 1, 6 do body[ip] = { ip = ip, ns = 10, events = { fp_ops = 1 } } end
   return { tids = { assert(m:spawn { program = { body } }) } }
end

local function samples(random, period, more)
   local spec = loop()
   for k, v in pairs(more or {}) do spec[k] = v end
   spec.events, spec.period, spec.random = spec.events or "FP_OPS_RETIRED", period, random
   local result, out = profile.collect(spec), {}
   for _, block in ipairs(result.blocks) do
      for s in stored.each(block, result.sizes) do out[#out + 1] = s end
   end
   return out, result
end

-- Returns each sample's period in events. An instruction is one event, and takes 10 ns.
local function distances(list)
   local out = {}
   for i = 1, #list do out[i] = -list[i].last_reset end
   return out
end

local function mean(list)
   local sum = 0
   for _, v in ipairs(list) do sum = sum + v end
   return sum / #list
end

local function within(list, low, high)
   for _, v in ipairs(list) do
      if v < low or v > high then return false end
   end
   return true
end

describe("randomized periods (3.4.2)", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("are made by the interface where base + (r & mask) can express them", function()
      for _, case in ipairs {
         { { distribution = "uniform", mean = 1000 }, 1256, 511 },
         { { distribution = "uniform", mean = 2 }, 3, 1 },
         { { distribution = "min-max", min = 1, max = 4 }, 4, 3 },
         { { distribution = "min-max", min = 1001, max = 1256 }, 1256, 255 },
         { { mask = 0xff, mean = 1000 }, 1000, 255 },
      } do
         local how = randomize.resolve(case[1])
         assert.are.same({ "interface", case[2], case[3] }, { how.by, how.base, how.mask })
      end
      for _, spec in ipairs { { distribution = "min-max", min = 1, max = 5 },
         { distribution = "exponential", mean = 9 }, { distribution = "prime", mean = 99 } } do
         assert.are.equal("tool", randomize.resolve(spec).by)
      end
   end)

   it("have the mean, the range and the shape of their distribution", function()
      local function drawn(spec)
         local next_period, out = randomize.resolve(spec).next, {}
         for i = 1, 20000 do out[i] = next_period() end
         return out
      end
      local list = drawn { distribution = "min-max", min = 100, max = 400, seed = 5 }
      assert.is_true(within(list, 100, 400) and math.abs(mean(list) - 250) < 2)
      list = drawn { distribution = "exponential", mean = 1000, seed = 5 }
      assert.is_true(within(list, 1, 16000) and math.abs(mean(list) - 1000) < 20)
      local longer = 0
      for _, v in ipairs(list) do longer = longer + (v > 1000 and 1 or 0) end
      assert.is_true(math.abs(longer / #list - math.exp(-1)) < 0.01)
      list = drawn { distribution = "prime", mean = 1000, seed = 5 }
      assert.is_true(within(list, 875, 1150))
      for i = 1, 50 do assert.are.equal(list[i], randomize.prime(list[i])) end
   end)

   it("come again with the same seed", function()
      local spec = { distribution = "exponential", mean = 50, seed = 3 }
      local one = distances(samples(spec, 50))
      assert.are.same(one, distances(samples(spec, 50)))
      spec.seed = 4
      assert.are_not.same(one, distances(samples(spec, 50)))
   end)

   it("are those of the samples, drawn by the tool", function()
      local list, result = samples({ distribution = "min-max", min = 30, max = 70, seed = 9 }, 50)
      assert.are.equal("min-max, by the tool after each sample", result.randomized)
      assert.is_true(within(distances(list), 30, 70))
      local next_period, at = randomize.resolve { distribution = "min-max", min = 30, max = 70, seed = 9 }.next, 0
      for i = 1, 1000 do -- each sample is at its exact event
         local period = next_period()
         at = at + period
         assert.are.equal(-period, list[i].last_reset)
         assert.are.equal((at - 1) % 6 + 1, list[i].ip)
      end
   end)

   it("are those of the samples, drawn by the interface", function()
      local list, result = samples({ distribution = "uniform", seed = 9 }, 50)
      assert.are.equal("by the interface: base 66, mask 0x1f", result.randomized)
      local all = distances(list)
      table.remove(all, 1) -- the first period is not random
      assert.is_true(within(all, 35, 66) and math.abs(mean(all) - 50.5) < 1)
   end)

   it("of a simulated clock are not bound by the shortest timer of Linux", function()
      for _, name in ipairs { "exponential", "prime", "uniform" } do
         local list = samples({ distribution = name, seed = 5 }, 600, { events = "cpu-clock" })
         assert.is_true(#list > 1700 and #list < 2300, name .. ": samples of 1.2 ms, 600 ns each: " .. #list)
      end
   end)

   it("are those of the mask also where the period adapts to a frequency", function()
      local n = profile.collect { tids = loop(2e6).tids, events = "FP_OPS_RETIRED", frequency = 1e6,
         random = { mask = 0xffff } }.samples
      assert.is_true(n > 200, "samples of 12,000,000 events, at least one in 65,536: " .. n)
   end)

   it("carry other counts, too, when the tool samples", function()
      local list = samples({ distribution = "prime", seed = 2 }, 101, { with = "CPU_CYCLES" })
      for i = 2, 100 do
         assert.are.equal(list[i].last_reset * -10, list[i].values[1] - list[i - 1].values[1])
      end
   end)

   it("are refused where they make no sense", function()
      for words, spec in pairs {
         ["there is no distribution 'gaussian'; there are uniform"] = { distribution = "gaussian", mean = 1 },
         ["a min of 1 or more"] = { distribution = "min-max", min = 9, max = 3 },
         ["a mean period is needed"] = { distribution = "exponential" },
         ["random: a mean period is needed"] = { mask = 7 },
         ["the mask 255 is not smaller than the period 255"] = { mask = 255, mean = 255 },
         ["random: max: expected a whole number"] = { distribution = "min-max", min = 1, max = 4.5 },
      } do
         local ok, err = pcall(randomize.resolve, spec)
         assert.is_false(ok)
         assert.is_truthy(err:find(words, 1, true), err)
      end
      for _, text in ipairs { "gaussian", "min-max", "0", "-3", "0xff:x", "" } do
         assert.is_nil(randomize.read(text), text)
      end
      assert.are.same({ distribution = "min-max", min = 1000, max = 3000, seed = 7 }, randomize.read "1000-3000:7")
   end)
end)

describe("the test of bias (3.4.2)", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function test(period)
      return bias.test { target = loop, event = "FP_OPS_RETIRED", period = period }
   end

   it("flags the loop of figure 3.20, and the mask it recommends clears it", function()
      local result = test(2)
      assert.is_true(result.biased)
      assert.are.equal(0, result.chance)
      assert.is_true(math.abs(result.distance - 0.5) < 0.01 and result.noise < 0.01)
      assert.are.equal(4, result.runs)
      local seen = {}
      for _, row in ipairs(result.changes) do seen[row.place] = row end
      for ip = 1, 6 do
         local row = seen["0x" .. ip]
         assert.are.equal(ip % 2 == 0 and 2 or 0, math.floor(row.fixed * 6 + 0.5))
         assert.is_true(math.abs(row.random - 1 / 6) < 0.01)
      end
      local counts = {}
      for _, s in ipairs((samples({ mask = result.mask, seed = 99 }, result.base))) do
         counts[s.ip] = (counts[s.ip] or 0) + 1
      end
      for ip = 1, 6 do assert.is_true(counts[ip] > 7000 and counts[ip] < 9000, counts[ip]) end
   end)

   it("finds every period that has a factor in common with the loop, and no other", function()
      for _, period in ipairs { 3, 4, 6, 9, 10, 100 } do assert.is_true(test(period).biased, period) end
      for _, period in ipairs { 5, 7, 11, 25, 101, 997 } do
         local result = test(period)
         assert.is_false(result.biased, period)
         assert.is_nil(result.mask)
         assert.are.equal(3, result.runs)
      end
   end)

   it("wants enough samples", function()
      local ok, err = pcall(test, 5000)
      assert.is_false(ok)
      assert.is_truthy(err:find("only 24 samples: 100 are needed", 1, true), err)
   end)

   it("says that it cannot tell where the program does something else each time", function()
      local place = 0
      local function changing()
         place = place + 1
         local m = sim.machine()
         return { tids = { (assert(m:spawn { program = { { loop = 1000, { ip = place * 16, ns = 10,
            events = { fp_ops = 1 } } } } })) } }
      end
      local ok, err = pcall(bias.test, { target = changing, event = "FP_OPS_RETIRED", period = 4 })
      assert.is_false(ok)
      assert.is_truthy(err:find("too many to tell bias from chance", 1, true), err)
   end)

   it("finds a bias that is larger than the differences between runs, too", function()
      local times = 0
      local function changing()
         times = times + 1
         local m, sites = sim.machine(), { loop = 5000 }
         for i = 1, 8 do
            sites[i] = { ip = (i <= 3 and times * 100 + i or i) * 16, ns = 10, events = { fp_ops = 1 } }
         end
         return { tids = { (assert(m:spawn { program = { sites } })) } }
      end
      local r = bias.test { target = changing, event = "FP_OPS_RETIRED", period = 8 }
      assert.is_true(r.biased)
      assert.is_true(r.noise > 0.33, r.noise)
   end)
end)

describe("on the command line", function()
   local usage = c.target("usage")

   it("lpfm bias tells and recommends", function()
      local out, status = run("bias -o - --json -c 1000000 -- " .. usage .. " 400 1 1")
      local result = cjson.decode(out:match("{.*}"))
      assert.are.equal(result.biased and 3 or 0, status)
      assert.is_true(result.runs >= 3 and result.distance >= 0 and result.distance <= 1, out)
      assert.are.equal(result.biased, result.mask ~= nil)
      out = run("bias -c 1000000 -- sh -c '" .. usage .. " 50 1 1; :'")
      assert.is_truthy(out:find("[1-9]%d*%% of the CPU time was spent in threads or children, which are left out"), out)
      out = run("bias -- true")
      assert.is_truthy(out:find("100 are needed; a shorter period", 1, true), out)
   end)

   it("lpfm record takes distributions, and report names them", function()
      local data = os.tmpname()
      for how, words in pairs { ["exponential:5"] = "exponential, by the tool after each sample",
         ["uniform"] = "by the interface: base 1,262,144, mask 0x7ffff",
         ["500000-1500001"] = "min-max, by the tool after each sample" } do
         local out, status = run(("record -c 1000000 --random %s -o %s -- %s 100 1 1"):format(how, data, usage))
         assert.are.equal(0, status, out)
         assert.is_truthy(out:find(words, 1, true), out)
         assert.is_truthy(run("report --file " .. data):find("randomized " .. words, 1, true))
      end
      os.remove(data)
      local out, status = run("record -e page-faults --random exponential -- true")
      assert.are.equal(1, status)
      assert.is_truthy(out:find("'page-faults' needs a period around which to vary", 1, true), out)
   end)
end)
