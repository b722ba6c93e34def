-- SPDX-License-Identifier: MIT
--- More events than counters: event sets take turns, and what was seen is scaled to the whole
-- (specification 3.7.2).
--
-- A set is left after a time or after a number of occurrences of an event. A count is scaled by the
-- share of the time (of the occurrences) in which its sets were active: figure 3.32. How wrong that
-- can be is estimated from the run itself: it is looked at block by block, a block being a few
-- turns of every set; the more the rate of an event changes from one block to the next, the less is
-- known of the turns in which it was not counted. Events that are in step with the turns of the
-- sets (a program that does the same thing every 2 ms) are not noticed.
-- `count.run{events = ..., switch = ...}` carries all this out.
-- @module pfm.measure.multiplex

local statistics = require "pfm.statistics"
local expect = require "pfm.util.expect"
local host = require "pfm.measure.host"
local plan = require "pfm.measure.plan"
local trigger = require "pfm.measure.trigger"

local multiplex = {}

local FIRST, STEP, LISTS = 1e6, 4, 3    -- ns: sets are switched after 1, 4 or 16 ms
local TURNS = 1                         -- turns that each set has in a block, at least
local QUICKEST, SLOWEST = 0.005, 1      -- s between looks
local COST = 50                         -- looks take at most 1/COST of the time
local ENOUGH = 8                        -- blocks before the interval is changed
-- relative errors: below WELL, turns get longer; above BADLY, shorter
local WELL, BADLY = 0.01, 0.05
local POOR = 0.5                        -- error, as a share of a count, that makes it meaningless
local NOTHING = 0.005                   -- a register that counted for less of the time has no count
local UNSEEN = 3                        -- if no event was counted, so many may have occurred (95 %)

-- --- when the sets are switched ------------------------------------------------------------------

--- Reads how sets are to be switched.
-- @param[opt] how nil or "auto": after a time that depends on the run's variance; a number: ms;
-- "EVENT:N": after N occurrences
-- @tparam[opt] boolean steady use a single time, which stays
-- @treturn table `timeouts` (ns, several to choose from) or `trigger`
-- @raise a text that names what is wrong
function multiplex.switching(how, steady)
   if type(how) == "number" then return { timeouts = { math.floor(expect.number("switch", how) * 1e6 + 0.5) } } end
   if how and how ~= "auto" then
      local its, err = trigger.read(how)
      if not its then error("switch: " .. err, 0) end
      return { trigger = its, timeouts = {} }
   end
   local out = { timeouts = { FIRST } }
   for i = 2, steady and 1 or LISTS do out.timeouts[i] = out.timeouts[i - 1] * STEP end
   return out
end

-- --- scaled counts -------------------------------------------------------------------------------

local function number(value)
   return type(value) == "number" and value or tonumber(tostring(value))
end

local function sum(values)
   local all = 0
   for _, v in ipairs(values) do all = all + number(v) end
   return all
end

-- Returns the share of its sets' active time in which a register counted. On the machine perf, a
-- set counts nothing while other users of the PMU have one of its counters.
local function present(self, event, term, values)
   if event.kind == "software" and host.machine().name ~= "perf" then return 1 end
   local blinds, durations, blind, time = plan.blind(self, values), plan.durations(self, values), 0, 0
   for _, s in ipairs(term.sets) do blind, time = blind + number(blinds[s]), time + number(durations[s]) end
   return blind == 0 and 1 or 1 - math.min(blind / time, 1)
end

-- Returns the count of one register, scaled to the whole, and the share of the whole in which it
-- counted; nil and 0 if it did not count.
local function term_value(self, event, term, values, portions)
   local count, whole, active = nil, 1, 1
   for _, v in ipairs(plan.counts(self, term, values)) do count = count and count + v or v end
   if #term.sets < #self.sets then
      whole, active = sum(portions), 0
      for _, s in ipairs(term.sets) do active = active + number(portions[s]) end
   end
   local seen = present(self, event, term, values)
   if active == 0 or seen < NOTHING then return nil, 0 end
   active = active * seen
   if active == whole then return count, 1 end
   return math.floor(number(count) * whole / active + 0.5), active / whole
end

local function compute(formula, values)
   local chunk = assert(loadstring("local v = ... return " .. formula:gsub("%$(%d+)", "v[%1]"), "=" .. formula))
   local result = chunk(values)
   return result == result and math.abs(result) ~= math.huge and result or nil
end

local function scaled(self, event, values, portions)
   local counts, share = {}, 1
   for i, term in ipairs(self.terms[event]) do
      local active
      counts[i], active = term_value(self, event, term, values, portions)
      if not counts[i] then return nil, 0 end
      share = math.min(share, active)
   end
   if not event.formula then return counts[1], share end
   for i, value in ipairs(counts) do counts[i] = number(value) end
   return compute(event.formula, counts), share
end

-- Returns each set's portion of the whole: the time in which it was active, or with a trigger its
-- turns, since each turn has the same number of the trigger's occurrences.
local function portions_of(self, values)
   if #self.sets == 1 then return {} end
   return self.trigger and plan.turns(self, values) or plan.durations(self, values)
end

--- Returns an event's count out of the values.
-- @tparam table self a plan
-- @tparam table event
-- @tparam table values of `plan.read`, or sums or differences of them
-- @return the count, nil where its sets were never active
-- @treturn number the share of the whole in which it counted; below 1 the count is an estimate
function multiplex.value(self, event, values)
   return scaled(self, event, values, portions_of(self, values))
end

