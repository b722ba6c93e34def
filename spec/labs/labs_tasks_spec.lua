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
