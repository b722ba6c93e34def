-- SPDX-License-Identifier: MIT
--- Sampling periods that vary (specification 3.4.2), so that they are never in step with a loop.
-- The kernel itself draws uniform periods, base - (r & mask). Periods of other distributions are
-- drawn here; after a sample the tool writes the next one as the long reset value, as section 3.4.2
-- describes for sampling at the user level.
-- @module pfm.randomize

local expect = require "pfm.util.expect"
local render = require "pfm.render"
local tables = require "pfm.util.tables"

local randomize = {}

local MODULUS, FACTOR = 2147483647, 16807 -- Park and Miller's minimal standard, as in the kernel
local NEAR = 8                            -- primes lie within 1/NEAR of the mean
local SPREAD = 16                         -- an exponential distribution is cut at this many means
local NAMES = { "uniform", "min-max", "exponential", "prime" }

--- The names of the distributions.
randomize.names = NAMES

-- Returns a function that draws numbers between 0 and 1, both excluded. Seeds determine the series.
local function generator(seed)
   local state = seed % MODULUS
   if state == 0 then state = 1 end
   return function()
      state = state * FACTOR % MODULUS
      return state / MODULUS
   end
end

local function is_prime(n)
   if n < 4 then return n > 1 end
   if n % 2 == 0 then return false end
   for d = 3, math.floor(math.sqrt(n)), 2 do
      if n % d == 0 then return false end
   end
   return true
end

--- Returns the first prime at or above a number.
-- @int n at most 2^53
-- @treturn int
-- @usage randomize.prime(1000) --> 1009
function randomize.prime(n)
   expect.kind("randomize.prime: n", n, "number")
   if n > 2 ^ 53 or n ~= n then error("randomize.prime: n: expected a number up to 2^53, got " .. n, 0) end
   n = math.max(2, math.ceil(n))
   while not is_prime(n) do n = n + 1 end
   return n
end

local function between(low, high, draw)
   return low + math.floor(draw() * (high - low + 1))
end

-- --- distributions -------------------------------------------------------------------------------

local series = {}

series["min-max"] = function(its, draw)
   return function() return between(its.min, its.max, draw) end
end

function series.exponential(its, draw)
   return function()
      local period = math.floor(0.5 - its.mean * math.log(draw()))
      return math.min(math.max(its.min, period), SPREAD * its.mean)
   end
end

function series.prime(its, draw)
   local part = math.floor(its.mean / NEAR)
   return function() return randomize.prime(between(math.max(its.min, its.mean - part), its.mean + part, draw)) end
end

local function is_mask(n)
   while n % 2 == 1 do n = (n - 1) / 2 end
   return n == 0
end

-- Returns the largest 2^k - 1 up to n.
local function mask_up_to(n)
   local mask = 0
   while mask * 2 + 1 <= n do mask = mask * 2 + 1 end
   return mask
end

--- Returns the base with which periods under a mask have a given mean.
-- @int mean
-- @int mask
-- @treturn int a period; periods lie between base - mask and base
-- @usage randomize.base(2, 3) --> 4: periods of 1 to 4, as in figure 3.20
function randomize.base(mean, mask)
   return mean + math.ceil(mask / 2)
end

local function by_interface(base, mask, seed)
   return { by = "interface", base = base, mask = mask, seed = seed,
      text = ("by the interface: base %s, mask 0x%x"):format(render.number(base), mask) }
end

local function check(its)
   if its.distribution ~= "min-max" then
      if not its.mean then error("random: a mean period is needed", 0) end
      if its.mask and its.mask >= its.mean then
         error(("random: the mask %s is not smaller than the period %s"):format(render.number(its.mask),
            render.number(its.mean)), 0)
      end
      return
   end
   if not its.min or not its.max or its.min < 1 or its.max < its.min then
      error("random: a min-max distribution takes a min of 1 or more and a max that is not smaller", 0)
   end
end

local function known(name)
   if tables.find(NAMES, name) then return true end
   error(("random: there is no distribution '%s'; there are %s"):format(tostring(name), table.concat(NAMES, ", ")), 0)
end

--- Decides how periods of a distribution are made.
-- @tparam table spec `distribution` ("uniform", "min-max", "exponential" or "prime"), `mean` (the
-- period around which they lie), `min` (the shortest, 1) and `max` (of min-max), `seed`; or `mask`
-- instead of a distribution, for periods `mean` - (r & mask)
-- @treturn table `by`: "interface", with `base`, `mask`, `seed`, or "tool", with `next`, a function
-- that returns the next period; `text`, the same in words
-- @usage randomize.resolve{distribution = "exponential", mean = 1e6, seed = 1}.next()
function randomize.resolve(spec)
   local its = { seed = 1, min = 1 }
   for k, v in pairs(spec) do its[k] = v end
   its.seed, its.mask = expect.whole("random: seed", its.seed, 0, 2 ^ 32 - 1), expect.whole("random: mask", its.mask, 0)
   for _, name in ipairs { "mean", "min", "max" } do
      its[name] = expect.whole("random: " .. name, its[name], name == "min" and 0 or 1)
   end
   if its.mask then its.distribution = nil else known(its.distribution) end
   check(its)
   if its.mask then return by_interface(its.mean, its.mask, spec.seed) end
   if its.distribution == "uniform" then
      local mask = mask_up_to(its.mean)
      if mask % 2 == 1 and its.mean - (mask - 1) / 2 < its.min then mask = (mask - 1) / 2 end
      return by_interface(randomize.base(its.mean, mask), mask, its.seed)
   end
   if its.distribution == "min-max" and is_mask(its.max - its.min) then
      return by_interface(its.max, its.max - its.min, its.seed)
   end
   return { by = "tool", next = series[its.distribution](its, generator(its.seed)),
      text = ("%s, by the tool after each sample"):format(its.distribution) }
end

--- Reads what a person types for the option that randomizes periods.
-- @string text "0xff", "0xff:42", "uniform", "exponential:42", "1000-3000", "prime"
-- @treturn[1] table for `randomize.resolve`, without the mean
-- @return[2] nil
-- @treturn[2] string message
-- @usage randomize.read("1000-3000:7").max --> 3000
function randomize.read(text)
   local what, seed = text:match("^([^:]+):?(.*)$")
   local s, mask = tonumber(seed), tonumber(what)
   if seed and seed ~= "" and (not s or s < 0 or s >= 2 ^ 32 or s ~= math.floor(s)) then
      return nil, ("'%s' is not a seed of 32 bits"):format(seed)
   end
   if mask and mask > 0 and mask == math.floor(mask) and mask <= 2 ^ 53 then return { mask = mask, seed = s } end
   local low, high = (what or ""):match("^(%d+)%-(%d+)$")
   if low then return { distribution = "min-max", min = tonumber(low), max = tonumber(high), seed = s } end
   if what ~= "min-max" and pcall(known, what) then return { distribution = what, seed = s } end
   return nil, ("'%s' is not a mask (as in 0xffff), a range (as in 1000-3000), uniform, exponential or prime"):format(
      tostring(what or text))
end

expect.signatures("randomize", randomize, {
   base = "mean: number; mask: number",
   resolve = "spec: table",
   read = "text: string",
})

return randomize
