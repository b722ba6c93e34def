-- SPDX-License-Identifier: MIT
--- Live views: the counters of contexts, their rates and the history of these, updated in place.
--
-- On a terminal q (or Ctrl-C) leaves, and p pauses and resumes the counters. In a pipe and on a
-- dumb terminal it prints lines instead, until the thread ends, a limit is reached, or Ctrl-C is
-- pressed.
--
-- Simulated time passes only when it is run: each refresh runs the simulated computer for `step`
-- seconds of its own time, and rates are per simulated second. In a pipe there is no waiting
-- between refreshes.
-- @module repl.prompt.watch

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local jobs = require "repl.prompt.jobs"
local counters = require "repl.prompt.counters"
local render = require "pfm.render"
local text_file = require "pfm.util.text_file"
local host = require "pfm.measure.host"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

local watch = {}

local INTERVAL, STEP, LEAST = 1, 0.01, 0.02 -- s; LEAST: the shortest interval
local HISTORY = 200 -- rates kept for each counter
local WIDTH = 80    -- columns, if the terminal's are unknown

-- --- what is watched -----------------------------------------------------------------------------

local function is_context(what)
   return getmetatable(what) == "lpfm.context"
end

local function is_job(what)
   return type(what) == "table" and type(what.contexts) == "function"
end

-- Returns the contexts to show; raises an error if `what` has none.
local function contexts_of(what)
   if is_context(what) then return { what } end
   if is_job(what) then return what:contexts() end
   if type(what) ~= "table" or #what == 0 then
      error(("watch: expected a context, a list of contexts or a job, got %s"):format(
         type(what) == "table" and "an empty table" or "a " .. type(what)), 0)
   end
   for i, ctx in ipairs(what) do
      if not is_context(ctx) then error(("watch: element %d: expected a context, got a %s"):format(i, type(ctx)), 0) end
   end
   return what
end

