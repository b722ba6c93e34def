-- SPDX-License-Identifier: MIT
--- Cascading measurements (specification 3.7.6): "after n of A start counting B, after m of B
-- sample C". Each stage but the last is an event set that the kernel leaves when a trigger of it
-- overflows.
-- @module pfm.cascade

local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"
local measure = require "pfm.measure"
local contexts = require "pfm.measure.contexts"
local stages = require "pfm.measure.stages"

local cascade = {}

local function read(what)
   if type(what) == "table" and type(what[1]) == "table" then return expect.kind("stages", what, "[{triggers}]") end
   return expect.value(stages.read(what))
end

-- If the last stage has a condition, adds a stage that counts the condition's events until the end.
local function with_end(list)
   local last = list[#list]
   if #last.triggers == 0 then return list end
   local rest = { text = "the rest", triggers = {}, counts = {} }
   for i, its in ipairs(last.triggers) do rest.counts[i] = its.event end
   local out = { unpack(list) }
   out[#out + 1] = rest
   return out
end

-- Returns a target in which each thread, also of a given process, runs a cascade of its own.
local function target_of(spec)
   local out = tables.copy(spec)
   out.whole = (spec.inherit or spec.threads) and spec.tids and (spec.whole or spec.tids) or nil
   out.inherit, out.threads = nil, nil
   return out
end

-- Takes back that the first stage was reached, if the measurement ended during its delay.
local function unreached(outcome, late)
   for _, stage in ipairs(late and outcome.stages or {}) do
      stage.reached, stage.reached_by, stage.began = false, 0, nil
   end
   outcome.not_begun = late
   return outcome
end

-- Carries out the stages before a profile, which is the last stage.
local function sample(spec, list, record)
   local last, texts, copy = list[#list], {}, {}
   for i = 1, #list - 1 do texts[i] = list[i].text end
   for k, v in pairs(spec) do copy[k] = v end
   copy.from = #texts > 0 and table.concat(texts, " then ") or nil
   copy.stages, copy.events, copy.period = nil, last.sample.event.name, last.sample.n
   local outcome = record(copy)
   outcome.stages = outcome.stages or {}
   local before, reached = outcome.stages[#outcome.stages], not stages.obstacle(outcome.stages)
   table.insert(outcome.stages, { text = last.text, reached = reached, samples = outcome.samples, counts = {},
      began = not before and 0 or reached and before.began + before.lasted / before.reached_by or nil,
      left_by = {}, subjects = outcome.subjects, lasted = 0, uncounted = 0 })
   return unreached(outcome, outcome.not_begun)
end

local FIELDS = tables.join(measure.fields, { "stages", "random", "with", "buffer", "g" })

local function collect(spec)
   return require("pfm.profile").collect(spec)
end

--- Carries out a cascade.
-- @tparam table spec a target, as for `measure.run`, and:
-- @string spec.stages as "page-faults:1000 then cs:10 then cpu-clock"
-- @tparam[opt] function record carries out a last stage that samples, by default `profile.collect`
-- @treturn table of `measure.run`, its `late` as `not_begun`, and `stages`: by stage `text`,
-- `reached`, `began` (ns of measured time, the thread's own; of several threads the first),
-- `lasted`, `uncounted` (ns of `lasted` in which its events were not counted), `left_by` (texts of
-- conditions; by text, how many subjects left by it), `late` (its condition was met, but the next
-- stage could not begin), `counts` (of `event`, `unit`, `value`), `subjects` (how many),
-- `reached_by` (how many of these reached it); a stage that samples has `samples` instead of
-- counts; `left_out`, the share of a command's CPU time that its other threads and children spent,
-- which are not part of the cascade
-- @usage
-- local stages = "page-faults:50 then cs:1 then page-faults"
-- print(require("pfm.cascade").run{command = {"true"}, stages = stages}.stages[2].began)
function cascade.run(spec, record)
   expect.fields("cascade.run", spec, FIELDS)
   measure.check(spec)
   local list = read(spec.stages)
   if list[#list].sample then return sample(spec, list, record or collect) end
   list = with_end(list)
   stages.prepare(list)
   local program, progress = stages.program(list), {}
   local outcome = measure.run(target_of(spec), {
      attach = function(subject) return contexts.start(subject, program) end,
      ended = function(subject)
         subject.ctx:stop()
         progress[#progress + 1] = stages.progress(list, subject.ctx)
      end,
   })
   outcome.stages = stages.merge(progress)
   outcome.left_out = spec.command and not (spec.tids or spec.cpus) and measure.left_out(outcome) or nil
   return unreached(outcome, outcome.late)
end

return cascade
