-- SPDX-License-Identifier: MIT
--- Figures as SVG and PNG, drawn by gnuplot.
-- @module pfm.plot.gnuplot

local shell = require "pfm.util.shell"

local gnuplot = {}

local TAIL = 16 -- bytes at the end of a picture, with its end mark
local ROW = 22 -- px, of a bar or a row of a heat map
local TICKS = 20 -- a heat map with more columns does not number each

local function quoted(s)
   return '"' .. s:gsub('[\\"`]', "\\%0"):gsub("%c", " ") .. '"'
end

local function number(n)
   return (n % 1 == 0 and "%.0f" or "%.15g"):format(n)
end

-- Makes a block of data: one row of numbers a line.
local function block(name, rows)
   local out = { "$" .. name .. " << EOD" }
   for _, row in ipairs(rows) do
      local cells = {}
      for i, v in ipairs(row) do cells[i] = number(v) end
      out[#out + 1] = table.concat(cells, " ")
   end
   out[#out + 1] = "EOD"
   return table.concat(out, "\n")
end

-- Puts the rows' names at the left, the first on top.
local function row_names(figure)
   local out = {}
   for i, row in ipairs(figure.rows) do out[i] = ("%s %d"):format(quoted(row.label), i - 1) end
   return ("set ytics (%s) nomirror\nset yrange [%g:-0.5]"):format(table.concat(out, ","), #figure.rows - 0.5)
end

local function bars(figure)
   local rows = {}
   for i, row in ipairs(figure.rows) do rows[i] = { i - 1, row.value } end
   return {
      block("data", rows), row_names(figure), "set style fill solid 0.7 noborder", "set xrange [0:*]",
      "set grid xtics", "plot $data using ($2/2):1:(0):2:($1-0.4):($1+0.4) with boxxyerror lc rgb '#4a78b5' notitle",
   }
end

local function lines(figure)
   local out, parts = {}, {}
   for i, s in ipairs(figure.series) do
      out[i] = block("data" .. i, s)
      parts[i] = ("$data%d using 1:2 with lines lw 2 %s"):format(i, s.name and "title " .. quoted(s.name) or "notitle")
   end
   out[#out + 1] = "set grid\nset yrange [*<0:*]\nset key outside below"
   out[#out + 1] = "plot " .. table.concat(parts, ", ")
   return out
end

-- Returns true if all values are 0 or 1: then a colour says yes or no, and needs no scale.
local function is_on_off(rows)
   for _, row in ipairs(rows) do
      for _, value in ipairs(row) do
         if value ~= 0 and value ~= 1 then return false end
      end
   end
   return true
end

local function heat(figure)
   local n = #(figure.rows[1] or {})
   local from, to = number(figure.x[1]), number(figure.x[2])
   local step = number((figure.x[2] - figure.x[1]) / n)
   return {
      is_on_off(figure.rows) and "unset colorbox" or "set colorbox",
      step == "1" and n <= TICKS and "set xtics 1" or "set xtics autofreq",
      block("data", figure.rows), row_names(figure),
      "set palette defined (0 '#fdfdf8', 1 '#f2a65a', 2 '#8c1c13')",
      ("set xrange [%s:%s]"):format(from, to), "set cbrange [0:*]",
      ("plot $data matrix using (%s+($1+0.5)*%s):2:3 with image pixels notitle"):format(from, step),
   }
end

local kinds = { bars = bars, lines = lines, heat = heat }
local terminals = { svg = "svg noenhanced size %d,%d background '#ffffff'", png = "pngcairo noenhanced size %d,%d" }

local function size_of(figure, options)
   local height = figure.kind == "lines" and 480 or 110 + ROW * #figure.rows
   return options.width or 900, options.height or height
end

--- Returns the commands that draw a figure.
-- @tparam table figure of `pfm.plot`
-- @string path ending in .svg or .png
-- @tparam[opt] table options `width`, `height` in pixels
-- @treturn string
function gnuplot.commands(figure, path, options)
   local kind = path:match("%.(%w+)$")
   local terminal = kind and terminals[kind:lower()]
   if not terminal then error(("%s: figures are drawn as .svg or .png"):format(path), 0) end
   local out = {
      "set terminal " .. terminal:format(size_of(figure, options or {})), "set output " .. quoted(path),
      "set encoding utf8",
   }
   if figure.title then out[#out + 1] = "set title " .. quoted(figure.title) end
   if figure.xlabel or figure.unit then out[#out + 1] = "set xlabel " .. quoted(figure.xlabel or figure.unit) end
   if figure.ylabel then out[#out + 1] = "set ylabel " .. quoted(figure.ylabel) end
   for _, command in ipairs(kinds[figure.kind](figure)) do out[#out + 1] = command end
   return table.concat(out, "\n") .. "\n"
end

-- Checks that a picture is complete: gnuplot does not report a full disk.
local function check_whole(path)
   local file = assert(io.open(path, "rb"))
   file:seek("end", -math.min(TAIL, file:seek "end"))
   local tail = file:read(TAIL) or ""
   file:close()
   if not tail:find("</svg>", 1, true) and not tail:find("IEND", 1, true) then
      error(("cannot write %s: the picture is not whole; is the disk full?"):format(path), 0)
   end
end

--- Draws a figure into a file.
-- @tparam table figure
-- @string path
-- @tparam[opt] table options
function gnuplot.draw(figure, path, options)
   local commands = gnuplot.commands(figure, path, options)
   shell.need("gnuplot", "gnuplot-nox")
   local file, err = io.open(path, "wb")
   if not file then error("cannot write " .. err, 0) end
   file:close()
   local pipe, finish = shell.writer("gnuplot -")
   pipe:write(commands)
   finish()
   check_whole(path)
end

return gnuplot
