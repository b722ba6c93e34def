-- SPDX-License-Identifier: MIT
--- lpfm perfex: perfctr's program of that name.
-- @module repl.command.perfex

local arguments = require "repl.command.arguments"
local options = require "repl.command.options"
local perfex = require "pfm.measure.perfex"
local render = require "pfm.render"

local command = {}

local COLUMNS = { { title = "own", right = true }, { title = "children", right = true }, {}, {} }

--- The result as a person reads it.
-- @tparam table result of `perfex.run`
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

--- The options.
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

local function status_of(result)
   return result.signal and 128 + result.signal or result.status or 0
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status, the command's
-- @usage require("repl.command.perfex").main { "-e", "page-faults", "--", "true" }
function command.main(argv)
   local args, words = command.options():parse(argv)
   if #words == 0 then options.fail("nothing to measure: expected a command") end
   local result = options.checked(perfex.run, { command = words,
      events = #args.event > 0 and table.concat(args.event, ",") or "page-faults" })
   options.write(args.json and { render.json(result) } or command.text(result), args.output)
   return status_of(result)
end

--- Counts a command and, apart, its children.
-- @string what a shell command line
-- @string[opt] list events
-- @treturn table of `perfex.run`; prints itself
-- @usage perfex("ls / >/dev/null; true", "page-faults").events[1].value
function command.call(what, list)
   arguments.check("perfex", 'perfex("make", "page-faults")', { what, "string", "a command line" },
      { list, "string?", "events" })
   return setmetatable(perfex.run { command = options.shell(what), events = list or "page-faults" }, {
      __tostring = function(self) return table.concat(command.text(self), "\n") end,
   })
end

return command