--- Returns an event's count scaled by turns if sets are switched by time, by time if by a trigger.
-- @tparam table self a plan
-- @tparam table event
-- @tparam table values
-- @return the count, or nil
function multiplex.other_value(self, event, values)
   if #self.sets == 1 then return nil end
   local portions = self.trigger and plan.durations(self, values) or plan.turns(self, values)
   return (scaled(self, event, values, portions))
end

--- Returns the share of an event's time in which other users of the PMU had its counter.
-- @tparam table self a plan
-- @tparam table event
-- @tparam table values
-- @treturn number 0: all was counted
function multiplex.taken(self, event, values)
   local share = 1
   for _, term in ipairs(#values > 0 and self.terms[event] or {}) do
      share = math.min(share, present(self, event, term, values))
   end
   return 1 - share
end

-- --- the error of an estimate --------------------------------------------------------------------

local blocks = {}
blocks.__index = blocks

--- Begins the account of a run, block by block.
-- @tparam table a_plan
-- @tparam {table,...} list its events
-- @treturn table for `look` and `error_of`
function multiplex.blocks(a_plan, list)
   return setmetatable({ plan = a_plan, events = list, last = {}, of = {}, n = 0, pace = QUICKEST }, blocks)
end

-- Returns true if a block is over: every set has had its turns since the last block.
local function is_block(self, values)
   for _, turns in ipairs(plan.turns(self.plan, values)) do
      if turns < TURNS then return false end
   end
   return sum(portions_of(self.plan, values)) > 0
end

-- Adds the square of the change of an event's rate from the last block to this one. It is divided
-- by 1/seen + 1/seen before, so that the mean of these terms estimates the rate's variance in a
-- unit of time.
local function note(self, event, values, whole)
   local value, share = multiplex.value(self.plan, event, values)
   if not value or share == 1 then return end
   local its = self.of[event] or { squares = 0, n = 0 }
   local rate, seen = number(value) / whole, share * whole
   if its.rate then
      its.squares = its.squares + (rate - its.rate) ^ 2 / (1 / seen + 1 / its.seen)
      its.n = its.n + 1
   end
   its.rate, its.seen = rate, seen
   self.of[event] = its
end

--- Ends a block, if every set had its turns since the last block.
-- @tparam table values of `plan.read`, sums over all contexts, since the start
-- @treturn boolean a block ended
function blocks:look(values)
   local since = plan.difference(values, self.last)
   if #self.plan.sets == 1 or not is_block(self, since) then return false end
   local whole = sum(portions_of(self.plan, since))
   for _, event in ipairs(self.events) do note(self, event, since, whole) end
   self.last, self.n = values, self.n + 1
   return true
end

-- Returns the variance of a scaled count: that of the unseen part, plus that of its estimate.
local function variance(its, whole, share)
   return its.squares / its.n * whole * (1 - share) / share
end

--- Returns the error of an event's count: in 95 % of the cases, the true count differs by less.
-- @tparam table event
-- @tparam table values from which the count was computed
-- @treturn number half the width of the interval around the count, 0 for one that is exact; nil:
-- nothing is known, because there were too few turns
function blocks:error_of(event, values)
   local value, share = multiplex.value(self.plan, event, values)
   local its = self.of[event]
   if share == 1 then return 0 end
   if not value or not its or its.n < 2 then return nil end
   local whole, n = sum(portions_of(self.plan, values)), math.abs(number(value))
   if n == 0 then return UNSEEN * (1 - share) / share end
   local rare = n * (1 - share) / share -- the variance of occurrences that are independent
   -- neighbouring differences share a block: fewer degrees of freedom than differences
   local t = statistics.t95(math.max(1, math.floor(its.n * 2 / 3)))
   local spread = t * math.sqrt(math.max(variance(its, whole, share), rare))
   -- the error is at least the difference between the counts scaled by time and by turns
   local other = multiplex.other_value(self.plan, event, values)
   return other and math.max(spread, math.abs(number(other) - number(value))) or spread
end

--- Says why an estimate is too uncertain to mean anything; returns nil if it is good enough.
-- @param value the count
-- @tparam number share of `multiplex.value`
-- @param err of `error_of`
-- @treturn string or nil
function multiplex.poor(value, share, err)
   if share == 1 or not value then return nil end
   if not err then return "too few turns of its event set to say how good the estimate is" end
   if number(value) ~= 0 and err > POOR * math.abs(number(value)) then
      return "seen in too few turns, or too unevenly, for an estimate that means anything"
   end
end

-- --- the switching interval ----------------------------------------------------------------------

-- Returns the largest error of all events, as a share of the event's count.
local function worst(self, values)
   local out = 0
   for _, event in ipairs(self.events) do
      local value, err = multiplex.value(self.plan, event, values), self:error_of(event, values)
      if value and number(value) ~= 0 then out = math.max(out, (err or math.huge) / math.abs(number(value))) end
   end
   return out
end

--- Chooses the list of sets, after enough blocks: the next with longer turns if all errors are
-- small, the next with shorter turns if one is large.
-- @tparam table values
-- @treturn int or nil: no change
function blocks:better_list(values)
   local now, lists = self.list or 1, self.plan.lists or 1
   if lists == 1 or self.n - (self.changed or 0) < ENOUGH then return nil end
   local err = worst(self, values)
   local list = err < WELL and math.min(now + 1, lists) or err > BADLY and math.max(now - 1, 1) or now
   if list == now then return nil end
   self.list, self.changed = list, self.n
   return list
end

--- Says when to look again.
-- @tparam number cost s that the last look took
-- @treturn number seconds
function blocks:next_look(cost)
   if self.n >= 64 then self.pace = math.min(self.pace * 1.1, SLOWEST) end
   return math.max(self.pace, cost * COST)
end

return multiplex
