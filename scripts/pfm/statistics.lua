-- SPDX-License-Identifier: MIT
--- How well a number is known, and whether a difference can be chance: means, deviations,
-- confidence intervals; probabilities of what was seen, or anything as unlikely, if there were no
-- difference.
-- @module pfm.statistics

local expect = require "pfm.util.expect"

local fail = expect.fail

local statistics = {}

local FEW = 10 -- expected samples below which only the exact test is right

-- --- means ---------------------------------------------------------------------------------------

--- Returns the mean and its standard deviation.
-- @tparam {number,...} values at least one
-- @treturn number mean
-- @treturn number its standard deviation; 0 for a single value
-- @usage statistics.mean {1, 2, 3} --> 2, 0.577
function statistics.mean(values)
   local n, sum, squares = #values, 0, 0
   for _, v in ipairs(values) do sum = sum + v end
   local mean = sum / n
   for _, v in ipairs(values) do squares = squares + (v - mean) ^ 2 end
   return mean, n > 1 and math.sqrt(squares / (n - 1) / n) or 0
end

-- Quantiles of Student's t for few degrees of freedom, 95 % two-sided.
local T95 = { 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281 }
local Z = 1.959964 -- the same for infinitely many

--- Says how many standard deviations to each side hold 95 % of the cases (Student's t).
-- @tparam number freedom degrees of freedom, 1 or more
-- @treturn number
-- @usage statistics.t95(4) --> 2.776
function statistics.t95(freedom)
   local few = T95[math.floor(freedom)]
   if few then return few end
   return Z + (Z ^ 3 + Z) / (4 * freedom) + (5 * Z ^ 5 + 16 * Z ^ 3 + 3 * Z) / (96 * freedom ^ 2)
end

--- Returns half the width of the interval around the mean that has the true mean in 95 % of cases.
-- @tparam {number,...} values
-- @treturn number or nil for a single value
-- @usage statistics.interval {9, 10, 11} --> 2.484
function statistics.interval(values)
   if #values < 2 then return nil end
   local _, deviation = statistics.mean(values)
   return statistics.t95(#values - 1) * deviation
end

-- --- special functions ---------------------------------------------------------------------------

-- Lanczos' approximation (g = 7, n = 9).
local LANCZOS = { 0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
   -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7 }

local function log_gamma(x)
   local sum = LANCZOS[1]
   for i = 2, #LANCZOS do sum = sum + LANCZOS[i] / (x + i - 2) end
   local t = x + 6.5
   return 0.5 * math.log(2 * math.pi) + (x - 0.5) * math.log(t) - t + math.log(sum)
end

local function log_choose(n, k)
   return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1)
end

-- Returns the share of a gamma distribution of shape a that lies beyond x.
local function gamma_tail(a, x)
   if x <= 0 then return 1 end
   local front = math.exp(-x + a * math.log(x) - log_gamma(a))
   if x < a + 1 then -- a series for the share below x
      local term, sum, n = 1 / a, 1 / a, a
      while term > sum * 1e-16 do
         n = n + 1
         term = term * x / n
         sum = sum + term
      end
      return 1 - sum * front
   end
   local tiny = 1e-300 -- Lentz's continued fraction
   local b, c = x + 1 - a, 1 / tiny
   local d = 1 / b
   local h = d
   for i = 1, 1000 do
      local an = -i * (i - a)
      b = b + 2
      d = 1 / (an * d + b)
      c = b + an / c
      h = h * d * c
      if math.abs(d * c - 1) < 1e-15 then break end
   end
   return math.max(front * h, 0)
end

-- Computes Lentz's continued fraction of the incomplete beta function.
local function beta_fraction(a, b, x)
   local c, d = 1, 1 / (1 - (a + b) * x / (a + 1))
   local h = d
   for m = 1, 1000 do
      local even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
      d = 1 / (1 + even * d)
      c = 1 + even / c
      h = h * d * c
      local odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
      d = 1 / (1 + odd * d)
      c = 1 + odd / c
      h = h * d * c
      if math.abs(d * c - 1) < 1e-15 then break end
   end
   return h
end

-- Returns the share of a beta distribution that lies below x.
local function beta_head(a, b, x)
   if x <= 0 or x >= 1 then return x <= 0 and 0 or 1 end
   local front = math.exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * math.log(x) + b * math.log(1 - x))
   if x < (a + 1) / (a + b + 2) then return front * beta_fraction(a, b, x) / a end
   return 1 - front * beta_fraction(b, a, 1 - x) / b
end

-- --- distributions -------------------------------------------------------------------------------

