-- SPDX-License-Identifier: MIT
--- lpfm top: where the machine, a process or a command spends its time, live.
-- @module repl.command.top

local browse = require "repl.command.text.browse"
local files = require "pfm.recording.files"
local render = require "pfm.render"
local host = require "pfm.measure.host"
local input = require "repl.command.input"
local measure = require "pfm.measure"
local options = require "repl.command.options"
local profile = require "pfm.profile"
local report = require "repl.command.report"
local report_text = require "repl.command.text.report"
local screen = require "repl.screen"
local recording = require "pfm.recording"
local embedded_symbols = require "pfm.recording.embedded_symbols"
local tables = require "pfm.util.tables"

local top = {}

local DELAY, WINDOW = 2, 10 -- s between updates; s of samples shown
local FIRST = 0.3           -- s between updates of a screen until it shows samples
local ROWS = 20             -- rows of an update that goes into a pipe
local MOST = 1000           -- most rows to scroll through on a screen
local LEAST = 12            -- least characters of the target's name
local IDLE = "0 "           -- the thread in a sample of the idle task begins so: its id is 0

-- --- the samples of the last seconds, as a recording ---------------------------------------------

local function new_live(self, window)
   local live = recording.of {
      head = { events = profile.recorded_events(self), fixed = self.fixed,
         machine = { boot = embedded_symbols.this_boot() }, stacks = self.stacks and self.stacks.how }, blocks = {},
      stack_table = self.stacks and self.stacks.table,
   }
   live.times, live.window, live.now = {}, window, 0
   return live
end

-- Returns the processes of which the records are still needed: those that live or ended less than a
-- window ago, and those from which they inherited mappings.
local function needed(self)
   local out = {}
   local function need(pid)
      if out[pid] then return end
      out[pid] = true
      for _, parent in ipairs(self.parents[pid] or {}) do need(parent) end
   end
   for _, row in ipairs(self.records) do
      if (self.ended[row[3]] or math.huge) >= self.now - self.window then need(row[3]) end
   end
   for _, m in ipairs(self.maps) do
      if not self.ended[m.pid] then need(m.pid) end
   end
   return out
end

local function select_of(list, field, wanted)
   return tables.filter(list, function(one) return wanted[one[field]] end)
end

local function forget(self)
   local first = 1
   while self.times[first] and self.times[first] < self.now - self.window do first = first + 1 end
   if first == 1 then return end
   self.times, self.blocks = { unpack(self.times, first) }, { unpack(self.blocks, first) }
   local wanted = needed(self)
   self.records, self.maps = select_of(self.records, 3, wanted), select_of(self.maps, "pid", wanted)
end

