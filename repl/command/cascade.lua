-- SPDX-License-Identifier: MIT
--- lpfm cascade: counts or samples in stages.
-- @module repl.command.cascade

local cascade = require "pfm.cascade"
local measure = require "pfm.measure"
local options = require "repl.command.options"
local record = require "pfm.record"
local render = require "pfm.render"
local stages = require "pfm.measure.stages"
local stat_text = require "repl.command.text.stat"
local tables = require "pfm.util.tables"

local command = {}

-- --- the result ----------------------------------------------------------------------------------

local function shown_count(count)
   if count.unit == "ns" then return render.number(count.value / 1e6, 2), "msec", count.event end
   return render.number(count.value), "", count.event
end

-- Says "1 of 3 threads" (or CPUs) if the stage was counted on several.
local function by_how_many(n, stage)
   return stage.subjects > 1 and (" (%d of %s)"):format(n, render.plural(stage.subjects, stage.noun)) or ""
end

local function ending(stage)
   local out = tables.map(stage.left_by, function(text) return text .. by_how_many(stage.left_by[text], stage) end)
   if #out == 0 then return stage.late and "to the end of the thread" or "it lasted to the end" end
   return "then " .. table.concat(out, " or ")
end

local function beginning(stage, before)
   if stage.reached then
      local late = stage.began and stage.began > 0
      local when = late and "began after " .. render.time(stage.began / 1e9) or "began at once"
      return when .. by_how_many(stage.reached_by or 1, stage)
   end
   if not (before and before.reached) then return "not reached" end
   return ("not reached: stage %d %s"):format(before.number, before.late and stages.no_end(before) or "did not end")
end

