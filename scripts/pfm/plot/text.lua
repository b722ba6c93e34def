-- SPDX-License-Identifier: MIT
--- Figures as text, for terminals and pipes: block and braille characters where the locale has
-- them.
-- @module pfm.plot.text

local render = require "pfm.render"

local text = {}

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }
local SHADES = {
   utf8 = { " ", "░", "▒", "▓", "█" },
   ascii = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" },
}
-- numbers among the 256 colours, from dark to bright
local HEAT = { 16, 17, 54, 91, 127, 162, 198, 203, 209, 215, 221, 227, 230 }
local LINES = { 34, 31, 32, 35, 36, 33 }                                     -- foregrounds
local MARKS = { "*", "+", "o", "x", "#", "@" }

-- --- bars ----------------------------------------------------------------------------------------

local function bar(share, width, utf8)
   if not utf8 then return ("#"):rep(math.floor(share * width + 0.5)) end
   local eighths = math.floor(share * width * 8 + 0.5)
   return ("█"):rep(math.floor(eighths / 8)) .. (EIGHTHS[eighths % 8] or "")
end

local function most(list)
   local n = 0
   for _, row in ipairs(list) do n = math.max(n, row.value) end
   return n
end

local function value_text(figure, value)
   local number = render.number(value, figure.decimals)
   return figure.unit and (figure.unit == "%" and number .. "%" or number .. " " .. figure.unit) or number
end

