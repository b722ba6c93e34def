-- SPDX-License-Identifier: MIT
--- Pictures of numbers: bars, lines, histograms, heat maps; in the terminal, and as SVG and PNG.
--
-- A figure prints itself (`print(plot.bars{...})`) and saves itself (`figure:save("out.svg")`).
-- @module pfm.plot

local expect = require "pfm.util.expect"
local render = require "pfm.render"
local terminal = require "pfm.util.terminal"
local text_file = require "pfm.util.text_file"

local plot = {}

local WIDTH, HEIGHT = 100, 16 -- characters, if there is no terminal
local WIDEST = 1000 -- characters
local BINS = 20
local OPTIONS = { -- options of figures, and of a recording's figures
   bars = { "title", "unit", "decimals" },
   lines = { "title", "xlabel", "ylabel" },
   histogram = { "bins", "title", "unit", "decimals" },
   heat = { "x", "title", "xlabel" },
   recording = { "event", "by", "top", "slices", "value", "bins" },
}

-- --- figures -------------------------------------------------------------------------------------

local figure = {}
figure.__index = figure

--- Draws a figure as text.
-- @tparam[opt] table view
-- @int[opt] view.width in characters
-- @int[opt] view.height in characters
-- @bool[opt] view.utf8 instead of what the environment says
-- @bool[opt] view.colour instead of what the environment says
-- @treturn string
-- @usage
-- local figure = require("pfm.plot").bars({ { "parse", 83.4 }, { "hash", 15 } }, { unit = "%" })
-- print(figure:text { width = 60, colour = false })
function figure:text(view)
   view = view or {}
   local width, height = expect.whole("width", view.width, 1, WIDEST), expect.whole("height", view.height, 1, WIDEST)
   width = width or (terminal.is_terminal() and terminal.size()) or WIDTH
   local function choose(wanted, else_)
      if wanted == nil then return else_ end
      return wanted
   end
   return require("pfm.plot.text").draw(self, {
      width = width, height = height or HEIGHT, utf8 = choose(view.utf8, render.utf8),
      colour = choose(view.colour, terminal.colours()),
   })
end

-- An error of gnuplot would not name the wrong field.
local function check_size(size)
   expect.fields("size", size, { "width", "height" })
   if not size then return end
   expect.whole("width", size.width, 1, plot.MOST)
   expect.whole("height", size.height, 1, plot.MOST)
end

--- Draws a figure into a file, with gnuplot.
-- @string path ending in .svg or .png
-- @tparam[opt] table size
-- @int[opt] size.width in pixels
-- @int[opt] size.height in pixels
-- @usage
-- require("pfm.plot").bars({ { "parse", 83.4 }, { "hash", 15 } }, { unit = "%" }):save("shares.svg")
function figure:save(path, size)
   check_size(size)
   require("pfm.plot.gnuplot").draw(self, path, size)
end

--- Draws a figure as SVG text, with gnuplot.
-- @tparam[opt] table size as of `figure:save`
-- @treturn ?string its svg element, to be put into HTML; nil where gnuplot is missing
-- @usage
-- local svg = require("pfm.plot").bars({ { "parse", 83.4 }, { "hash", 15 } }):svg()
-- assert(not svg or svg:find("</svg>", 1, true))
function figure:svg(size)
   check_size(size)
   local path = os.tmpname()
   local file = path .. ".svg"
   local ok, svg = pcall(function()
      self:save(file, size)
      return text_file.all(file)
   end)
   os.remove(path)
   os.remove(file)
   return ok and svg:match("<svg.*") or nil
end

--- Returns true if a value is a figure.
-- @param value
-- @treturn boolean
-- @usage assert(not require("pfm.plot").is_figure {})
function plot.is_figure(value)
   return type(value) == "table" and getmetatable(value) == figure
end

function figure:__tostring()
   return self:text()
end

local function new(kind, fields, opts)
   local self = { kind = kind }
   for k, v in pairs(opts or {}) do self[k] = v end
   for k, v in pairs(fields) do self[k] = v end
   return setmetatable(self, figure)
end

local function check_number(n, what)
   if type(n) ~= "number" or n ~= n or math.abs(n) == math.huge then
      expect.fail("%s: a number expected, got %s", what, tostring(n))
   end
   return n
end

--- Makes a figure of bars.
-- @tparam table list of `{label, value}`, values of 0 or more
-- @tparam[opt] table opts `title`, `unit`, `decimals`
-- @treturn figure
-- @usage print(require("pfm.plot").bars({{"parse", 83.4}, {"hash", 15}}, {unit = "%"}))
function plot.bars(list, opts)
   expect.fields("plot.bars", opts, OPTIONS.bars, "option")
   local rows = {}
   for i, row in ipairs(list) do
      rows[i] = { label = tostring(row[1]), value = check_number(row[2], "bars: value " .. i) }
      if row[2] < 0 then expect.fail("bars: value %d is negative", i) end
   end
   return new("bars", { rows = rows }, opts)
end

--- Makes a figure of lines through points.
-- @tparam table series of `{name=, {x, y}, {x, y}, ...}`
-- @tparam[opt] table opts `title`, `xlabel`, `ylabel`
-- @treturn figure
-- @usage print(require("pfm.plot").lines{{name = "misses", {0, 5}, {1, 7}, {2, 3}}})
function plot.lines(series, opts)
   expect.fields("plot.lines", opts, OPTIONS.lines, "option")
   for k, s in ipairs(series) do
      for i, p in ipairs(s) do
         check_number(p[1], ("lines: series %d, x of point %d"):format(k, i))
         check_number(p[2], ("lines: series %d, y of point %d"):format(k, i))
      end
   end
   return new("lines", { series = series }, opts)
