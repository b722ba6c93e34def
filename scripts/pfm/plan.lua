-- SPDX-License-Identifier: MIT
--- Event sets for events, however many: what does not fit together is counted in turn.
-- A plan has `sets` (for each `pmcs` and the PMD numbers `pmds`), `terms` (for each event the registers whose
-- counts it is made of: `num`, `sets`), and `why`, in words, where there are several sets.
-- @module pfm.plan

local lpfm = require "lpfm"
local events = require "pfm.events"
local raw = require "pfm.raw"

local plan = {}

local function request(list, unavail)
   return { events = events.names_of(list), plm = "uk", unavail = unavail }
end

local function split(list, unavail)
   local out, err = lpfm.split_events(request(list, unavail))
   if not out then return nil, (err:gsub("^split_events: ", "")) end
   return out
end

-- Splits what the PMU has counters for; the other events get a reason.
local function split_countable(list, unavail)
   local all = split(list, unavail)
   if all then return list, all end
   local good = {}
   for _, e in ipairs(list) do
      local ok, why = split({ e }, unavail)
      if ok then good[#good + 1] = e else e.reason = events.why_not(why) end
   end
   if #good == 0 then return good, nil end
   local out, err = split(good, unavail)
   return good, out, err
end

-- Events of a kind: "software", "hardware", or "raw", which is the hardware's by code.
local function countable(list, kind)
   local out = {}
   for _, e in ipairs(list) do
      local its = e.code and "raw" or e.kind
      if its == kind and not e.reason then out[#out + 1] = e end
   end
   return out
end

-- Puts a raw event on a counter that a set has left.
local function into_set(self, s, event, unavail)
   local set, taken = self.sets[s], {}
   for _, num in ipairs(set.pmds) do taken[num] = true end
   for _, num in ipairs(unavail or {}) do taken[num] = true end
   raw.assign({ event }, taken)
   if event.reason then return false end
   table.insert(set.pmcs, event.pmcs[1])
   table.insert(set.pmds, event.pmd)
   self.terms[event] = { { num = event.pmd, sets = { s } } }
   return true
end

local function add_raw(self, list, unavail)
   for _, event in ipairs(countable(list, "raw")) do
      local s, placed = 0, false
      while not placed and s < #self.sets do
         s = s + 1
         placed = into_set(self, s, event, unavail)
      end
      if not placed then
         self.sets[s + 1] = { pmcs = {}, pmds = {} }
         if not into_set(self, s + 1, event, unavail) then
            self.sets[s + 1] = nil
            event.reason = events.why_not(event.reason)
         elseif s > 0 and not self.why then
            self.why = ("no counter is left for '%s' beside the others"):format(event.name)
         end
      end
   end
end

local function add_hardware(self, list, unavail)
   local all = countable(list, "hardware")
   if #all == 0 then return true end
   local good, out, err = split_countable(all, unavail)
   if not out then return #good == 0, err end
   for i, set in ipairs(out.sets) do self.sets[i] = { pmcs = { unpack(set.pmcs) }, pmds = { unpack(set.pmds) } } end
   for i, e in ipairs(good) do
      local terms = {}
      for k, t in ipairs(out.counters[i].terms) do terms[k] = { num = t.pmd, sets = { t.set + 1 } } end
      self.terms[e], e.formula = terms, out.counters[i].formula
   end
   if #out.sets > 1 then self.why = select(2, lpfm.event_conflict(request(good, unavail))) end
   return true
end

-- The events of each software counter; a counter has one choice of levels at a time.
local function by_counter(list)
   local counters, of = {}, {}
   for _, e in ipairs(countable(list, "software")) do
      if not of[e.num] then
         of[e.num] = {}
         counters[#counters + 1] = of[e.num]
      end
      for _, other in ipairs(of[e.num]) do
         if events.software_value(other) == events.software_value(e) then
            local words = other.name == e.name and "'%s' is given twice"
               or "'%s' and '%s' are one event, counted by one register; name it once"
            return nil, words:format(other.name, e.name)
         end
      end
      table.insert(of[e.num], e)
   end
   return counters
end

local function add_counter(self, users)
   for k, e in ipairs(users) do
      local sets = {}
      for s = k, #self.sets, #users do
         sets[#sets + 1] = s
         table.insert(self.sets[s].pmcs, { num = e.num, value = events.software_value(e) })
         table.insert(self.sets[s].pmds, e.num)
      end
      self.terms[e] = { { num = e.num, sets = sets } }
   end
end

local function add_software(self, list)
   local counters, err = by_counter(list)
   if not counters then return nil, err end
   for _, users in ipairs(counters) do
      while #self.sets < #users do self.sets[#self.sets + 1] = { pmcs = {}, pmds = {} } end
      if #users > 1 and not self.why then
         self.why = ("'%s' and '%s' are counted by one register"):format(users[1].name, users[2].name)
      end
   end
   for _, users in ipairs(counters) do add_counter(self, users) end
   return true
end

--- Plans event sets. Software events are in every set, unless two want the same counter.
-- @tparam table list of events of `events.read`; those that cannot be counted get a `reason`
-- @tparam[opt] table unavail numbers of PMCs that are not to be used
-- @treturn[1] table plan
-- @return[2] nil
-- @treturn[2] string message
function plan.make(list, unavail)
   local self = { sets = {}, terms = {} }
   local ok, err = add_hardware(self, list, unavail)
   if ok then add_raw(self, list, unavail) end
   if ok then ok, err = add_software(self, list) end
   if not ok then return nil, err end
   return self
end

-- A register's numbers are those of its set.
local function of_set(set, s, out)
   for _, pmc in ipairs(set.pmcs) do out.pmcs[#out.pmcs + 1] = { num = pmc.num, value = pmc.value, set = s - 1 } end
   for _, num in ipairs(set.pmds) do out.pmds[#out.pmds + 1] = { num = num, value = 0, set = s - 1 } end
end

--- What `setup.start` needs to count by a plan.
-- @tparam table self the plan
-- @number timeout ns between the switches of sets
-- @treturn table `pmcs`, `pmds`, and `sets` if there are several
function plan.spec(self, timeout)
   local out = { pmcs = {}, pmds = {} }
   for s, set in ipairs(self.sets) do of_set(set, s, out) end
   if #self.sets > 1 then
      out.sets = {}
      for s in ipairs(self.sets) do out.sets[s] = { id = s - 1, flags = { "TIME_SWITCH" }, timeout = timeout } end
   end
   return out
end

-- --- counts --------------------------------------------------------------------------------------

local ELEMENT = 176 -- bytes of a call's largest element, pfarg_pmd_t

--- Calls a function with parts of a list that a vector call takes (`arg_size_max`).
-- @tparam table list
-- @tparam function fn gets the part and the index before it; returns true, or nil, message, errno
-- @return what the last call returned: true, or the first failure
function plan.in_parts(list, fn)
   local size = math.max(1, math.floor(lpfm.config().arg_size_max / ELEMENT))
   for from = 0, #list - 1, size do
      local ok, err, errno = fn({ unpack(list, from + 1, math.min(from + size, #list)) }, from)
      if not ok then return nil, err, errno end
   end
   return true
end

--- Reads all counts of a context, and behind them, if there are several sets, how long each was active.
-- @tparam table self the plan
-- @param ctx
-- @treturn table of numbers, 0 where nothing can be read; values of two contexts may be added one by one
function plan.read(self, ctx)
   local wanted, ids, out = {}, {}, {}
   for s, set in ipairs(self.sets) do
      ids[s] = s - 1
      for _, num in ipairs(set.pmds) do wanted[#wanted + 1] = { num = num, set = s - 1 } end
   end
   for i in ipairs(wanted) do out[i] = 0 end
   plan.in_parts(wanted, function(part, from)
      for i, reg in ipairs(ctx:read_pmds(part) or {}) do out[from + i] = reg.value end
      return true
   end)
   if #ids == 1 then return out end
   for s in ipairs(ids) do out[#wanted + s] = 0 end
   plan.in_parts(ids, function(part, from)
      for s, set in ipairs(ctx:getinfo_evtsets(part) or {}) do out[#wanted + from + s] = set.act_duration end
      return true
   end)
   return out
end

local function number(value)
   return type(value) == "number" and value or tonumber(tostring(value))
end

-- Where in the values a register's count is, and where the durations begin.
local function positions(self)
   local at, n = {}, 0
   for s, set in ipairs(self.sets) do
      at[s] = {}
      for _, num in ipairs(set.pmds) do
         n = n + 1
         at[s][num] = n
      end
   end
   return at, n
end

-- The count of one register, scaled to the whole time, and the share of it in which it counted.
local function term_value(self, term, values)
   local at, n = positions(self)
   local sum, active, total = nil, 0, 0
   for _, s in ipairs(term.sets) do
      local value = values[at[s][term.num]]
      sum = sum and sum + value or value
      active = active + number(values[n + s] or 0)
   end
   if #term.sets == #self.sets then return sum, 1 end
   for s in ipairs(self.sets) do total = total + number(values[n + s]) end
   if active == 0 then return nil, 0 end
   return math.floor(number(sum) * total / active + 0.5), active / total
end

local function compute(formula, values)
   local chunk = assert(loadstring("local v = ... return " .. formula:gsub("%$(%d+)", "v[%1]"), "=" .. formula))
   local result = chunk(values)
   return result == result and math.abs(result) ~= math.huge and result or nil
end

--- An event's count out of the values.
-- @tparam table self the plan
-- @tparam table event
-- @tparam table values of `plan.read`, or sums or differences of them
-- @return the count, nil where its sets were never active
-- @treturn number the share of the time in which it counted; below 1 the count is an estimate
function plan.value(self, event, values)
   local counts, share = {}, 1
   for i, term in ipairs(self.terms[event]) do
      local active
      counts[i], active = term_value(self, term, values)
      if not counts[i] then return nil, 0 end
      share = math.min(share, active)
   end
   if not event.formula then return counts[1], share end
   for i, value in ipairs(counts) do counts[i] = number(value) end
   return compute(event.formula, counts), share
end

--- The hardware counters' PMC numbers that a plan uses.
-- @tparam table self the plan
-- @treturn {int,...} sorted
function plan.counters(self)
   local seen, out = {}, {}
   for event, terms in pairs(self.terms) do
      for _, term in ipairs(event.kind == "hardware" and terms or {}) do
         if not seen[term.num] then out[#out + 1] = term.num end
         seen[term.num] = true
      end
   end
   table.sort(out)
   return out
end

return plan