--- Says how likely a chi-square variable is above x.
-- @number x 0 or more
-- @number df degrees of freedom, 1 or more
-- @treturn number 0 to 1
-- @usage statistics.chi2(3.84, 1) --> 0.05
function statistics.chi2(x, df)
   return df > 0 and gamma_tail(df / 2, x / 2) or 1
end

--- Says how likely a normal variable is farther from 0 than z, on either side.
-- @number z standard deviations
-- @treturn number 0 to 1
-- @usage statistics.normal(1.96) --> 0.05
function statistics.normal(z)
   return statistics.chi2(z * z, 1)
end

--- Says how likely a variable of Student's distribution is farther from 0 than t, on either side.
-- @number t the difference from 0, in its standard deviations
-- @number df degrees of freedom, 1 or more
-- @treturn number 0 to 1
-- @usage statistics.student(2.23, 10) --> 0.05
function statistics.student(t, df)
   return beta_head(df / 2, 0.5, df / (df + t * t))
end

-- --- tests ---------------------------------------------------------------------------------------

-- Returns the probability of all outcomes that are no likelier than the one seen. log_p(k) is the
-- logarithm of the probability of k, up to a constant that is the same for all k.
local function exact(low, high, seen, log_p)
   local limit, tail, all = log_p(seen) + 1e-7, 0, 0
   for k = low, high do
      local lp = log_p(k)
      local p = math.exp(lp - limit)
      all = all + p
      if lp <= limit then tail = tail + p end
   end
   return math.min(tail / all, 1)
end

-- Does Fisher's exact test of x hits among n and y hits among m.
local function fisher(x, n, y, m)
   local k = x + y
   return exact(math.max(0, k - m), math.min(k, n), x, function(i)
      return log_choose(n, i) + log_choose(m, k - i)
   end)
end

--- Are two shares the same, x of n and y of m? Exact (Fisher) where few are expected, else by
-- chi-square.
-- @number x 0 to n
-- @number n
-- @number y 0 to m
-- @number m
-- @treturn number the probability of such a difference, or a greater one, by chance
-- @usage statistics.shares(30, 100, 50, 100)
function statistics.shares(x, n, y, m)
   local hits, all = x + y, n + m
   if n == 0 or m == 0 or hits == 0 or hits == all then return 1 end
   local least = math.min(hits, all - hits) * math.min(n, m) / all
   if least < FEW then
      if hits > all - hits then return fisher(n - x, n, m - y, m) end
      return fisher(x, n, y, m)
   end
   local difference = x / n - y / m
   local p = hits / all
   return statistics.normal(difference / math.sqrt(p * (1 - p) * (1 / n + 1 / m)))
end

--- Are two counts in a given proportion? Each is a number of independent things (Poisson).
-- @number x
-- @number y
-- @number share of x in x + y that is expected
-- @treturn number the probability of such a deviation, or a greater one, by chance
-- @usage statistics.counts(1000, 1100, 0.5)
function statistics.counts(x, y, share)
   local n = x + y
   if not (share >= 0 and share <= 1) then fail("statistics.counts: share: expected one from 0 to 1, got %s", share) end
   if n == 0 then return 1 end
   if share == 0 or share == 1 then return x == n * share and 1 or 0 end
   if n * math.min(share, 1 - share) < FEW and n < 1e5 then
      return exact(0, n, x, function(k)
         return log_choose(n, k) + k * math.log(share) + (n - k) * math.log(1 - share)
      end)
   end
   return statistics.normal((x - n * share) / math.sqrt(n * share * (1 - share)))
end

