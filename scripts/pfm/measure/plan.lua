-- SPDX-License-Identifier: MIT
--- Event sets for events, however many: what does not fit together is counted in turn.
-- A plan has `sets` (for each `pmcs` and the PMD numbers `pmds`), `terms` (for each event the
-- registers that its count is the sum of: `num`, `sets`), and `why`, in words, where there are
-- several sets.
-- @module pfm.measure.plan

local lpfm = require "lpfm"
local events = require "pfm.events"
local groups = require "pfm.measure.groups"
local raw = require "pfm.measure.raw"
local tables = require "pfm.util.tables"

local plan = {}

local function request(list, unavail)
   return { events = events.names_of(list), plm = "uk", unavail = unavail }
end

local function split(list, unavail)
   local out, err = lpfm.split_events(request(list, unavail))
   if not out then return nil, (err:gsub("^split_events: ", "")) end
   return out
end

-- Says why events do not go together.
local function conflict(list, unavail)
   local names, why = lpfm.event_conflict(request(list, unavail))
   if not names then return nil end
   return why ~= "" and why or ("%s need more counters than there are"):format(table.concat(names, ", "))
end

-- Splits the events that the PMU can count into sets; the other events get a reason.
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

-- Returns the countable events of a kind: "software", "hardware", "raw" (by code) or "named".
local function countable(list, kind)
   local out = {}
   for _, e in ipairs(list) do
      local its = e.code and "raw" or e.kind
      if its == kind and not e.reason then out[#out + 1] = e end
   end
   return out
end

-- Puts a raw event on a free counter of set s; returns false if there is none.
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
   if #out.sets > 1 then self.why = conflict(good, unavail) end
   return true
end

-- With groups, events by name and by code are placed together, each group as a whole.
local function add_processor(self, list, unavail)
   if groups.any(list) then
      local all = countable(list, "hardware")
      for _, e in ipairs(countable(list, "raw")) do all[#all + 1] = e end
      return groups.place(self, all, unavail, { split = split, conflict = conflict, why_not = events.why_not })
   end
   local ok, err = add_hardware(self, list, unavail)
   if ok then add_raw(self, list, unavail) end
   return ok, err
end

-- Adds sets until there are n.
local function need_sets(self, n)
   for s = #self.sets + 1, n do self.sets[s] = { pmcs = {}, pmds = {} } end
end

-- Returns the software counters and their users, as `events.named_places` does. The events of a
-- counter differ in their privilege levels, so that they take turns. Returns nil and a message if
-- two of them are the same.
local function by_counter(list)
   local counters, of = {}, {}
   for _, e in ipairs(countable(list, "software")) do
      local counter = of[e.num] or tables.enter(of, e.num, { num = e.num, users = {} }, counters)
      local users, value = counter.users, events.software_value(e)
      for _, user in ipairs(users) do
         local other = user.events[1].name
         if user.value == value then
            local words = other == e.name and "'%s' is given twice"
               or "'%s' and '%s' are one event, counted by one register; name it once"
            return nil, words:format(other, e.name)
         end
      end
      users[#users + 1] = { value = value, events = { e } }
   end
   return counters
end

-- Adds a register and its users (see `events.named_places`), which take turns in the sets.
local function add_place(self, place)
   for k, user in ipairs(place.users) do
      local sets = {}
      for s = k, #self.sets, #place.users do
         sets[#sets + 1] = s
         table.insert(self.sets[s].pmcs, { num = place.num, value = user.value })
         table.insert(self.sets[s].pmds, place.num)
      end
      for _, e in ipairs(user.events) do
         self.terms[e] = self.terms[e] or {}
         table.insert(self.terms[e], { num = place.num, sets = sets })
      end
   end
end

local function add_software(self, list)
   local counters, err = by_counter(list)
   if not counters then return nil, err end
   for _, counter in ipairs(counters) do
      local users = counter.users
      need_sets(self, #users)
      if #users > 1 and not self.why then
         self.why = ("'%s' and '%s' are counted by one register"):format(users[1].events[1].name,
            users[2].events[1].name)
      end
   end
   for _, counter in ipairs(counters) do add_place(self, counter) end
   return true
end

local function given_twice(users)
   for _, user in ipairs(users) do
      local names = {}
      for _, e in ipairs(user.events) do
         if names[e.name] and names[e.name] ~= e then return e.name end
         names[e.name] = e
      end
   end
end

-- Returns the registers of tracepoints and events of sysfs, and adds the sets that they need.
local function add_named(self, list, its)
   local taken = its and its.event.kind == "named" and its.event.pmd
   local places = events.named_places(countable(list, "named"), taken or nil)
   for _, place in ipairs(places) do
      local twice = given_twice(place.users)
      if twice then return nil, ("'%s' is given twice"):format(twice) end
      need_sets(self, #place.users)
      if #place.users > 1 then self.why = self.why or ("there are %d registers for such events"):format(#places) end
   end
   return places
end

-- Splits events into those that the trigger's counter counts, and the others.
local function apart(list, its)
   local same, rest = {}, {}
   for _, e in ipairs(list) do
      local is = its and e.kind == "hardware" and e.base:lower() == its.event.base:lower() and e.plm == its.event.plm
      local to = is and same or rest
      to[#to + 1] = e
   end
   return same, rest
end

-- Adds the events that the trigger's counter counts; the counter is in every set.
local function add_same(self, same, its)
   need_sets(self, math.min(#same, 1))
   for _, event in ipairs(same) do
      local term = { num = its.event.pmd, sets = {} }
      for s, set in ipairs(self.sets) do
         term.sets[s] = s
         for _, pmc in ipairs(its.event.pmcs) do table.insert(set.pmcs, pmc) end
         table.insert(set.pmds, its.event.pmd)
      end
      self.terms[event] = { term }
   end
end

--- Plans event sets. Software and named events are in every set, unless two want the same counter;
-- those of a group are counted in the same sets.
-- @tparam table list of events of `events.read`; those that cannot be counted get a `reason`
-- @tparam[opt] table unavail numbers of PMCs that are not to be used
-- @tparam[opt] table its trigger (assigned) that leads to the next set, and also counts its event
-- @treturn[1] table plan
-- @return[2] nil
-- @treturn[2] string message
function plan.make(list, unavail, its)
   local self = { sets = {}, terms = {}, trigger = its }
   local same, rest = apart(list, its)
   local places
   local ok, err = add_processor(self, rest, unavail)
   if ok then
      places, err = add_named(self, rest, its)
      ok = places
   end
   if ok then ok, err = add_software(self, rest) end
   if not ok then return nil, err end
   for _, place in ipairs(places) do add_place(self, place) end
   add_same(self, same, its)
   if #self.sets == 1 then self.trigger = nil end
   ok, err = groups.align(self, list)
   return ok and self, err
end

-- Returns the id of a set in a list: lists follow one another, and each has all sets.
local function set_id(self, list, s)
   return (self.base or 0) + (list - 1) * #self.sets + s - 1
end

--- Returns the id of the first event set of a list (see `plan.spec`).
-- @tparam table self the plan
-- @int list 1 to `self.lists`
-- @treturn int
function plan.first_set(self, list)
   return set_id(self, list, 1)
end

-- Adds a set's registers, under the set's id.
local function of_set(self, set, id, out)
   local limit = self.limit
   for _, pmc in ipairs(set.pmcs) do out.pmcs[#out.pmcs + 1] = { num = pmc.num, value = pmc.value, set = id } end
   for _, num in ipairs(set.pmds) do
      local pmd = { num = num, value = 0, set = id }
      if limit and num == limit.num then pmd.value, pmd.flags = -limit.n, { "OVFL_NOTIFY" } end
      out.pmds[#out.pmds + 1] = pmd
   end
end

-- Adds the trigger to a set. If the set counts the trigger's event, that counter is the trigger.
local function add_trigger(self, set, id, out)
   local its = self.trigger
   local pmd = { num = its.event.pmd, set = id, value = -its.n, short_reset = -its.n, long_reset = -its.n,
      switch_cnt = 1 }
   if tables.find(set.pmds, pmd.num) then
      for i, other in ipairs(out.pmds) do
         if other.num == pmd.num and other.set == id then out.pmds[i] = pmd end
      end
      return
   end
   for _, pmc in ipairs(its.event.pmcs) do
      out.pmcs[#out.pmcs + 1] = { num = pmc.num, value = pmc.value, set = id }
   end
   out.pmds[#out.pmds + 1] = pmd
end

local function flags_of(self, s)
   local flags = { self.trigger and "OVFL_SWITCH" or "TIME_SWITCH" }
   if s == #self.sets then flags[2] = "EXPL_NEXT" end
   return flags
end

local function add_list(self, list, timeout, out)
   for s, set in ipairs(self.sets) do
      local id = set_id(self, list, s)
      of_set(self, set, id, out)
      if self.trigger then add_trigger(self, set, id, out) end
      out.sets[#out.sets + 1] = { id = id, flags = flags_of(self, s), timeout = timeout,
         id_next = s == #self.sets and set_id(self, list, 1) or nil }
   end
end

--- Returns what `contexts.start` needs to count by a plan. The sets may be there several times, as
-- lists that differ in their timeouts (specification 3.7.5):
-- `ctx:start(plan.first_set(self, list))` changes to another list.
-- @tparam table self the plan; with `trigger`, an event that leads to the next set when it has
-- occurred `n` times; `base`: the id of its first set; `limit`, of a plan with one set: the
-- register `num` notifies after `n`
-- @tparam {number,...} timeouts ns between the switches of sets, of each list
-- @treturn table `pmcs`, `pmds`, `sets`
function plan.spec(self, timeouts)
   local out = { pmcs = {}, pmds = {}, sets = {} }
   self.lists, self.layout = 1, nil
   if #self.sets == 1 then
      of_set(self, self.sets[1], set_id(self, 1, 1), out)
      if self.base then out.sets[1] = { id = self.base } end
      return out
   end
   if not self.trigger then self.lists = #timeouts end
   for list = 1, self.lists do add_list(self, list, not self.trigger and timeouts[list] or nil, out) end
   return out
end

-- --- counts --------------------------------------------------------------------------------------

local ELEMENT = 200 -- bytes of a call's largest element, pfarg_setinfo_t

--- Calls a function with parts of a list, each short enough for one vector call (`arg_size_max`).
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

-- Returns the layout of what `plan.read` returns: the count of PMD num in set s is at index
-- at[s][num]; the `counts` counts are followed by each set's duration, then each set's turns, then
-- the times for which other users of the PMU had its counters. Also returns the registers to read
-- (`regs`), the index to which each is added (`to`), and the ids of the sets (`ids`) with the
-- number of the set of each (`of`).
local function layout(self)
   if self.layout then return self.layout end
   local out = { at = {}, counts = 0, regs = {}, to = {}, ids = {}, of = {} }
   for s, set in ipairs(self.sets) do
      out.at[s] = {}
      for _, num in ipairs(set.pmds) do
         out.counts = out.counts + 1
         out.at[s][num] = out.counts
      end
   end
   local function ask(num, id, to)
      local n = #out.regs + 1
      out.regs[n], out.to[n] = { num = num, set = id }, to
   end
   for list = 1, self.lists or 1 do
      for s, set in ipairs(self.sets) do
         local id = set_id(self, list, s)
         for _, num in ipairs(set.pmds) do ask(num, id, out.at[s][num]) end
         if self.trigger and not tables.find(set.pmds, self.trigger.event.pmd) then ask(self.trigger.event.pmd, id) end
         out.ids[#out.ids + 1], out.of[#out.of + 1] = id, s
      end
   end
   self.layout = out
   return out
end

--- Returns values with the counts of one thread in place of the sums over all threads, for a plan
-- with a single set.
-- @tparam table self of `plan.make`
-- @tparam table values of `plan.read`, of all threads; they stay as they are
-- @tparam table counts of the thread, by PMD
-- @treturn table a copy, as of `plan.read`
function plan.with_counts(self, values, counts)
   local out = { unpack(values) }
   for num, at in pairs(layout(self).at[1]) do out[at] = counts[num] or 0 end
   return out
end

--- Returns the counts of a plan with a single set.
-- @tparam table self of `plan.make`
-- @tparam table values of `plan.read`
-- @treturn table by PMD
function plan.counts_of(self, values)
   local out = {}
   for num, at in pairs(layout(self).at[1]) do out[num] = values[at] end
   return out
end

-- Returns the number of a set's turns. With a trigger, a turn that is not over is a fraction: the
-- trigger's occurrences in it, divided by those of a whole turn.
local function turns_of(self, runs, trigger)
   local left = trigger and -(type(trigger) == "number" and trigger or 0) or 0
   return left > 0 and runs > 0 and runs - left / self.trigger.n or runs
end

local function read_registers(where, ctx, out)
   local by_set = {}
   plan.in_parts(where.regs, function(part, from)
      local all, _, _, short = ctx:read_pmds(part)
      for i, reg in ipairs(all or short or {}) do
         local asked, to = where.regs[from + i], where.to[from + i]
         by_set[asked.set] = by_set[asked.set] or {}
         by_set[asked.set][asked.num] = reg.value
         if to then out[to] = out[to] + reg.value end
      end
      return true
   end)
   return by_set
end

-- Adds a set's duration, its turns, and how long others had its counters. If the trigger's event is
-- counted, its count is computed from the turns, since the register is reset at each turn's end.
local function add_turns(self, info, s, registers, out)
   local where, trigger = layout(self), self.trigger and self.trigger.event.pmd
   local turns = turns_of(self, info.runs, trigger and registers[trigger])
   local time = where.counts + s
   local turn, blind = time + #self.sets, time + 2 * #self.sets
   local count = trigger and where.at[s][trigger]
   out[time], out[turn], out[blind] = out[time] + info.act_duration, out[turn] + turns, out[blind] + info.blind
   if count then out[count] = math.floor(turns * self.trigger.n + 0.5) end
end

--- Says how long a context's event sets were active in all.
-- @tparam table self the plan
-- @param ctx
-- @treturn number ns of CPU time; with `INHERIT`, of the children too
function plan.active_ns(self, ctx)
   local ns = 0
   plan.in_parts(layout(self).ids, function(part)
      for _, info in ipairs(ctx:getinfo_evtsets(part) or {}) do ns = ns + info.act_duration end
      return true
   end)
   return ns
end

--- Reads all counts of a context and after them how long each set was active, how many turns it
-- had, and for how long other users of the PMU had its counters.
-- @tparam table self the plan
-- @param ctx
-- @treturn table of numbers, 0 where nothing can be read; values of two contexts may be added one
-- by one
function plan.read(self, ctx)
   local where, out, n = layout(self), {}, #self.sets
   for i = 1, where.counts + 3 * n do out[i] = 0 end
   local by_set = read_registers(where, ctx, out)
   local limited = self.limit and where.at[1][self.limit.num]
   if limited then out[limited] = out[limited] + self.limit.n end
   plan.in_parts(where.ids, function(part, from)
      for i, info in ipairs(ctx:getinfo_evtsets(part) or {}) do
         add_turns(self, info, where.of[from + i], by_set[where.ids[from + i]] or {}, out)
      end
      return true
   end)
   return out
end

--- Returns the difference between two readings.
-- @tparam table values of `plan.read`
-- @tparam table last an earlier reading; empty: the start
-- @treturn table
function plan.difference(values, last)
   local out = {}
   for i, v in ipairs(values) do out[i] = v - (last[i] or 0) end
   return out
end

--- Returns the parts of values that belong to a register.
-- @tparam table self the plan
-- @tparam table term `num`, `sets`
-- @tparam table values of `plan.read`
-- @treturn {number,...} its count in each of its sets
function plan.counts(self, term, values)
   local out, at = {}, layout(self).at
   for i, s in ipairs(term.sets) do out[i] = values[at[s][term.num]] end
   return out
end

--- Says how long each set was active, in ns.
-- @tparam table self a plan
-- @tparam table values of `plan.read`
-- @treturn {number,...} by set
function plan.durations(self, values)
   local from = layout(self).counts
   return { unpack(values, from + 1, from + #self.sets) }
end

--- Says how many turns each set had.
-- @tparam table self a plan with several sets
-- @tparam table values of `plan.read`
-- @treturn {number,...} by set; with a trigger, the turn that is not over counts as far as it got
function plan.turns(self, values)
   local from = layout(self).counts + #self.sets
   return { unpack(values, from + 1, from + #self.sets) }
end

--- Says for how long other users of the PMU had counters of each set while it was active, in ns.
-- @tparam table self a plan
-- @tparam table values of `plan.read`
-- @treturn {number,...} by set
function plan.blind(self, values)
   local from = layout(self).counts + 2 * #self.sets
   return { unpack(values, from + 1, from + #self.sets) }
end

--- Returns the numbers of the hardware counters that a plan uses.
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
