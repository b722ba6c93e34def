-- SPDX-License-Identifier: MIT
--- lpfm plot: pictures of a recording.
-- @module repl.command.plot

local input = require "repl.command.input"
local options = require "repl.command.options"
local plot = require "pfm.plot"

local command = {}

--- The options.
function command.options()
   local c = options.command("plot", "Draws a recording in the terminal, or into an SVG or PNG file.",
      "lpfm plot [bars|time|heat|histogram] [options] [file]")
   c.mixed = true
   c:option("-f --file", "FILE", "The recording (default: lpfm.data).")
   c:option("-o --output", "FILE", "Draw into this file, .svg or .png (needs gnuplot).")
   c:option("-s --sort", "KEY", "Of symbol, object, comm, process, thread, pid, cpu, line (default: symbol).")
   c:option("-e --event", "NAME", "This event, of several.")
   c:option("--top", "N", "The N with most samples.")
   c:option("--slices", "N", "Time slices (default: 60).")
   c:option("--value", "NAME", "histogram: 'time' between samples, or an event that was recorded with them.")
   c:option("--bins", "N", "histogram: about so many (default: 20).")
   c:epilog("bars: shares; time: courses over time; heat: the same as a map; histogram: how a value is distributed.", {
      "lpfm plot", "lpfm plot time -s thread", "lpfm plot heat -o heat.svg", "lpfm plot histogram --value page-faults",
   })
   return c
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function command.main(argv)
   local args, words = command.options():parse(argv)
   input.pick(args, words, "what", function(word) return plot.views[word] end)
   local opts = { by = args.sort, event = args.event, top = options.number(args.top, "--top", true), value = args.value,
      slices = options.number(args.slices, "--slices", true), bins = options.number(args.bins, "--bins", true) }
   local self = input.open(args.file, "lpfm plot")
   local drawn = plot.recording(self, args.what, opts)
   if args.output then
      drawn:save(args.output)
   else
      io.stdout:write(drawn:text(), "\n")
   end
   input.finish(self, "lpfm plot")
   return 0
end

--- Draws a recording: shares, courses over time, distributions.
-- @string[opt="bars"] what as of `plot.recording`
-- @string[opt="lpfm.data"] path
-- @treturn figure prints itself
-- @usage record("ls -lR /etc >/dev/null"); plot("time")
function command.call(what, path)
   local self = input.open(path)
   return plot.recording(self, what)
end

return command
