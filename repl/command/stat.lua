-- SPDX-License-Identifier: MIT
--- lpfm stat: counts events while a command runs.
-- @module repl.command.stat

local count = require "pfm.count"
local events = require "pfm.events"
local render = require "pfm.render"
local measure = require "pfm.measure"
local metrics = require "pfm.metrics"
local options = require "repl.command.options"
local parts = require "pfm.measure.parts"
local contexts = require "pfm.measure.contexts"
local system = require "pfm.system"

local stat = {}

-- --- what a count means --------------------------------------------------------------------------

-- The number, and its unit, as people want it: clocks in milliseconds.
local function in_unit(row, value)
   if row.unit ~= "ns" then return value, "" end
   if type(value) ~= "number" then value = value:tonumber() end
   return value / 1e6, "msec"
end

local function number_of(value)
   if type(value) == "number" then return value end
   local ok, n = pcall(value.tonumber, value)
   return ok and n or nil
end

-- Next to a clock: how many CPUs it kept busy; next to another event: its rate over the time that ran.
local function metric(row, result)
   local value = row.value and number_of(row.value)
   if not value or result.elapsed <= 0 then return nil end
   if row.unit == "ns" then return value / 1e9 / result.elapsed, "CPUs utilized" end
   local time = result.ran and result.ran > 0 and result.ran / 1e9 or result.elapsed * math.max(result.subjects or 1, 1)
   return value / time, "/sec"
end

local function shown_metric(row, result)
   local value, name = metric(row, result)
   if not value then return "" end
   if name == "/sec" then return "# " .. render.rate(value) end
   return ("# %.3f %s"):format(value, name)
end

local function shown_value(row)
   if not row.value then return "<" .. row.state .. ">", "" end
   local value, unit = in_unit(row, row.value)
   if unit ~= "" then return render.number(value, 2), unit end
   if row.stddev and value ~= math.floor(value) then return render.number(value, 1), unit end
   return render.number(value), unit
end

-- How much of the time an estimate is out of.
local function shown_share(row)
   return row.active and ("(%.0f%%)"):format(row.active * 100) or ""
end

local function in_percent(part, row)
   local whole = number_of(row.value)
   return whole ~= 0 and part / math.abs(whole) * 100 or 0
end

-- Of repeats the deviation of the mean, of an estimate its error.
local function shown_deviation(row)
   local part = row.stddev or row.error
   if not part then return row.poor and ("( %s ? )"):format(render.plus_minus) or "" end
   if number_of(row.value) == 0 and part > 0 then return ("( < %.0f )"):format(math.ceil(part)) end
   return ("( %s %.2f%% )"):format(render.plus_minus, in_percent(part, row))
end

