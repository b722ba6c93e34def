-- SPDX-License-Identifier: MIT
--- Samples counted by what they have in common: the heart of `pfm.analyze`.
-- @module pfm.analyze.tabulate

local nearest = require "pfm.util.nearest"
local columns = require "pfm.analyze.columns"
local chain = require "pfm.recording.chain"
local layout = require "pfm.recording.layout"
local programs = require "pfm.recording.programs"
local origin = require "pfm.recording.origin"
local samples = require "pfm.recording.samples"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local symbols = require "pfm.symbols"
local together = require "pfm.recording.together"
local fail = require "pfm.util.fail"

local tabulate = {}

-- --- keys ----------------------------------------------------------------------------------------

local function base_name(path)
   return path:match("([^/]+)$") or path
end

local function line_of(where)
   local file, line = symbols.line(where)
   if not file then return where.func end
   return ("%s:%d"):format(base_name(file), line)
end

local function address_of(where)
   local name = where.missing and where.func or ("%s+%s"):format(where.func, symbols.hex(where.offset))
   return ("%s %s"):format(symbols.hex(where.address), name)
end

-- Where the recording of a sample comes from.
local function from(name)
   return function(_, s, r)
      local value = samples.origin(r, s.pid)[name]
      return value and tostring(value) or "-"
   end
end

-- What a sample counts under, from where it lies (w), its fields (s), the recording (r); and the fields it takes.
local keys = {
   symbol = { title = "symbol", where = true, get = function(w) return w.func end },
   object = { title = "object", where = true, get = function(w) return base_name(w.object) end },
   line = { title = "line", where = true, get = line_of },
   address = { title = "address", where = true, get = address_of },
   thread = { title = "thread", takes = { "tid", "pid" }, get = function(_, s, r)
      return ("%d %s"):format(programs.pid(s.tid), samples.comm(r, s.tid, s.pid))
   end },
   comm = { title = "comm", takes = { "tid", "pid" }, get = function(_, s, r)
      return samples.comm(r, s.tid, s.pid)
   end },
   pid = { title = "process", takes = { "pid" }, get = function(_, s, r)
      return ("%d %s"):format(programs.pid(s.pid), samples.comm(r, s.pid, s.pid))
   end },
   cpu = { title = "CPU", number = true, takes = { "cpu", "pid" }, get = function(_, s, r)
      return tostring(samples.cpu(r, s.cpu, s.pid) or "-")
   end },
   event = { title = "event", get = function(_, s, r)
      return samples.event_name(r, s.ovfl_pmd, s.set)
   end },
   set = { title = "set", number = true, takes = { "set" }, get = function(_, s) return tostring(s.set) end },
   time = { title = "time", number = true, takes = { "time" }, get = function(_, s, r)
      return ("%.6f"):format(s.time * r.slice_ns / 1e9)
   end },
}
for _, name in ipairs(origin.columns) do
   keys[name] = { title = name, number = name == "rank", takes = { "pid" }, get = from(name) }
end
local aliases = { dso = "object", sym = "symbol", tid = "thread", ["function"] = "symbol", srcline = "line",
   ip = "address", process = "pid", symoff = "address", command = "comm" }

