-- SPDX-License-Identifier: MIT
--- lpfm plot: draws pictures of a recording.
-- @module repl.command.plot

local analyze = require "pfm.analyze"
local input = require "repl.command.input"
local nearest = require "pfm.util.nearest"
local options = require "repl.command.options"
local plot = require "pfm.plot"
local stacks = require "pfm.recording.stacks"
local views = require "pfm.plot.views"
local tables = require "pfm.util.tables"
local text_file = require "pfm.util.text_file"

local command = {}

--- Makes the parser of the command line.
function command.options()
   local c = options.command("plot", "Draws a recording in the terminal, or into an SVG or PNG file.",
      "lpfm plot [bars|time|heat|ranks|histogram] [options] [file...]")
   c.mixed = true
   input.add_option(c)
   c:option("-o --output", "FILE", "Draw into FILE, .svg or .png (needs gnuplot).")
   c:option("-s --sort", "KEY", ("Plot by %s (default: symbol)."):format(table.concat(analyze.keys(true), ", ")))
   c:option("-e --event", "EVENT", "Show this event if several were sampled.")
   c:option("--top", "N", "Show the N with the most samples (default: 20; for time, 5).")
   c:option("--slices", "N", "Divide the time into N slices (default: 60).")
   c:option("--value", "EVENT", "For histogram: 'time', or an event of record --with.")
   c:option("--bins", "N", "For histogram: draw about N bins (default: 20).")
   c:epilog("bars: shares; time: rates over time; heat: the same as a map; ranks: of many recordings, what\n"
      .. "each rank spent in each function, as a map; histogram: how a value is distributed.", {
      "lpfm plot", "lpfm plot time -s thread", "lpfm plot heat -o heat.svg", "lpfm plot ranks run.*.data",
      "lpfm plot histogram --value page-faults",
   })
   return c
end

local function figures()
   return tables.keys(plot.views)
end

local NONE = "there is no figure '%s'%s (figures: %s), and no recording of that name"

local function none(word)
   return NONE:format(word, nearest.hint(word, figures()), table.concat(figures(), ", "))
end

-- A word that is not the name of a figure is the name of a recording, as on the command line.
local function file_of(word, path)
   if path or not input.is_there(word) then error("plot: " .. none(word), 0) end
   return word
end

-- The options that each figure takes in addition to -e, -i and -o.
local OPTIONS = { bars = { "sort", "top" }, time = { "sort", "top", "slices" }, heat = { "sort", "top", "slices" },
   ranks = { "sort", "top" }, histogram = { "value", "bins" } }

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function command.main(argv)
   local args, words = command.options():parse(argv)
   if words[1] and not plot.views[words[1]] and not input.is_there(words[1]) then options.fail("%s", none(words[1])) end
   input.pick(args, words, "what", function(word) return plot.views[word] end)
   local what = args.what or "bars"
   options.heed(args, what, { "what", "files", "input", "output", "event", unpack(OPTIONS[what]) })
   local opts = { by = args.sort, event = args.event, top = options.number(args.top, "--top", true), value = args.value,
      slices = options.number(args.slices, "--slices", true, plot.MOST),
      bins = options.number(args.bins, "--bins", true, plot.MOST) }
   local self = input.open(args.files, "lpfm plot")
   options.checked(views.key, args.sort or "symbol")
   options.checked(stacks.event, self, args.event)
   local drawn = plot.recording(self, what, opts)
   if args.output then
      text_file.spare(args.output, tables.map(self.sources or { self }, "path"))
      drawn:save(args.output)
   else
      io.stdout:write(drawn:text(), "\n")
   end
   input.finish(self, "lpfm plot")
   return input.status(self)
end

--- Draws a recording: shares, changes over time, distributions.
-- @string[opt="bars"] what as of `plot.recording`
-- @string[opt="lpfm.data"] path
-- @treturn figure; the prompt draws it
-- @usage record("ls -lR /etc >/dev/null"); plot("time")
function command.call(what, path)
   options.arguments("plot", 'plot("time", "lpfm.data")', { what, "string?", "a figure" },
      { path, "string?", "the name of a recording" })
   if what and not plot.views[what] then what, path = nil, file_of(what, path) end
   return plot.recording(input.open(path), what)
end

return command
