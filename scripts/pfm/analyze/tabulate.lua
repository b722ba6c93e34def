-- SPDX-License-Identifier: MIT
--- Samples counted by what they have in common: the heart of `pfm.analyze`.
-- @module pfm.analyze.tabulate

local columns = require "pfm.analyze.columns"
local keys = require "pfm.analyze.keys"
local expect = require "pfm.util.expect"
local chain = require "pfm.recording.chain"
local layout = require "pfm.recording.layout"
local programs = require "pfm.recording.programs"
local samples = require "pfm.recording.samples"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local together = require "pfm.recording.together"
local tables = require "pfm.util.tables"

local fail = expect.fail

local tabulate = {}

local FIELDS = { "pid", "tid", "cpu", "ovfl_pmd", "set", "ip", "time" }

local function has_sets(self)
   for _, e in ipairs(self.head.events) do
      if e.set then return true end
   end
end

-- Returns the fields that keys and tests take, in a fixed order.
local function fields_for(self, wanted, tests)
   local need, out = { ovfl_pmd = true, set = has_sets(self) }, {}
   local function take(name)
      local key = keys.of(name)
      if key.where then need.pid, need.ip = true, true end
      for _, field in ipairs(key.takes or { name }) do need[field] = true end
   end
   for _, name in ipairs(wanted) do take(name) end
   for _, test in ipairs(tests) do take(test.name) end
   for _, f in ipairs(FIELDS) do
      if need[f] then out[#out + 1] = f end
   end
   return out
end

local function columns_for(self, fields)
   local out = {}
   for i, f in ipairs(fields) do
      if f == "time" then samples.need_times(self) end
      out[i] = f == "time" and { "tstamp", from = (columns.span(self)), step = self.slice_ns }
         or f == "stack" and layout.STACK or f
   end
   return out
end

-- --- counting ------------------------------------------------------------------------------------

-- The fields of a sample: each function computes one from the raw values of a group. raw.pid and
-- raw.tid are numbers of lives (see pfm.recording.programs).
local fields_of = {
   tid = function(raw) return programs.pid(raw.tid) end,
   pid = function(raw) return programs.pid(raw.pid) end,
   comm = function(raw, self) return samples.comm(self, raw.tid, raw.pid) end,
   process = function(raw, self) return samples.process(self, raw.pid) end,
   cpu = function(raw, self) return samples.cpu(self, raw.cpu, raw.pid) end,
   event = function(raw, self) return samples.event_name(self, raw.ovfl_pmd, raw.set) end,
   set = function(raw) return raw.set end,
   time = function(raw, self) return raw.time * self.slice_ns / 1e9 end,
}

local function field_of(s, name)
   local field = fields_of[name]
   if field then return field(s.raw, s.recording_of) end
   return s.raw.pid and samples.origin(s.recording_of, s.raw.pid)[name]
end

local row_type = { __index = function(s, name)
   local value = field_of(s, name)
   rawset(s, name, value)
   return value
end }

-- Iterates over groups as samples, in the form that keys take.
local function row_iterator(self, groups, fields, sums)
   local rows, n = groups:rows(), #fields
   return function()
      local got, raw = { rows() }, {}
      if got[1] == nil then return nil end
      for i, f in ipairs(fields) do raw[f] = got[i] end
      local s = { raw = raw, recording_of = self, samples = got[n + 1], events = got[n + 2], sums = {}, where = false }
      for i, name in ipairs(sums) do s.sums[name] = tonumber(got[n + 2 + i]) end
      return setmetatable(s, row_type)
   end
end

local function place(s, where)
   s.where, s.symbol, s.object = where, where.func, where.object
end

local function note_object(result, s)
   local where = s.where
   if not where then return end
   result.objects[where.object] = (result.objects[where.object] or 0) + s.samples
   if not where.missing then return end
   local m = result.missing[where.object] or { samples = 0, why = where.missing }
   m.samples = m.samples + s.samples
   result.missing[where.object] = m
end

-- Returns how many events samples stand for: their number times the period if that is fixed, else
-- the sum of the periods that ended with them.
local function events_of(self, s)
   local event = self.head.fixed and samples.event(self, s.raw.ovfl_pmd, s.raw.set)
   return event and event.period and s.samples * event.period or s.events
end

local function new_total()
   return { samples = 0, events = 0, sums = {} }
end

local function new_row(result, wanted, cells, s)
   local row = { cells = cells, samples = 0, events = 0, pmd = s.raw.ovfl_pmd, sums = {} }
   row.total = result.places and new_total() or nil
   for i, name in ipairs(wanted) do row[name] = keys.of(name).number and tonumber(cells[i]) or cells[i] end
   row.event = s.event
   result.rows[#result.rows + 1] = row
   return row
end

local function add(to, s)
   to.samples, to.events = to.samples + s.samples, to.events + s.events
   for name, sum in pairs(s.sums) do to.sums[name] = (to.sums[name] or 0) + sum end
end

local function add_total(totals, id, s)
   totals[id] = totals[id] or new_total()
   add(totals[id], s)
end

-- Returns the key of the total that a row's percentage refers to: its event's, by slice if sliced.
local function whole_of(result, row)
   return result.sliced and row.event .. "\0" .. row.time or row.event
end

-- Returns the row in which a sample counts by its own location.
local function row_of(result, wanted, s)
   local cells = {}
   for i, name in ipairs(wanted) do cells[i] = keys.of(name).get(s) end
   local id = table.concat(cells, "\0") .. "\0" .. s.event
   local row = result.by_id[id] or new_row(result, wanted, cells, s)
   result.by_id[id] = row
   return row
end

-- Returns a table by location: the rows of samples that differ from this one in their location
-- alone.
local function rows_by_place(result, wanted, s)
   local own = { s.event }
   for i, name in ipairs(wanted) do own[i + 1] = keys.of(name).where and "" or keys.of(name).get(s) end
   local id = table.concat(own, "\0")
   result.by_place[id] = result.by_place[id] or {}
   return result.by_place[id]
end

-- Counts a sample in its callers' rows: once in a function that is in its stack several times.
local function add_callers(result, wanted, s)
   local rows = rows_by_place(result, wanted, s)
   for _, where in ipairs(result.places(s)) do
      local row = rows[where]
      if not row then
         place(s, where)
         row = row_of(result, wanted, s)
         rows[where] = row
      end
      if row.added ~= s then add(row.total, s) end
      row.added = s
   end
end

local function add_row(result, wanted, s)
   local row = row_of(result, wanted, s)
   add(row, s)
   if result.places then add_callers(result, wanted, s) end
   add_total(result.totals, s.raw.ovfl_pmd, s)
   add_total(result.events, s.event, s)
   add_total(result.wholes, whole_of(result, row), s)
end

local function share(part, whole)
   return whole > 0 and part / whole * 100 or 0
end

-- Says which row comes first; with callers, by the events of functions and their callees together.
local function before(a, b)
   if a.time ~= b.time then return a.time < b.time end
   if a.total and a.total.events ~= b.total.events then return a.total.events > b.total.events end
   if a.events ~= b.events then return a.events > b.events end
   return table.concat(a.cells, "\0") < table.concat(b.cells, "\0")
end

local function finish(result)
   for _, row in ipairs(result.rows) do
      local whole = result.wholes[whole_of(result, row)].events
      row.added = nil
      row.percent = share(row.events, whole)
      if row.total then row.total.percent = share(row.total.events, whole) end
   end
   table.sort(result.rows, before)
   result.by_id, result.by_place, result.wholes, result.sliced, result.places = nil, nil, nil, nil, nil
   return result
end

local function needs_where(wanted, tests)
   for _, name in ipairs(wanted) do
      if keys.of(name).where then return true end
   end
   for _, test in ipairs(tests) do
      if test.key.where then return true end
   end
end

local function sum_columns(self, names)
   return tables.map(names, function(name) return columns.column(self, name) end)
end

local LONGEST = 2 ^ 53 -- ns, of a slice

-- Counts samples, and visits those that pass, with their locations; returns how many a damaged file
-- lacks, and the tests of the filter.
local function scan(self, wanted, options, resolver, visit)
   local filter, sums = options.filter or {}, options.sums or {}
   local tests = keys.tests(filter)
   self.slice_ns = math.max(1, math.floor(math.min((options.slice or 1) * 1e9, LONGEST) + 0.5))
   local fields = fields_for(self, wanted, tests)
   if options.children then fields[#fields + 1] = "stack" end
   local groups, cut = self:group_by { keys = columns_for(self, fields), sums = sum_columns(self, sums),
      where = (filter.from or filter.to) and { columns.during(self, filter.from, filter.to) } }
   local located = needs_where(wanted, tests)
   for s in row_iterator(self, groups, fields, sums) do
      if located then place(s, resolver:resolve(s.raw.pid, s.raw.ip)) end
      if keys.pass(tests, s) then
         s.events = events_of(self, s)
         visit(s)
      end
   end
   return cut or groups:cut(), tests
end

-- Returns a function that finds where the functions of a sample's stack are, innermost first.
local function places_of(self, resolver)
   return function(s) return chain.places(self, resolver, s.raw.pid, s.raw.ip, s.raw.stack) end
end

--- See `pfm.analyze.by`.
function tabulate.by(self, by, options)
   columns.check(self)
   options = columns.options(options)
   local chosen, choosing = together.choose(self, options.filter)
   self = chosen
   local wanted, resolver = keys.read(by or "symbol"), embedded_symbols.resolver(self)
   if options.children and not (self:has_stacks() and needs_where(wanted, {})) then
      options = setmetatable({ children = false }, { __index = options })
   end
   local result = { rows = {}, by_id = {}, by_place = {}, totals = {}, events = {}, missing = {}, objects = {},
      titles = {}, keys = wanted, wholes = {}, sliced = #wanted > 1 and tables.find(wanted, "time") ~= nil,
      places = options.children and places_of(self, resolver) or nil }
   for i, name in ipairs(wanted) do result.titles[i] = keys.of(name).title end
   local cut, tests = scan(self, wanted, options, resolver, function(s)
      note_object(result, s)
      add_row(result, wanted, s)
   end)
   result.cut, result.unmet = cut, keys.unmet(tables.join(choosing, tests), options.filter or {})
   return finish(result)
end

--- See `pfm.analyze.stacks`.
function tabulate.stacks(self, by, options, visit)
   columns.check(self)
   expect.kind("options", options, "table")
   self = together.choose(self, options.filter)
   local wanted, resolver = keys.read(by), embedded_symbols.resolver(self)
   if #wanted > 1 or not keys.of(wanted[1]).where then
      fail("'%s' is not one key of where samples lie: symbol, object, line or address", by)
   end
   local places = places_of(self, resolver)
   scan(self, wanted, { filter = options.filter, children = true }, resolver, function(s)
      local names = {}
      for i, where in ipairs(places(s)) do
         place(s, where)
         names[i] = keys.of(wanted[1]).get(s)
      end
      visit(s, names)
   end)
end

return tabulate
