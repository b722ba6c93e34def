-- SPDX-License-Identifier: MIT
--- lpfm trace: records a program's memory accesses, for the simulated computer.
-- @module repl.command.trace

local memtrace = require "pfm.memtrace"
local options = require "repl.command.options"
local render = require "pfm.render"

local INTERRUPTED = 130

local command = {}

--- Makes the parser of the command line.
-- @usage require("repl.command.trace").options():help()
function command.options()
   local c = options.command("trace", "Records the instructions of a command and the memory they access, to replay "
      .. "them on the\nsimulated computer's caches.", "lpfm trace [options] [--] command [arguments]")
   c:option("-o --output", "FILE", "Write the trace to FILE (default: lpfm.trace).")
   c:epilog("The command runs under valgrind's lackey, some hundred times slower than by itself. Its first process is\n"
      .. "recorded, with its threads; branches are not. Ctrl-C ends the command and keeps what was recorded.\n"
      .. "To replay it:\n"
      .. "   m = lpfm.machine(\"sim:itanium2\")\n"
      .. "   tid = m:spawn{program={ {trace=\"lpfm.trace\"} }}; m:run{until_exit=tid, s=1000}; m:caches()\n"
      .. "With lpfm.machine(\"sim:itanium2\", {explain=1}), m:sites() lists the instructions that missed most, and\n"
      .. "m:explain(m:sites()[1].ip) says why. With {cachegrind=1} its caches count what cachegrind counts.", {
      "lpfm trace -o ls.trace -- ls -l",
   })
   return c
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status, the command's
-- @usage require("repl.command.trace").main { "-o", os.tmpname(), "--", "true" }
function command.main(argv)
   local args, words = command.options():parse(argv)
   if #words == 0 then options.fail("nothing to record: expected a command") end
   if args.output == "-" then options.fail("a trace cannot go to a pipe or the screen: expected -o FILE") end
   options.spare_program(args.output, words)
   local result = memtrace.record { command = words, file = args.output or "lpfm.trace" }
   io.stderr:write(("lpfm trace: %s%s bytes in %s\n"):format(result.interrupted and "interrupted, " or "",
      render.number(result.bytes), render.printable(result.file)))
   if result.interrupted then return INTERRUPTED end
   return options.status(result)
end

return command