-- Handles a record of a process: a mapping, a name, a fork, which copies the mappings, or an exit.
local function take_record(self, row)
   local kind, _, pid, tid, parent = unpack(row)
   self.records[#self.records + 1] = row
   if kind == "MAP" then row[9] = self.files:note(pid, { unpack(row, 5, 9) }) end
   if kind == "EXEC" or kind == "RENAME" then self.comms[tid] = row[5] end
   if kind == "EXIT" and pid == tid then self.ended[pid] = self.now end
   if kind ~= "FORK" or pid == parent then return end
   self.ended[pid], self.parents[pid] = nil, self.parents[pid] or {}
   table.insert(self.parents[pid], parent)
end

local function sink_of(self, on_begin)
   self.ended, self.parents, self.files = {}, {}, files.new()
   return {
      begin = on_begin,
      block = function(block)
         self.blocks[#self.blocks + 1], self.times[#self.times + 1] = block, self.now
         self.files:look()
      end,
      stacks = function() end, -- new_live() has given the recording the table of stacks
      maps = function(pid, maps, time, before)
         for _, m in ipairs(maps) do m[5] = self.files:note(pid, m) end
         self.maps[#self.maps + 1] = { pid = pid, maps = maps, time = time, before = before }
      end,
      programs = function(rows)
         for _, row in ipairs(rows) do take_record(self, row) end
      end,
      comm = function(tid, pid, name, time)
         self.comms[tid] = name
         self.names[#self.names + 1] = { tid = tid, pid = pid, comm = name, time = time }
      end,
   }
end

-- --- an update -----------------------------------------------------------------------------------

-- Merges rows that differ only in the thread, and leaves out those of the idle task. Returns the
-- rows, which name their event if `several` are sampled, and by event the events of the idle task,
-- and all.
local function without_threads(sorted, several)
   local by_id, out, idle, all = {}, {}, {}, {}
   for _, row in ipairs(sorted.rows) do
      local event = row.event
      all[event], idle[event] = (all[event] or 0) + row.events, idle[event] or 0
      if row.cells[1]:sub(1, #IDLE) == IDLE then
         idle[event] = idle[event] + row.events
      else
         local cells = { unpack(row.cells, 2) }
         local id = table.concat(cells, "\0") .. "\0" .. event
         local known = by_id[id] or { cells = cells, event = event, samples = 0, events = 0,
            total = row.total and { events = 0 } }
         if not by_id[id] then by_id[id], out[#out + 1] = known, known end
         known.samples, known.events = known.samples + row.samples, known.events + row.events
         if row.total then known.total.events = known.total.events + row.total.events end
      end
   end
   for _, row in ipairs(out) do
      local whole = all[row.event] - idle[row.event]
      row.percent = whole > 0 and row.events / whole * 100 or 0
      if row.total then row.total.percent = whole > 0 and row.total.events / whole * 100 or 0 end
      row.event = several and row.event or nil
   end
   return out, idle, all
end

--- Returns the rows of an update.
-- @tparam table self the recording of the last seconds
-- @string by sort keys of `report.sort`
-- @tparam[opt] table filter of `report.sort`
-- @treturn table of `cells`, `percent` (of samples of the event that are not idle), `samples` and,
-- with call stacks, `total` (which includes called functions), with several events `event`; the
-- highest first
-- @treturn number share of the idle samples of the first event
-- @treturn table titles of the cells
function top.rows(self, by, filter)
   self.ran = nil -- computed again from newer records
   local sorted, events = report.sort(self, "thread," .. by, { children = true, filter = filter }), self.head.events
   local rows, idle, all = without_threads(sorted, #events > 1)
   table.sort(rows, function(a, b)
      if a.total and a.total.percent ~= b.total.percent then return a.total.percent > b.total.percent end
      if a.percent ~= b.percent then return a.percent > b.percent end
      return (a.event or "") .. table.concat(a.cells, "\0") < (b.event or "") .. table.concat(b.cells, "\0")
   end)
   local first = events[1] and events[1].name
   return rows, (all[first] or 0) > 0 and idle[first] / all[first] or 0, { unpack(sorted.titles, 2) }
end

-- Returns the heading; a long command line is cut to leave room for the rest.
local function heading(view, rows, idle, columns, filter)
   local n = 0
   for _, row in ipairs(rows) do n = n + row.samples end
   local names = tables.map(view.live.head.events, "name")
   local seconds = math.min(view.live.now, view.live.window)
   local rest = ("%s, %s of %s in %.1f s%s%s"):format(filter or "", render.plural(n, "sample"),
      table.concat(names, ", "), seconds, view.stacks or "",
      idle > 0 and (", %.1f%% %s"):format(idle * 100, host.number_zero()) or "")
   local room = columns - #"lpfm top: " - render.width(rest)
   return "lpfm top: " .. render.shorten(view.what, math.max(room, LEAST)) .. rest
end

-- Sorts the samples of the last seconds, for `browse`.
local function sort(view, limit, filter, by_self)
   local rows, idle, titles = top.rows(view.live, view.by, filter)
   if by_self then browse.by_self(rows) end
   return { all = rows, rows = { unpack(rows, 1, math.min(limit, #rows)) }, idle = idle, titles = titles }
end

-- Returns the title of the columns, and a line for each row.
local function lines_of(_, result, rows)
   local first = rows[1]
   local named = first and first.event and not table.concat(result.titles, ","):find("event")
   return report_text.rows(report_text.shares(rows), result.titles, rows, named, " ")
end

local function show_text(view)
   local result = sort(view, view.rows or ROWS)
   local lines = { heading(view, result.all, result.idle, math.huge), "" }
   for _, line in ipairs(lines_of(nil, result, result.rows)) do lines[#lines + 1] = line end
   if #result.rows == 0 then lines[#lines + 1] = " " .. (view.empty or "no samples yet") end
   lines[#lines + 1] = ""
   options.print(lines)
   io.stdout:flush()
end

local function show(view)
   forget(view.live)
   view.shown = view.live.now
   if not view.pages then return show_text(view) end
   browse.refresh(view.pages)
   browse.draw(view.pages)
end

-- Returns the pages for the screen.
local function pages_of(view)
   return browse.open {
      self = view.live, filter = {}, warnings = {}, lines_of = lines_of,
      sort = function(filter, by_self) return sort(view, view.rows or MOST, filter, by_self) end,
      heading = function(result, words)
         return heading(view, result.all, result.idle, (screen.size()), words)
      end,
      help = "z       start over", live = true,
      keys = { z = function()
         view.live.blocks, view.live.times = {}, {}
         show(view)
      end },
   }
end

-- --- the loop ------------------------------------------------------------------------------------

-- Ends the measurement by a zero timeout, and terminates its command without waiting for it.
local function quit(view, self)
   self.spec.seconds, view.left = 0, true
   if view.child then view.child:kill("TERM") end
end

local function do_keys(view, self)
   local key, columns, lines = screen.key(0), screen.size()
   if columns ~= view.columns or lines ~= view.lines then browse.draw(view.pages) end
   view.columns, view.lines = columns, lines
   while key ~= "timeout" do
      if browse.key(view.pages, key) then return quit(view, self) end
      browse.draw(view.pages)
      key = screen.key(0)
   end
end

local function on_tick(view)
   return function(self, elapsed)
      view.live.now = elapsed
      if view.pages and not view.left then do_keys(view, self) end
      local delay = view.pages and #view.pages.result.rows == 0 and math.min(FIRST, view.delay) or view.delay
      if elapsed - view.shown >= delay and not view.once and not view.left then show(view) end
   end
end

local function may_watch(err)
   if type(err) == "string" and err:find("ermi") then err = err .. "; anyone may watch -p PID or a command" end
   return err
end

-- Says how call stacks are recorded, and why so.
local function stacks_of(self)
   local got = self.stacks
   return got and (", call stacks by %s%s"):format(got.how, got.why and ": " .. got.why or "")
end

local function watch(view, spec)
   local self = profile.prepare(spec)
   view.live = new_live(self, view.window)
   view.stacks = stacks_of(self)
   local sink = sink_of(view.live, function(child) view.child = child end)
   local function run()
      local outcome = profile.run(self, sink, on_tick(view))
      view.live.now, view.empty = outcome.elapsed, outcome.not_begun and options.never_began(outcome)
   end
   if view.full then view.pages = pages_of(view) end
   local ok, err = pcall(view.full and screen.run or run, run, true)
   if not ok then error(spec.cpus and may_watch(err) or err, 0) end
   view.pages, view.full = nil, false
   if not view.left then show(view) end -- the last picture remains unless the user has quit
end

-- --- the command ---------------------------------------------------------------------------------

-- Options of perf, and the option of lpfm for each.
local meant = { ["-E"] = "--top", ["--entries"] = "--top", ["--stdio"] = "--plain", ["-K"] = "--all-user",
   ["--hide_kernel_symbols"] = "--all-user", ["-U"] = "--all-kernel", ["--hide_user_symbols"] = "--all-kernel" }
local advice = {
   ["--children"] = "-g counts samples in the callers, too",
   ["--no-children"] = "without -g samples count where they lie",
   ["-u"] = "-p takes processes: -p $(pgrep -d, -u USER)",
   ["-z"] = "--window as long as --refresh shows new samples only; the key z starts over",
   ["--tui"] = "on a terminal lpfm top draws in place; q quits",
   ["-o"] = "updates go to standard output: lpfm top --once > FILE",
   ["--output"] = "updates go to standard output: lpfm top --once > FILE",
}

--- Makes the parser of the command line.
function top.options()
   local c = options.command("top", "Shows live where the machine, threads or a command spend their time.",
      "lpfm top [options] [--] [command [arguments]]")
   options.add_target(c)
   options.add_rates(c)
   c:flag("-g", "Take call stacks, and count samples in the callers, too.")
   c:option("--call-graph", "HOW", "The same: fp (frame pointers), dwarf or dwarf,SIZE (copies of the stack).")
   c:option("-s --sort", "KEYS", "Sort keys, as for 'lpfm report' (default: object,symbol).")
   c:option("-d --refresh", "SECONDS", "Update every SECONDS (default: 2).")
   c:option("--window", "SECONDS", "Show the samples of the last SECONDS (default: 10).")
   c:option("--top", "N", "Show N rows.")
   c:flag("--once", "Print one update and exit.")
   c:flag("--plain", "Print updates one after the other, as in a pipe, even on a terminal.")
   c:habits(meant, { "-v", "--verbose", "-n", "--show-nr-samples" }, advice)
   c:epilog("Without a target, all CPUs are measured. q quits, z starts over, ? shows the other keys.\n"
      .. "Percentages leave out idle time.", {
      "lpfm top", "lpfm top -p 1234", "lpfm top --once | head", "lpfm top -e page-faults -c 1 -- ./prog",
   })
   return c
end

-- Returns the command with its output discarded, since that would spoil the screen.
local function silenced(command)
   local out = tables.slice(command)
   for i, word in ipairs { "/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh" } do table.insert(out, i, word) end
   return out
end

local function spec_of(args, words)
   if #words + #args.pid + #args.tid + #args.cpu == 0 then args.all_cpus = true end
   local spec = options.target(args, words)
   spec.period, spec.frequency = options.rates(args)
   spec.events = options.sampled_events(args, args.event, { "cpu-clock" })
   spec.g = options.call_graph(args)
   return spec
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function top.main(argv)
   local args, words = top.options():parse(argv)
   local spec = spec_of(args, words)
   local by = input.keys(args.sort) or "object,symbol"
   options.checked(report.sort, recording.of { head = { events = {} }, blocks = {} }, by)
   local view = {
      by = by, what = render.what(measure.describe(spec)) .. render.where(host.simulated()), once = args.once,
      shown = 0,
      delay = options.number(args.refresh, "--refresh") or DELAY, rows = options.number(args.top, "--top", true),
      window = options.number(args.window, "--window") or WINDOW,
      full = screen.possible() and not args.plain and not args.once,
   }
   if view.once then spec.seconds = spec.seconds or view.delay end
   if view.full and spec.command then spec.command = silenced(spec.command) end
   watch(view, spec)
   return 0
end

return top
