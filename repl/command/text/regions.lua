-- SPDX-License-Identifier: MIT
--- The output of lpfm stat with the option regions: counts of a command's regions, as text, CSV and
-- JSON.
-- @module repl.command.text.regions

local measure = require "pfm.measure"
local render = require "pfm.render"
local stat_text = require "repl.command.text.stat"
local tables = require "pfm.util.tables"

local regions = {}

local ALL = "all" -- all threads of a region together

-- --- text ----------------------------------------------------------------------------------------

local function shown_imbalance(value)
   return value and ("%.2f"):format(value) or ""
end

local function thread_name(part)
   return ("%d (%s)"):format(part.tid, render.printable(part.comm))
end

local function time_cells(name, calls, result, ratio)
   return { name, render.number(calls), ("%.2f"):format(result.ran / 1e6), "msec", "in the region", "",
      shown_imbalance(ratio) }
end

local function event_rows(rows, result)
   for _, row in ipairs(result.events) do
      local value, unit = stat_text.shown_value(row)
      rows[#rows + 1] = { "", "", value, unit, row.event, stat_text.shown_metric(row, result),
         shown_imbalance(row.imbalance) }
   end
end

local function region_rows(region)
   local several = #region.per > 1
   local name = several and render.plural(#region.per, "thread") or thread_name(region.per[1])
   local rows = { time_cells(name, region.calls, region, region.imbalance) }
   event_rows(rows, region)
   for i = 1, several and #region.per or 0 do
      local part = region.per[i]
      rows[#rows + 1] = time_cells(thread_name(part), part.calls, part)
      event_rows(rows, part)
   end
   return rows
end

local function region_lines(region)
   local columns = { { title = "threads" }, { title = "calls", right = true }, { title = "count", right = true }, {},
      { title = "event" }, {}, { title = #region.per > 1 and "max/mean" or nil, right = true } }
   local lines = { "  " .. render.printable(region.name), "" }
   tables.append(lines, render.align(columns, region_rows(region), "    "))
   lines[#lines + 1] = ""
   for _, line in ipairs(stat_text.metric_lines(region)) do lines[#lines + 1] = line ~= "" and "  " .. line or "" end
   return lines
end

local function problem_lines(result)
   return tables.map(result.problems, function(problem) return "  " .. problem:gsub("^%l", string.upper) .. "." end)
end

--- Returns the result as text.
-- @tparam table result of `pfm.measure.regions.run`
-- @tparam table target
-- @treturn {string,...} lines
-- @usage
-- local result = { regions = {}, problems = { "no region was entered" }, elapsed = 1 }
-- print(table.concat(require("repl.command.text.regions").text(result, { words = "it" }), "\n"))
function regions.text(result, target)
   local what = render.what(measure.describe(target))
   local lines = { render.simulated(result.simulated), (" Regions of %s:"):format(what), "" }
   for _, region in ipairs(result.regions) do tables.append(lines, region_lines(region)) end
   tables.append(lines, stat_text.time_lines(result))
   local notes = stat_text.end_note(result)
   if result.regions[1] then tables.append(notes, stat_text.reasons(result.regions[1])) end
   tables.append(notes, problem_lines(result))
   if #notes > 0 then lines[#lines + 1] = "" end
   tables.append(lines, notes)
   lines[#lines + 1] = ""
   return lines
end

-- --- CSV and JSON --------------------------------------------------------------------------------

local function csv_of(lines, region, part, thread, sep)
   local head = render.csv({ region.name, thread, part.calls }, 3, sep)
   for _, row in ipairs(part.events) do
      lines[#lines + 1] = table.concat({ head, stat_text.csv_event(row, part, sep),
         row.imbalance and ("%.3f"):format(row.imbalance) or "" }, sep)
   end
   for _, group in ipairs(part.metrics or {}) do
      for _, m in ipairs(group.metrics) do
         lines[#lines + 1] = table.concat({ head, stat_text.csv_metric(group, m, sep), "" }, sep)
      end
   end
end

--- Returns the result as separated values: region, thread or "all", calls, then the columns of
-- `lpfm stat -x`; rows of "all" end with the imbalance.
-- @tparam table result
-- @string sep
-- @treturn {string,...} lines
-- @usage
-- print(#require("repl.command.text.regions").csv({ regions = {}, problems = {} }, ","))
function regions.csv(result, sep)
   local lines = {}
   for _, region in ipairs(result.regions) do
      csv_of(lines, region, region, ALL, sep)
      for _, part in ipairs(region.per) do csv_of(lines, region, part, part.tid, sep) end
   end
   return lines
end

local function json_part(part)
   local out = { pid = part.pid, tid = part.tid, comm = part.comm, name = part.name,
      calls = stat_text.json_value(part.calls), time = part.ran / 1e9, imbalance = part.imbalance,
      metrics = part.metrics, events = stat_text.json_events(part) }
   for i, row in ipairs(part.events) do out.events[i].imbalance = row.imbalance end
   return out
end

--- Returns the result as JSON.
-- @tparam table result
-- @tparam table target
-- @treturn string
-- @usage
-- local result = { regions = {}, problems = {}, elapsed = 1 }
-- print(require("repl.command.text.regions").json(result, { command = { "true" } }))
function regions.json(result, target)
   local list, rusage = {}, result.rusage or {}
   for i, region in ipairs(result.regions) do
      list[i] = json_part(region)
      list[i].threads = {}
      for k, part in ipairs(region.per) do list[i].threads[k] = json_part(part) end
   end
   return render.json { command = target.command, regions = list, problems = result.problems,
      elapsed = result.elapsed, user = rusage.utime, system = rusage.stime, status = result.status,
      signal = result.signal, simulated = result.simulated }
end

return regions
