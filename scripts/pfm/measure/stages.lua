-- SPDX-License-Identifier: MIT
--- Stages of a cascading measurement (specification 3.7.6): a stage is an event set that is left
-- when one of its triggers overflows. Its table has `text`; `triggers`, which end it (none: it is
-- the last); `counts`, the events that are counted while the stage lasts.
-- @module pfm.measure.stages

local events = require "pfm.events"
local plan = require "pfm.measure.plan"
local contexts = require "pfm.measure.contexts"
local render = require "pfm.render"
local trigger = require "pfm.measure.trigger"
local tables = require "pfm.util.tables"

local stages = {}

local NEXT = { ["then"] = true }
local OR = { ["or"] = true, ["|"] = true, ["||"] = true }
local COUNT = { counting = true, count = true }

-- --- reading stages ------------------------------------------------------------------------------

local function looks_like_trigger(word)
   return word:find(":[%d.]+[eE]?%+?%d*%a*$") ~= nil
end

local function add_trigger(stage, word)
   local its, err = trigger.read(word)
   if not its then return nil, err end
   stage.triggers[#stage.triggers + 1] = its
   return true
end

local function add_counts(stage, word)
   local list, err = events.read(word)
   if not list then return nil, err end
   for _, event in ipairs(list) do stage.counts[#stage.counts + 1] = event end
   return true
end

-- Reads a stage: conditions, with "or" between them, then "counting" and events; or events alone.
local function read_stage(words)
   local stage, counting = { text = table.concat(words, " "), triggers = {}, counts = {} }, false
   for i, word in ipairs(words) do
      local ok, err = true, nil
      if COUNT[word] then
         counting = true
      elseif not OR[word] then
         local is = not counting and (looks_like_trigger(word) or OR[words[i - 1]])
         if is and i > 1 and not OR[words[i - 1]] then
            ok, err = nil, ("'%s': 'or' is missing before it, or 'then'"):format(word)
         else
            ok, err = (is and add_trigger or add_counts)(stage, word)
         end
      elseif i == 1 or i == #words then
         ok, err = nil, ("'%s' stands between two conditions"):format(word)
      end
      if not ok then return nil, err end
   end
   return stage
end

-- Reads "sample EVENT:N", a sample every N.
local function read_sample(words)
   local its, err = trigger.read(words[2] or "")
   if #words ~= 2 then return nil, ("'%s': expected sample EVENT:N, e.g. sample cpu-clock:1ms"):format(
      table.concat(words, " ")) end
   if not its then return nil, err end
   return { text = table.concat(words, " "), triggers = {}, counts = {}, sample = its }
end

-- Splits a text at the words "then".
local function split(text)
   local out = { {} }
   for word in text:gmatch("%S+") do
      if NEXT[word:lower()] then out[#out + 1] = {} else table.insert(out[#out], word) end
   end
   return out
end

local function check(list)
   for i, stage in ipairs(list) do
      if i < #list and stage.sample then return nil, ("stage %d: only the last stage can sample"):format(i) end
      if i < #list and #stage.triggers == 0 then
         return nil, ("stage %d, '%s', never ends: expected EVENT:N, e.g. page-faults:1000"):format(i, stage.text)
      end
   end
   return list
end

--- Reads stages.
-- @string text "page-faults:1000 or cs:10 counting task-clock then cpu-clock"; the last can be
-- "sample EVENT:N", and has a field `sample` then, for a profile to carry out
-- @treturn[1] {table,...} stages
-- @return[2] nil
-- @treturn[2] string message
-- @usage #stages.read "page-faults:1000 then cs" --> 2
function stages.read(text)
   if type(text) ~= "string" then
      return nil, "expected stages, as in page-faults:1000 then cs, got " .. (text and "a " .. type(text) or "none")
   end
   local out = {}
   for i, words in ipairs(split(text)) do
      if #words == 0 then return nil, ("stage %d is empty: expected EVENT:N, or events at the end"):format(i) end
      local stage, err = (words[1] == "sample" and read_sample or read_stage)(words)
      if not stage then return nil, ("stage %d: %s"):format(i, err) end
      out[i] = stage
   end
   return check(out)
end

-- --- registers -----------------------------------------------------------------------------------

-- Returns the different events of a stage; an event that is also a trigger has one counter.
local function events_of(stage)
   local list, known = {}, {}
   local function add(event)
      local key = event.base .. ":" .. (event.plm or "")
      known[key] = known[key] or event
      if known[key] == event then list[#list + 1] = event end
      return known[key]
   end
   for _, its in ipairs(stage.triggers) do its.event = add(its.event) end
   for i, event in ipairs(stage.counts) do stage.counts[i] = add(event) end
   return list
end

--- Gives the stages' events their registers.
-- @tparam {table,...} list
-- @raise a text that names the stage and the event that cannot be counted
function stages.prepare(list)
   for i, stage in ipairs(list) do
      stage.events = events_of(stage)
      local ok, err = events.assign(stage.events)
      if not ok then error(("stage %d: %s"):format(i, err), 0) end
      for _, event in ipairs(contexts.usable(stage.events)) do event.usable = true end
      for _, event in ipairs(stage.events) do
         if not event.usable then error(("stage %d: '%s': %s"):format(i, event.name, event.reason), 0) end
      end
   end
end

local function pmds_of(stage, set)
   local out, taken = {}, {}
   for _, its in ipairs(stage.triggers) do
      if taken[its.event.pmd] then
         error(("'%s': the same event has two counts: give the smaller one alone"):format(stage.text), 0)
      end
      out[#out + 1], taken[its.event.pmd] = trigger.pmd(its, set), true
   end
   for _, event in ipairs(stage.events) do
      if not taken[event.pmd] then out[#out + 1] = { num = event.pmd, set = set, value = 0 } end
   end
   return out
end

--- Returns the event sets of prepared stages; the first stage is set 0.
-- @tparam {table,...} list
-- @treturn table `sets`, `pmcs`, `pmds` for `contexts.start`
function stages.program(list)
   local out = { sets = {}, pmcs = {}, pmds = {} }
   for i, stage in ipairs(list) do
      out.sets[i] = { id = i - 1, flags = #stage.triggers > 0 and { "OVFL_SWITCH" } or {} }
      for _, pmc in ipairs(events.pmcs(stage.events)) do
         out.pmcs[#out.pmcs + 1] = { num = pmc.num, value = pmc.value, set = i - 1 }
      end
      for _, pmd in ipairs(pmds_of(stage, i - 1)) do out.pmds[#out.pmds + 1] = pmd end
   end
   return out
end

--- Reads and prepares stages that lead to another measurement.
-- @param from a text for `stages.read`, or nil
-- @treturn {table,...} all with triggers; nil if `from` is nil
-- @raise a text that says what is wrong
function stages.leading(from)
   if not from then return nil end
   local list, err = stages.read(from)
   if not list then error("from: " .. err, 0) end
   local last = list[#list]
   if #last.triggers == 0 then error(("from: '%s' is no condition: expected EVENT:N"):format(last.text), 0) end
   stages.prepare(list)
   return list
end

--- Puts stages before another measurement, which begins when the last of them is left.
-- @tparam {table,...} list prepared stages, all with triggers
-- @tparam table program `pmcs`, `pmds`, `sets` with ids from #list on
-- @treturn table the same with the stages
function stages.before(list, program)
   local out = stages.program(list)
   local sampled = {}
   for _, pmd in ipairs(program.pmds) do sampled = pmd.smpl_pmds or sampled end
   -- the format takes samples at triggers' overflows, too: they have the same PMDs, and so the same
   -- size
   for _, pmd in ipairs(out.pmds) do pmd.smpl_pmds = pmd.switch_cnt and sampled or nil end
   for _, part in ipairs { "sets", "pmcs", "pmds" } do
      for _, element in ipairs(program[part] or {}) do table.insert(out[part], element) end
   end
   for k, v in pairs(program) do out[k] = out[k] or v end
   return out
end

-- --- the progress of stages ----------------------------------------------------------------------

-- Returns information about the stages' sets, and about the set after them if there is one.
local function infos_of(list, ctx)
   local ids, out = {}, {}
   for i in ipairs(list) do ids[i] = i - 1 end
   if ctx:getinfo_evtsets { #list } then ids[#ids + 1] = #list end
   plan.in_parts(ids, function(part)
      for _, info in ipairs(ctx:getinfo_evtsets(part) or {}) do out[#out + 1] = info end
      return true
   end)
   return out
end

local function goal_of(stage, event)
   local _, its = tables.find(stage.triggers, event, "event")
   return its and its.n or 0
end

local function counts_of(stage, set, ctx)
   local asked, out = {}, {}
   for i, event in ipairs(stage.events) do asked[i] = { num = event.pmd, set = set } end
   local read = ctx:read_pmds(asked) or {}
   for i, event in ipairs(stage.events) do
      local value = read[i] and read[i].value
      out[i] = { event = event.name, unit = event.unit, value = value and value + goal_of(stage, event) or 0 }
   end
   return out
end

local function left_by(stage, info)
   local out = {}
   for _, its in ipairs(stage.triggers) do
      for _, num in ipairs(info.ovfl_pmds or {}) do
         if num == its.event.pmd then out[#out + 1] = its.text end
      end
   end
   return out
end

--- Says how far a context got. A stage that never began has no runs, unlike one that began and
-- counted nothing (3.7.6).
-- @tparam {table,...} list prepared stages
-- @param ctx
-- @treturn {table,...} by stage: `text`, `reached`, `began` and `lasted` (ns of the time measured;
-- nil and 0 where it was not reached), `uncounted` (ns of `lasted` in which its events were not
-- counted: perf_event leaves a stage after its end), `left_by` (texts of triggers), `late` (a
-- trigger's condition was met, but the next stage could not begin), `counts` (of `event`, `unit`,
-- `value`)
function stages.progress(list, ctx)
   local infos, out, time = infos_of(list, ctx), {}, 0
   for i, stage in ipairs(list) do
      local info, next_info = infos[i] or { runs = 0, act_duration = 0, gap = 0 }, infos[i + 1]
      local reached, by = info.runs > 0, left_by(stage, info)
      local left = not next_info or next_info.runs > 0
      out[i] = {
         text = stage.text, reached = reached, began = reached and time or nil, lasted = info.act_duration,
         uncounted = info.gap, left_by = left and by or {}, late = not left and #by > 0,
         counts = counts_of(stage, i - 1, ctx),
      }
      time = time + info.act_duration
   end
   return out
end

local function add_progress(sum, one)
   sum.subjects, sum.reached_by = sum.subjects + 1, sum.reached_by + (one.reached and 1 or 0)
   sum.reached, sum.lasted = sum.reached or one.reached, sum.lasted + one.lasted
   sum.uncounted, sum.late = sum.uncounted + one.uncounted, sum.late or one.late
   if one.began then sum.began = math.min(sum.began or one.began, one.began) end
   for i, count in ipairs(one.counts) do
      sum.counts[i] = sum.counts[i] or { event = count.event, unit = count.unit, value = 0 }
      sum.counts[i].value = sum.counts[i].value + count.value
   end
   for _, text in ipairs(one.left_by) do
      if not sum.left_by[text] then sum.left_by[#sum.left_by + 1] = text end
      sum.left_by[text] = (sum.left_by[text] or 0) + 1
   end
end

--- Returns the progress of several contexts as one.
-- @tparam {table,...} all of `stages.progress`
-- @treturn {table,...} by stage, the same for all contexts: `began`, when the first of them began
-- the stage; `subjects`, how many contexts there are; `reached_by`, how many of them reached the
-- stage; left_by[text], how many left the stage by that trigger; `uncounted`, ns in all contexts
-- together; `late`, true if it is true in any context
function stages.merge(all)
   local out = {}
   for _, progress in ipairs(all) do
      for i, one in ipairs(progress) do
         out[i] = out[i] or { text = one.text, subjects = 0, reached_by = 0, reached = false, late = false, lasted = 0,
            uncounted = 0, counts = {}, left_by = {} }
         add_progress(out[i], one)
      end
   end
   return out
end

--- Says why a stage was not left.
-- @tparam table stage of `stages.merge`
-- @treturn string
function stages.no_end(stage)
   return stage.late and "came to its end, but the next could not begin" or "did not come to its end"
end

--- Says for how long nothing was counted between the stages, and before what follows them.
-- @tparam {table,...} merged of `stages.merge`
-- @treturn number ns, of all contexts
function stages.gap(merged)
   local ns = 0
   for _, stage in ipairs(merged) do ns = ns + stage.uncounted end
   return ns
end

--- Says with what delay the measurement after the stages began.
-- @tparam {table,...} merged of `stages.merge`
-- @treturn ?string nil if it began at once, or never
function stages.delay(merged)
   local ns = stages.gap(merged)
   if ns == 0 or stages.obstacle(merged) then return nil end
   return ("began %s after the conditions before it were met"):format(render.time(ns / 1e9))
end

--- Says why the measurement after the stages never began; returns nil if it began in a context.
-- @tparam {table,...} merged of `stages.merge`, of stages that lead to another measurement
-- @treturn string or nil
function stages.obstacle(merged)
   for i, stage in ipairs(merged) do
      local last = #stage.left_by == 0
      if last then return ("stage %d, '%s', %s"):format(i, stage.text, stages.no_end(stage)) end
   end
end

return stages
