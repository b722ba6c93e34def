-- SPDX-License-Identifier: MIT
--- lpfm perfex, after perfctr's program of that name: counts the first thread of a command and,
-- separately, its children. One context counts both, without tracing and without multiplexing: by
-- the flag INHERIT it counts the children, and by OWN it keeps the counts of the thread apart.
-- @module repl.command.perfex

local contexts = require "pfm.measure.contexts"
local events = require "pfm.events"
local expect = require "pfm.util.expect"
local measure = require "pfm.measure"
local options = require "repl.command.options"
local render = require "pfm.render"

local command = {}

local TSC = "task-clock" -- the CPU time, in ns

-- Reads the names of events, and puts the event that stands for the TSC in front.
local function wanted(names)
   local list = expect.value(events.read(names or {}))
   local clock = assert(events.read(TSC))[1]
   local out = { clock }
   for _, e in ipairs(list) do
      if e.base ~= TSC then out[#out + 1] = e end
   end
   return out
end

-- Puts all events into one set, so that none is multiplexed.
local function spec_of(list)
   expect.value(events.assign(list))
   contexts.usable(list)
   for _, e in ipairs(list) do
      if e.reason then error(("'%s': %s"):format(e.name, e.reason), 0) end
   end
   local spec = { create = { flags = { "INHERIT" } }, pmcs = events.pmcs(list), pmds = {} }
   for i, e in ipairs(list) do spec.pmds[i] = { num = e.pmd, value = 0, flags = { "OWN" } } end
   return spec
end

local function values(ctx, list, flag)
   local vector = {}
   for i, e in ipairs(list) do vector[i] = { num = e.pmd, flags = flag and { flag } or nil } end
   return ctx:read_pmds(vector)
end

-- Returns the counts of the first thread and of its children. If the machine cannot report the
-- counts of the children (ENDED), they are the context's counts less those of the thread.
local function counts_of(ctx, list)
   local own, ended = assert(values(ctx, list, "OWN")), values(ctx, list, "ENDED")
   local sum = not ended and assert(values(ctx, list))
   local rows = {}
   for i, e in ipairs(list) do
      rows[i] = { event = e.base == TSC and "tsc" or e.name, unit = e.base == TSC and "ns" or "", value = own[i].value,
         children = ended and ended[i].value or sum[i].value - own[i].value }
   end
   return rows
end

--- Runs a command with virtual counters.
-- @tparam table spec `command`: its words; optional `events`: names, as for `pfm.events.read`
-- @treturn table `events`: rows of `event`, `unit`, `value` (of the first thread) and `children`
-- (of all processes and threads that it created), the TSC's first, in ns of CPU time; `status` or
-- `signal`, which ended the command
-- @usage
-- local result = require("repl.command.perfex").run { command = { "sh", "-c", "true; true" }, events = "page-faults" }
-- print(result.events[2].value, result.events[2].children)
function command.run(spec)
   expect.fields("perfex.run", spec, { "command", "events" })
   local list = wanted(spec.events)
   local how, rows = spec_of(list), nil
   local outcome = measure.run({ command = spec.command }, {
      attach = function(subject) return contexts.start(subject, how) end,
      ended = function(subject) rows = counts_of(subject.ctx, list) end,
   })
   return { events = rows or {}, status = outcome.status, signal = outcome.signal, simulated = outcome.simulated }
end

local COLUMNS = { { title = "own", right = true }, { title = "children", right = true }, {}, {} }

--- Returns the result as text.
-- @tparam table result of `command.run`
-- @treturn {string,...} lines
-- @usage
-- local result = { events = { { event = "tsc", unit = "ns", value = 1200, children = 0 } } }
-- print(table.concat(require("repl.command.perfex").text(result), "\n"))
function command.text(result)
   local rows, lines = {}, { render.simulated(result.simulated) }
   for i, row in ipairs(result.events) do
      rows[i] = { render.number(row.value), render.number(row.children), row.unit, row.event }
   end
   for _, line in ipairs(render.align(COLUMNS, rows, "  ")) do lines[#lines + 1] = line end
   lines[#lines + 1] = ""
   return lines
end

--- Makes the parser of the command line.
-- @usage require("repl.command.perfex").options():help()
function command.options()
   local c = options.command("perfex", "Counts a command with virtual counters, as perfctr's perfex does: its first "
      .. "thread, and apart\nfrom it its children.", "lpfm perfex [options] [--] command [arguments]")
   c:option("-e --event", "EVENTS", "Events, separated by commas; repeatable (default: page-faults)."):count("*")
   c:flag("--json", "Print JSON.")
   c:option("-o --output", "FILE", "Write the results to FILE.")
   c:epilog("tsc is the CPU time in ns. Children are all threads and processes that the command's first thread\n"
      .. "creates, and those that these create. All events are counted at once, none in turns with others.", {
      "lpfm perfex -e page-faults,context-switches -- make",
   })
   return c
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status, the command's
-- @usage require("repl.command.perfex").main { "-e", "page-faults", "--", "true" }
function command.main(argv)
   local args, words = command.options():parse(argv)
   if #words == 0 then options.fail("nothing to measure: expected a command") end
   options.spare_program(args.output, words)
   options.warn_of_rights(words)
   local result = options.checked(command.run, { command = words,
      events = #args.event > 0 and table.concat(args.event, ",") or "page-faults" })
   options.write(args.json and { render.json(result) } or command.text(result), args.output)
   return options.status(result)
end

--- Counts a command and, separately, its children.
-- @string what a shell command line
-- @string[opt] list events
-- @treturn table of `command.run`; the prompt shows it as text
-- @usage perfex("ls / >/dev/null; true", "page-faults").events[1].value
function command.call(what, list)
   options.arguments("perfex", 'perfex("make", "page-faults")', { what, "string", "a command line" },
      { list, "string?", "events" })
   return options.shown(command.run { command = options.shell(what), events = list or "page-faults" }, command.text)
end

return command