--- Have two series of measurements the same mean? Welch's test.
-- @tparam table a numbers, two or more
-- @tparam table b the same
-- @treturn number the probability of such a difference, or a greater one, by chance
-- @usage statistics.means({ 10.1, 10.3, 10.2 }, { 10.9, 11.2, 10.8 })
function statistics.means(a, b)
   if #a < 2 or #b < 2 then
      fail("means: two or more numbers of each series are needed, there are %d and %d", #a, #b)
   end
   local mean_a, deviation_a = statistics.mean(a)
   local mean_b, deviation_b = statistics.mean(b)
   local ea, eb = deviation_a ^ 2, deviation_b ^ 2
   if ea + eb == 0 then return mean_a == mean_b and 1 or 0 end
   local df = (ea + eb) ^ 2 / (ea ^ 2 / (#a - 1) + eb ^ 2 / (#b - 1))
   return statistics.student((mean_a - mean_b) / math.sqrt(ea + eb), df)
end

--- Are two histograms samples of the same distribution? Likelihood ratio (G); kinds of which few
-- were seen count as one.
-- @tparam table a counts by kind
-- @tparam table b the same of the other
-- @treturn number the statistic, 0 where they are alike
-- @treturn number degrees of freedom
-- @usage statistics.chi2(statistics.likelihood({ main = 40, parse = 60 }, { main = 60, parse = 40 }))
function statistics.likelihood(a, b)
   local n, m, rest_a, rest_b = 0, 0, 0, 0
   for _, count in pairs(a) do n = n + count end
   for _, count in pairs(b) do m = m + count end
   local g, kinds = 0, 0
   local function add(x, y)
      if x + y == 0 then return end
      kinds = kinds + 1
      local p = (x + y) / (n + m)
      g = g + (x > 0 and x * math.log(x / (n * p)) or 0) + (y > 0 and y * math.log(y / (m * p)) or 0)
   end
   local function sort(kind, x, y)
      if x + y < FEW then
         rest_a, rest_b = rest_a + x, rest_b + y
      elseif kind ~= nil then
         add(x, y)
      end
   end
   for kind, count in pairs(a) do sort(kind, count, b[kind] or 0) end
   for kind, count in pairs(b) do
      if not a[kind] then sort(kind, 0, count) end
   end
   add(rest_a, rest_b)
   return math.max(2 * g, 0), math.max(kinds - 1, 0)
end

--- Adjusts the probabilities of many tests so that each can be compared with alpha (Holm).
-- @tparam table list of probabilities
-- @treturn table in the same order
-- @usage statistics.adjust { 0.01, 0.04 } --> { 0.02, 0.04 }
function statistics.adjust(list)
   local order, out, least = {}, {}, 0
   for i in ipairs(list) do order[i] = i end
   table.sort(order, function(i, k) return list[i] < list[k] or (list[i] == list[k] and i < k) end)
   for rank, i in ipairs(order) do
      least = math.max(least, math.min(1, list[i] * (#list - rank + 1)))
      out[i] = least
   end
   return out
end

local function total(counts)
   local sum = 0
   for _, n in pairs(counts) do sum = sum + n end
   return sum
end

-- Returns the cells of two tables of counts. Cells with too few counts for the test are merged into
-- one, which is left out if it still has too few.
local function cells(one, two)
   local out, rare, keys = {}, { n = 0, first = 0, second = 0 }, {}
   for key in pairs(one) do keys[key] = true end
   for key in pairs(two) do keys[key] = true end
   for key in pairs(keys) do
      local a, b = one[key] or 0, two[key] or 0
      local cell = a + b >= FEW and { n = 0, first = 0, second = 0, key = key } or rare
      cell.n, cell.first, cell.second = cell.n + a + b, cell.first + a, cell.second + b
      if cell ~= rare then out[#out + 1] = cell end
   end
   if rare.n >= FEW then out[#out + 1] = rare end
   table.sort(out, function(a, b) return a.n > b.n or (a.n == b.n and a.first > b.first) end)
   return out
end

--- Do two tables of counts come from one distribution? The test of homogeneity.
-- @tparam table one counts by key
-- @tparam table two the same, of another run
-- @treturn table `chi2`, `freedom`, `chance` (of such a difference if they do), `distance` (0: the
-- same shares, 1: nothing in common)
-- @usage statistics.compare({a = 50, b = 50}, {a = 60, b = 40}).chance
function statistics.compare(one, two)
   local n1, n2, chi2, distance = total(one), total(two), 0, 0
   local list = cells(one, two)
   for _, cell in ipairs(list) do
      local e1, e2 = cell.n * n1 / (n1 + n2), cell.n * n2 / (n1 + n2)
      chi2 = chi2 + (cell.first - e1) ^ 2 / e1 + (cell.second - e2) ^ 2 / e2
      distance = distance + math.abs(cell.first / n1 - cell.second / n2) / 2
   end
   local freedom = #list - 1
   return { chi2 = chi2, freedom = freedom, distance = distance,
      chance = statistics.chi2(chi2, freedom) }
end

expect.signatures("statistics", statistics, {
   mean = "values: [number]+",
   t95 = "freedom: number",
   interval = "values: [number]",
   chi2 = "x: number; df: number",
   normal = "z: number",
   student = "t: number; df: number",
   shares = "x: number; n: number; y: number; m: number",
   counts = "x: number; y: number; share: number",
   means = "a: [number]; b: [number]",
   likelihood = "a: <number>; b: <number>",
   adjust = "list: [number]",
   compare = "one: <number>; two: <number>",
})

return statistics
