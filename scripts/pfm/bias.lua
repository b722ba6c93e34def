-- SPDX-License-Identifier: MIT
--- Is a profile biased? A fixed period that is in step with a loop samples some of its instructions
-- and never the others (specification 3.4.2, figure 3.20). The program is sampled with the fixed
-- period and, twice, with periods randomized as widely as the period allows; the two show what
-- differs by chance. Where the fixed period's addresses differ by more, ever wider masks are tried
-- until one gives the randomized profile: that one is recommended.
-- @module pfm.bias

local stored = require "lpfm.samples"
local expect = require "pfm.util.expect"
local host = require "pfm.measure.host"
local measure = require "pfm.measure"
local programs = require "pfm.recording.programs"
local statistics = require "pfm.statistics"
local render = require "pfm.render"
local profile = require "pfm.profile"
local randomize = require "pfm.randomize"
local symbols = require "pfm.symbols"

local bias = {}

local SURE = 0.001   -- the probability below which a difference is not due to chance
local NOTABLE = 0.02 -- share of the samples; smaller differences are ignored, even if significant
local LEAST = 100    -- samples that a test needs
local MOST = 0.5     -- share of the samples; if only more counts as bias, the test says nothing
local VARIES = 8     -- the first mask tried is the largest up to 1/VARIES of the period
local STEPS = 2      -- bits by which the mask grows from one try to the next
local SEEDS = { 14, 1, 7 }

-- --- profiles ------------------------------------------------------------------------------------

-- Names where a sample lies, alike in every run, although load addresses differ between runs.
local function place_of(resolver, life, ip)
   local where = resolver:resolve(life, ip)
   if where.missing == "no mapping" then return ("0x%x"):format(ip) end
   return ("%s %s+0x%x"):format(where.object, where.func, where.offset)
end

--- Counts the samples at each place.
-- @tparam table result of `profile.collect`
-- @treturn table counts by place; a place is an address or, of a real program,
-- "object function+offset"
-- @treturn int all samples
-- @usage
-- local profile = require("pfm.profile").collect{command = {"true"}, events = "page-faults", period = 1}
-- for place, samples in pairs(require("pfm.bias").places(profile)) do print(place, samples) end
function bias.places(result)
   local ran, out, all = programs.new(result.records, result.mapped, {}), {}, 0
   local groups = stored.counter { keys = { { "pid", lives = ran.lives }, "ip" } }
   local resolver = symbols.resolver { mapped = ran }
   for _, block in ipairs(result.blocks) do groups:add(block, result.sizes) end
   for life, ip, n in groups:rows() do
      local place = place_of(resolver, life, ip)
      out[place], all = (out[place] or 0) + n, all + n
   end
   return out, all
end

-- Carries out one run; if the target is a function, it makes a target for each run.
local function sample(self, random)
   local spec = profile.whole(type(self.target) == "function" and self.target() or self.target)
   spec.events, spec.frequency, spec.random = self.event, nil, random
   spec.inherit = self.inherit
   spec.period = random and random.mask and randomize.base(self.period, random.mask) or self.period
   local result = profile.collect(spec)
   if result.interrupted then error("interrupted", 0) end
   self.runs = self.runs + 1
   if self.on_run then self.on_run(self.runs, result) end
   local places, n = bias.places(result)
   self.unsampled, self.alone, self.inherited = result.unsampled, self.why, result.inherited
   if n < LEAST then
      error(("only %s: %d are needed; a shorter period or a longer run gives more%s"):format(
         render.plural(n, "sample"), LEAST, bias.left_out(self, "; ") or ""), 0)
   end
   return places
end

local function masked(mask, seed)
   return { mask = mask, seed = seed }
end

-- All runs sample the same threads: those that can be sampled with random periods. Returns
-- `inherit`, or nil and why threads and children are left out.
local function whole(self, mask)
   local target = type(self.target) == "function" and self.target() or self.target
   if not (target.inherit or target.threads) then return nil end
   local spec = {}
   for k, v in pairs(target) do spec[k] = v end
   spec.events, spec.random, spec.period = self.event, masked(mask, SEEDS[1]), randomize.base(self.period, mask)
   local tried = profile.prepare(spec)
   return tried.inherits and true or nil, tried.alone
end

--- Says what a test leaves out.
-- @tparam table result of `bias.test`
-- @string[opt=""] before text to put before the words
-- @treturn ?string nil if nothing is left out, or it is not known what
-- @usage print((require("pfm.bias").left_out { unsampled = 0.5 }))
function bias.left_out(result, before)
   if not result.unsampled then return nil end
   local why = result.inherited and "was not sampled: " .. measure.TAKEN
      or "was spent in threads or children, which are left out" .. (result.alone and ": " .. result.alone or "")
   return ("%s%.0f%% of the CPU time %s"):format(before or "", result.unsampled * 100, why)
