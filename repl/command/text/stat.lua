-- SPDX-License-Identifier: MIT
--- Counts in lpfm stat's output, as text, CSV and JSON. A row is one of `count.run`'s `events`; its
-- result has `elapsed` (s), `ran` (ns of CPU time, or nil) and `subjects`.
-- @module repl.command.text.stat

local render = require "pfm.render"
local terminal = require "pfm.util.terminal"
local tables = require "pfm.util.tables"

local stat_text = {}

-- Returns the value and its unit for people; clocks are in milliseconds.
local function in_unit(row, value)
   if row.unit ~= "ns" then return value, row.unit or "" end
   if type(value) ~= "number" then value = value:tonumber() end
   return value / 1e6, "msec"
end

--- Returns a value as a Lua number; nil if it is not a number.
-- @param value number or `lpfm.u64`
-- @treturn number or nil
function stat_text.number_of(value)
   if type(value) == "number" then return value end
   local ok, n = pcall(value.tonumber, value)
   return ok and n or nil
end

-- Returns the metric beside a count: for a clock, the number of CPUs in use; for another event, its
-- rate.
local function metric(row, result)
   local value = row.value and stat_text.number_of(row.value)
   if not value or result.elapsed <= 0 then return nil end
   if row.unit == "ns" then return value / 1e9 / result.elapsed, "CPUs utilized" end
   local time = result.ran and result.ran > 0 and result.ran / 1e9 or result.elapsed * math.max(result.subjects or 1, 1)
   return value / time, "/sec"
end

--- Returns what is shown beside a count: a rate, or how many CPUs were used.
-- @tparam table row
-- @tparam table result
-- @treturn string
function stat_text.shown_metric(row, result)
   local value, name = metric(row, result)
   if not value then return "" end
   if name == "/sec" then return "# " .. render.rate(value) end
   return ("# %.3f %s"):format(value, name)
end

--- Returns the count of a row as text, or its state if there is no count; and the unit.
-- @tparam table row
-- @treturn string
function stat_text.shown_value(row)
   if not row.value then return "<" .. row.state .. ">", "" end
   local value, unit = in_unit(row, row.value)
   if unit ~= "" then return render.number(value, 2), unit end
   if row.stddev and value ~= math.floor(value) then return render.number(value, 1), unit end
   return render.number(value), unit
end

--- Returns the share of the time in which an estimated event was counted.
-- @tparam table row
-- @treturn string
function stat_text.shown_share(row)
   return row.active and ("(%.0f%%)"):format(row.active * 100) or ""
end

local function in_percent(part, row)
   local whole = stat_text.number_of(row.value)
   return whole ~= 0 and part / math.abs(whole) * 100 or 0
end

-- Returns the deviation of the mean of repeats, or the error of an estimate.
local function shown_deviation(row)
   local part = row.stddev or row.error
   if not part then return row.poor and ("( %s ? )"):format(render.plus_minus) or "" end
   if stat_text.number_of(row.value) == 0 and part > 0 then return ("( < %.0f )"):format(math.ceil(part)) end
   return ("( %s %.2f%% )"):format(render.plus_minus, in_percent(part, row))
end

--- Returns the cells of a row, for `stat_text.columns`.
-- @tparam table row
-- @tparam table result
-- @treturn {string,...}
function stat_text.event_cells(row, result)
   local value, unit = stat_text.shown_value(row)
   return { value, unit, row.event, stat_text.shown_metric(row, result), stat_text.shown_share(row),
      shown_deviation(row) }
end

--- The columns of `event_cells`.
stat_text.columns = { { right = true }, {}, {}, {}, { right = true }, {} }

--- Returns a metric's value; "~" marks an estimate from counts of a part of the time.
-- @tparam table m of `metrics.evaluate`
-- @treturn string
function stat_text.shown_number(m)
   return m.value and ("%s%.3f"):format(m.active and "~" or "", m.value) or "-"
end

local function shown_estimate(m)
   return m.value and m.active and ("(%.0f%% of the time)"):format(m.active * 100) or ""
end

