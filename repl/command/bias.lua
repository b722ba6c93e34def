-- SPDX-License-Identifier: MIT
--- lpfm bias: tests whether a sampling period is in step with a program.
-- @module repl.command.bias

local bias = require "pfm.bias"
local options = require "repl.command.options"
local render = require "pfm.render"

local command = {}

local SHOWN = 5 -- number of places in the report

-- --- the result ----------------------------------------------------------------------------------

local function percent(x)
   return ("%.1f%%"):format(x * 100)
end

local function verdict(result)
   if not result.biased then
      return { ("  No bias was found: %s of the samples lie elsewhere than with randomized periods, and"):format(
         percent(result.distance)), ("  %s of those of two randomized runs do."):format(percent(result.noise)) }
   end
   return { ("  Biased: %s of the samples lie elsewhere than with randomized periods; of two randomized"):format(
      percent(result.distance)), ("  runs %s do."):format(percent(result.noise)) }
end

local function advice(result)
   if not result.biased then return {} end
   return { "", ("  Randomize it: lpfm record -e %s -c %.0f --random 0x%x"):format(result.event, result.base,
      result.mask) }
end

--- Returns the result as text.
-- @tparam table result of `bias.test`
-- @treturn {string,...} lines
-- @usage
-- local result = {biased = false, event = "cpu-clock", period = 1e6, runs = 3, distance = 0, noise = 0, changes = {}}
-- print(table.concat(require("repl.command.bias").text(result), "\n"))
function command.text(result)
   local lines = { render.simulated(result.simulated),
      (" Samples of %s every %s, against randomized periods (%s):"):format(result.event,
      render.number(result.period), render.plural(result.runs, "run")), "" }
   local rows = {}
   for i = 1, math.min(SHOWN, #result.changes) do
      local row = result.changes[i]
      rows[i] = { percent(row.fixed), percent(row.random), row.place }
   end
   local columns = { { title = "fixed", right = true }, { title = "random", right = true }, { title = "place" } }
   for _, part in ipairs { render.align(columns, rows, "  "), { "" }, verdict(result), advice(result),
      { bias.left_out(result, "  ") }, { "" } } do
      for _, line in ipairs(part) do lines[#lines + 1] = line end
   end
   return lines
end

--- Makes the parser of the command line.
-- @usage require("repl.command.bias").options():help()
function command.options()
   local c = options.command("bias", "Tests whether a fixed sampling period is in step with a program, which makes "
      .. "its profile wrong.", "lpfm bias [options] [--] command [arguments]")
   options.add_target(c)
   options.add_output(c)
   c:option("-c --period", "N", "Test this period, in events (clocks: nanoseconds; default: 1000000).")
   c:flag("--json", "Print JSON.")
   c:epilog("The command runs three times, once with the period and twice with randomized ones; if they differ, it\n"
      .. "runs again to find the narrowest mask that helps. It should do the same each time, and give a few hundred\n"
      .. "samples. The exit status is 3 if the period is biased.", {
      "lpfm bias -- ./prog",
      "lpfm bias -e page-faults -c 100 -- ./prog",
   })
   return c
end

local function json_line(result)
   local out = {}
   for k, v in pairs(result) do out[k] = v end
   out.changes = {}
   for i = 1, math.min(SHOWN, #result.changes) do out.changes[i] = result.changes[i] end
   return render.json(out)
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
-- @usage
-- local bias = require "repl.command.bias"
-- bias.main{"-e", "page-faults", "-c", "1", "--", "awk", "BEGIN { while (i < 1e5) a[i++] = i }"}
function command.main(argv)
   local args, words = command.options():parse(argv)
   local target = options.target(args, words)
   if not target.command and not target.seconds then options.fail("--pid, --all-cpus and --cpu need --timeout") end
   if #args.event > 1 or (args.event[1] or ""):find(",") then options.fail("--event: expected one event") end
   local result = bias.test { target = target, event = args.event[1],
      period = options.number(args.period, "--period", true) }
   local lines = args.json and { json_line(result) } or command.text(result)
   options.write(lines, args.output)
   return result.biased and 3 or 0
end

--- Tests whether a sampling period is in step with a program.
-- @param what a shell command line, or a table as for `bias.test`
-- @treturn table of `bias.test`; the prompt shows it as text
-- @usage
-- bias{target = {command = {"awk", "BEGIN { while (i < 1e5) a[i++] = i }"}}, event = "page-faults", period = 1}
function command.call(what)
   options.arguments("bias", 'bias("./prog")', { what, "string|table", "a command line or a table" })
   local spec = type(what) == "string" and { target = { command = options.shell(what) } } or what
   return options.shown(bias.test(spec), command.text)
end

return command