local function stage_lines(stage, before, lines)
   lines[#lines + 1] = ("  %d. %s: %s"):format(stage.number, stage.text, beginning(stage, before))
   if not stage.reached then return end
   if stage.samples then
      lines[#lines + 1] = "       " .. render.plural(stage.samples, "sample")
      return
   end
   local rows = tables.map(stage.counts, function(count) return { shown_count(count) } end)
   for _, line in ipairs(render.align({ { right = true }, {}, {} }, rows, "       ")) do lines[#lines + 1] = line end
   local lasted, uncounted = render.time(stage.lasted / 1e9), render.time(stage.uncounted / 1e9)
   if stage.uncounted > 0 then lasted = ("%s (not counted for %s)"):format(lasted, uncounted) end
   lines[#lines + 1] = ("       for %s, %s"):format(lasted, ending(stage))
end

--- Returns the result as text.
-- @tparam table result of `cascade.run`
-- @tparam table target
-- @treturn {string,...} lines
-- @usage
-- local target = {command = {"true"}, stages = "page-faults:50 then cs"}
-- local cascade = require "pfm.cascade"
-- print(table.concat(require("repl.command.cascade").text(cascade.run(target), target), "\n"))
function command.text(result, target)
   local what = render.what(measure.describe(target))
   local lines = { render.simulated(result.simulated), (" Cascade in %s:"):format(what), "" }
   for i, stage in ipairs(result.stages) do
      stage.number, stage.noun = i, target.cpus and "CPU" or "thread"
      stage_lines(stage, result.stages[i - 1], lines)
   end
   lines[#lines + 1] = ""
   if result.not_begun then
      lines[#lines + 1] = ("  Nothing was counted: %s."):format(options.never_began(result))
   end
   lines[#lines + 1] = ("  %s elapsed; the other times are those in which %s ran."):format(render.time(result.elapsed),
      target.cpus and "the CPU" or "the thread")
   tables.append(lines, stat_text.end_note(result))
   local left_out = result.left_out or result.unsampled
   if left_out then
      lines[#lines + 1] = ("  %.0f%% of the CPU time was spent in other threads or children, which are left out: a "
         .. "cascade is of one thread."):format(left_out * 100)
      lines[#lines + 1] = "  -p PID gives each thread that a process has a cascade of its own."
   end
   lines[#lines + 1] = ""
   return lines
end

local function json_line(result, target)
   local out = {}
   for i, s in ipairs(result.stages) do
      out[i] = { stage = s.text, reached = s.reached, began = s.began, lasted = s.lasted,
         uncounted = s.uncounted, late = s.late, counts = s.counts,
         ["left-by"] = { unpack(s.left_by) }, subjects = s.subjects, ["reached-by"] = s.reached_by,
         samples = s.samples }
   end
   return render.json { command = target.command, tids = target.tids, cpus = target.cpus, stages = out,
      elapsed = result.elapsed, status = result.status, signal = result.signal, simulated = result.simulated,
      ["left-out"] = result.left_out or result.unsampled }
end

-- --- the command ---------------------------------------------------------------------------------

--- Makes the parser of the command line.
-- @usage require("repl.command.cascade").options():help()
function command.options()
   local c = options.command("cascade", "Counts or samples in stages: each begins when a condition of the one before "
      .. "is met.", "lpfm cascade [options] STAGE [then STAGE]... -- command [arguments]")
   c.mixed = true
   options.add_target(c, true)
   options.add_output(c)
   c:flag("--json", "Print JSON.")
   c:epilog("A STAGE is EVENT:N: it counts the event, and ends after N occurrences. 'EVENT:N or EVENT:N' ends\n"
      .. "with whichever comes first; 'counting EVENTS' after them counts others, too. The last stage is EVENTS,\n"
      .. "which are counted to the end, or 'sample EVENT:N', a sample every N, into the file of -o (lpfm.data).\n"
      .. "N may be 1000, 10k or 1e6; for clocks, 10ms. The result says when each stage began and what it counted.\n"
      .. "perf_event leaves a stage some 10 us after its end, and on a busy machine milliseconds: what happens\n"
      .. "between is in no stage, and the result says how long that was. perfmon.ko leaves it at the event.\n"
      .. "It goes to stderr; the exit status is that of the command.", {
      "lpfm cascade page-faults:1000 then cs:10 then cpu-clock -- ./prog",
      "lpfm cascade page-faults:1000 or task-clock:50ms counting cs then page-faults,cs -- ./prog",
      "lpfm cascade page-faults:1000 then sample cpu-clock:1ms -- ./prog && lpfm report",
      "lpfm cascade -p 1234 --timeout 10 cs:100 then page-faults",
   })
   return c
end

-- Splits the words at "--".
local function apart(argv)
   local i = tables.find(argv, "--") or #argv + 1
   return tables.slice(argv, 1, i - 1), tables.slice(argv, i + 1)
end

local function stages_of(words, measured)
   local list, err = stages.read(table.concat(words, " "))
   if #words == 0 then options.fail("expected stages: lpfm cascade page-faults:1000 then cs -- ./prog") end
   if list then return list end
   if #measured == 0 then err = err .. "; the command goes after --" end
   options.fail("%s", err)
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
-- @usage require("repl.command.cascade").main{"page-faults:50", "then", "cs", "--", "true"}
function command.main(argv)
   local mine, measured = apart(argv)
   local args, words = command.options():parse(mine)
   local list = stages_of(words, measured)
   local target = options.target(args, measured)
   local spec, samples = { stages = list }, list[#list].sample ~= nil
   for k, v in pairs(target) do spec[k] = v end
   local file
   local result = cascade.run(spec, function(s)
      local outcome
      outcome, file = record.run(s, args.output or "lpfm.data")
      return outcome
   end)
   local lines = args.json and { json_line(result, target) } or command.text(result, target)
   options.write(lines, not samples and args.output or nil)
   local moved = file and file.moved
   if moved then io.stderr:write("lpfm cascade: ", options.moved(file), "\n") end
   local status = options.status(result)
   return moved and status == 0 and 1 or status
end

--- Counts or samples in stages: each begins when the one before has counted its events.
-- @param what a shell command line, or a table as for `cascade.run`
-- @string[opt] list stages
-- @treturn table of `cascade.run`; the prompt shows it as text
-- @usage cascade("ls / >/dev/null", "page-faults:50 then cs")
function command.call(what, list)
   options.arguments("cascade", 'cascade("./prog", "page-faults:1000 then cs:10")',
      { what, "string|table|function", "a command line" }, { list, "string|table?", "stages" })
   local spec = type(what) == "string" and { command = options.shell(what) } or what
   local copy = tables.copy(spec)
   copy.stages = list or copy.stages
   if not copy.stages then error('cascade: expected stages: cascade("./prog", "page-faults:1000 then cs:10")', 0) end
   return options.shown(cascade.run(copy), function(self) return command.text(self, spec) end)
end

return command
