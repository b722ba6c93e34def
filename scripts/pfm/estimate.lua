-- SPDX-License-Identifier: MIT
--- How well is a number known: means, deviations, confidence intervals, and how likely a difference is chance.
-- @module pfm.estimate

local estimate = {}

--- Mean and standard deviation of the mean.
-- @tparam {number,...} values at least one
-- @treturn number mean
-- @treturn number its standard deviation; 0 for a single value
-- @usage estimate.mean {1, 2, 3} --> 2, 0.577
function estimate.mean(values)
   local n, sum, squares = #values, 0, 0
   for _, v in ipairs(values) do sum = sum + v end
   local mean = sum / n
   for _, v in ipairs(values) do squares = squares + (v - mean) ^ 2 end
   return mean, n > 1 and math.sqrt(squares / (n - 1) / n) or 0
end

-- Student's t for few degrees of freedom, 95 % on both sides together.
local FEW = { 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281 }
local Z = 1.959964 -- and for infinitely many

--- How many standard deviations to each side hold 95 % of the cases (Student's t).
-- @tparam number freedom degrees of freedom, 1 or more
-- @treturn number
-- @usage estimate.t95(4) --> 2.776
function estimate.t95(freedom)
   local few = FEW[math.floor(freedom)]
   if few then return few end
   return Z + (Z ^ 3 + Z) / (4 * freedom) + (5 * Z ^ 5 + 16 * Z ^ 3 + 3 * Z) / (96 * freedom ^ 2)
end

--- Half the width of the interval around the mean that holds the true mean in 95 % of the cases.
-- @tparam {number,...} values
-- @treturn number or nil for a single value
-- @usage estimate.interval {9, 10, 11} --> 2.484
function estimate.interval(values)
   if #values < 2 then return nil end
   local _, deviation = estimate.mean(values)
   return estimate.t95(#values - 1) * deviation
end

-- ln of the gamma function: Stirling's series, moved up to where it is exact enough.
local function ln_gamma(x)
   local shift = 0
   while x < 8 do
      shift = shift + math.log(x)
      x = x + 1
   end
   local tail = 1 / (12 * x) - 1 / (360 * x ^ 3) + 1 / (1260 * x ^ 5)
   return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi) + tail - shift
end

-- The lower incomplete gamma function's share, by its series: for x < a + 1.
local function lower_gamma(a, x)
   local term, sum, n = 1 / a, 1 / a, a
   repeat
      n = n + 1
      term = term * x / n
      sum = sum + term
   until term < sum * 1e-12
   return sum * math.exp(a * math.log(x) - x - ln_gamma(a))
end

-- The upper one's, by its continued fraction (Lentz): for x >= a + 1.
local function upper_gamma(a, x)
   local b = x + 1 - a
   local c, d = 1e300, 1 / b
   local h, n = d, 0
   repeat
      n = n + 1
      local factor = -n * (n - a)
      b = b + 2
      d = 1 / (factor * d + b)
      c = b + factor / c
      h = h * d * c
   until math.abs(d * c - 1) < 1e-12
   return h * math.exp(a * math.log(x) - x - ln_gamma(a))
end

--- The probability that chance alone makes a chi-square as large as this.
-- @tparam number chi2
-- @tparam number freedom degrees of freedom
-- @treturn number 0 to 1
-- @usage estimate.chance(11.07, 5) --> 0.05
function estimate.chance(chi2, freedom)
   local a, x = freedom / 2, chi2 / 2
   if x <= 0 then return 1 end
   if x < a + 1 then return math.max(0, 1 - lower_gamma(a, x)) end
   return upper_gamma(a, x)
end

local function total(counts)
   local sum = 0
   for _, n in pairs(counts) do sum = sum + n end
   return sum
end

local function rarest_last(a, b)
   return a.n > b.n or (a.n == b.n and a.first > b.first)
end

-- Cells of two tables of counts; those too rare for the test are one cell, if that is enough.
local function cells(one, two)
   local out, rare, keys = {}, { n = 0, first = 0, second = 0 }, {}
   for key in pairs(one) do keys[key] = true end
   for key in pairs(two) do keys[key] = true end
   for key in pairs(keys) do
      local a, b = one[key] or 0, two[key] or 0
      local cell = a + b >= 10 and { n = 0, first = 0, second = 0, key = key } or rare
      cell.n, cell.first, cell.second = cell.n + a + b, cell.first + a, cell.second + b
      if cell ~= rare then out[#out + 1] = cell end
   end
   if rare.n >= 10 then out[#out + 1] = rare end
   table.sort(out, rarest_last)
   return out
end

--- Do two tables of counts come from one distribution? The test of homogeneity.
-- @tparam table one counts by key
-- @tparam table two the same, of another run
-- @treturn table `chi2`, `freedom`, `chance` (that they do, and differ as much), `distance` (0: the same shares,
-- 1: nothing in common)
-- @usage estimate.compare({a = 50, b = 50}, {a = 60, b = 40}).chance
function estimate.compare(one, two)
   local n1, n2, chi2, distance = total(one), total(two), 0, 0
   local list = cells(one, two)
   for _, cell in ipairs(list) do
      local e1, e2 = cell.n * n1 / (n1 + n2), cell.n * n2 / (n1 + n2)
      chi2 = chi2 + (cell.first - e1) ^ 2 / e1 + (cell.second - e2) ^ 2 / e2
      distance = distance + math.abs(cell.first / n1 - cell.second / n2) / 2
   end
   local freedom = #list - 1
   return { chi2 = chi2, freedom = freedom, distance = distance,
      chance = freedom > 0 and estimate.chance(chi2, freedom) or 1 }
end

return estimate
