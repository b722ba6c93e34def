-- SPDX-License-Identifier: MIT
--- lpfm histogram: counts overflows by the value that an expression has at each of them.
-- @module repl.command.histogram

local expect = require "pfm.util.expect"
local histogram = require "pfm.histogram"
local options = require "repl.command.options"
local plot = require "pfm.plot"
local render = require "pfm.render"
local stat_text = require "repl.command.text.stat"
local tables = require "pfm.util.tables"

local command = {}

local SHOWN = 64 -- most buckets shown

-- --- the result ----------------------------------------------------------------------------------

local function head(result)
   local text = (" %s of %s, every %s%s"):format(result.expression, result.event, render.number(result.period),
      result.unit and " " .. result.unit or "")
   return result.where and text .. ", where " .. result.where or text
end

-- Returns the buckets with the highest counts, in the order of their values, and the sum of the
-- other counts.
local function shown(result)
   local list = { unpack(result.buckets) }
   table.sort(list, function(a, b)
      if a.count ~= b.count then return a.count > b.count end
      return a.bucket < b.bucket
   end)
   local out, others = {}, 0
   for i, row in ipairs(list) do
      if i <= SHOWN then out[i] = row else others = others + row.count end
   end
   table.sort(out, function(a, b) return a.bucket < b.bucket end)
   return out, others
end

local function tail(result, others)
   local out = { (" %s, %s counted"):format(render.plural(result.overflows, "overflow"),
      render.number(result.counted)) }
   for _, line in ipairs(stat_text.end_note(result)) do out[#out + 1] = line:sub(2) end
   if result.late then out[#out + 1] = " nothing was counted: " .. options.never_began(result) end
   local function add(n, text)
      if n > 0 then out[#out + 1] = (" %s %s"):format(render.number(n), text) end
   end
   add(others, "in buckets not shown")
   add(result.outside, "with a value that has no bucket (--buckets gives more)")
   add(result.overflows - result.counted - result.outside, "that did not meet the condition, or divided by 0")
   if result.alone then out[#out + 1] = " threads and children were left out: " .. result.alone end
   add(result.lost, "lost (lpfm emptied the kernel's buffer too slowly; use a longer period)")
   return out
end

--- Returns the result as text.
-- @tparam table result of `histogram.run`
-- @treturn {string,...} lines
-- @usage
-- local result = require("pfm.histogram").run { command = { "true" }, bucket = "cpu", event = "page-faults" }
-- print(table.concat(require("repl.command.histogram").text(result), "\n"))
function command.text(result)
   local lines, list = { render.simulated(result.simulated), head(result), "" }, {}
   local rows, others = shown(result)
   for i, row in ipairs(rows) do list[i] = { row.label, row.count } end
   if #list > 0 then
      for line in tostring(plot.bars(list)):gmatch("[^\n]+") do lines[#lines + 1] = line end
      lines[#lines + 1] = ""
   end
   for _, line in ipairs(tail(result, others)) do lines[#lines + 1] = line end
   lines[#lines + 1] = ""
   return lines
end

local function json_line(result)
   local rows = {}
   for i, row in ipairs(result.buckets) do rows[i] = { bucket = row.bucket, label = row.label, count = row.count } end
   return render.json { expression = result.expression, where = result.where, event = result.event,
      period = result.period, overflows = result.overflows, counted = result.counted, outside = result.outside,
      lost = result.lost, buckets = rows, simulated = result.simulated }
end

-- --- the command line ----------------------------------------------------------------------------

--- Makes the parser of the command line.
-- @usage require("repl.command.histogram").options():help()
function command.options()
   local c = options.command("histogram", "Counts overflows of an event by the value of an expression, where they "
      .. "happen.", "lpfm histogram [options] EXPR [options] [--] command [arguments]")
   options.add_target(c)
   options.add_output(c)
   c:option("-c --period", "N", "An overflow every N events (clocks: nanoseconds; default: some 1000 a second).")
   c:option("--where", "EXPR", "Count only what meets this condition.")
   c:option("--buckets", "N", "Buckets of the histogram (default: as many as EXPR has values, up to 4096).")
   c:flag("--json", "Print JSON.")
   c:epilog("An expression has the operators of C, with and, or, not, 'x in {1, 5..9}' and log2(), min(), max(), on\n"
      .. "ip, pid, tid, cpu, time (ns), counter, set, period and pmd.EVENT, what the event counted since the overflow\n"
      .. "before. \"ip in 'kernel'\" or, with -p, \"ip in 'libc'\": is the address in that object?\n"
      .. "A command's threads and children are counted with it, unless EXPR needs pmd.EVENT.\n"
      .. "The exit status is that of the command.", {
      "lpfm histogram 'log2(pmd.page_faults)' -- ./prog",
      "lpfm histogram 'time / 100000000 % 100' -e page-faults -c 1 -- ./prog",
      "lpfm histogram cpu -e context-switches -c 1 --where 'pid == 1234' -a --timeout 5",
   })
   return c
end

-- The expression is the first word before "--"; options may follow it, too.
local function parse(argv)
   local args, words = command.options():parse(argv)
   local at = #argv - #words + 1
   local expression = argv[at - 1] ~= "--" and table.remove(words, 1)
   if not expression then options.fail("expected an expression, as in lpfm histogram cpu -- ./prog") end
   if not words[1] or words[1]:sub(1, 1) ~= "-" then return args, expression, words end
   local others = tables.slice(argv)
   table.remove(others, at)
   args, words = command.options():parse(others)
   return args, expression, words
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
-- @usage require("repl.command.histogram").main { "cpu", "-e", "page-faults", "--", "true" }
function command.main(argv)
   local args, expression, words = parse(argv)
   options.check_conditions(args)
   if #args.event > 1 then options.fail("--event: expected one event") end
   local spec = options.target(args, words)
   spec.bucket, spec.where, spec.event = expression, args.where, args.event[1]
   spec.period = options.number(args.period, "--period", true)
   spec.buckets = options.number(args.buckets, "--buckets", true)
   if spec.buckets and spec.buckets > histogram.MOST then
      options.fail("--buckets: %s are too many: the maximum is %d", args.buckets, histogram.MOST)
   end
   options.check_program({ bucket = spec.bucket, where = spec.where }, spec)
   local result = histogram.run(spec)
   options.write(args.json and { json_line(result) } or command.text(result), args.output)
   return options.status(result)
end

--- Counts a histogram.
-- @param what a shell command line, or a table as for `histogram.run`
-- @tparam[opt] ?string|table expression the expression; or a table with `bucket`, `where`,
-- `event`, `period`, `buckets`
-- @treturn table of `histogram.run`; the prompt shows it as text
-- @usage histogram("ls -lR /etc >/dev/null", { bucket = "time / 1000000 % 10", event = "page-faults" })
function command.call(what, expression)
   options.arguments("histogram", 'histogram("./prog", "cpu")', { what, "string|table", "a command line or a table" },
      { expression, "string|table?", "an expression or a table" })
   local spec = {}
   for _, t in ipairs { type(what) == "string" and { command = options.shell(what) } or what,
      type(expression) == "string" and { bucket = expression } or expression } do
      for k, v in pairs(t) do spec[k] = v end
   end
   if spec.inherit == nil then spec.inherit = true end
   expect.fields("histogram", spec, histogram.fields)
   return options.shown(histogram.run(spec), command.text)
end

return command