--- Returns the lines of each metric group.
-- @tparam table result with `metrics`
-- @treturn {string,...}
function stat_text.metric_lines(result)
   local lines = {}
   for _, group in ipairs(result.metrics or {}) do
      lines[#lines + 1] = ("  %s: %s"):format(group.name, group.text)
      local rows = {}
      for i, m in ipairs(group.metrics) do
         rows[i] = { stat_text.shown_number(m), m.unit, m.name, shown_estimate(m) }
      end
      tables.append(lines, render.align({ { right = true }, {}, {}, {} }, rows, "    "))
      lines[#lines + 1] = ""
   end
   return lines
end

--- Returns the elapsed time, and the command's CPU time.
-- @tparam table result
-- @treturn {string,...}
function stat_text.time_lines(result)
   local rows = { { ("%.9f"):format(result.elapsed), "s elapsed" } }
   if result.elapsed_stddev and result.elapsed > 0 then
      rows[1][2] = ("s elapsed ( %s %.2f%% )"):format(render.plus_minus, result.elapsed_stddev / result.elapsed * 100)
   end
   if result.rusage then
      -- /proc tells the times of a living process in ticks of 10 ms
      local digits = result.partial and "%.2f" or "%.6f"
      rows[2] = { digits:format(result.rusage.utime), "s user" }
      rows[3] = { digits:format(result.rusage.stime), "s system" }
   end
   return render.align({ { right = true }, {} }, rows, "  ")
end

--- Lists each reason for missing counts once, with the events that it concerns.
-- @tparam table result
-- @treturn {string,...}
function stat_text.reasons(result)
   local lines, names = {}, {}
   for _, row in ipairs(result.events) do
      if row.reason and not names[row.reason] then
         names[row.reason] = {}
         lines[#lines + 1] = row.reason
      end
      if row.reason then table.insert(names[row.reason], row.event) end
   end
   for i, reason in ipairs(lines) do lines[i] = ("  %s: %s"):format(table.concat(names[reason], ", "), reason) end
   return lines
end

--- Says which signal ended a command, or that the measurement ended before the command did; and
-- that what should have ended the measurement did not occur.
-- @tparam table result
-- @treturn {string,...}
function stat_text.end_note(result)
   local out = {}
   if result.signal then
      local name = result.signal_name and (" (SIG%s)"):format(result.signal_name) or ""
      out[1] = ("  The command was ended by signal %d%s."):format(result.signal, name)
   elseif result.partial then
      out[1] = "  The measurement ended before the command did."
   end
   if result.unreached then
      local runs = result.runs and " in %d of %s" or ""
      runs = runs:format(result.unreached_runs, render.plural(result.runs or 1, "run"))
      out[#out + 1] = ("  '%s' was not reached%s: the count did not end there."):format(result.unreached, runs)
   end
   return out
end

local function value_for_programs(row)
   if not row.value then return "<" .. row.state .. ">", "" end
   local value, unit = in_unit(row, row.value)
   if type(value) ~= "number" then return tostring(value), unit end
   return value == math.floor(value) and ("%.0f"):format(value) or ("%.6f"):format(value), unit
end

-- Returns the time in which an event was counted, in ns, and its share of the whole.
local function counted(row, result)
   if not row.value then return "0", "0.00" end
   local time, share = result.ran or result.elapsed * 1e9, row.active or 1
   return ("%.0f"):format(time * share), ("%.2f"):format(share * 100)
end

--- Returns a row as separated values: value, unit, event, [deviation,] ns counted, its percentage,
-- metric, unit of the metric.
-- @tparam table row
-- @tparam table result
-- @string sep
-- @treturn string
function stat_text.csv_event(row, result, sep)
   local value, unit = value_for_programs(row)
   local m, name = metric(row, result)
   local cells, n = { value, unit, row.event }, 3
   if row.stddev then
      local mean = stat_text.number_of(row.value)
      n = 4
      cells[n] = ("%.2f%%"):format(mean ~= 0 and row.stddev / mean * 100 or 0)
   end
   cells[n + 1], cells[n + 2] = counted(row, result)
   cells[n + 3], cells[n + 4] = m and ("%.3f"):format(m) or "", name or ""
   return render.csv(cells, n + 4, sep)
end

--- Returns a metric as separated values, with its group's name first; an estimate also has the
-- share of the time.
-- @tparam table group
-- @tparam table m
-- @string sep
-- @treturn string
function stat_text.csv_metric(group, m, sep)
   return render.csv({ m.value and ("%.6f"):format(m.value) or "<not counted>", m.unit, group.name .. ":" .. m.name,
      "", m.active and ("%.2f"):format(m.active * 100) or "", "", "" }, 7, sep)
end

--- Converts a value for JSON.
-- @param value
-- @treturn number or string
function stat_text.json_value(value)
   if value == nil or type(value) == "number" then return value end
   return stat_text.number_of(value) or tostring(value)
end

--- Converts the rows for JSON.
-- @tparam table result
-- @treturn {table,...}
function stat_text.json_events(result)
   local out = {}
   for i, row in ipairs(result.events) do
      local m, name = metric(row, result)
      out[i] = {
         event = row.event, value = stat_text.json_value(row.value),
         unit = row.unit, state = row.state, reason = row.reason,
         stddev = row.stddev, interval = row.interval, active = row.active, error = row.error, poor = row.poor,
         ["other-value"] = stat_text.json_value(row.other_value), metric = m, ["metric-unit"] = m and name or nil,
      }
   end
   return out
end

-- --- tables that grow ----------------------------------------------------------------------------

local table_of = {}
table_of.__index = table_of

-- Widens each column to its widest cell so far.
local function widen(columns, rows)
   for i, column in ipairs(columns) do
      for _, row in ipairs(rows) do column.least = math.max(column.least or 0, render.width(row[i] or "")) end
   end
end

-- Returns true if these rows and the lines since the last header would exceed the screen.
local function is_over(self, n)
   if self.shown == 0 then return true end
   if not self.on_terminal then return false end
   local _, height = terminal.size()
   return self.shown + n >= height
end

--- Formats the next lines.
-- @tparam {table,...} rows cells, in the order of the columns
-- @treturn {string,...}
function table_of:lines(rows)
   widen(self.columns, rows)
   local lines = render.align(self.columns, rows, "  ")
   if is_over(self, #rows) then
      self.shown = 0
   else
      table.remove(lines, 1)
   end
   self.shown = self.shown + #lines
   return lines
end

--- Creates a table that grows line by line, as in 'lpfm stat -I': the columns keep their places,
-- and the header is repeated on each screenful.
-- @tparam {table,...} columns as of `render.align`, one at least with a title
-- @bool on_terminal repeat the header
-- @treturn table with `lines(rows)`
function stat_text.growing(columns, on_terminal)
   local own = {}
   for i, column in ipairs(columns) do own[i] = { title = column.title, right = column.right, least = column.least } end
   return setmetatable({ columns = own, on_terminal = on_terminal, shown = 0 }, table_of)
end

return stat_text
