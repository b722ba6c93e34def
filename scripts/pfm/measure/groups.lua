-- SPDX-License-Identifier: MIT
--- Groups of events, `{a,b}`: all events of a group are counted in the same event sets.
-- A plan is that of `pfm.measure.plan`.
-- @module pfm.measure.groups

local raw = require "pfm.measure.raw"

local groups = {}

--- Returns true if a list has groups.
-- @tparam {table,...} list of events
-- @treturn boolean
function groups.any(list)
   for _, e in ipairs(list) do
      if e.group then return true end
   end
   return false
end

-- Splits a list into groups and single events, in their order.
local function units_of(list)
   local out, of = {}, {}
   for _, e in ipairs(list) do
      local unit = e.group and of[e.group]
      if not unit then
         unit = { group = e.group }
         out[#out + 1] = unit
         if e.group then of[e.group] = unit end
      end
      unit[#unit + 1] = e
   end
   return out
end

local function apart(list)
   local names, codes = {}, {}
   for _, e in ipairs(list) do
      local to = e.code and codes or names
      to[#to + 1] = e
   end
   return names, codes
end

-- Returns one set for all events: `pmcs`, `pmds`, and `of`, the PMDs that make up each event's
-- count.
local function one_set(list, unavail, library)
   local names, codes = apart(list)
   local set, taken = { pmcs = {}, pmds = {}, of = {} }, {}
   if #names > 0 then
      local out, err = library.split(names, unavail)
      if not out then return nil, err end
      if #out.sets > 1 then return nil, library.conflict(names, unavail) end
      set.pmcs, set.pmds = { unpack(out.sets[1].pmcs) }, { unpack(out.sets[1].pmds) }
      for i, e in ipairs(names) do
         set.of[e] = {}
         for k, t in ipairs(out.counters[i].terms) do set.of[e][k] = t.pmd end
         e.formula = out.counters[i].formula
      end
   end
   for _, num in ipairs(set.pmds) do taken[num] = true end
   for _, num in ipairs(unavail or {}) do taken[num] = true end
   raw.assign(codes, taken)
   for _, e in ipairs(codes) do
      local why = e.reason
      e.reason = nil
      if why then return nil, why end
      set.pmcs[#set.pmcs + 1], set.pmds[#set.pmds + 1], set.of[e] = e.pmcs[1], e.pmd, { e.pmd }
   end
   return set
end

-- Puts a unit (a group or a single event) into the first list with room, or into a new one. Returns
-- true, and why it fits none of the lists before; nil and why if it does not even fit alone.
local function place(lists, unit, unavail, library)
   local why
   for _, list in ipairs(lists) do
      local both = { unpack(list) }
      for _, e in ipairs(unit) do both[#both + 1] = e end
      local set, err = one_set(both, unavail, library)
      if set then
         for _, e in ipairs(unit) do list[#list + 1] = e end
         return true, why
      end
      why = why or err
   end
   local set, err = one_set(unit, unavail, library)
   if not set then return nil, err end
   lists[#lists + 1] = { unpack(unit) }
   return true, why
end

--- Plans event sets for the hardware's events, each group in one set.
-- @tparam table plan gets `sets`, `terms`, `why`
-- @tparam {table,...} list named and raw events, countable
-- @param unavail as for `plan.make`
-- @tparam table library functions: `split(list, unavail)` into sets, `conflict(list, unavail)`, why
-- they do not fit one, and `why_not(words)`, which makes a reason of the library's words
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message
function groups.place(plan, list, unavail, library)
   local good, lists = {}, {}
   for _, e in ipairs(list) do
      local ok, err = one_set({ e }, unavail, library)
      if ok then good[#good + 1] = e else e.reason = library.why_not(err) end
   end
   for _, unit in ipairs(units_of(good)) do
      local ok, why = place(lists, unit, unavail, library)
      if not ok then return nil, ("the group %s does not fit the counters: %s"):format(unit.group.text, why) end
      plan.why = plan.why or why
   end
   for s, events in ipairs(lists) do
      local set = one_set(events, unavail, library)
      plan.sets[s] = { pmcs = set.pmcs, pmds = set.pmds }
      for _, e in ipairs(events) do
         local terms = {}
         for k, num in ipairs(set.of[e]) do terms[k] = { num = num, sets = { s } } end
         plan.terms[e] = terms
      end
   end
   return true
end

-- Returns the event sets in which all of a unit (a group or a single event) is counted; nil if
-- nothing of it can be.
local function common_sets(plan, unit)
   local n, out, terms = {}, {}, 0
   for _, e in ipairs(unit) do
      for _, term in ipairs(plan.terms[e] or {}) do
         terms = terms + 1
         for _, s in ipairs(term.sets) do n[s] = (n[s] or 0) + 1 end
      end
   end
   for s = 1, #plan.sets do
      if n[s] == terms then out[#out + 1] = s end
   end
   return terms > 0 and out or nil
end

--- Counts all events of a group in the same event sets: those that have all events of the group.
-- @tparam table plan complete
-- @tparam {table,...} list all its events
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message, where there is no such set
function groups.align(plan, list)
   for _, unit in ipairs(units_of(list)) do
      local sets = unit.group and common_sets(plan, unit)
      if sets and #sets == 0 then
         return nil, ("the group %s does not fit one event set: %s"):format(unit.group.text, plan.why or "there are "
            .. "too many events")
      end
      for _, e in ipairs(sets and unit or {}) do
         for _, term in ipairs(plan.terms[e] or {}) do term.sets = sets end
      end
   end
   return true
end

return groups
