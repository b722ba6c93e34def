-- SPDX-License-Identifier: MIT
-- Figure 3.20: a fixed sampling period can be in step with a loop. Run: build/lpfm scripts/labs/bias.lua
local lab = require "labs.lab"

lab.sheet [[
   Biased samples (figure 3.20).
   A loop has six instructions, IP1 to IP6, and each causes one event E. With a sample every 2 events,
   2 divides 6: iteration after iteration IP2, IP4 and IP6 are sampled, and IP1, IP3 and IP5 never.
   With periods that vary at random from 1 to 4 every instruction gets its turn; the seed makes the
   series of random numbers the same in every run. Shares are those of 6000 samples.
]]

local m = lab.machine("itanium2")

local function loop(iterations)
   local body = { loop = iterations }
   for ip = 1, 6 do
      body[ip] = { ip = ip, ns = 10, events = { fp_ops = 1 } }
   end
   return { body }
end

-- The addresses of n samples, taken as the PMD's fields say.
local function sample(n, pmd)
   local tid = assert(m:spawn { program = loop(10 * n) })
   local ctx = lab.context { format = "default", buf_size = 1048576 }
   local ips = {}
   pmd.num = 4
   ctx:write_pmcs { { num = 4, value = m:encode("fp_ops", 4) } }
   ctx:write_pmds { pmd }
   ctx:load(tid)
   ctx:start()
   assert(m:run { until_exit = tid })
   for ip in ctx.ctx:buffer():fields("ip") do
      if #ips < n then
         ips[#ips + 1] = ip
      end
   end
   ctx:close()
   return ips
end

-- The samples of iteration i of the loop: an address that does not grow starts the next one.
local function iteration(ips, i)
   local out, at = {}, 1
   for k, ip in ipairs(ips) do
      if k > 1 and ip <= ips[k - 1] then
         at = at + 1
      end
      if at == i then
         out[#out + 1] = ip
      end
   end
   return lab.names(out)
end

local function shares(ips)
   local counts = { 0, 0, 0, 0, 0, 0 }
   for _, ip in ipairs(ips) do
      counts[ip] = counts[ip] + 1
   end
   return counts
end

local fixed = sample(6000, { value = -2, short_reset = -2, long_reset = -2 })
lab.show("fixed period, iteration 1", iteration(fixed, 1))
lab.show("fixed period, iteration 2", iteration(fixed, 2))
lab.show("fixed period, samples of IP1 to IP6", shares(fixed))

local random = sample(6000, {
   value = -3, short_reset = -4, long_reset = -4, flags = { "RANDOM" }, random_mask = 3, random_seed = 14,
})
lab.show("random period, iteration 1", iteration(random, 1))
lab.show("random period, iteration 2", iteration(random, 2))
lab.show("random period, samples of IP1 to IP6", shares(random))
