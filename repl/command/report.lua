-- SPDX-License-Identifier: MIT
--- lpfm report: shows how the samples of a recording are distributed.
-- @module repl.command.report

local browse = require "repl.command.text.browse"
local analyze = require "pfm.analyze"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local export = require "pfm.export"
local expect = require "pfm.util.expect"
local extensions = require "repl.parts"
local input = require "repl.command.input"
local render = require "pfm.render"
local options = require "repl.command.options"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local summary = require "pfm.recording.summary"
local screen = require "repl.screen"
local symbols = require "pfm.symbols"
local tables = require "pfm.util.tables"
local report_text = require "repl.command.text.report"

-- Options of perf and pfmon that lpfm report has under other names (`meant`), that ask for what it
-- does anyway (`needless`), or that it does not have, with a message for each (`advice`).
local meant = {
   ["--stdio"] = "--plain", ["--time-quantum"] = "--slice", ["-D"] = "--samples",
   ["--dump-raw-trace"] = "--samples", ["-t"] = "-x",
}
local needless = { "--children", "--header", "-n", "--show-nr-samples", "--show-total-period", "-v",
   "--verbose", "-q", "--quiet", "--demangle", "--resolve-addresses", "--inline",
   "--group", "--smpl-print-counts", "--smpl-per-function" }
local SCREEN = "on a terminal keys go through the report (? shows them); else pipe it into less"
local SYMBOLS = "the recording holds its own symbols"
local COLUMNS = "-s chooses the columns, --json prints everything"
local advice = {
   ["--tui"] = SCREEN, ["--gtk"] = SCREEN, ["-k"] = SYMBOLS, ["--vmlinux"] = SYMBOLS, ["--kallsyms"] = SYMBOLS,
   ["--symfs"] = SYMBOLS, ["--symbol-file"] = SYMBOLS, ["--sysmap-file"] = SYMBOLS, ["-F"] = COLUMNS,
   ["--fields"] = COLUMNS, ["--header-only"] = "--json --top 1 prints the file's head",
   ["--mem-mode"] = "--histogram and --correlate show the values in the samples",
   ["--smpl-cum-threshold"] = "--top and --percent-limit shorten the report",
}

local report = {}

--- Sorts the samples of a recording.
-- @param self of `recording.open`
-- @string[opt="symbol"] by sort keys, separated by commas
-- @tparam[opt] table options of `pfm.analyze.by`
-- @treturn table of `pfm.analyze.by`
-- @usage require("repl.command.report").sort(assert(recording.open "lpfm.data"), "comm,symbol").rows[1].percent
report.sort = analyze.by

-- --- output --------------------------------------------------------------------------------------

local function header_lines(self, result)
   local head, ends = self.head, self.ends or {}
   local m = head.machine
   return {
      ("# %s of %s"):format(render.plural(summary.samples(result), "sample"), render.what(head.what)),
      ("# %s%s"):format(summary.events(self), ends.elapsed and (", during %s"):format(render.time(ends.elapsed)) or ""),
      ("# %s, %s (%s) on %s, kernel %s"):format(summary.date(self), render.machine(m.name), m.pmu, m.host or "?",
         m.kernel or "?"),
   }
end

local function visible(args, result)
   local top = options.number(args.top, "--top", true) or math.huge
   local limit = args.percent_limit and tonumber(args.percent_limit) or 0
   local rows = {}
   for _, row in ipairs(result.rows) do
      if #rows < top and (row.total or row).percent >= limit then rows[#rows + 1] = row end
   end
   return rows, #result.rows - #rows
end

local function with_event(self, result)
   return #self.head.events > 1 and not (table.concat(result.titles, ","):find("event"))
end

local function text_lines(self, result, rows)
   return report_text.rows(report_text.shares(rows), result.titles, rows, with_event(self, result))
end