local function append(lines, more)
   for _, line in ipairs(more) do lines[#lines + 1] = line end
end

-- --- for people ----------------------------------------------------------------------------------

local function event_cells(row, result)
   local value, unit = shown_value(row)
   return { value, unit, row.event, shown_metric(row, result), shown_share(row), shown_deviation(row) }
end

local COLUMNS = { { right = true }, {}, {}, {}, { right = true }, {} }

-- The rows of each core, socket, process, ..., after its name and how many CPUs or threads it has.
local function group_lines(groups)
   local rows = {}
   for _, group in ipairs(groups) do
      for _, row in ipairs(group.events) do
         rows[#rows + 1] = { group.name, tostring(group.subjects), unpack(event_cells(row, group)) }
      end
   end
   local unit = groups[1] and groups[1].cpus and "CPUs" or "threads"
   local columns = { { title = "name" }, { title = unit, right = true }, { title = "count", right = true }, {},
      { title = "event" }, unpack(COLUMNS, 4) }
   return render.align(columns, rows, "  ")
end

local function event_lines(result)
   if result.groups then return group_lines(result.groups) end
   local rows = {}
   for i, row in ipairs(result.events) do rows[i] = event_cells(row, result) end
   return render.align(COLUMNS, rows, "  ")
end

local function shown_number(m)
   return m.value and ("%.3f"):format(m.value) or "-"
end

-- A block for each metric group.
local function metric_lines(result)
   local lines = {}
   for _, group in ipairs(result.metrics or {}) do
      lines[#lines + 1] = ("  %s: %s"):format(group.name, group.text)
      local rows = {}
      for i, m in ipairs(group.metrics) do rows[i] = { shown_number(m), m.unit, m.name } end
      append(lines, render.align({ { right = true }, {}, {} }, rows, "    "))
      lines[#lines + 1] = ""
   end
   return lines
end

local function time_lines(result)
   local rows = { { ("%.9f"):format(result.elapsed), "s elapsed" } }
   if result.elapsed_stddev then
      rows[1][2] = ("s elapsed ( %s %.2f%% )"):format(render.plus_minus, result.elapsed_stddev / result.elapsed * 100)
   end
   if result.rusage then
      rows[2] = { ("%.6f"):format(result.rusage.utime), "s user" }
      rows[3] = { ("%.6f"):format(result.rusage.stime), "s system" }
   end
   return render.align({ { right = true }, {} }, rows, "  ")
end

-- Each reason once, with the events it holds for.
local function reasons(result)
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

local function scope(target, result)
   if target.cpus then return "" end
   if target.threads then return (", %s"):format(render.plural(result.subjects, "thread")) end
   return target.tids and "" or ", its first thread"
end

local function has_error(result)
   for _, row in ipairs(result.events) do
      if row.error and not row.stddev then return true end
   end
   return false
end

-- Estimates that mean nothing, by what is wrong with them.
local function warnings(result)
   local lines, names = {}, {}
   for _, row in ipairs(result.events) do
      local why = row.poor
      if why and not names[why] then
         names[why] = {}
         lines[#lines + 1] = why
      end
      if why then table.insert(names[why], row.event) end
   end
   for i, why in ipairs(lines) do
      lines[i] = ("  Do not trust %s: %s."):format(table.concat(names[why], ", "), why)
   end
   if #lines > 0 then
      lines[#lines + 1] = "  Count longer, count fewer events at once, or shorten --switch-timeout."
   end
   return lines
end

local function end_note(result)
   if result.signal then
      return { ("  The command was ended by signal %d (SIG%s)."):format(result.signal, result.signal_name) }
   end
   if result.partial then return { "  The measurement ended before the command did." } end
   return {}
end

local function late_note(result)
   return result.late and { "  The command ended before --delay had passed; nothing was counted." } or {}
end

local function sets_note(result)
   if (result.sets or 1) < 2 then return {} end
   local why = result.why_sets and ": " .. result.why_sets or ""
   local out = { ("  Counted in %d event sets in turn, and scaled to the whole time%s."):format(result.sets, why) }
   if has_error(result) then
      out[2] = ("  The true count is within the %s in brackets in 95%% of the cases."):format(render.plus_minus)
   end
   append(out, warnings(result))
   return out
end

local function hint(result)
   if (result.unmeasured or 0) > 0 then
      return { ("  %s could not be counted: %s"):format(render.plural(result.unmeasured, "thread"), result.why) }
   end
   if not result.uncounted then return {} end
   local share = result.uncounted >= 0.005 and (" (%.0f%% of the CPU time)"):format(result.uncounted * 100) or ""
   return { "  Threads or children of the command were not counted" .. share .. "; --threads includes them." }
end

--- The result as a person reads it.
-- @tparam table result of `count.run` or `count.merge`
-- @tparam table target
-- @treturn table lines
function stat.text(result, target)
   local runs = result.runs and (" (%s)"):format(render.plural(result.runs, "run")) or ""
   local lines = { "", (" Counts of %s%s%s:"):format(measure.describe(target), scope(target, result), runs), "" }
   append(lines, event_lines(result))
   lines[#lines + 1] = ""
   append(lines, metric_lines(result))
   append(lines, time_lines(result))
   local notes = end_note(result)
   append(notes, late_note(result))
   append(notes, reasons(result))
   append(notes, sets_note(result))
   append(notes, hint(result))
   if #notes > 0 then lines[#lines + 1] = "" end
   append(lines, notes)
   lines[#lines + 1] = ""
   return lines
end

-- --- for programs --------------------------------------------------------------------------------

local function value_for_programs(row)
   if not row.value then return "<" .. row.state .. ">", "" end
   local value, unit = in_unit(row, row.value)
   if type(value) ~= "number" then return tostring(value), unit end
   return value == math.floor(value) and ("%.0f"):format(value) or ("%.6f"):format(value), unit
end

-- The time in which an event was counted, in ns, and its share of the whole.
local function counted(row, result)
   if not row.value then return "0", "0.00" end
   local time, share = result.ran or result.elapsed * 1e9, row.active or 1
   return ("%.0f"):format(time * share), ("%.2f"):format(share * 100)
end

-- The columns of perf stat -x: value, unit, event, [deviation,] time counted, share of it, metric.
local function csv_event(row, result, sep)
   local value, unit = value_for_programs(row)
   local m, name = metric(row, result)
   local cells, n = { value, unit, row.event }, 3
   if row.stddev then
      local mean = number_of(row.value)
      n = 4
      cells[n] = ("%.2f%%"):format(mean ~= 0 and row.stddev / mean * 100 or 0)
   end
   cells[n + 1], cells[n + 2] = counted(row, result)
   cells[n + 3], cells[n + 4] = m and ("%.3f"):format(m) or "", name or ""
   return render.csv(cells, n + 4, sep)
end

-- A metric has the name of its group before its own.
local function csv_metric(group, m, sep)
   return render.csv({ m.value and ("%.6f"):format(m.value) or "<not counted>", m.unit, group.name .. ":" .. m.name,
      "", "", "", "" }, 7, sep)
end

local function csv_lines(result, sep, prefix)
   local lines = {}
   for _, group in ipairs(result.groups or { result }) do
      local head = group.name and render.csv({ group.name, group.subjects }, 2, sep) .. sep or ""
      for _, row in ipairs(group.events) do
         lines[#lines + 1] = (prefix or "") .. head .. csv_event(row, group, sep)
      end
   end
   for _, group in ipairs(result.metrics or {}) do
      for _, m in ipairs(group.metrics) do lines[#lines + 1] = (prefix or "") .. csv_metric(group, m, sep) end
   end
   return lines
end

local function json_value(value)
   if value == nil or type(value) == "number" then return value end
   return number_of(value) or tostring(value)
end

local function json_events(result)
   local out = {}
   for i, row in ipairs(result.events) do
      local m, name = metric(row, result)
      out[i] = {
         event = row.event, value = json_value(row.value), unit = row.unit, state = row.state, reason = row.reason,
         stddev = row.stddev, interval = row.interval, active = row.active, error = row.error, poor = row.poor,
         ["other-value"] = json_value(row.other_value), metric = m, ["metric-unit"] = m and name or nil,
      }
   end
   return out
end

local function json_groups(groups)
   local out = {}
   for i, group in ipairs(groups) do
      out[i] = { name = group.name, cpus = group.cpus, subjects = group.subjects, events = json_events(group) }
   end
   return out
end

local function json_line(result, target)
   local rusage = result.rusage or {}
   return render.json {
      command = target.command, tids = target.tids, cpus = target.cpus, threads = target.threads or false,
      events = json_events(result), time = result.time, elapsed = result.elapsed, user = rusage.utime,
      system = rusage.stime, status = result.status, signal = result.signal, runs = result.runs,
      uncounted = result.uncounted, unmeasured = result.unmeasured, metrics = result.metrics, sets = result.sets,
      groups = result.groups and json_groups(result.groups),
      ["why-sets"] = result.why_sets, ["switch-ns"] = result.switch_ns,
   }
end

-- --- intervals -----------------------------------------------------------------------------------

local function interval_lines(row, first)
   local rows = {}
   for _, group in ipairs(row.groups or { row }) do
      for _, r in ipairs(group.events) do
         local value, unit = shown_value(r)
         local event = group.name and group.name .. " " .. r.event or r.event
         rows[#rows + 1] = { ("%.3f s"):format(row.time), value, unit, event, shown_metric(r, group), shown_share(r) }
      end
   end
   for _, group in ipairs(row.metrics or {}) do
      for _, m in ipairs(group.metrics) do
         rows[#rows + 1] = { ("%.3f s"):format(row.time), shown_number(m), "", group.name .. ": " .. m.name,
            m.unit ~= "" and "# " .. m.unit or "" }
      end
   end
   local columns = { { right = true }, { right = true }, {}, {}, {}, {} }
   if first then
      columns[1].title, columns[2].title, columns[4].title = "time", "count", "event"
   end
   return render.align(columns, rows, "  ")
end

local function try_to_write(out, lines)
   local ok, err = out:write(table.concat(lines, "\n"), "\n")
   if ok then ok, err = out:flush() end
   return ok, err
end

-- A function that writes lines: to standard error where the file that was asked for takes no more. Then it has `lost`.
local function new_writer(args, out)
   local where, self = args.output ~= "-" and args.output or "the results", { lost = false }
   return setmetatable(self, { __call = function(_, lines)
      local ok, err = try_to_write(out, lines)
      if ok then return end
      if out == io.stderr then error(("cannot write %s: %s"):format(where, err), 0) end
      io.stderr:write(("lpfm stat: cannot write %s: %s; the results follow here\n"):format(where, err))
      out, self.lost = io.stderr, true
      try_to_write(out, lines)
   end })
end

-- Functions that write results in the form that was asked for.
local function printer(args, target, out)
   local first, write = true, new_writer(args, out)
   return {
      written = write,
      final = function(result)
         if args.json then return write { json_line(result, target) } end
         if args.x then return write(csv_lines(result, args.x)) end
         write(stat.text(result, target))
      end,
      interval = function(row)
         if args.json then return write { json_line(row, {}) } end
         if args.x then return write(csv_lines(row, args.x, ("%.9f%s"):format(row.time, args.x))) end
         write(interval_lines(row, first))
         first = false
      end,
   }
end

-- --- the command ---------------------------------------------------------------------------------

--- The options.
function stat.options()
   local c = options.command("stat", "Counts events while a command runs, or in running threads, or on CPUs.",
      "lpfm stat [options] [--] command [arguments]")
   options.add_target(c)
   c:option("--from", "STAGES", "Start counting after these stages, e.g. \"page-faults:1000 then cs:10\".")
   c:option("--until", "EVENT:N", "Stop counting at the N-th occurrence of EVENT.")
   c:option("-M --metrics", "GROUPS", "Count for these groups and print their metrics; 'help' lists them."):count("*")
   c:option("--switch-timeout", "MS", "Count each event set for MS if several take turns (default: 1, 4 or 16).")
   c:option("--switch-after", "EVENT:N", "Switch event sets after N occurrences of EVENT instead.")
   for _, level in ipairs(system.levels) do
      c:flag("--per-" .. level, ("With -a or -C: print counts by %s."):format(level == "cpu" and "CPU" or level))
   end
   for _, level in ipairs(parts.levels) do
      c:flag("--per-" .. level, ("With --threads or -p: print counts by %s."):format(level))
   end
   c:option("-r --repeat", "N", "Run the command N times; print means and standard deviations.")
   c:option("-I --interval", "MS", "Print the counts every MS milliseconds.")
   c:option("-x", "SEP", "Print separated values: value, unit, event, ns, percent, metric, unit of the metric.")
   c:flag("--json", "Print JSON, one object per line.")
   c:flag("--append", "Append to the file of -o.")
   c:epilog("Results go to stderr, like perf's, so that they do not mix with the command's output; -o - is stdout.\n"
      .. "Events that do not fit on the counters together are counted in turn and scaled; their share of the time\n"
      .. "is shown. The exit status is that of the command.", {
      "lpfm stat -- ls -l",
      "lpfm stat -e page-faults,context-switches -r 5 -- make",
      "lpfm stat -x, -e task-clock -- ls",
      "lpfm stat -M cpi,branch -- ./prog",
      "lpfm stat -a -I 1000 --timeout 10",
      "lpfm stat -a --per-socket --timeout 10",
      "lpfm stat --from page-faults:1000 --until cs:50 -- ./prog",
   })
   return c
end

local function switching(args)
   local ms = options.number(args.switch_timeout, "--switch-timeout")
   if ms and ms < 0.1 then options.fail("--switch-timeout: at least 0.1 ms") end
   if ms and args.switch_after then options.fail("--switch-timeout and --switch-after exclude each other") end
   return ms or args.switch_after
end

local function spec_of(target, list, args, print, complete)
   options.check_conditions(args)
   local spec = { events = list, switch = switching(args), from = args.from, ["until"] = args["until"] }
   for k, v in pairs(target) do spec[k] = v end
   local ms = options.number(args.interval, "--interval")
   if ms and ms < 1 then options.fail("--interval: at least 1 ms") end
   if ms then spec.interval, spec.on_interval = ms / 1000, function(row) print.interval(complete(row)) end end
   return spec
end

-- The groups named in an option, "cpi,cache".
local function groups_of(list)
   local out = {}
   for _, part in ipairs(list) do
      for name in part:gmatch("[^%s,]+") do
         local group, err = metrics.group(name)
         if not group then error(err, 0) end
         out[#out + 1] = group
      end
   end
   return out
end

local function default_events(groups)
   return #groups > 0 and {} or events.default_counts()
end

-- The index of an event in the list, put there unless it is there already.
local function place(list, name)
   local event, err = events.read(name)
   if not event then error(err, 0) end
   event = event[1]
   for i, e in ipairs(list) do
      if e.base:lower() == event.base:lower() and e.plm == event.plm then return i end
   end
   list[#list + 1] = event
   return #list
end

-- Adds the groups' events; places[group] says where they are.
local function add_groups(list, groups)
   local places = {}
   for _, group in ipairs(groups) do
      places[group] = {}
      for i, name in ipairs(group.events) do places[group][i] = place(list, name) end
   end
   return places
end

local NOT_A_NUMBER = 0 / 0

-- Computes the groups' metrics out of a result.
local function evaluate(result, places, groups)
   if #groups == 0 then return result end
   result.metrics = {}
   for g, group in ipairs(groups) do
      local counts = {}
      for i, at in ipairs(places[group]) do
         counts[i] = result.events[at].value and number_of(result.events[at].value) or NOT_A_NUMBER
      end
      result.metrics[g] = { name = group.name, text = group.text, metrics = metrics.evaluate(group, counts) }
   end
   return result
end

-- The events to count, and a function that completes the results.
local function prepare(names, groups)
   local list, err = events.read(names or default_events(groups))
   if not list then error(err, 0) end
   local places = add_groups(list, groups)
   return list, function(result) return evaluate(result, places, groups) end
end

local function tell_missing(list)
   for _, e in ipairs(list) do
      if e.kind ~= "software" then return contexts.no_hardware() end
   end
end

local function exit_status(result)
   if result.signal then return 128 + result.signal end
   return result.status or 0
end

local function cpu_groups(target, by)
   if not target.cpus then options.fail("--per-%s needs -a or -C", by) end
   local topology = system.topology(target.cpus)
   return function(result) return system.group(result, by, topology) end
end

local function thread_groups(target, by)
   if target.cpus or not (target.threads or target.tids) then
      options.fail("--per-%s needs --threads or -p", by)
   end
   return function(result) return parts.by(result, by) end
end

-- Adds the results' parts up, by what the options say.
local function grouping(args, target)
   local by, group = nil, nil
   for levels, fn in pairs { [system.levels] = cpu_groups, [parts.levels] = thread_groups } do
      for _, level in ipairs(levels) do
         if args["per_" .. level] then
            if by then options.fail("--per-%s and --per-%s exclude each other", by, level) end
            by, group = level, fn
         end
      end
   end
   if not by then return nil end
   if args["repeat"] then options.fail("--per-%s and --repeat exclude each other", by) end
   local make = group(target, by)
   return function(result)
      result.groups = make(result)
      return result
   end
end

local function repeats(spec, args, target, print, complete)
   local n = options.number(args["repeat"], "--repeat", true) or 1
   if n > 1 and not target.command then options.fail("--repeat needs a command") end
   local result = count.times(n, spec)
   if not spec.interval then print.final(complete(result)) end
   local status = exit_status(result)
   return print.written.lost and status == 0 and 1 or status
end

local function metrics_help()
   io.stdout:write(table.concat(metrics.list(), "\n"), "\n")
   return 0
end

local function wants_metrics_help(args)
   for _, part in ipairs(args.metrics) do
      if part == "help" then return true end
   end
   return false
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function stat.main(argv)
   local args, words = stat.options():parse(argv)
   if wants_metrics_help(args) then return metrics_help() end
   local target = options.target(args, words)
   local group = grouping(args, target)
   local list, complete = options.checked(prepare, #args.event > 0 and args.event or nil,
      groups_of(args.metrics))
   local missing = #args.event == 0 and contexts.no_hardware() or tell_missing(list)
   if missing then io.stderr:write("lpfm stat: ", missing:match("^[^:]*"), ": software events only\n") end
   local out = options.output(args.output, args.append)
   local print = printer(args, target, out)
   local function finish(result) return complete(group and group(result) or result) end
   local spec = spec_of(target, list, args, print, finish)
   spec.parts, spec.names = group ~= nil, group ~= nil
   return repeats(spec, args, target, print, finish)
end

-- What a script or the prompt may give: a shell command line, a target; and what the results call it.
local function spec_for(what)
   local spec = {}
   for k, v in pairs(type(what) == "string" and { command = options.shell(what) } or what) do
      spec[k] = v
   end
   return spec, { words = type(what) == "string" and "'" .. what .. "'" or nil, command = spec.command,
      tids = spec.tids, cpus = spec.cpus, threads = spec.threads }
end

local function count_any(what, list, tid)
   if type(what) == "function" then return count.call(what, list, tid), { tids = {}, words = "the function" } end
   local spec, target = spec_for(what)
   spec.events = list
   return count.run(spec), target
end

local MEASURABLE = { string = true, ["function"] = true, table = true }

local function check_measurable(call, what)
   if not MEASURABLE[type(what)] then
      error(("%s: expected a command line, a function or a table, got a %s: %s(\"ls\")"):format(call, type(what), call),
         0)
   end
end

local function events_for(what, list)
   return list or (type(what) == "table" and what.events) or nil
end

local function printable(result, target)
   return setmetatable(result, {
      __tostring = function(self) return table.concat(stat.text(self, target), "\n") end,
   })
end

--- Counts events while a command or a function runs.
-- @param what a shell command line, a function, or a table as for `count.run`
-- @tparam[opt] string list events
-- @tparam[opt] string groups metric groups, as in "cpi,cache"
-- @tparam[opt] int tid while a function runs, count this thread instead of the caller
-- @treturn table of `count.run`, with `metrics` if groups were asked for; prints itself
-- @usage stat("ls / >/dev/null", "page-faults").events[1].value
function stat.call(what, list, groups, tid)
   check_measurable("stat", what)
   local parsed, complete = prepare(events_for(what, list), groups_of { groups })
   local result, target = count_any(what, parsed, tid)
   return printable(complete(result), target)
end

--- Begins a count that `repl.prompt.jobs` carries on.
-- @param what a shell command line, or a table as for `count.run`
-- @tparam[opt] string list events
-- @tparam[opt] string groups metric groups
-- @treturn table `target`, `on`, `so_far(seconds)` and `complete(outcome)` (printable results)
function stat.job(what, list, groups)
   check_measurable("job", what)
   local spec, target = spec_for(what)
   local parsed, complete = prepare(events_for(what, list), groups_of { groups })
   spec.events = parsed
   local self = count.prepare(spec)
   return {
      target = spec, on = self.on,
      so_far = function(seconds)
         local result = count.so_far(self)
         result.elapsed = seconds
         return printable(complete(result), target)
      end,
      complete = function(outcome) return printable(complete(count.complete(self, outcome)), target) end,
   }
end

return stat