local function add_rows(view, ctx)
   for _, counter in ipairs(counters.of(ctx, view.options.pmds)) do
      view.rows[#view.rows + 1] = { ctx = ctx, counter = counter, total = 0, rates = {} }
   end
   if ctx:programming().create.format then
      local ok, buffer = pcall(ctx.buffer, ctx)
      if ok and buffer then view.rows[#view.rows + 1] = { ctx = ctx, buffer = buffer, total = 0, rates = {} } end
   end
end

-- --- reading -------------------------------------------------------------------------------------

local function number_of(value)
   return type(value) == "number" and value or value:tonumber()
end

local function read(row)
   if row.buffer then return row.buffer:header().count end
   local c = row.counter
   local got = expect.value(row.ctx:read_pmds { { num = c.num, set = c.set } })
   local ok, value = pcall(number_of, got[1].value)
   return ok and value or 0
end

-- Returns the increase since the last refresh. If the value is smaller than before, the counter was
-- reset after an overflow, or its buffer was emptied.
local function difference(row, value)
   local d = value - (row.last or value)
   if d >= 0 then return d end
   if row.buffer then return value end
   return row.counter.period and math.max(0, d + row.counter.period) or 0
end

local function look(view)
   local now = view.sim and view.sim:time() / 1e9 or proc.clock()
   local seconds = view.last and now - view.last
   for _, row in ipairs(view.rows) do
      local value = read(row)
      local d = difference(row, value)
      row.total = (row.counter and not row.counter.period) and value or row.total + d
      row.watched = (row.watched or 0) + d
      row.last = value
      if seconds and seconds > 0 then
         row.rates[#row.rates + 1] = d / seconds
         if #row.rates > HISTORY then table.remove(row.rates, 1) end
      end
   end
   view.first = view.first or now
   view.last = now
end

-- --- how a value looks ---------------------------------------------------------------------------

local function is_time(row)
   return row.counter ~= nil and row.counter.unit == "ns"
end

local function shown_rate(row)
   local rate = row.rates[#row.rates]
   if not rate then return "" end
   if is_time(row) then return ("%.1f %%"):format(rate / 1e7) end
   if rate >= 1e9 then return ("%.3f G/s"):format(rate / 1e9) end
   return render.number(math.floor(rate + 0.5)) .. " /s"
end

local function shown_total(row)
   if is_time(row) then return render.number(row.total / 1e6, 3) .. " ms" end
   return render.number(row.total)
end

local function shown_name(view, row)
   local name = row.buffer and "samples" or row.counter.name
   if row.counter and row.counter.set > 0 then name = ("set %d: %s"):format(row.counter.set, name) end
   local period = row.counter and row.counter.period
   if period then name = ("%s, every %s"):format(name, render.number(period)) end
   return view.many and ("%s  %s"):format(counters.describe(row.ctx), name) or name
end

local function title(view)
   local what = view.name
   if is_job(view.what) then
      what = ("job %d, %s, %s"):format(view.what.id, view.what.what, view.what:state())
   elseif not view.many and view.rows[1] then
      what = ("%s, %s"):format(what, counters.describe(view.rows[1].ctx))
   end
   local time = ("%.3f s"):format(view.last - view.first)
   if view.sim then return ("%s, %s of simulated time, %s a step"):format(what, time, render.time(view.step)) end
   return ("%s%s, %s, every %g s"):format(what, render.where(host.simulated()), time, view.interval)
end

local columns = { { title = "counter" }, { title = "rate", right = true }, { title = "total", right = true },
   { title = "" } }

-- Returns the view as lines, which are narrower than the given width.
local function lines_of(view, width)
   local rows, used = {}, 0
   for i, row in ipairs(view.rows) do rows[i] = { shown_name(view, row), shown_rate(row), shown_total(row), "" } end
   for _, line in ipairs(render.align(columns, rows)) do used = math.max(used, render.width(line)) end
   for i, row in ipairs(view.rows) do rows[i][4] = render.sparkline(row.rates, math.max(0, width - used - 3)) end
   local lines = render.align(columns, rows)
   table.insert(lines, 1, title(view))
   for i, line in ipairs(lines) do lines[i] = render.cut(line, width - 1) end
   return lines
end

-- --- on a screen ---------------------------------------------------------------------------------

local screens = {}

-- Updates the view in place.
function screens.place(view)
   local width, height = view.screen.size()
   width, height = width or WIDTH, height or math.huge
   local lines = lines_of(view, width)
   lines[#lines + 1] = render.cut(view.held and "paused; p resumes, q quits" or "q quits, p pauses", width - 1)
   while #lines > height - 1 do table.remove(lines, #lines - 1) end
   local up = view.drawn and ("\27[%dA"):format(view.drawn) or ""
   io.stdout:write("\r", up, table.concat(lines, "\27[K\n"), "\27[K\n\27[J")
   io.stdout:flush()
   view.drawn = #lines
end

-- Prints a line for each counter at each refresh.
function screens.plain(view)
   local rows, width = {}, 0
   for i, row in ipairs(view.rows) do
      rows[i] = { ("%.6f s"):format(view.last - view.first), shown_name(view, row), shown_rate(row), shown_total(row) }
      width = math.max(width, render.width(rows[i][2]))
   end
   if not view.drawn then
      io.stdout:write(title(view), "\n")
      table.insert(rows, 1, { "time", "counter", "rate", "total" })
   end
   for _, row in ipairs(rows) do
      io.stdout:write(("%12s  %s%s  %16s  %18s"):format(row[1], row[2], (" "):rep(width - render.width(row[2])), row[3],
         row[4]), "\n")
   end
   io.stdout:flush()
   view.drawn = true
end

-- --- keys and time -------------------------------------------------------------------------------

local function toggle(view)
   view.held = not view.held
   if is_job(view.what) then
      view.what[view.held and "pause" or "resume"](view.what)
      return
   end
   for _, ctx in ipairs(view.contexts) do ctx[view.held and "stop" or "start"](ctx) end
end

local leaving = { q = true, Q = true, ["\3"] = true, ["\4"] = true }

-- Waits for the next refresh; returns true if the user leaves.
local function wait(view, seconds)
   local deadline = proc.clock() + seconds
   while true do
      local left = math.max(0, deadline - proc.clock())
      jobs.turn()
      if not view.keys then
         local _, _, errno = lpfm.poll({}, left)
         return errno ~= nil
      end
      local key, why = view.screen.key(left)
      if leaving[key] or why == "interrupted" or why == "eof" then return true end
      if key == "p" or key == " " then toggle(view) end
      if why == "resize" and view.draw == screens.place then
         io.stdout:write("\27[H\27[2J")
         view.drawn = nil
      end
      if why == "timeout" then return false end
      view.draw(view)
   end
end

local function thread_is_gone(view, tid)
   if not view.sim then return text_file.line(("/proc/%d/comm"):format(tid)) == nil end
   local _, thread = tables.find(view.sim:threads(), tid, "tid")
   return not thread or thread.state == "dead"
end

-- Returns why the view ends, because the job or all threads have ended; nil if it goes on.
local function over(view)
   if is_job(view.what) then
      local state = view.what:state()
      return (state == "ended" or state == "failed") and "the job has " .. state or nil
   end
   local tids, gone = 0, 0
   for _, ctx in ipairs(view.contexts) do
      local target = ctx:programming().target
      if not target or not target.tid then return nil end
      tids = tids + 1
      if thread_is_gone(view, target.tid) then gone = gone + 1 end
   end
   return gone == tids and (tids == 1 and "the thread has ended" or "the threads have ended") or nil
end

local function advance(view)
   if not view.sim then return end
   local ok, err = view.sim:run { ns = math.floor(view.step * 1e9 + 0.5) }
   if not ok and err ~= "timeout" then error(err, 0) end
end

local function limit_reached(view)
   local o = view.options
   return (o.count and view.refreshes >= o.count) or (o.seconds and view.last - view.first >= o.seconds - 1e-9)
end

local function run(view)
   look(view)
   view.draw(view)
   while not limit_reached(view) do
      if wait(view, view.pause) then return end
      advance(view)
      if #contexts_of(view.what) == 0 then return end
      look(view)
      view.refreshes = view.refreshes + 1
      view.draw(view)
      local why = over(view)
      if why then
         io.stdout:write(why, "\n")
         return
      end
   end
end

-- --- the call ------------------------------------------------------------------------------------

local known_options = { interval = "number", seconds = "number", count = "number", step = "number", pmds = "table" }

local function check_options(options)
   expect.fields("watch", options, tables.keys(known_options), "option")
   for name, value in pairs(options) do
      if type(value) ~= known_options[name] then
         error(("watch: option '%s': expected a %s, got a %s"):format(name, known_options[name], type(value)), 0)
      end
   end
   if options.interval and options.interval < LEAST then error(("watch: interval: at least %g s"):format(LEAST), 0) end
   if options.step and options.step <= 0 then error("watch: step: expected more than 0 s", 0) end
   return options
end

local function name_of(what)
   local global = require("repl.prompt.namespace").globals(function(value) return value == what end)[1]
   if global then return global.name end
   return type(what) == "table" and render.plural(#what, "context") or "context"
end

local function new_view(what, options)
   local machine = host.machine()
   local has_screen, screen = pcall(require, "repl.keys")
   local has_line, line = pcall(require, "repl.line")
   local view = { what = what, options = options, rows = {}, refreshes = 0, name = name_of(what),
      interval = options.interval or INTERVAL, step = options.step or STEP,
      sim = not is_job(what) and machine.run and machine or nil,
      screen = has_screen and screen or nil }
   view.draw = has_screen and has_line and line.smart() and screens.place or screens.plain
   view.contexts = contexts_of(what)
   view.many = #view.contexts > 1
   for _, ctx in ipairs(view.contexts) do add_rows(view, ctx) end
   if #view.rows == 0 then
      error(is_job(what) and "watch: the job has ended" or "watch: the context has no counters programmed", 0)
   end
   return view
end

local function interrupted(err)
   local ok, program = pcall(require, "repl.host")
   return type(err) == "string" and err:find("interrupted", 1, true) ~= nil and (not ok or program.calm() or true)
end

local function result(view)
   local out = { seconds = view.last - view.first, refreshes = view.refreshes }
   for i, row in ipairs(view.rows) do
      out[i] = { name = row.buffer and "samples" or row.counter.name, num = row.counter and row.counter.num,
         set = row.counter and row.counter.set, count = row.watched,
         rate = out.seconds > 0 and row.watched / out.seconds or 0 }
   end
   return setmetatable(out, { __tostring = function(self)
      return ("watched for %s"):format(render.time(self.seconds))
   end })
end

--- Shows counters live: rates, totals, a sparkline each.
-- @param what a context, a list of contexts, or a job of `repl.prompt.jobs`
-- @tparam[opt] table options
-- @number[opt=1] options.interval seconds between refreshes
-- @number[opt] options.seconds seconds until it ends
-- @int[opt] options.count refreshes until it ends
-- @tparam[opt] {int,...} options.pmds PMDs to show instead of those that were programmed
-- @number[opt=0.01] options.step seconds that the simulated computer runs for each refresh
-- @treturn table of `{name=, num=, set=, count=, rate=}` per counter, and `seconds`, `refreshes`
-- @usage
-- c = lpfm.create()
-- c:write_pmcs { { num = 66, value = 9 } }; c:write_pmds { { num = 66, value = 0 } }
-- assert(c:load() and c:start())
-- watch(c, { pmds = { 66 }, interval = 0.05, count = 2 })
-- c:close()
function watch.call(what, options)
   local view = new_view(what, check_options(options or {}))
   view.keys = view.screen ~= nil and view.screen.raw(true)
   view.pause = (view.sim and not view.keys) and 0 or view.interval
   local ok, err = pcall(run, view)
   if view.keys then view.screen.raw(false) end
   if not ok and not interrupted(err) then error(err, 0) end
   return result(view)
end

return watch
