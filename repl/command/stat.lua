-- SPDX-License-Identifier: MIT
--- lpfm stat: counts events while a command runs.
-- @module repl.command.stat

local count = require "pfm.count"
local events = require "pfm.events"
local render = require "pfm.render"
local measure = require "pfm.measure"
local metrics = require "pfm.metrics"
local extensions = require "repl.parts"
local host = require "pfm.measure.host"
local launcher = require "pfm.util.launcher"
local options = require "repl.command.options"
local region_text = require "repl.command.text.regions"
local parts = require "pfm.measure.parts"
local contexts = require "pfm.measure.contexts"
local text_file = require "pfm.util.text_file"
local regions = require "pfm.measure.regions"
local stages = require "pfm.measure.stages"
local stat_text = require "repl.command.text.stat"
local system = require "pfm.system"
local terminal = require "pfm.util.terminal"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

local stat = {}

-- --- text ----------------------------------------------------------------------------------------

-- Returns lines with the counts of each core, socket, process and so on: its name, its number of
-- CPUs or threads, then the count.
local function group_lines(groups)
   local rows = {}
   for _, group in ipairs(groups) do
      for _, row in ipairs(group.events) do
         rows[#rows + 1] = { group.name, tostring(group.subjects), unpack(stat_text.event_cells(row, group)) }
      end
   end
   local unit = groups[1] and groups[1].cpus and "CPUs" or "threads"
   local columns = { { title = "name" }, { title = unit, right = true }, { title = "count", right = true }, {},
      { title = "event" }, unpack(stat_text.columns, 4) }
   return render.align(columns, rows, "  ")
end

local function event_lines(result)
   if result.groups then return group_lines(result.groups) end
   local rows = tables.map(result.events, function(row) return stat_text.event_cells(row, result) end)
   return render.align(stat_text.columns, rows, "  ")
end

local function scope(target, result)
   if target.cpus then return target.cgroup and (", cgroup %s"):format(target.cgroup) or "" end
   if result.inherited then
      return (", %s threads and children"):format(#(target.tids or {}) > 1 and "their" or "its")
   end
   return target.tids and "" or ", its first thread"
end

local function has_error(result)
   for _, row in ipairs(result.events) do
      if row.error and not row.stddev then return true end
   end
   return false
end

-- Warnings about estimates that are meaningless, grouped by the reason.
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
   if #lines > 0 and (result.sets or 1) > 1 then
      lines[#lines + 1] = "  Count longer, count fewer events at once, or shorten --switch-timeout."
   end
   return lines
end

local function late_note(result)
   return result.late and { ("  Nothing was counted: %s."):format(options.never_began(result)) } or {}
end

-- If the counting began later than the conditions of --from were met, says how much later.
local function from_note(result)
   local delay = stages.delay(result.stages or {})
   return delay and { ("  Counting %s: what happened until then is missing."):format(delay) } or {}
end

local function sets_note(result)
   if (result.sets or 1) < 2 then return warnings(result) end
   local why = (result.why_sets or "") ~= "" and ": " .. result.why_sets or ""
   local out = { ("  Counted in %d event sets in turn, and scaled to the whole time%s."):format(result.sets, why) }
   if has_error(result) then
      out[2] = ("  The true count is within the %s in brackets in 95%% of the cases."):format(render.plus_minus)
   end
   return tables.append(out, warnings(result))
end

-- Says how many runs failed, and that the means include them; and whether the means leave out an
-- interrupted run.
local function runs_note(result)
   local out = {}
   if result.failed then
      out[1] = ("  %d of %s failed (the last with %s); the means include them."):format(result.failed,
         render.plural(result.runs, "run"), result.failed_with)
   end
   if result.runs and result.interrupted then
      out[#out + 1] = "  The last run was interrupted; the means leave it out."
   end
   return out
end

-- The note on a running process that is counted by thread, process or command: its new threads are
-- found by looking for them.
local LOOKED_FOR = { "  New threads are looked for ten times a second: what they do before they are found, and threads",
   "  that end before, are not counted (without --per-thread, --per-process and --per-command they are)." }

local function hint(result, target)
   if target.whole and not result.inherited and result.groups then return LOOKED_FOR end
   if target.staged and target.command and not result.inherited then
      local why = result.alone and ": " .. result.alone or ""
      return { ("  Only the command's first thread was counted%s."):format(why) }
   end
   if (result.unmeasured or 0) > 0 then
      return { ("  %s could not be counted: %s"):format(render.plural(result.unmeasured, "thread"), result.why) }
   end
   if not result.uncounted then return {} end
   if result.inherited then
      return { ("  %.0f%% of the CPU time was not counted:"):format(result.uncounted * 100),
         "  " .. measure.TAKEN .. "." }
   end
   local share = result.uncounted >= 0.005 and (" (%.0f%% of the CPU time)"):format(result.uncounted * 100) or ""
   local remedy = target.inherit == false and "without --no-inherit they are" or result.alone
      or "they cannot be counted with these options"
   return { ("  Threads or children of the command were not counted%s; %s."):format(share, remedy) }
end

--- Returns the result as text.
-- @tparam table result of `count.run` or `count.merge`
-- @tparam table target
-- @treturn table lines
function stat.text(result, target)
   local runs = result.runs and (" (%s)"):format(render.plural(result.runs, "run")) or ""
   local lines = { render.simulated(result.simulated),
      (" Counts of %s%s%s:"):format(render.what(measure.describe(target)), scope(target, result), runs), "" }
   tables.append(lines, event_lines(result))
   lines[#lines + 1] = ""
   tables.append(lines, stat_text.metric_lines(result))
   tables.append(lines, stat_text.time_lines(result))
   local notes = tables.join(stat_text.end_note(result), late_note(result), stat_text.reasons(result),
      from_note(result), sets_note(result), runs_note(result), hint(result, target))
   if #notes > 0 then lines[#lines + 1] = "" end
   tables.append(lines, notes)
   lines[#lines + 1] = ""
   return lines
end

-- --- CSV and JSON --------------------------------------------------------------------------------

-- Puts a line in front that names the simulated machine, if the result comes from one.
local function with_mark(lines, result)
   if result.simulated then table.insert(lines, 1, "# " .. render.simulated(result.simulated)) end
   return lines
end

local function csv_lines(result, sep, prefix)
   local lines = {}
   for _, group in ipairs(result.groups or { result }) do
      local head = group.name and render.csv({ group.name, group.subjects }, 2, sep) .. sep or ""
      for _, row in ipairs(group.events) do
         lines[#lines + 1] = (prefix or "") .. head .. stat_text.csv_event(row, group, sep)
      end
   end
   for _, group in ipairs(result.metrics or {}) do
      for _, m in ipairs(group.metrics) do lines[#lines + 1] = (prefix or "") .. stat_text.csv_metric(group, m, sep) end
   end
   return lines
end

local function json_groups(groups)
   return tables.map(groups, function(group)
      return { name = group.name, cpus = group.cpus, subjects = group.subjects, events = stat_text.json_events(group) }
   end)
end

local function json_line(result, target)
   local rusage = result.rusage or {}
   return render.json {
      command = target.command, tids = target.tids, cpus = target.cpus, cgroup = target.cgroup,
      inherited = result.inherited or false,
      events = stat_text.json_events(result), time = result.time, elapsed = result.elapsed,
      ["elapsed-stddev"] = result.elapsed_stddev, user = rusage.utime,
      system = rusage.stime, status = result.status, signal = result.signal, runs = result.runs,
      uncounted = result.uncounted, unmeasured = result.unmeasured, metrics = result.metrics, sets = result.sets,
      groups = result.groups and json_groups(result.groups), simulated = result.simulated,
      gap = result.stages and stages.gap(result.stages), unreached = result.unreached,
      ["why-sets"] = result.why_sets, ["switch-ns"] = result.switch_ns, host = launcher.host(),
      job = launcher.here(),
   }
end

-- --- intervals -----------------------------------------------------------------------------------

local INTERVAL_COLUMNS = { { title = "time", right = true, least = 9 }, { title = "count", right = true, least = 10 },
   {}, { title = "event" }, {}, { right = true } }

local function interval_rows(row)
   local rows = {}
   for _, group in ipairs(row.groups or { row }) do
      for _, r in ipairs(group.events) do
         local value, unit = stat_text.shown_value(r)
         local event = group.name and group.name .. " " .. r.event or r.event
         rows[#rows + 1] = { ("%.3f s"):format(row.time), value, unit, event, stat_text.shown_metric(r, group),
            stat_text.shown_share(r) }
      end
   end
   for _, group in ipairs(row.metrics or {}) do
      for _, m in ipairs(group.metrics) do
         rows[#rows + 1] = { ("%.3f s"):format(row.time), stat_text.shown_number(m), "", group.name .. ": " .. m.name,
            m.unit ~= "" and "# " .. m.unit or "", m.active and ("(%.0f%%)"):format(m.active * 100) or "" }
      end
   end
   return rows
end

local function try_to_write(out, lines)
   return text_file.write(out, render.clean(table.concat(lines, "\n")), "\n")
end

-- Opens the file anew, without what was in it. Returns true, nil and the new file; or false, why
-- not, and the old one.
local function emptied(path, out)
   local ok, file = pcall(options.output, path)
   if not ok then return false, tostring(file):gsub("^cannot write .-: ", ""), out end
   if file ~= out then out:close() end
   return true, nil, file
end

-- Returns an object that writes lines when it is called; the first call removes what was in the
-- file, unless args.append is set. If a write fails, it writes these lines and all later ones to
-- standard error, and sets its field `lost`; it raises an error if the file is standard error
-- itself.
local function new_writer(args, out)
   local where, self = args.output ~= "-" and args.output or "the results", { lost = false }
   local old = not args.append
   return setmetatable(self, { __call = function(_, lines)
      local ok, err = true, nil
      if old then ok, err, out = emptied(args.output, out) end
      old = false
      if ok then ok, err = try_to_write(out, lines) end
      if ok then return end
      if out == io.stderr then error(("cannot write %s: %s"):format(where, err), 0) end
      io.stderr:write(("lpfm stat: cannot write %s: %s; the results follow here\n"):format(render.printable(where),
         err))
      out, self.lost = io.stderr, true
      try_to_write(out, lines)
   end })
end

-- Prints the warnings to stderr, for output formats that have no place for them.
local function remark(result, target)
   local reasons = stages.obstacle(result.stages or {}) and stat_text.reasons(result) or {}
   local lines = tables.join(stat_text.end_note(result), late_note(result), reasons, warnings(result),
      from_note(result), runs_note(result), target.inherit ~= false and hint(result, target) or {})
   for _, line in ipairs(lines) do io.stderr:write("lpfm stat:", line:sub(2), "\n") end
end

-- Returns functions that write results in the requested format.
local function printer(args, target, out)
   local on_terminal = out == io.stdout and terminal.shows(1) or out == io.stderr and terminal.shows(2)
   local write, intervals, first = new_writer(args, out), stat_text.growing(INTERVAL_COLUMNS, on_terminal), true
   return {
      written = write,
      final = function(result)
         if args.json then return write { json_line(result, target) } end
         if not args.x then return write(stat.text(result, target)) end
         write(with_mark(csv_lines(result, args.x), result))
         remark(result, target)
      end,
      remark = function(result)
         if not args.json then remark(result, target) end
      end,
      interval = function(row)
         if args.json then return write { json_line(row, {}) } end
         local lines = args.x and csv_lines(row, args.x, ("%.9f%s"):format(row.time, args.x))
            or intervals:lines(interval_rows(row))
         if first then with_mark(lines, row) end
         first = false
         write(lines)
      end,
   }
end

-- --- the command ---------------------------------------------------------------------------------

-- Options of perf that lpfm does not have, and what to use instead.
local PLAIN = "-x, and --json print plain numbers"
local SHELL = "the shell does that: lpfm stat -- sh -c 'COMMAND; COMMAND'"
local advice = {
   ["--no-big-num"] = PLAIN, ["--topdown"] = "-M topdown counts that",
   ["--for-each-cgroup"] = "-G takes one cgroup a run",
   ["-n"] = "the times are always printed; -e task-clock counts nothing else",
   ["--null"] = "the times are always printed; -e task-clock counts nothing else",
   ["--log-fd"] = "-o /dev/fd/N writes there", ["-S"] = SHELL, ["--pre"] = SHELL, ["--post"] = SHELL,
   ["--metric-only"] = "-M GROUP -x, prints metrics on lines of their own",
   ["-q"] = "-o /dev/null prints nothing", ["--quiet"] = "-o /dev/null prints nothing",
}

--- Makes the parser of the command line.
function stat.options()
   local c = options.command("stat", "Counts events while a command runs, or in running threads, or on CPUs.",
      "lpfm stat [options] [--] command [arguments]")
   options.add_target(c)
   options.add_output(c)
   c:option("-G --cgroup", "NAME", "With -a or -C: count the tasks of this cgroup alone.")
   c:option("--from", "STAGES", "Start counting after these stages, e.g. \"page-faults:1000 then cs:10\".")
   c:option("--until", "EVENT:N", "Stop counting at the N-th occurrence of EVENT.")
   c:option("-M --metrics", "GROUPS", "Count for these groups and print their metrics; 'list' lists them."):count("*")
   c:option("--switch-timeout", "MS", "Count each event set for MS if several take turns (default: 1, 4 or 16).")
   c:option("--switch-after", "EVENT:N", "Switch event sets after N occurrences of EVENT instead.")
   for _, level in ipairs(system.levels) do
      c:flag("--per-" .. level, ("With -a or -C: print counts by %s."):format(level == "cpu" and "CPU" or level))
   end
   for _, level in ipairs(parts.levels) do
      c:flag("--per-" .. level, ("Print counts by %s."):format(level))
   end
   c:flag("--regions", "Count the regions that the command marks (perfmon/regions.h, pfm.region), by thread.")
   c:flag("-d --detailed", "Count minor and major faults, too, and for what the PMU can do of -M branch,l1,l3,tlb.")
   c:option("-r --repeat", "N", "Run the command N times; print means and standard deviations.")
   c:option("-I --interval", "MS", "Print the counts every MS milliseconds.")
   c:option("--interval-count", "N", "Stop after N intervals.")
   c:option("-x", "SEP", "Print separated values: value, unit, event, ns, percent, metric, unit of the metric.")
   c:flag("--json", "Print JSON, one object per line.")
   c:flag("--append", "Append to the file of -o.")
   c:habits({ ["-j"] = "--json" }, { "-B", "--big-num", "--no-merge", "-v", "--verbose" }, advice)
   c:epilog("Results go to stderr, like perf's, so that they do not mix with the command's output; -o - is stdout.\n"
      .. "Events that do not fit on the counters together are counted in turn and scaled; their share of the time\n"
      .. "is shown, as it is where other users of the PMU had a counter; <not counted>: they had it all the time.\n"
      .. "The events of a group, {a,b}, are always counted together, in one event set. Names may have\n"
      .. "wildcards: page-*, sched:*. Energy and other events of PMU/EVENT/ that count whole CPUs need -a or -C.\n"
      .. "The exit status is that of the command. Its threads and children are counted with it, but for what the\n"
      .. "machine cannot count in children (on perf: events that take turns; --from, --until), which is said.\n"
      .. "perf_event starts --from some 10 us after its stages, and on a busy machine milliseconds later: what\n"
      .. "happens between is not counted, and the result says how long that was. perfmon.ko starts at the event.\n"
      .. "Linux up to 6.12 does not give perf the counts of each thread that ends; 6.18 does, of software events\n"
      .. "alone; perfmon.ko gives none. Without them --per-thread and --per-process say how many threads could not\n"
      .. "be counted.\n"
      .. "With --regions its threads count themselves, in the regions they mark: perfmon/regions.h for C and C++,\n"
      .. "pfm.region for Lua scripts; nothing else of the command is counted.\n"
      .. "In parallel jobs (srun, mpirun, parallel) each rank writes a file of its own: %h in its name is the host,\n"
      .. "%r the rank, %j the job, %s its step, %p the process.", {
      "lpfm stat -- ls -l",
      "lpfm stat -e page-faults,context-switches -r 5 -- make",
      "lpfm stat -x, -e task-clock -- ls",
      "lpfm stat -M cpi,branch -- ./prog", "lpfm stat -M list",
      "lpfm stat -e '{page-faults,cs},sched:*' -- ./prog",
      "lpfm stat -a -e power/energy-pkg/ --timeout 10",
      "lpfm stat -a -I 1000 --timeout 10",
      "lpfm stat -a --per-socket --timeout 10",
      "lpfm stat --from page-faults:1000 --until cs:50 -- ./prog",
      "lpfm stat --regions -e cycles,instructions -- ./prog",
   })
   extensions.add_options("stat", c)
   return c
end

local function switching(args)
   local ms = options.number(args.switch_timeout, "--switch-timeout")
   if ms and ms < 0.1 then options.fail("--switch-timeout: at least 0.1 ms") end
   if ms and args.switch_after then options.fail("--switch-timeout and --switch-after exclude each other") end
   return ms or args.switch_after
end

-- Returns the interval in ms and the number of intervals, or nil.
local function interval_of(args)
   local ms = options.number(args.interval, "--interval")
   if ms and ms < 1 then options.fail("--interval: at least 1 ms") end
   local n = options.number(args.interval_count, "--interval-count", true)
   if n and not ms then options.fail("--interval-count needs -I") end
   return ms, n
end

local function spec_of(target, list, args, print, complete)
   options.check_conditions(args)
   local spec = { events = list, switch = switching(args), from = args.from, ["until"] = args["until"] }
   for k, v in pairs(target) do spec[k] = v end
   local ms, n = interval_of(args)
   if n then spec.seconds = math.min(spec.seconds or math.huge, n * ms / 1000) end
   if ms then spec.interval, spec.on_interval = ms / 1000, function(row) print.interval(complete(row)) end end
   return spec
end

-- Raises the error about a metric group that is unavailable. It names the groups that work here,
-- unless no group has that name.
local function no_group(err)
   local working = metrics.working()
   if #working == 0 or err:find("^no metric group") then error(err, 0) end
   error(("%s; those that work here: %s"):format(err, table.concat(working, ", ")), 0)
end

-- Returns the metric groups that options such as "cpi,cache" name.
local function groups_of(list)
   local out = {}
   for _, part in ipairs(list) do
      for name in part:gmatch("[^%s,]+") do
         local group, err = metrics.group(name)
         if not group then no_group(err) end
         out[#out + 1] = group
      end
   end
   return out
end

local DETAILED = { "branch", "l1", "l3", "tlb" }

-- Returns the events that the options name, or nil; the metric groups; and the events that -d adds
-- to them.
local function asked_for(args)
   local names, groups = #args.event > 0 and args.event or nil, groups_of(args.metrics)
   if not args.detailed then return names, groups end
   for _, name in ipairs(DETAILED) do groups[#groups + 1] = metrics.group(name) end
   return names or { events.default_counts() }, groups, { "minor-faults", "major-faults" }
end

-- Returns the default events; none if metric groups were asked for. For regions they are cycles and
-- instructions where the machine has hardware counters: user space reads these without a system
-- call.
local function default_events(groups, of_regions)
   if #groups > 0 then return {} end
   local both = "cycles,instructions"
   return of_regions and host.machine().hw_counters > 0 and events.read(both) and both or events.default_counts()
end

-- Returns the index of an event in the list, and appends the event if it is missing.
local function place(list, name)
   local event = expect.value(events.read(name))
   event = event[1]
   for i, e in ipairs(list) do
      if e.base:lower() == event.base:lower() and e.plm == event.plm then return i end
   end
   list[#list + 1] = event
   return #list
end

-- Adds the events of metric groups to the list. Returns, for each group, the indices of its events.
local function add_groups(list, groups)
   local places = {}
   for _, group in ipairs(groups) do
      places[group] = {}
      for i, name in ipairs(group.events) do places[group][i] = place(list, name) end
   end
   return places
end

local NOT_A_NUMBER = 0 / 0

-- Computes the groups' metrics from a result.
local function evaluate(result, places, groups)
   if #groups == 0 then return result end
   result.metrics = {}
   for g, group in ipairs(groups) do
      local counts, shares = { TIME = result.elapsed }, {}
      for i, at in ipairs(places[group]) do
         local row = result.events[at]
         counts[i] = row.value and stat_text.number_of(row.value) or NOT_A_NUMBER
         shares[i] = row.active
      end
      result.metrics[g] = { name = group.name, text = group.text, metrics = metrics.evaluate(group, counts, shares) }
   end
   return result
end

-- Returns the events to count, and a function that adds the metrics to a result.
local function prepare(names, groups, also, of_regions)
   local list = expect.value(events.read(names or default_events(groups, of_regions)))
   for _, name in ipairs(also or {}) do place(list, name) end
   local places = add_groups(list, groups)
   return list, function(result) return evaluate(result, places, groups) end
end

local function missing_hardware(list)
   for _, e in ipairs(list) do
      if e.kind == "hardware" then return contexts.no_hardware() end
   end
end

-- Names the clocks that a privilege level was given for, as Linux counts them at all levels.
local function warn_levels(list)
   local names = {}
   for _, e in ipairs(list) do
      local one = e.kind == "software" and e.unit == "ns" and (e.plm or "uk") ~= "uk"
      if one and not host.simulated() then names[#names + 1] = e.name end
   end
   if not names[1] then return end
   io.stderr:write("lpfm stat: ", table.concat(names, ", "), ": Linux counts clocks at all levels together\n")
end

-- Returns the exit status of the command, or 1 if results were lost that `write` should have
-- written.
local function exit_status(result, write)
   local status = options.status(result)
   return write.lost and status == 0 and 1 or status
end

local function cpu_groups(target, by)
   if not target.cpus then options.fail("--per-%s needs -a or -C", by) end
   local topology = system.topology(target.cpus)
   return function(result) return system.group(result, by, topology) end
end

local function thread_groups(target, by)
   if target.cpus then options.fail("--per-%s counts threads; of CPUs: --per-cpu, --per-core", by) end
   return function(result) return parts.by(result, by) end
end

-- Returns a function that adds the counts of a result up by core, process and so on, as an option
-- --per-... says; returns nil without such an option.
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

local function repeats_of(args) return options.number(args["repeat"], "--repeat", true, 1e6) end

local function repeats(spec, args, target, print, complete)
   local n = repeats_of(args) or 1
   if n > 1 and not target.command then options.fail("--repeat needs a command") end
   local result = count.times(n, spec)
   complete(result)
   if spec.interval then print.remark(result) else print.final(result) end
   return exit_status(result, print.written)
end

-- --- regions -------------------------------------------------------------------------------------

-- Options that --regions refuses, since regions count from inside the command.
local NOT_OF_REGIONS = { "threads", "delay", "from", "until", "switch_timeout", "switch_after", "repeat", "interval",
   "no_inherit", "per_cpu", "per_core", "per_socket", "per_node", "per_command", "per_process", "per_thread" }

local function check_regions(args, target)
   if not target.command or target.tids or target.cpus then
      options.fail("--regions needs a command, and no -p, -a or -C")
   end
   for _, name in ipairs(NOT_OF_REGIONS) do
      if args[name] then options.fail("--regions and --%s exclude each other", (name:gsub("_", "-"))) end
   end
end

-- Measures regions, and writes the results in the requested format. Returns the exit status.
local function measure_regions(args, target, list, complete, write)
   local result = options.checked(regions.run, { command = target.command, events = list, seconds = target.seconds,
      outlive = target.outlive })
   for _, region in ipairs(result.regions) do
      complete(region)
      for _, part in ipairs(region.per) do complete(part) end
   end
   if args.json then
      write { region_text.json(result, target) }
   elseif args.x then
      write(with_mark(region_text.csv(result, args.x), result))
      for _, problem in ipairs(result.problems) do io.stderr:write("lpfm stat: ", problem, "\n") end
   else
      write(region_text.text(result, target))
   end
   return exit_status(result, write)
end

-- --- the command line ----------------------------------------------------------------------------

local function metrics_help()
   io.stdout:write(table.concat(metrics.list(), "\n"), "\n")
   return 0
end

local function wants_metrics_help(args)
   for _, part in ipairs(args.metrics) do
      if part == "help" or part == "list" or part == "?" then return true end
   end
   return false
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function stat.main(argv)
   local args, words = stat.options():parse(argv)
   local done = extensions.run("stat", args, words)
   if done then return done end
   host.machine()
   if wants_metrics_help(args) then return metrics_help() end
   local target = options.target(args, words)
   target.cgroup = args.cgroup
   if target.cgroup and not target.cpus then options.fail("--cgroup needs -a or -C: it is counted on CPUs") end
   if args.append and not args.output then options.fail("--append needs -o") end
   if args.regions then check_regions(args, target) end
   local group = grouping(args, target)
   local names, groups, also = asked_for(args)
   local list, complete = options.checked(prepare, names, groups, also, args.regions)
   repeats_of(args) -- errors come before the line about the PMU
   interval_of(args)
   switching(args)
   options.at_level(args, list)
   local missing = #args.event == 0 and contexts.no_hardware() or missing_hardware(list)
   if missing then io.stderr:write("lpfm stat: ", missing:match("^[^:]*"), ": software events only\n") end
   warn_levels(list)
   local out = options.output(args.output, true) -- the file is not truncated yet
   if args.regions then return measure_regions(args, target, list, complete, new_writer(args, out)) end
   local print = printer(args, target, out)
   local function finish(result) return complete(group and group(result) or result) end
   local spec = spec_of(target, list, args, print, finish)
   spec.parts, spec.names = group ~= nil, group ~= nil
   target.staged = args.from or args["until"] -- hint() reads it
   return repeats(spec, args, target, print, finish)
end

-- Returns the spec of `count.run` for `what`, a shell command line or a table that a script or the
-- prompt has passed; and the target by which the result is described.
local function spec_for(call, what, also)
   if type(what) == "table" then count.check(call, what, also) end
   local spec = {}
   for k, v in pairs(type(what) == "string" and { command = options.shell(what) } or what) do
      spec[k] = v
   end
   if spec.inherit == nil then spec.inherit = not spec.cpus end
   return spec, { words = type(what) == "string" and "'" .. what .. "'" or nil, command = spec.command,
      tids = spec.tids, cpus = spec.cpus }
end

local function count_any(what, list, tid)
   if type(what) == "function" then return count.call(what, list, tid), { tids = {}, words = "the function" } end
   local spec, target = spec_for("stat", what)
   spec.events = list
   return count.run(spec), target
end

local MEASURABLE = { string = true, ["function"] = true, table = true }

-- Checks the arguments of stat() and job(), of which stat() takes functions, too.
local function check_measurable(call, what, list, groups)
   if not MEASURABLE[type(what)] then
      error(("%s: expected a command line%s or a table, got a %s: %s(\"ls\")"):format(call,
         call == "stat" and ", a function" or "", type(what), call), 0)
   end
   options.arguments(call, call .. '("ls", "page-faults", "cpi")', { what, "string|function|table", "what to measure" },
      { list, "string|table?", "a list of events" }, { groups, "string?", "metric groups" })
end

local function events_for(what, list)
   return list or (type(what) == "table" and what.events) or nil
end

-- Merges a command line with a table of options: stat("make", { events = "cs", threads = true }).
local function merged(what, list)
   if type(what) ~= "string" or type(list) ~= "table" or list[1] ~= nil then return what, list end
   local spec = { command = options.shell(what) }
   for k, v in pairs(list) do spec[k] = v end
   return spec
end

local function printable(result, target)
   return options.shown(result, function(self) return stat.text(self, target) end)
end

--- Counts events while a command or a function runs.
-- @param what a shell command line, a function, or a table as for `count.run`
-- @tparam[opt] string list events; or a table of choices beside a command line, as for `count.run`
-- @tparam[opt] string groups metric groups, as in "cpi,cache"
-- @tparam[opt] int tid while a function runs, count this thread instead of the caller
-- @treturn table of `count.run`, with `metrics` if groups are given; the prompt shows it as text
-- @usage stat("ls / >/dev/null", "page-faults").events[1].value
function stat.call(what, list, groups, tid)
   check_measurable("stat", what, list, groups)
   what, list = merged(what, list)
   local parsed, complete = prepare(events_for(what, list), groups_of { groups })
   local result, target = count_any(what, parsed, tid)
   return printable(complete(result), target)
end

--- Begins to count in the background, for `repl.prompt.jobs`.
-- @param what a shell command line, or a table as for `count.run`
-- @tparam[opt] string list events
-- @tparam[opt] string groups metric groups
-- @treturn table `target`, `callbacks`, `so_far(seconds)` and `complete(outcome)` (printable
-- results)
function stat.job(what, list, groups)
   check_measurable("job", what, list, groups)
   what, list = merged(what, list)
   local spec, target = spec_for("job", what, { "record" })
   local parsed, complete = prepare(events_for(what, list), groups_of { groups })
   spec.events = parsed
   local self = count.prepare(spec)
   return {
      target = self.target, callbacks = self.callbacks,
      so_far = function(seconds)
         local result = count.so_far(self)
         result.elapsed = seconds
         return printable(complete(result), target)
      end,
      complete = function(outcome) return printable(complete(count.complete(self, outcome)), target) end,
   }
end

return stat