local function bars(figure, view)
   local labels, values, widest, wide_value = {}, {}, 0, 0
   for i, row in ipairs(figure.rows) do
      labels[i], values[i] = render.shorten(row.label, math.floor(view.width * 0.4)), value_text(figure, row.value)
      widest, wide_value = math.max(widest, render.width(labels[i])), math.max(wide_value, #values[i])
   end
   local room, top, out = math.max(10, view.width - widest - wide_value - 4), most(figure.rows), {}
   for i, row in ipairs(figure.rows) do
      local drawn = bar(top > 0 and row.value / top or 0, room, view.utf8)
      out[i] = (" "):rep(widest - render.width(labels[i])) .. labels[i] .. " " .. (view.utf8 and "▕" or "|") .. drawn
         .. (" "):rep(room - render.width(drawn)) .. " " .. (" "):rep(wide_value - #values[i]) .. values[i]
   end
   return out
end

-- --- lines ---------------------------------------------------------------------------------------

local function bounds(series)
   local b = { x = { math.huge, -math.huge }, y = { 0, -math.huge } }
   for _, s in ipairs(series) do
      for _, p in ipairs(s) do
         b.x[1], b.x[2] = math.min(b.x[1], p[1]), math.max(b.x[2], p[1])
         b.y[1], b.y[2] = math.min(b.y[1], p[2]), math.max(b.y[2], p[2])
      end
   end
   if b.x[1] == b.x[2] then b.x[2] = b.x[1] + 1 end
   if b.y[1] >= b.y[2] then b.y[2] = b.y[1] + 1 end
   return b
end

-- Calls put(column, row) for the dots of a line between two points.
local function draw_line(x0, y0, x1, y1, put)
   local steps = math.max(math.abs(x1 - x0), math.abs(y1 - y0), 1)
   for i = 0, steps do
      local t = i / steps
      put(math.floor(x0 + (x1 - x0) * t + 0.5), math.floor(y0 + (y1 - y0) * t + 0.5))
   end
end

-- Calls put(column, row) for the dots of a series; row 0 is the lowest.
local function trace(series, b, columns, rows, put)
   local function place(p)
      return math.floor((p[1] - b.x[1]) / (b.x[2] - b.x[1]) * (columns - 1) + 0.5),
         math.floor((p[2] - b.y[1]) / (b.y[2] - b.y[1]) * (rows - 1) + 0.5)
   end
   local x0, y0
   for i, p in ipairs(series) do
      local x, y = place(p)
      if i == 1 then put(x, y) else draw_line(x0, y0, x, y, put) end
      x0, y0 = x, y
   end
end

-- A braille character has 2 by 4 dots: the bit of each, by column, and by row from the lowest up.
local BRAILLE = { [0] = { [0] = 64, 4, 2, 1 }, { [0] = 128, 32, 16, 8 } }

local function new_grid(width, height)
   local grid = {}
   for y = 0, height - 1 do grid[y] = {} end
   return grid, function(y, x) return y >= 0 and y < height and x >= 0 and x < width end
end

local function braille_grid(figure, b, width, height)
   local grid, inside = new_grid(width, height)
   for i, s in ipairs(figure.series) do
      trace(s, b, width * 2, height * 4, function(x, y)
         local row, column, bit = math.floor(y / 4), math.floor(x / 2), BRAILLE[x % 2][y % 4]
         if not inside(row, column) then return end
         local cell = grid[row][column] or { bits = 0 }
         if math.floor(cell.bits / bit) % 2 == 0 then cell.bits = cell.bits + bit end
         cell.series, grid[row][column] = i, cell
      end)
   end
   for y = 0, height - 1 do
      for _, cell in pairs(grid[y]) do
         cell.char = string.char(226, 160 + math.floor(cell.bits / 64), 128 + cell.bits % 64)
      end
   end
   return grid
end

local function mark_of(i)
   return MARKS[(i - 1) % #MARKS + 1]
end

local function mark_grid(figure, b, width, height)
   local grid, inside = new_grid(width, height)
   for i, s in ipairs(figure.series) do
      trace(s, b, width, height, function(x, y)
         if inside(y, x) then grid[y][x] = { char = mark_of(i), series = i } end
      end)
   end
   return grid
end

local function painted(char, i, view)
   if not view.colour or not i then return char end
   return ("\27[%dm%s\27[0m"):format(LINES[(i - 1) % #LINES + 1], char)
end

local function grid_line(cells, width, view)
   local out, last = {}, -1
   for x in pairs(cells) do last = math.max(last, x) end
   for x = 0, math.min(last, width - 1) do
      local cell = cells[x]
      out[#out + 1] = cell and painted(cell.char, cell.series, view) or " "
   end
   return table.concat(out)
end

local function legend(figure, braille, view)
   local out = {}
   for i, s in ipairs(figure.series) do
      if s.name then out[#out + 1] = painted(braille and "--" or mark_of(i), i, view) .. " " .. s.name end
   end
   return table.concat(out, "   ")
end

local function axis_number(n)
   if math.abs(n) == math.huge then return "" end -- there are no points
   return render.number(tonumber(("%.4g"):format(n)))
end

local function lines(figure, view)
   local b = bounds(figure.series)
   -- several series without colours need marks
   local braille = view.utf8 and (view.colour or #figure.series == 1)
   local high, low = axis_number(b.y[2]), axis_number(b.y[1])
   local margin = math.max(#high, #low)
   local width, height = view.width - margin - 2, view.height
   local grid = (braille and braille_grid or mark_grid)(figure, b, width, height)
   local out, edge = {}, view.utf8 and "│" or "|"
   for y = height - 1, 0, -1 do
      local label = y == height - 1 and high or y == 0 and low or ""
      out[#out + 1] = (" "):rep(margin - #label) .. label .. " " .. edge .. grid_line(grid[y], width, view)
   end
   local from, to = axis_number(b.x[1]), axis_number(b.x[2])
   local name = figure.xlabel and " " .. figure.xlabel or ""
   out[#out + 1] = (" "):rep(margin + 2) .. from .. (" "):rep(math.max(1, width - #from - #to - #name)) .. to .. name
   local names = legend(figure, braille, view)
   if names ~= "" then out[#out + 1] = (" "):rep(margin + 2) .. names end
   return out
end

-- --- heat maps -----------------------------------------------------------------------------------

local function heat_cell(share, view)
   if view.colour then
      return ("\27[48;5;%dm \27[0m"):format(HEAT[math.floor(share * (#HEAT - 1) + 0.5) + 1])
   end
   local shades = view.utf8 and SHADES.utf8 or SHADES.ascii
   if share <= 0 then return shades[1] end
   return shades[math.max(2, math.ceil(share * (#shades - 1)) + 1)] -- any value above 0 can be seen
end

local function heat(figure, view)
   local top, widest, labels, out = 0, 0, {}, {}
   for i, row in ipairs(figure.rows) do
      labels[i] = render.shorten(row.label, math.floor(view.width * 0.4))
      widest = math.max(widest, render.width(labels[i]))
      for _, v in ipairs(row) do top = math.max(top, v) end
   end
   local edge = view.utf8 and "▕" or "|"
   for i, row in ipairs(figure.rows) do
      local cells = {}
      for k, v in ipairs(row) do cells[k] = heat_cell(top > 0 and v / top or 0, view) end
      out[i] = (" "):rep(widest - render.width(labels[i])) .. labels[i] .. " " .. edge .. table.concat(cells)
   end
   local from, to, n = axis_number(figure.x[1]), axis_number(figure.x[2]), #(figure.rows[1] or {})
   local name = figure.xlabel and " " .. figure.xlabel or ""
   out[#out + 1] = (" "):rep(widest + 2) .. from .. (" "):rep(math.max(1, n - #from - #to - #name)) .. to .. name
   return out
end

local kinds = { bars = bars, lines = lines, heat = heat }

--- Draws a figure.
-- @tparam table figure of `pfm.plot`
-- @tparam table view `width`, `height` (of lines; in characters), `utf8`, `colour`
-- @treturn string
function text.draw(figure, view)
   local out = kinds[figure.kind](figure, view)
   if figure.title then table.insert(out, 1, figure.title) end
   for i, line in ipairs(out) do out[i] = line:gsub("%s+$", "") end
   return table.concat(out, "\n")
end

return text