end

local function check_count(n, what)
   if n ~= nil and not (type(n) == "number" and n >= 1 and n <= plot.MOST and n == math.floor(n)) then
      expect.fail("%s: expected a whole number from 1 to %d, got %s", what, plot.MOST, tostring(n))
   end
end

-- Returns a step for bins with round bounds: 1, 2 or 5 times a power of ten.
local function step_for(range, bins)
   local rough = range / bins
   local power = 10 ^ math.floor(math.log10(rough))
   for _, m in ipairs { 1, 2, 5 } do
      if rough <= m * power * (1 + 1e-9) then return m * power end
   end
   return 10 * power
end

--- Makes a figure of how values are distributed.
-- @tparam table values numbers
-- @tparam[opt] table opts `bins` (about how many, 20), `title`, `unit`, `decimals`
-- @treturn figure bars, one a bin; a bin's lower bound belongs to it
-- @usage print(require("pfm.plot").histogram({1, 2, 2, 3, 9}, {bins = 5}))
function plot.histogram(values, opts)
   opts = opts or {}
   expect.fields("plot.histogram", opts, OPTIONS.histogram, "option")
   if #values == 0 then expect.fail "histogram: there are no values" end
   check_count(opts.bins, "bins")
   local low, high = math.huge, -math.huge
   for i, v in ipairs(values) do
      check_number(v, "histogram: value " .. i)
      low, high = math.min(low, v), math.max(high, v)
   end
   local step = high > low and step_for(high - low, opts.bins or BINS) or 1
   local first, counts = math.floor(low / step), {}
   for _, v in ipairs(values) do
      local i = math.floor(v / step) - first + 1
      counts[i] = (counts[i] or 0) + 1
   end
   local rows = {}
   for i = 1, math.floor(high / step) - first + 1 do
      rows[i] = { ("%s to %s"):format(render.number((first + i - 1) * step), render.number((first + i) * step)),
         counts[i] or 0 }
   end
   return plot.bars(rows, { title = opts.title, unit = opts.unit, decimals = opts.decimals })
end

--- Makes a heat map.
-- @tparam table rows of `{label=, number, number, ...}`, all of one length
-- @tparam[opt] table opts `x` ({first, last} of the horizontal axis), `title`, `xlabel`
-- @treturn figure
-- @usage print(require("pfm.plot").heat({{label = "CPU 0", 1, 5, 2}, {label = "CPU 1", 0, 0, 9}}))
function plot.heat(rows, opts)
   expect.fields("plot.heat", opts, OPTIONS.heat, "option")
   for k, row in ipairs(rows) do
      if row.label == nil then expect.fail("heat: row %d has no label", k) end
      if #row ~= #rows[1] then expect.fail("heat: row %d has %d values, the first %d", k, #row, #rows[1]) end
      for i, v in ipairs(row) do check_number(v, ("heat: row %d, value %d"):format(k, i)) end
   end
   return new("heat", { rows = rows, x = { 0, #(rows[1] or {}) } }, opts)
end

-- --- figures of recordings -----------------------------------------------------------------------

--- The largest number of slices and of bins: a screen shows far fewer.
plot.MOST = 10000

--- The figures of a recording, by name.
plot.views = { bars = true, time = true, heat = true, ranks = true, histogram = true }

--- Makes a figure of a recording.
-- @tparam table self of `recording.open`
-- @string[opt="bars"] what "bars", "time", "heat", "ranks" or "histogram"
-- @tparam[opt] table opts
-- @string[opt] opts.event the event to show
-- @string[opt="symbol"] opts.by sort keys, see `pfm.analyze.keys`
-- @int[opt] opts.top number of rows
-- @int[opt=60] opts.slices of time
-- @string[opt="time"] opts.value of a histogram: an event recorded with each sample, or the time
-- between samples
-- @int[opt] opts.bins of a histogram
-- @treturn figure
-- @raise on other options
-- @usage require("pfm.plot").recording(assert(recording.open "lpfm.data"), "time"):save("course.svg")
function plot.recording(self, what, opts)
   local from = require "pfm.plot.views"
   opts = opts or {}
   expect.fields("plot.recording", opts, OPTIONS.recording, "option")
   if what ~= nil and not plot.views[what] then
      error(("plot.recording: there is no figure '%s'; there are bars, time, heat, ranks and histogram"):format(
         tostring(what)), 0)
   end
   for _, name in ipairs { "slices", "bins" } do check_count(opts[name], name) end
   expect.whole("top", opts.top)
   if what ~= "histogram" then
      local fields = from[what or "bars"](self, opts)
      return new(fields.kind, fields)
   end
   local values, unit = from.values(self, opts)
   return plot.histogram(values, { bins = opts.bins,
      title = ("%s: %s"):format(render.what(self.head.what or self.path), unit) })
end

expect.methods("figure", figure, {
   text = "view: table?",
   save = "path: path; size: table?",
   svg = "size: table?",
})

expect.signatures("plot", plot, {
   bars = "list: [table]; opts: table?",
   lines = "series: [[table]]; opts: table?",
   histogram = "values: [number]; opts: table?",
   heat = "rows: [table]; opts: table?",
   recording = "self: {head}; what: string?; opts: table?",
})

return plot
