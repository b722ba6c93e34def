-- SPDX-License-Identifier: MIT
-- Tasks of labs, tried with scripts that come near: each does what students do wrong, or what looks right and is not.

local lpfm = require "lpfm"
local catalog = require "repl.lab.catalog"
local judge = require "repl.lab.judge"
local session = require "repl.lab.session"

local machine

setup(function() machine = lpfm.machine().name end)
teardown(function() assert(lpfm.machine(machine)) end)

-- Judges scripts that solve a task of a lab or not: what is said of each, by its name.
local function verdicts(lab_name, id, sources)
   local lab = assert(catalog.find(lab_name))
   local s = session.new(lab)
   for i, page in ipairs(lab.pages) do
      if page.task == id then
         s:run_up_to(i)
         local out, names, list = {}, {}, {}
         for name, source in pairs(sources) do names[#names + 1], list[#list + 1] = name, source end
         for k, verdict in ipairs(assert(judge.scripts(s, page, list))) do out[names[k]] = verdict end
         return out, page
      end
   end
   error(("lab %s has no task '%s'"):format(lab_name, id))
end

-- None of the scripts solves the task, and each is told what is wrong.
local function refuses(lab_name, id, sources, reasons)
   for name, verdict in pairs(verdicts(lab_name, id, sources)) do
      assert.is_false(verdict.right, name)
      assert.truthy(verdict.say:find(reasons[name] or "%w"), name .. ": " .. verdict.say)
   end
end

describe("lab waiting: off-cpu", function()
   local LOOP = [[
return function(list)
   local waits, left = {}, {}
   for _, s in ipairs(list) do
      local key = %s
      local before = left[key]
      if s.what == "in" and before then waits[before.stack] = %s end
      left[key] = %s or nil
   end
   return waits
end]]
   local ADD, WAITS = "(waits[before.stack] or 0) + s.time - before.time", 's.what == "out" and s'

   it("wants the waits of each thread, added up", function()
      refuses("waiting", "off-cpu", {
         ["one variable for all threads"] = LOOP:format("1", ADD, WAITS),
         ["the last wait alone"] = LOOP:format("s.tid", "s.time - before.time", WAITS),
         ["counts in place of times"] = LOOP:format("s.tid", "(waits[before.stack] or 0) + 1", WAITS),
         ["ms in place of ns"] = LOOP:format("s.tid", "(" .. ADD .. ") / 1e6", WAITS),
         ["preemptions, too"] = LOOP:format("s.tid", ADD, 's.what ~= "in" and s'),
         ["preemptions alone"] = LOOP:format("s.tid", ADD, 's.what == "preempted" and s'),
      }, { ["counts in place of times"] = "main;%w+: %d+ ns, and not %d+" })
   end)

   it("takes another way of writing it", function()
      local all = verdicts("waiting", "off-cpu", { again = [[
return function(list)
   local out = {}
   for i, s in ipairs(list) do
      if s.what == "out" then
         for k = i + 1, #list do
            if list[k].tid == s.tid then
               out[s.stack] = (out[s.stack] or 0) + list[k].time - s.time
               break
            end
         end
      end
   end
   return out
end]] })
      assert.is_true(all.again.right, all.again.say)
   end)
end)

describe("lab statistics: plan", function()
   local PLAN = [[
local statistics = require "pfm.statistics"
return function(values, percent)
   local mean, of_mean = statistics.mean(values)
   local half = 100 * statistics.interval(values) / mean
   return %s
end]]

   it("wants the runs that the interval takes, not fewer and not many more", function()
      refuses("statistics", "plan", {
         ["as many more as it is to be narrower"] = PLAN:format "math.ceil(#values * half / percent)",
         ["as many as before"] = PLAN:format "#values",
         ["very many"] = PLAN:format "100000",
         ["four times"] = PLAN:format "math.ceil(#values * (half / percent) ^ 2 * 4)",
         ["a quarter"] = PLAN:format "math.ceil(#values * (half / percent) ^ 2 / 4)",
         ["the deviation of the mean, not of a run"] = PLAN:format "math.ceil((200 * of_mean / mean / percent) ^ 2)",
         ["no number"] = PLAN:format "0 / 0",
      }, { ["very many"] = "It says 100,000 runs" })
   end)

   it("takes the square of how much narrower it is to be", function()
      local all = verdicts("statistics", "plan", { square = PLAN:format "math.ceil(#values * (half / percent) ^ 2)" })
      assert.is_true(all.square.right, all.square.say)
   end)
end)

describe("lab statistics: compare", function()
   -- Measures warm runs of each, and says what DECIDES, of the means x and y.
   local COMPARE = [[
local statistics = require "pfm.statistics"
return function(first, second)
   local a, b = {}, {}
   for i = 1, %d do a[i], b[i] = first(), second() end
   local x, y = statistics.mean(a), statistics.mean(b)
   if %s then return "same" end
   return x < y and "first" or "second"
end]]

   it("wants a test with enough runs", function()
      refuses("statistics", "compare", {
         ["one run of each"] = COMPARE:format(1, "false"),
         ["the means, without a test"] = COMPARE:format(30, "x == y"),
         ["three runs"] = COMPARE:format(3, "statistics.means(a, b) > 0.05"),
         ["a threshold that misses most"] = COMPARE:format(30, "math.abs(x - y) < 0.03 * x"),
         ["a threshold that finds too much"] = COMPARE:format(30, "math.abs(x - y) < 0.001 * x"),
         ["always the same"] = COMPARE:format(1, "true"),
         ["at random"] = [[local n = 0
            return function() n = n + 1 return ({ "same", "first", "second" })[n % 3 + 1] end]],
         ["more runs than there are"] = COMPARE:format(31, "statistics.means(a, b) > 0.02"),
         ["another word"] = [[return function() return "equal" end]],
      }, { ["more runs than there are"] = "more than 30 runs of a program",
         ["another word"] = "not equal" })
   end)

   it("takes warm runs in two series, compared by a test", function()
      local all = verdicts("statistics", "compare", { warm = [[
local statistics = require "pfm.statistics"
local function series(run)
   local out = {}
   for _ = 1, 3 do run() end
   for i = 1, 27 do out[i] = run() end
   return out
end
return function(first, second)
   local a, b = series(first), series(second)
   if statistics.means(a, b) > 0.02 then return "same" end
   return statistics.mean(a) < statistics.mean(b) and "first" or "second"
end]] })
      assert.is_true(all.warm.right, all.warm.say)
   end)
end)