end

-- --- the test ------------------------------------------------------------------------------------

-- Returns the share of the samples by which a profile must differ to count as biased.
local function needed(self)
   return NOTABLE + 1.5 * self.noise
end

-- Returns true if two profiles differ by more than chance, and by more than two randomized runs do.
local function differs(self, one, other)
   local test = statistics.compare(one, other)
   return test.chance < SURE and test.distance > needed(self), test
end

local VAIN = "%.0f%% of the samples of two runs with randomized periods lie elsewhere: too many to tell bias from "
   .. "chance; a longer run, a longer period or a program that does the same each time helps"

-- Lists all places; those that differ most in their shares of the samples come first.
local function changes(one, other)
   local n1, n2, rows, seen = 0, 0, {}, {}
   for _, n in pairs(one) do n1 = n1 + n end
   for _, n in pairs(other) do n2 = n2 + n end
   for _, counts in ipairs { one, other } do
      for place in pairs(counts) do
         if not seen[place] then
            rows[#rows + 1] = { place = place, fixed = (one[place] or 0) / n1, random = (other[place] or 0) / n2 }
         end
         seen[place] = true
      end
   end
   table.sort(rows, function(a, b)
      local da, db = math.abs(a.fixed - a.random), math.abs(b.fixed - b.random)
      if da ~= db then return da > db end
      return a.place < b.place
   end)
   return rows
end

-- Returns the widest mask, 2^k - 1, with which every period is at least 1.
local function widest(period)
   local mask = 1
   while randomize.base(period, mask * 2 + 1) - (mask * 2 + 1) >= 1 and mask * 2 + 1 <= 2 * period do
      mask = mask * 2 + 1
   end
   return mask
end

-- Tries narrow masks first, but none so narrow that the periods hardly vary.
local function recommend(self, reference, most)
   local mask = 1
   while mask * 2 + 1 <= self.period / VARIES do mask = mask * 2 + 1 end
   while mask < most do
      local bad, test = differs(self, sample(self, masked(mask, SEEDS[1])), reference)
      if not bad then return mask, test end
      mask = math.min(most, (mask + 1) * 2 ^ STEPS - 1)
   end
   return most
end

--- Tests a period.
-- @tparam table spec
-- @param spec.target a target of `pfm.measure`, or a function that makes one for each run
-- @string[opt="cpu-clock"] spec.event the event to sample
-- @int[opt=1e6] spec.period its period; of cpu-clock 1e6 is a millisecond
-- @func[opt] spec.on_run called as `on_run(number, result)` after each run
-- @treturn table `biased`; `chance` and `distance` (of `statistics.compare`) of the fixed period
-- from randomized ones, `noise`, the distance of two randomized runs; `changes`, places by how much
-- their shares (`fixed`, `random`) differ; `unsampled`, the share of CPU time that was left out,
-- and `alone`, why; if biased, `mask` and `base`: what to randomize the period with; `runs`
-- @raise if there are too few samples, or randomized runs differ too much to tell
-- @usage
-- local awk = {command = {"awk", "BEGIN { while (i < 1e5) a[i++] = i }"}}
-- print(require("pfm.bias").test{target = awk, event = "page-faults", period = 1}.biased)
function bias.test(spec)
   expect.fields("bias.test", spec, { "target", "event", "period", "on_run" })
   local self = { target = spec.target, event = spec.event or "cpu-clock",
      period = expect.whole("period", spec.period) or 1e6, runs = 0,
      on_run = spec.on_run }
   local most = widest(self.period)
   self.inherit, self.why = whole(self, most)
   local fixed = sample(self, nil)
   local one, two = sample(self, masked(most, SEEDS[1])), sample(self, masked(most, SEEDS[2]))
   self.noise = statistics.compare(one, two).distance
   local both = {}
   for _, counts in ipairs { one, two } do
      for place, n in pairs(counts) do both[place] = (both[place] or 0) + n end
   end
   local biased, test = differs(self, fixed, both)
   if not biased and needed(self) > MOST then error(VAIN:format(self.noise * 100), 0) end
   local out = { biased = biased, chance = test.chance, distance = test.distance, noise = self.noise,
      period = self.period, event = self.event, changes = changes(fixed, both), unsampled = self.unsampled,
      alone = self.alone, inherited = self.inherited, simulated = host.simulated() }
   if biased then
      out.mask = recommend(self, both, most)
      out.base = randomize.base(self.period, out.mask)
   end
   out.runs = self.runs
   return out
end

expect.signatures("bias", bias, {
   places = "result: {samples}",
   left_out = "result: table; before: string?",
   test = "spec: {target}",
})

return bias
