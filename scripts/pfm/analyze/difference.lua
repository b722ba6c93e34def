-- SPDX-License-Identifier: MIT
--- How two runs differ, and whether that can be chance.
-- @module pfm.analyze.difference

local columns = require "pfm.analyze.columns"
local origin = require "pfm.recording.origin"
local statistics = require "pfm.statistics"
local tabulate = require "pfm.analyze.tabulate"
local tables = require "pfm.util.tables"

local difference = {}

local ALPHA = 0.05 -- default probability that a difference by chance is reported

-- --- differences ---------------------------------------------------------------------------------

local function recordings_of(one_or_many)
   local many = type(one_or_many) == "table" and not one_or_many.head and #one_or_many > 0
   local list = many and one_or_many or { one_or_many }
   for i = 1, math.max(#list, 1) do columns.check(list[i]) end
   return list
end

-- Returns the runs of a side, also those in merged files: the runs that match the filter, or all.
local function runs_of(one_or_many, filter)
   local all, chosen, tests = {}, {}, origin.tests(filter)
   for _, self in ipairs(recordings_of(one_or_many)) do
      for _, source in ipairs(self.sources or { self }) do
         all[#all + 1] = source
         if origin.matches(tests, origin.of(source)) then chosen[#chosen + 1] = source end
      end
   end
   return #chosen > 0 and chosen or all
end

local function row_for(found, result, row)
   local id = table.concat(row.cells, "\0") .. "\0" .. row.event
   local both = found.by_id[id]
   if not both then
      both = { cells = row.cells, event = row.event, runs = { old = {}, new = {} } }
      for _, name in ipairs(result.keys) do both[name] = row[name] end
      found.by_id[id], found.rows[#found.rows + 1] = both, both
   end
   return both
end

-- Adds the runs of one side, "old" or "new".
local function add_side(found, side, recordings, by, options)
   for run, self in ipairs(recordings) do
      local result = tabulate.by(self, by, options)
      found.titles, found.totals[side][run] = result.titles, result.events
      for _, unmet in ipairs(result.unmet) do
         found.unmet[#found.unmet + 1] = { name = unmet.name, none = unmet.none, text = unmet.text, run = self }
      end
      for _, row in ipairs(result.rows) do row_for(found, result, row).runs[side][run] = row end
   end
end

local NOTHING = { samples = 0, events = 0 }

-- Returns one side of a row: sums over its runs, and each run's share.
local function side_of(found, row, side)
   local totals = found.totals[side]
   local out = { samples = 0, events = 0, total_samples = 0, total_events = 0, shares = {}, each = {} }
   for run = 1, #totals do
      local got, total = row.runs[side][run] or NOTHING, totals[run][row.event] or NOTHING
      out.samples, out.events = out.samples + got.samples, out.events + got.events
      out.total_samples, out.total_events = out.total_samples + total.samples, out.total_events + total.events
      out.shares[run] = total.events > 0 and got.events / total.events or 0
      out.each[run] = got.events
   end
   out.percent = out.total_events > 0 and out.events / out.total_events * 100 or 0
   out.events = out.events / #totals
   return out
end

-- Returns how many events a sample of a side stands for: without samples, as many as one of the
-- other side; 1 if the samples stand for no events, so that the numbers of samples are compared.
local function per_sample(side, other)
   local known = side.total_samples > 0 and side or other
   return known.total_events > 0 and known.total_events / known.total_samples or 1
end

-- Returns the share of the samples that the old side has by the null hypothesis: nothing has
-- changed.
local function expected_share(old, new, runs)
   local rate_old, rate_new = runs.old / per_sample(old, new), runs.new / per_sample(new, old)
   return rate_old / (rate_old + rate_new)
end

local function probability(old, new, runs, absolute)
   if runs.old > 1 and runs.new > 1 then
      if absolute then return statistics.means(old.each, new.each) end
      return statistics.means(old.shares, new.shares)
   end
   if absolute then return statistics.counts(old.samples, new.samples, expected_share(old, new, runs)) end
   return statistics.shares(old.samples, old.total_samples, new.samples, new.total_samples)
end

local function compare(found, runs, options)
   local ps = {}
   for i, row in ipairs(found.rows) do
      row.old, row.new, row.runs = side_of(found, row, "old"), side_of(found, row, "new"), nil
      row.percent = row.new.percent - row.old.percent
      row.ratio = row.old.events > 0 and row.new.events / row.old.events or nil
      row.change = row.new.events - row.old.events
      row.raw_p = probability(row.old, row.new, runs, options.absolute)
      ps[i] = row.raw_p
   end
   for i, p in ipairs(statistics.adjust(ps)) do
      found.rows[i].p = p
      found.rows[i].significant = p < (options.alpha or ALPHA)
   end
end

-- Says why an event of a run cannot be compared: "unsampled", as its head does not list the event;
-- "none", as it has no samples of it, of which shares could be. Counts can be compared then: they
-- are 0. Returns nil if it can be.
local function obstacle(self, totals, event, absolute)
   if totals[event] then return nil end
   if not tables.find(self.head.events, event, "name") then return "unsampled" end
   return not absolute and "none" or nil
end

-- Takes out the rows of events that cannot be compared. Returns the pairs of such an event and a
-- run that is the reason, with `why`.
local function take_unsampled(found, sides, absolute)
   local said, out, rows = {}, {}, {}
   for _, row in ipairs(found.rows) do
      if said[row.event] == nil then
         said[row.event] = false
         for _, side in ipairs { "old", "new" } do
            for run, self in ipairs(sides[side]) do
               local why = obstacle(self, found.totals[side][run], row.event, absolute)
               if why then said[row.event], out[#out + 1] = true, { event = row.event, run = self, why = why } end
            end
         end
      end
      if not said[row.event] then rows[#rows + 1] = row end
   end
   found.rows = rows
   return out
end

--- See `pfm.analyze.diff`.
function difference.find(old, new, by, options)
   options = columns.options(options)
   local found = { rows = {}, by_id = {}, unmet = {}, totals = { old = {}, new = {} } }
   local sides = { old = runs_of(old, options.filter), new = runs_of(new, options.filter) }
   add_side(found, "old", sides.old, by, options)
   add_side(found, "new", sides.new, by, options)
   local unsampled = take_unsampled(found, sides, options.absolute)
   compare(found, { old = #sides.old, new = #sides.new }, options)
   local field = options.absolute and "change" or "percent"
   table.sort(found.rows, function(a, b)
      local x, y = math.abs(a[field]), math.abs(b[field])
      if x ~= y then return x > y end
      return table.concat(a.cells, "\0") < table.concat(b.cells, "\0")
   end)
   return { rows = found.rows, titles = found.titles, unsampled = unsampled, unmet = found.unmet }
end

return difference