local function print_text(self, result, args)
   local rows, hidden = visible(args, result)
   local lines = header_lines(self, result)
   for _, w in ipairs(summary.warnings(self, result)) do lines[#lines + 1] = "# Warning: " .. w end
   lines[#lines + 1] = "#"
   for _, line in ipairs(text_lines(self, result, rows)) do lines[#lines + 1] = line end
   if hidden > 0 then lines[#lines + 1] = ("# and %s"):format(render.plural(hidden, "more row")) end
   if #result.rows == 0 then lines[#lines + 1] = "# no samples match" end
   return lines
end

-- Returns the values of a row by the names of the columns.
local function values_of(result, row)
   local out = { percent = row.percent, samples = row.samples, events = row.events, event = row.event,
      children = row.total and row.total.percent }
   for i, title in ipairs(result.titles) do out[title] = row.cells[i] end
   return out
end

local function print_csv(self, result, args)
   local rows, fixed = visible(args, result), { "percent", "samples", "events", "event" }
   if rows[1] and rows[1].total then table.insert(fixed, 1, "children") end
   local head, lines = tables.join(fixed, result.titles), { summary.simulated(self) }
   lines[#lines + 1] = render.csv(head, #head, args.x)
   for _, row in ipairs(rows) do
      local values, cells = values_of(result, row), {}
      values.percent = ("%.4f"):format(values.percent)
      values.children = values.children and ("%.4f"):format(values.children)
      for i, name in ipairs(head) do cells[i] = values[name] end
      lines[#lines + 1] = render.csv(cells, #head, args.x)
   end
   return lines
end

local function print_json(self, result, args)
   local rows = tables.map((visible(args, result)), function(row) return values_of(result, row) end)
   local warnings = summary.warnings(self, result)
   return { render.json {
      head = self.head, ends = self.ends, warnings = #warnings > 0 and warnings or nil,
      samples = summary.samples(result), rows = rows,
   } }
end

local function cells_of(self, s)
   local event = samples.event_name(self, s.ovfl_pmd, s.set)
   local time = not self.head.no_time and ("%.9f"):format(s.tstamp / 1e9) or nil
   local cells = { event, time, s.pid, s.tid, samples.cpu(self, s.cpu, s.pid), symbols.hex(s.ip), -s.last_reset }
   local values = samples.values(self, s, embedded_symbols.resolver(self))
   for i, e in ipairs(self.head.with or {}) do cells[7 + i] = values[e.name] end
   return cells
end

-- Prints each sample on a line, in the order of time; several recordings are printed one after the
-- other.
local function print_samples(self, args, out)
   local head = { "event", "time", "pid", "tid", "cpu", "address", "period" }
   for _, e in ipairs(self.head.with or {}) do head[#head + 1] = e.name end
   local sep, mark = args.x or ",", summary.simulated(self)
   if mark then out:write(mark, "\n") end
   out:write(render.csv(head, #head, sep), "\n")
   for _, source in ipairs(self.sources or { self }) do
      for s in samples.each_raw(source) do out:write(render.csv(cells_of(source, s), #head, sep), "\n") end
   end
end

-- --- the command ---------------------------------------------------------------------------------

--- Makes the parser of the command line.
function report.options()
   local c = options.command("report", "Shows where the samples of a recording lie.", "lpfm report [options] [file...]")
   c.mixed = true
   c:option("-s --sort", "KEYS", table.concat(analyze.keys(), ", ") .. "; or several, with commas.")
   input.add_option(c)
   c:option("--top", "N", "Show the first N rows.")
   c:option("--percent-limit", "P", "Show rows of at least P percent.")
   input.add_filters(c)
   c:option("-g --call-graph", "ORDER", "Show the tree of calls: from each caller on, or from each callee (record -g).")
   c:flag("--no-children", "Count each sample in its own function only, not in the callers, too.")
   c:option("--slice", "SECONDS", "Width of the slices of -s time (default: 1).")
   c:option("--derive", "NAME=FORMULA", "Add a column computed from counts, e.g. faults=page_faults/samples.")
      :count("*")
   c:flag("--phases", "Show the phases of the run: stretches of time in which it did the same things.")
   c:option("--histogram", "VALUE", "Show the distribution of interval (ns), period or an event of record --with.")
   c:option("--correlate", "X,Y", "Show how two such values correlate.")
   c:flag("--raw", "Take registers as they are, not what they grew by; for latencies.")
   c:option("-x", "SEP", "Print separated values.")
   c:flag("--json", "Print JSON.")
   c:flag("--plain", "Print the report, as into a pipe, even on a terminal.")
   c:option("--html", "FILE", "Write a page for a browser: flame graph, time line, tables, code. -e: this event first.")
   c:flag("--samples", "Print every sample as separated values.")
   c:habits(input.habits(meant), needless, advice)
   c:epilog("Several recordings, or a file of many, are reported as one: -s rank,symbol or host, node, job, step and\n"
      .. "recording tell them apart.\n"
      .. "Percentages are of the events that the samples stand for; with -s time,KEY, of their slice. Samples with\n"
      .. "call stacks count in their own function under `self`, and in its callers, too, under `children`.", {
      "lpfm report", "lpfm report -s object", "lpfm report -s comm,symbol --top 20 prog.data",
      "lpfm report --symbol main,parse -s line", "lpfm report -s time,symbol --slice 0.1 --percent-limit 1",
      "lpfm report --phases", "lpfm report --histogram interval", "lpfm report -g callee",
      "lpfm report --html prog.html prog.data", "lpfm report -s rank,symbol run.*.data",
   })
   extensions.add_options("report", c)
   return c
end

-- Joins "-g caller" and "-g callee", as users of perf write them, into one word; "-g" alone means
-- caller.
local function join_order(argv)
   local out, i = {}, 1
   while i <= #argv do
      local order = (argv[i] == "-g" or argv[i] == "--call-graph") and (argv[i + 1] or ""):match("call%a+")
      if argv[i] == "-g" and not order and (argv[i + 1] or ""):find("^%-") ~= nil or argv[i] == "-G"
         or argv[i] == "-g" and not argv[i + 1] then
         out[#out + 1] = "--call-graph=caller"
      elseif order then
         out[#out + 1], i = "--call-graph=" .. order, i + 1
      else
         out[#out + 1] = argv[i]
      end
      i = i + 1
   end
   return out
end

local function check_limit(args)
   local p = args.percent_limit
   if p and not (tonumber(p) and tonumber(p) >= 0) then options.fail("--percent-limit: '%s' is not a percentage", p) end
end

-- The kinds of output beside the table, each with the options that it would not follow.
local KINDS = {
   { "phases", "top", "percent_limit" }, { "histogram", "sort", "top", "percent_limit", "slice" },
   { "correlate", "sort", "top", "percent_limit", "slice" },
   { "samples", "sort", "top", "percent_limit", "slice", "json" }, { "call_graph", "top", "slice" },
   { "derive", "percent_limit" },
}

-- Raises an error if several kinds of output are chosen, or one with an option that it would not
-- follow: --samples with a filter, --slice, --raw or a key where it tells nothing, or -x with text
-- output.
local function check_choice(args)
   local chosen
   for _, kind in ipairs(KINDS) do
      local flag, value = (kind[1]:gsub("_", "-")), args[kind[1]]
      if value and (kind[1] ~= "derive" or #value > 0) then
         if chosen then options.fail("--%s and --%s exclude each other", chosen, flag) end
         chosen = flag
         for i = 2, #kind do
            if args[kind[i]] then
               options.fail("--%s and --%s exclude each other", flag, (kind[i]:gsub("_", "-")))
            end
         end
      end
   end
   if args.samples and next(input.filter(args)) then
      options.fail("--samples prints every sample; it cannot be combined with a filter")
   end
   local function sorts_by(key) return ((args.sort or ""):find("%f[%w]" .. key .. "%f[%W]")) end
   if args.slice and not args.phases and not sorts_by "time" then
      options.fail("--slice is the width of the slices of -s time and of --phases; neither is asked for")
   end
   local meaningless = args.phases and (sorts_by "time" and "time" or sorts_by "event" and "event")
   if meaningless then
      options.fail("--phases and -s %s exclude each other: phases are stretches of time, of one event", meaningless)
   end
   if args.no_children and args.call_graph and args.call_graph ~= "callee" then
      options.fail("-g %s and --no-children exclude each other: its tree counts samples in callers, too; -g callee "
         .. "begins with the functions that have them", args.call_graph)
   end
   if args.raw and not args.histogram and not args.correlate then
      options.fail("--raw is for the values of --histogram and --correlate; neither is asked for")
   end
   if args.x and chosen and chosen ~= "samples" then options.fail("--%s prints text, or with --json JSON", chosen) end
end

-- Options that --html refuses, as its page sorts and selects by itself.
local IN_PAGE = { "sort", "top", "percent_limit", "call_graph", "no_children", "slice", "phases", "histogram",
   "correlate", "raw", "x", "json", "samples", "symbol", "object", "comm", "tid", "pid", "cpu", "time", "rank", "host",
   "node", "job", "step" }

local function check_page(args)
   for _, name in ipairs(IN_PAGE) do
      if args[name] then
         options.fail("--html and --%s exclude each other: the page holds the whole recording", (name:gsub("_", "-")))
      end
   end
   if #args.derive > 0 then options.fail("--html and --derive exclude each other") end
end

local function write_page(args, paths)
   check_page(args)
   local self = input.open(paths, "lpfm report")
   options.checked(stacks.event, self, args.event)
   export.write(self, "html", args.html ~= "-" and args.html or nil, { event = args.event })
   input.finish(self, "lpfm report")
   return input.status(self)
end

-- Parses formulas, NAME=FORMULA.
local function read_formulas(list)
   local out = {}
   for _, text in ipairs(list) do
      local name, formula = text:match("^%s*([^=]-)%s*=%s*(.-)%s*$")
      if not name or name == "" or formula == "" then
         options.fail("--derive: '%s' is not NAME=FORMULA, e.g. faults=page_faults/samples", text)
      end
      out[name] = formula
   end
   return next(out) and out or nil
end

local function with_names(self)
   return tables.map(self.head.with or {}, "name")
end

-- Returns the result of --phases, --histogram, --correlate, --call-graph or --derive, as lines and
-- as a table; nil without these options.
local function analysis(self, args, wanted)
   local top = options.number(args.top, "--top", true)
   local chosen = { filter = wanted.filter, raw = args.raw, slice = args.slice and wanted.slice }
   if args.phases then return report_text.phases(self, args.sort or "symbol", chosen) end
   if args.histogram then return report_text.histogram(self, args.histogram, chosen) end
   if args.correlate then
      local x, y = args.correlate:match("^([^,]+),([^,]+)$")
      if not x then options.fail("--correlate: '%s' is not two values separated by a comma", args.correlate) end
      return report_text.correlation(self, x, y, chosen)
   end
   if args.call_graph then
      chosen.order, chosen.by, chosen.event = args.call_graph, args.sort, args.event
      return report_text.tree(self, chosen, tonumber(args.percent_limit))
   end
   local formulas = read_formulas(args.derive)
   if not formulas then return nil end
   wanted.sums = with_names(self)
   return report_text.derived(self, analyze.by(self, args.sort, wanted), formulas, top)
end

local function seconds_of(text)
   local n, unit = (text or ""):match("^([%d.]+)([mun]?s?)$")
   local scale = { [""] = 1, s = 1, ms = 1e-3, us = 1e-6, ns = 1e-9 }
   return options.number(n and scale[unit] and tonumber(n) and tostring(tonumber(n) * scale[unit]) or text, "--slice")
end

--- Raises an error about a filter that selects no sample. If one condition by itself selects none,
-- it is probably mistyped, and the error names it and what there is; else the error names all
-- conditions.
-- @tparam table self of `recording.open`
-- @string by sort keys
-- @tparam table filter
function report.check_found(self, by, filter)
   local given, always = {}, {}
   if filter.from or filter.to then
      given[1] = ("--time %s,%s"):format(filter.from or "", filter.to or "")
      local during = options.checked(report.sort, self, by, { filter = { from = filter.from, to = filter.to } })
      if #during.rows == 0 then
         error("no samples match " .. given[1], 0)
      end
   end
   for _, name in ipairs(input.filters) do
      always[name] = filter[name]
      if filter[name] then given[#given + 1] = ("--%s %s"):format(name, filter[name]) end
   end
   for _, unmet in ipairs(options.checked(report.sort, self, by, { filter = always }).unmet) do
      if unmet.none then
         error(("%sno samples match --%s %s%s"):format(unmet.of, unmet.name, filter[unmet.name], unmet.instead), 0)
      end
   end
   if #given > 1 then error(("no samples match %s together"):format(table.concat(given, " and ")), 0) end
end

-- Returns true if the report is to be browsed: on a terminal, unless a part of the report or
-- another output is requested.
local function is_browsed(args)
   local printed = args.plain or args.samples or args.json or args.x or args.top or args.percent_limit
   return not printed and screen.possible()
end

local function view_of(self, result, by, wanted)
   return { self = self, filter = wanted.filter, warnings = summary.warnings(self, result), lines_of = text_lines,
      sort = function(filter, by_self)
         wanted.filter = filter
         local sorted = analyze.by(self, by, wanted)
         if by_self then browse.by_self(sorted.rows) end
         return sorted
      end,
      heading = function(shown, words)
         return ("lpfm report: %s of %s%s"):format(render.plural(summary.samples(shown), "sample"),
            render.what(self.head.what or self.path), words)
      end,
   }
end

local function print_report(self, args, wanted)
   local browsed = is_browsed(args)
   local by = args.sort or browsed and "object,symbol" or nil
   local result = options.checked(report.sort, self, by, wanted)
   if #result.rows == 0 then report.check_found(self, args.sort, wanted.filter) end
   if browsed then
      return browse.run(view_of(self, result, by, wanted))
   end
   if args.samples then
      print_samples(self, args, io.stdout)
   else
      local lines = args.json and print_json or args.x and print_csv or print_text
      options.print(lines(self, result, args))
   end
   if args.x or args.samples then options.warn("lpfm report", summary.warnings(self, result)) end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function report.main(argv)
   local args, words = report.options():parse(join_order(argv))
   table.insert(words, args.input)
   args.sort = input.keys(args.sort)
   local paths = #words > 0 and words or nil
   local done = extensions.run("report", args, paths, check_limit)
   if done then return done end
   if args.html then
      return write_page(args, paths)
   end
   check_limit(args)
   local wanted = { filter = input.filter(args), slice = seconds_of(args.slice), children = not args.no_children }
   check_choice(args)
   local self = input.open(paths)
   local lines, found = options.checked(analysis, self, args, wanted)
   if lines then
      if next(wanted.filter) then
         local chosen = report.sort(self, nil, { filter = wanted.filter })
         if #chosen.rows == 0 then report.check_found(self, nil, wanted.filter) end
         for _, unmet in ipairs(chosen.unmet) do options.warn("lpfm report", { unmet.text }) end
      end
      local mark = summary.simulated(self)
      if mark then table.insert(lines, 1, mark) end
      options.print(args.json and { render.json(found) } or lines)
      input.finish(self, "lpfm report")
   else
      print_report(self, args, wanted)
   end
   return input.status(self)
end

-- Returns the tree of calls, with a __tostring that prints it.
local function tree_of(self, by, wanted)
   local options_of = { order = wanted.g, by = by, filter = wanted.filter, event = wanted.event }
   local lines, tree = report_text.tree(self, options_of)
   return options.shown(tree, function() return lines end)
end

--- Shows how the samples of a recording are distributed.
-- @tparam[opt="lpfm.data"] ?string|{string,...} path of one recording or of several; or only the
-- table of options
-- @string[opt="symbol"] by sort keys
-- @tparam[opt] table wanted options of `pfm.analyze.by` (`children`: by default true), and:
-- @string[opt] wanted.file the recording
-- @string[opt] wanted.sort sort keys
-- @string[opt] wanted.g "caller" or "callee": the tree of calls, see `pfm.stacks.tree`
-- @treturn table of `report.sort`, or `pfm.stacks.tree`; the prompt shows it as text
-- @usage report("lpfm.data", "object").rows[1].cells[1]
function report.call(path, by, wanted)
   if type(path) == "table" and #path == 0 then path, by, wanted = path.file, path.sort, path end
   options.arguments("report", 'report("lpfm.data", "symbol")', { path, "string|table?", "the name of a recording" },
      { by, "string?", "sort keys" }, { wanted, "table?", "a table of options" })
   expect.fields("report", wanted, { "file", "sort", "g", "filter", "children", "event", "sums", "slice" }, "option")
   local self = input.open(path)
   wanted = setmetatable({}, { __index = wanted or {} })
   if wanted.g then return tree_of(self, by, wanted) end
   if wanted.children == nil then wanted.children = true end
   return options.shown(report.sort(self, by, wanted),
      function(result) return print_text(self, result, { top = "20" }) end)
end

return report
