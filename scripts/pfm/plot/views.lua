-- SPDX-License-Identifier: MIT
--- Figures of a recording: shares, courses over time, distributions.
-- @module pfm.plot.views

local analyze = require "pfm.analyze"
local fail = require("pfm.util.expect").fail
local nearest = require "pfm.util.nearest"
local render = require "pfm.render"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"

local views = {}

--- Returns the function that gives the label of a sample in a figure.
-- @string name a key of `pfm.analyze.keys`
-- @treturn function of a sample
-- @raise where there is no such key
function views.key(name)
   local key = analyze.key(name)
   if not key or key.sliced then
      local names = analyze.keys(true)
      fail("unknown key '%s'%s (keys: %s)", name, nearest.hint(name, names), table.concat(names, ", "))
   end
   return function(s)
      local cell = key.get(s)
      return key.label and key.label:format(cell) or cell
   end
end

local function none(self, event)
   error(("there are no samples of '%s' to draw in %s"):format(event.name, self.path), 0)
end

-- Gathers the samples of the wanted event, with their labels; raises an error if there are none.
local function gather(self, options)
   local event, key, out = stacks.event(self, options.event), views.key(options.by or "symbol"), {}
   for s in samples.each(self, nil, event.name) do
      out[#out + 1] = { name = key(s), time = s.time, period = s.period }
   end
   if #out == 0 then none(self, event) end
   return out, event
end

-- Returns names by weight, the heaviest first, at most n; the weights by name; and, for the title,
-- how many of how many names these are.
local function heaviest(list, n)
   local by_name, names = {}, {}
   for _, s in ipairs(list) do
      if not by_name[s.name] then
         by_name[s.name], names[#names + 1] = 0, s.name
      end
      by_name[s.name] = by_name[s.name] + s.period
   end
   table.sort(names, function(a, b)
      if by_name[a] ~= by_name[b] then return by_name[a] > by_name[b] end
      return a < b
   end)
   local cut = #names > n and (", the first %s of %s"):format(render.number(n), render.number(#names)) or ""
   for i = #names, n + 1, -1 do names[i] = nil end
   return names, by_name, cut
end

local function title(self, what, event, cut)
   return ("%s: %s, %s%s"):format(render.what(self.head.what or self.path), event.name, what, cut)
end

--- Makes bars of the shares of samples.
-- @tparam table self of `recording.open`
-- @tparam table options `by` (a key of `pfm.analyze.keys`), `event`, `top` (20)
-- @treturn table figure
function views.bars(self, options)
   local list, event = gather(self, options)
   local names, weights, cut = heaviest(list, options.top or 20)
   local total, rows = 0, {}
   for _, s in ipairs(list) do total = total + s.period end
   for i, name in ipairs(names) do rows[i] = { label = name, value = weights[name] / total * 100 } end
   return { kind = "bars", rows = rows, unit = "%", decimals = 2, title = title(self, "shares", event, cut) }
end

local SHORTEST = 1e-9 -- s, of a slice

-- Returns rates by name and time slice: CPUs kept busy, for clocks, else events a second; also the
-- width of a slice in s, and a label for the rates.
local function slice(self, list, event, n)
   samples.need_times(self)
   local first, last = math.huge, -math.huge
   for _, s in ipairs(list) do first, last = math.min(first, s.time), math.max(last, s.time) end
   if first == last then
      fail("a rate takes samples of two moments: those of '%s' in %s are of one", event.name, self.path)
   end
   local out, width = {}, math.max((last - first) / n, SHORTEST)
   local scale = (event.unit == "ns" and 1e-9 or 1) / width
   for _, s in ipairs(list) do
      local rates = out[s.name] or {}
      if not out[s.name] then
         out[s.name] = rates
         for i = 1, n do rates[i] = 0 end
      end
      local i = math.min(n, math.floor((s.time - first) / width) + 1)
      rates[i] = rates[i] + s.period * scale
   end
   return out, width, event.unit == "ns" and "CPUs busy" or event.name .. "/s"
end

--- Makes lines of rates over time, for the labels with the largest shares.
-- @tparam table self of `recording.open`
-- @tparam table options as of `views.bars`, `top` (5), `slices` (60)
-- @treturn table figure
function views.time(self, options)
   local list, event = gather(self, options)
   local n = options.slices or 60
   local by_name, width, unit = slice(self, list, event, n)
   local series = {}
   local names, _, cut = heaviest(list, options.top or 5)
   for k, name in ipairs(names) do
      series[k] = { name = name }
      for i, rate in ipairs(by_name[name]) do series[k][i] = { (i - 0.5) * width, rate } end
   end
   return { kind = "lines", series = series, xlabel = "s", ylabel = unit, title = title(self, unit, event, cut) }
end

--- Makes a heat map of rates over time.
-- @tparam table self of `recording.open`
-- @tparam table options as of `views.time`, `top` (20)
-- @treturn table figure
function views.heat(self, options)
   local list, event = gather(self, options)
   local n, rows = options.slices or 60, {}
   local by_name, width, unit = slice(self, list, event, n)
   local names, _, cut = heaviest(list, options.top or 20)
   for k, name in ipairs(names) do rows[k] = { label = name, unpack(by_name[name]) } end
   return { kind = "heat", rows = rows, x = { 0, n * width }, xlabel = "s", title = title(self, unit, event, cut) }
end

-- Sorts columns: ranks come before recordings without a rank. Returns the index of each column.
local function sort_columns(names)
   table.sort(names, function(a, b)
      if type(a) ~= type(b) then return type(a) == "number" end
      return a < b
   end)
   local at = {}
   for i, name in ipairs(names) do at[name] = i end
   return at
end

-- Returns the rows of `analyze.by` as cells with name and column, the columns, and their places.
local function by_column(rows)
   local cells, names, known = {}, {}, {}
   for i, row in ipairs(rows) do
      -- a rank that is not known is "-"
      local column = type(row.rank) == "number" and row.rank or row.recording
      if not known[column] then known[column], names[#names + 1] = true, column end
      cells[i] = { name = row.cells[3], column = column, period = row.events }
   end
   return cells, names, sort_columns(names)
end

--- Makes a heat map of what each rank, or recording without a rank, spent in each function.
-- @tparam table self of `recording.open`
-- @tparam table options as of `views.bars`, `top` (20): functions, or what else `by` says
-- @treturn table figure
function views.ranks(self, options)
   local event, by = stacks.event(self, options.event), options.by or "symbol"
   local result = analyze.by(self, "rank,recording," .. by, { filter = { event = event.name } })
   local cells, columns, at = by_column(result.rows)
   if #cells == 0 then none(self, event) end
   local rows, by_name = {}, {}
   local names, _, cut = heaviest(cells, options.top or 20)
   for k, name in ipairs(names) do
      rows[k] = { label = name }
      for i = 1, #columns do rows[k][i] = 0 end
      by_name[name] = rows[k]
   end
   for _, cell in ipairs(cells) do
      local row, i = by_name[cell.name], at[cell.column]
      if row then row[i] = row[i] + cell.period end
   end
   local what = type(columns[1]) == "number" and "rank" or "recording"
   return { kind = "heat", rows = rows, x = { 0, #columns }, xlabel = what,
      title = title(self, ("%s %s to %s"):format(what, columns[1], columns[#columns]), event, cut) }
end

-- Returns the differences of `value(sample)` between successive samples of each thread, or of each
-- CPU if CPUs were measured, as their counters run on from thread to thread.
local function differences(self, event, value)
   local last, out = {}, {}
   for s in samples.each(self, nil, event.name) do
      local part = self.sources and self:part_at(s.life).self or self
      local now, stream = value(s), part.head.cpus and s.cpu and ("%s %s"):format(s.recording, s.cpu) or s.thread
      if now and last[stream] then out[#out + 1] = tonumber(now - last[stream]) end
      last[stream] = now
   end
   if not next(last) then none(self, event) end
   if #out == 0 then
      error(("there are no two samples of '%s' of one %s in %s"):format(event.name,
         self.head.cpus and "CPU" or "thread", self.path), 0)
   end
   return out
end

--- Returns the values of a histogram, for each two neighbouring samples of a thread or measured
-- CPU: by how much a count that was recorded with the samples grew, or the time between the
-- samples.
-- @tparam table self of `recording.open`
-- @tparam table options `value`: "time", or an event that was recorded with the samples (its
-- count); `event`, `bins`
-- @treturn table of numbers
-- @treturn string what they are
function views.values(self, options)
   local event, name, with = stacks.event(self, options.event), options.value or "time", {}
   local between = " between samples" .. (#self.head.events > 1 and " of " .. event.name or "")
   if name == "time" then
      samples.need_times(self)
      return differences(self, event, function(s) return s.time * 1e6 end), "us" .. between
   end
   for i, e in ipairs(self.head.with or {}) do
      if e.name == name then
         return differences(self, event, function(s) return s[name] end), name .. between
      end
      with[i] = e.name
   end
   error(("'%s' was not recorded with the samples: time%s"):format(name, #with > 0 and ", " .. table.concat(with, ", ")
      or " alone was"), 0)
end

return views
