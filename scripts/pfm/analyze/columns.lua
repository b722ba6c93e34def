-- SPDX-License-Identifier: MIT
--- The moments of a recording's samples, and the values they hold.
-- @module pfm.analyze.columns

local expect = require "pfm.util.expect"
local nearest = require "pfm.util.nearest"
local layout = require "pfm.recording.layout"
local samples = require "pfm.recording.samples"
local shape = require "pfm.util.shape"
local stacks = require "pfm.recording.stacks"

local fail = expect.fail

local columns = {}

--- Raises an error if something is not a recording.
-- @param self
function columns.check(self)
   if type(self) ~= "table" or type(self.head) ~= "table" then
      fail("expected a recording, as recording.open(\"lpfm.data\") returns it, got a %s", type(self))
   end
end

local OPTIONS = { "filter", "slice", "slices", "children", "sums", "absolute", "alpha", "raw", "width", "from" }

--- Checks the options of an analysis.
-- @tparam ?table options what the functions of `pfm.analyze` take
-- @treturn table the options, empty where there are none
-- @raise where they are no table, are mistyped, or have a number that is none
function columns.options(options)
   expect.fields("options", options, OPTIONS)
   options = options or {}
   if options.filter then expect.kind("filter", options.filter, "table") end
   if options.sums then expect.kind("sums", options.sums, "table") end
   expect.number("slice", options.slice)
   expect.whole("slices", options.slices)
   expect.number("alpha", options.alpha)
   expect.whole("width", options.width)
   expect.whole("from", options.from, 0)
   return options
end

--- Restricts a filter to one event if values are used that make no sense for several events
-- together: intervals and periods.
-- @param self
-- @tparam ?table filter
-- @treturn table the filter, with the first event that has samples if it has none and there are
-- several
-- @treturn ?string name of the event, if there are several
function columns.of_one_event(self, filter)
   local out = {}
   for name, value in pairs(filter or {}) do out[name] = value end
   if #self.head.events < 2 then return out end
   out.event = stacks.event(self, out.event).name
   return out, out.event
end

--- See `pfm.analyze.span`.
function columns.span(self)
   columns.check(self)
   if self.within then return columns.span(self.within) end
   if not self.first then
      local m = self:group_by({ pair = { "tstamp", "tstamp" } }):moments()
      self.first, self.last = m.min_x, m.max_x
   end
   return self.first, self.last
end

-- Returns the moment that a text gives: "1.5", s since the first sample, or "10%" of the run.
local function moment(self, text, default)
   local first, last = columns.span(self)
   if text == nil or text == "" then return default end
   local percent = tonumber(tostring(text):match("^(.*)%%$"))
   local number = percent or tonumber(text)
   if not number or number ~= number then fail("'%s' is not a time in seconds, or as in 10%%", tostring(text)) end
   if percent then return first + math.floor((last - first) * percent / 100) end
   return first + math.floor(number * 1e9 + 0.5)
end

--- Makes the test for samples between two moments, for `recording:group_by`.
-- @param self
-- @param from seconds since the first sample, "10%" of the run, or nil: the beginning
-- @param to the same, or nil: the end
-- @treturn table
function columns.during(self, from, to)
   samples.need_times(self)
   local first, last = columns.span(self)
   local start, stop = moment(self, from, first), moment(self, to, last)
   if stop < start then fail("the time ends (%s) before it begins (%s)", tostring(to), tostring(from)) end
   local function within(time) return math.max(math.min(time, last + 1), first - 1, 0) end
   return { "tstamp", within(start), within(stop) }
end

-- Returns the number of a PMD that is stored in the samples, from this number or its event's name.
local function pmd_of(self, what)
   local names = { "interval", "period" }
   for _, e in ipairs(self.head.with or {}) do
      if e.name == what then return e.pmd end
      names[#names + 1] = e.name
   end
   local pmd = tonumber(what)
   if pmd and shape.whole(0, layout.STACK - 1)(pmd) then return pmd end
   if pmd then fail("there is no PMD %s: they have numbers from 0 to %d", tostring(what), layout.STACK - 1) end
   fail("the samples hold no value '%s'%s (there are: %s)", tostring(what), nearest.hint(tostring(what), names),
      table.concat(names, ", "))
end

--- Makes a value in the samples a column of `recording:group_by`. A counter runs on from sample to
-- sample of a thread, or of a CPU if CPUs were measured: the column is how much the counter grew.
-- @param self
-- @param what a PMD's number, the name of an event of `record --with`; "interval": ns since the
-- last sample; "period"
-- @tparam[opt] boolean raw the register as it is, not what it grew by: for latencies and the like
-- @treturn table
-- @raise where the samples hold no such value
function columns.column(self, what, raw)
   columns.check(self)
   local stream = self.head.cpus and "cpu" or "tid"
   if what == "interval" then samples.need_times(self) end
   if what == "interval" then return { "tstamp", delta = stream } end
   if what == "period" then return { "period" } end
   return { pmd_of(self, what), delta = not raw and stream or nil }
end

return columns