--- See `pfm.analyze.keys`.
function tabulate.keys()
   local names = {}
   for name in pairs(keys) do names[#names + 1] = name end
   table.sort(names)
   return names
end

local function read_keys(by)
   local out = {}
   if type(by) == "table" then by = table.concat(by, ",") end
   for name in (by .. ","):gmatch("%s*([^,]*)%s*,") do
      name = aliases[name] or name
      if not keys[name] then
         fail("unknown sort key '%s'%s (keys: %s)", name, nearest.hint(name, tabulate.keys()),
            table.concat(tabulate.keys(), ", "))
      end
      out[#out + 1] = name
   end
   return out
end

-- --- filters ------------------------------------------------------------------------------

local TESTS = { "symbol", "object", "comm", "tid", "pid", "cpu", "event", "set" }
local ALL = { unpack(TESTS) } -- and those that choose among recordings
for _, name in ipairs(origin.names) do ALL[#ALL + 1] = name end

local function check_names(filter)
   local known = { from = true, to = true }
   for _, name in ipairs(ALL) do known[name] = true end
   for name in pairs(filter) do
      if not known[name] then
         fail("there is no filter '%s' (filters: %s, from, to)", tostring(name), table.concat(ALL, ", "))
      end
   end
end

-- { name, values = {[text] = true} } for each test that rows must pass.
local function read_tests(filter)
   local out = {}
   check_names(filter)
   for _, name in ipairs(TESTS) do
      if filter[name] ~= nil then
         local values = {}
         for value in (tostring(filter[name]) .. ","):gmatch("%s*([^,]*)%s*,") do values[value] = true end
         out[#out + 1] = { name = name, values = values }
      end
   end
   return out
end

local FIELDS = { "pid", "tid", "cpu", "ovfl_pmd", "set", "ip", "time" }

local function has_sets(self)
   for _, e in ipairs(self.head.events) do
      if e.set then return true end
   end
end

-- The fields that keys and tests take, in a fixed order.
local function fields_for(self, wanted, tests)
   local need, out = { ovfl_pmd = true, set = has_sets(self) }, {}
   local function take(name)
      local key = keys[name]
      if key and key.where then need.pid, need.ip = true, true end
      for _, field in ipairs(key and key.takes or { name }) do need[field] = true end
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
      out[i] = f == "time" and { "tstamp", from = (columns.span(self)), step = self.slice_ns }
         or f == "stack" and layout.STACK or f
   end
   return out
end

-- --- counting ------------------------------------------------------------------------------------

local function row_iterator(tally, fields, sums)
   local rows, n = tally:rows(), #fields
   return function()
      local got = { rows() }
      if got[1] == nil then return nil end
      local s = { samples = got[n + 1], events = got[n + 2], sums = {} }
      for i, f in ipairs(fields) do s[f] = got[i] end
      for i, name in ipairs(sums) do s.sums[name] = tonumber(got[n + 2 + i]) end
      return s
   end
end

local function passes(self, tests, s, where)
   for _, test in ipairs(tests) do
      local key = keys[test.name]
      local value = test.name == "tid" and programs.pid(s.tid) or test.name == "pid" and programs.pid(s.pid)
         or key.get(where, s, self)
      local text = tostring(value)
      local short = test.name == "symbol" and symbols.source_name(text)
         or test.name == "object" and where.path and base_name(where.path) or text
      if not test.values[text] and not test.values[short] then return false end
   end
   return true
end

local function note_missing(result, where, s)
   if not where or not where.missing then return end
   local m = result.missing[where.object] or { samples = 0, why = where.missing }
   m.samples = m.samples + s.samples
   result.missing[where.object] = m
end

-- What samples stand for: of periods that are not all the same, those that ended with them.
local function events_of(self, s)
   local event = self.head.fixed and samples.event(self, s.ovfl_pmd, s.set)
   return event and event.period and s.samples * event.period or s.events
end

local function new_total()
   return { samples = 0, events = 0, sums = {} }
end

local function new_row(result, wanted, cells, s)
   local row = { cells = cells, samples = 0, events = 0, pmd = s.ovfl_pmd, sums = {} }
   row.total = result.places and new_total() or nil
   for i, name in ipairs(wanted) do row[name] = keys[name].number and tonumber(cells[i]) or cells[i] end
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

-- What a row's percentage is of: its event, and where it is one of several of a slice of time, that.
local function whole_of(result, row)
   return result.sliced and row.event .. "\0" .. row.time or row.event
end

-- The row that a sample counts under if it lies there.
local function row_of(self, result, wanted, where, s)
   local cells = {}
   for i, name in ipairs(wanted) do cells[i] = keys[name].get(where, s, self) end
   local id = table.concat(cells, "\0") .. "\0" .. s.event
   local row = result.by_id[id] or new_row(result, wanted, cells, s)
   result.by_id[id] = row
   return row
end

-- The rows of samples that are equal but for where they lie, by that.
local function rows_by_place(self, result, wanted, s)
   local own = { s.event }
   for i, name in ipairs(wanted) do own[i + 1] = keys[name].where and "" or keys[name].get(nil, s, self) end
   local id = table.concat(own, "\0")
   result.by_place[id] = result.by_place[id] or {}
   return result.by_place[id]
end

-- A function that is in a stack several times has its samples once.
local function add_callers(self, result, wanted, s)
   local rows = rows_by_place(self, result, wanted, s)
   for _, where in ipairs(result.places(s)) do
      local row = rows[where]
      if not row then
         row = row_of(self, result, wanted, where, s)
         rows[where] = row
      end
      if row.added ~= s then add(row.total, s) end
      row.added = s
   end
end

local function add_row(self, result, wanted, where, s)
   local row = row_of(self, result, wanted, where, s)
   add(row, s)
   if result.places then add_callers(self, result, wanted, s) end
   add_total(result.totals, s.ovfl_pmd, s)
   add_total(result.events, s.event, s)
   add_total(result.wholes, whole_of(result, row), s)
end

local function share(part, whole)
   return whole > 0 and part / whole * 100 or 0
end

-- With callers, by what they and those they called have together.
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

local function is_one_of(name, names)
   for _, n in ipairs(names) do
      if n == name then return true end
   end
end

local function needs_where(wanted, tests)
   for _, name in ipairs(wanted) do
      if keys[name].where then return true end
   end
   for _, test in ipairs(tests) do
      if keys[test.name] and keys[test.name].where then return true end
   end
end

local function sum_columns(self, names)
   local out = {}
   for i, name in ipairs(names) do out[i] = columns.column(self, name) end
   return out
end

-- Counts samples, and visits those that pass, with where they lie; returns how many were cut off.
local function scan(self, wanted, options, resolver, visit)
   local filter, sums = options.filter or {}, options.sums or {}
   local tests = read_tests(filter)
   self.slice_ns = math.max(1, math.floor((options.slice or 1) * 1e9 + 0.5))
   local fields = fields_for(self, wanted, tests)
   if options.children then fields[#fields + 1] = "stack" end
   local tally, cut = self:tally { keys = columns_for(self, fields), sums = sum_columns(self, sums),
      where = (filter.from or filter.to) and { columns.during(self, filter.from, filter.to) } }
   local located = needs_where(wanted, tests)
   for s in row_iterator(tally, fields, sums) do
      local where = located and resolver:resolve(s.pid, s.ip)
      if passes(self, tests, s, where) then
         s.event, s.events = samples.event_name(self, s.ovfl_pmd, s.set), events_of(self, s)
         visit(s, where)
      end
   end
   return cut or tally:cut()
end

-- Where the functions of a sample's stack are, innermost first.
local function places_of(self, resolver)
   return function(s) return chain.places(self, resolver, s.pid, s.ip, s.stack) end
end

--- See `pfm.analyze.by`.
function tabulate.by(self, by, options)
   columns.check(self)
   options = options or {}
   self = together.choose(self, options.filter)
   local wanted, resolver = read_keys(by or "symbol"), embedded_symbols.resolver(self)
   if options.children and not (self:has_stacks() and needs_where(wanted, {})) then
      options = setmetatable({ children = false }, { __index = options })
   end
   local result = { rows = {}, by_id = {}, by_place = {}, totals = {}, events = {}, missing = {}, titles = {},
      keys = wanted, wholes = {}, sliced = #wanted > 1 and is_one_of("time", wanted),
      places = options.children and places_of(self, resolver) or nil }
   for i, name in ipairs(wanted) do result.titles[i] = keys[name].title end
   result.cut = scan(self, wanted, options, resolver, function(s, where)
      note_missing(result, where, s)
      add_row(self, result, wanted, where, s)
   end)
   return finish(result)
end

--- See `pfm.analyze.stacks`.
function tabulate.stacks(self, by, options, visit)
   self = together.choose(self, options.filter)
   local wanted, resolver = read_keys(by), embedded_symbols.resolver(self)
   if #wanted > 1 or not keys[wanted[1]].where then
      fail("'%s' is not one key of where samples lie: symbol, object, line or address", by)
   end
   local places = places_of(self, resolver)
   scan(self, wanted, { filter = options.filter, children = true }, resolver, function(s)
      local names = {}
      for i, where in ipairs(places(s)) do names[i] = keys[wanted[1]].get(where, s, self) end
      visit(s, names)
   end)
end

return tabulate
