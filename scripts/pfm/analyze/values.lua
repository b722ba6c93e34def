-- SPDX-License-Identifier: MIT
--- The values in samples: how they are distributed, how they go together.
-- @module pfm.analyze.values

local columns = require "pfm.analyze.columns"
local origin = require "pfm.recording.origin"
local statistics = require "pfm.statistics"
local fail = require("pfm.util.expect").fail
local shape = require "pfm.util.shape"
local together = require "pfm.recording.together"

local values = {}

-- --- values in the samples -----------------------------------------------------------------------

local FINE = 6 -- 64 bins for each power of two: quantiles to 1.6 %

-- The names of filters that choose recordings: `together.choose` applies them, not where_of().
local chosen = {}
for _, name in ipairs(origin.names) do chosen[name] = true end

local is_number = shape.whole(0, 2 ^ 32 - 1)

-- Returns the tests of a filter for `recording:group_by`, which tests numbers in C. Filters by
-- names are refused: the names of each sample would have to be found.
local function where_of(self, filter)
   local where = {}
   for name, value in pairs(filter) do
      if name == "event" then
         for _, e in ipairs(self.head.events) do
            if e.name == value then where[#where + 1] = { "ovfl_pmd", e.pmd } end
         end
         if #where == 0 then fail("no event '%s' was sampled", tostring(value)) end
      elseif name == "tid" or name == "pid" or name == "cpu" or name == "set" then
         if name == "cpu" and self.head.no_cpu then fail("the samples have no CPU") end
         if not is_number(tonumber(value)) then
            fail("%s: '%s' is not a number: values are filtered by one", name, tostring(value))
         end
         where[#where + 1] = { name, tonumber(value) }
      elseif name ~= "from" and name ~= "to" and not chosen[name] then
         fail("values cannot be filtered by %s (but by event, tid, pid, cpu, set, from, to)", tostring(name))
      end
   end
   if filter.from or filter.to then where[#where + 1] = columns.during(self, filter.from, filter.to) end
   return where
end

-- Returns the filter for values, and the name of the event if the samples of one of several are
-- taken: intervals and periods are those of one event, other values are in the samples of all.
local function filter_for(self, filter, ...)
   for _, value in ipairs { ... } do
      if value == "interval" or value == "period" then return columns.of_one_event(self, filter) end
   end
   filter = filter or {}
   return filter, #self.head.events > 1 and filter.event or nil
end

-- Returns where a bin of powers of two begins; see log_bin() in lpfm/samples/column.c.
local function log_start(bin, bits)
   local step = 2 ^ bits
   if bin < 2 * step then return bin end
   local k = math.floor(bin / step) - 1
   return (bin - k * step) * 2 ^ k
end

local function sorted_counts(groups)
   local list = {}
   for bin, n in groups:rows() do list[#list + 1] = { bin = bin, count = n } end
   table.sort(list, function(a, b) return a.bin < b.bin end)
   return list
end

-- Returns bins {from, to (exclusive), count}; empty bins between others are included.
local function linear_bins(fine, width, from)
   local out = {}
   for _, f in ipairs(fine) do
      while #out > 0 and out[#out].to < from + f.bin * width do
         out[#out + 1] = { from = out[#out].to, to = out[#out].to + width, count = 0 }
      end
      out[#out + 1] = { from = from + f.bin * width, to = from + (f.bin + 1) * width, count = f.count }
   end
   return out
end

local function log_bins(fine)
   local out = {}
   for _, f in ipairs(fine) do
      local low = log_start(f.bin, FINE)
      local from = low == 0 and 0 or 2 ^ math.floor(math.log(low + 0.5) / math.log(2))
      while #out > 0 and out[#out].to <= from do
         out[#out + 1] = { from = out[#out].to, to = out[#out].to * 2, count = 0 }
      end
      if #out == 0 then out[1] = { from = from, to = math.max(2 * from, 1), count = 0 } end
      out[#out].count = out[#out].count + f.count
   end
   return out
end

-- Returns the value below which the share of all samples lies; its error is at most a fine bin.
local function quantile(fine, m, share, start)
   local wanted, seen = share * m.n, 0
   for _, f in ipairs(fine) do
      seen = seen + f.count
      if seen >= wanted then return math.min(math.max(start(f.bin), m.min_x), m.max_x) end
   end
end

--- See `pfm.analyze.histogram`.
function values.histogram(self, what, options)
   columns.check(self)
   options = columns.options(options)
   self = together.choose(self, options.filter)
   local filter, event = filter_for(self, options.filter, what)
   local binned, plain = columns.column(self, what, options.raw), columns.column(self, what, options.raw)
   local width, from = options.width, options.from or 0
   if width then binned.step, binned.from = width, from else binned.bits = FINE end
   if width then plain.from = from end
   local groups = self:group_by { keys = { binned }, pair = { plain, plain }, where = where_of(self, filter) }
   local m, fine = groups:moments(), sorted_counts(groups)
   local function start(bin) return width and from + bin * width or log_start(bin, FINE) end
   return {
      event = event, bins = width and linear_bins(fine, width, from) or log_bins(fine),
      n = m.n, mean = m.n > 0 and m.mean_x or nil, deviation = m.n > 1 and math.sqrt(m.xx / (m.n - 1)) or nil,
      min = m.n > 0 and m.min_x or nil, max = m.n > 0 and m.max_x or nil,
      median = quantile(fine, m, 0.5, start), p90 = quantile(fine, m, 0.9, start),
      p99 = quantile(fine, m, 0.99, start),
   }
end

--- See `pfm.analyze.correlate`.
function values.correlate(self, x, y, options)
   columns.check(self)
   options = columns.options(options)
   self = together.choose(self, options.filter)
   local filter, event = filter_for(self, options.filter, x, y)
   local m = self:group_by({ pair = { columns.column(self, x, options.raw), columns.column(self, y, options.raw) },
      where = where_of(self, filter) }):moments()
   local out = { event = event, n = m.n, mean_x = m.n > 0 and m.mean_x or nil, mean_y = m.n > 0 and m.mean_y or nil }
   if m.xx <= 0 or m.yy <= 0 then return out end
   out.r = math.max(-1, math.min(1, m.xy / math.sqrt(m.xx * m.yy)))
   out.slope = m.xy / m.xx
   out.intercept = m.mean_y - out.slope * m.mean_x
   if m.n < 4 then return out end
   local unexplained = math.max(1 - out.r ^ 2, 1e-300)
   out.p = statistics.student(out.r * math.sqrt((m.n - 2) / unexplained), m.n - 2)
   local z, e = 0.5 * math.log((1 + out.r + 1e-15) / (1 - out.r + 1e-15)), 1.959964 / math.sqrt(m.n - 3)
   local function tanh(v) return 1 - 2 / (math.exp(2 * v) + 1) end
   out.low, out.high = tanh(z - e), tanh(z + e)
   return out
end

return values
