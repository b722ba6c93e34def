-- SPDX-License-Identifier: MIT
--- The texts of labs: puts figures into their places and breaks paragraphs into lines.
-- @module repl.lab.text

local plot = require "pfm.plot"
local render = require "pfm.render"
local tables = require "pfm.util.tables"

local text = {}

--- Returns a figure as text: the elements of a list are separated by blanks (an empty list is
-- "none"); numbers have thousands separators, and from 1,000 on no fraction.
-- @param value
-- @treturn string
function text.value(value)
   if type(value) == "table" and next(value) == nil then return "none" end
   if type(value) == "table" and value[1] ~= nil then
      return table.concat(tables.map(value, tostring), " ")
   end
   if type(value) ~= "number" then return tostring(value) end
   if math.abs(value) >= 1000 then value = math.floor(value + 0.5) end
   if value == math.floor(value) then return render.number(value) end
   return (("%.4g"):format(value))
end

--- Replaces each name in braces by the value that it names.
-- @string template
-- @tparam table figures
-- @treturn string
-- @raise on unknown names
function text.fill(template, figures)
   return (template:gsub("{([%a_][%w_]*)}", function(name)
      local value = figures[name]
      if value == nil then error(("{%s} is neither a parameter nor a figure of a run"):format(name), 0) end
      return text.value(value)
   end))
end

local CODE = 3 -- columns by which code is indented
local MORE = "> " -- begins the continuation of a broken line of code

-- Returns the lines of a block without their common indentation. The first line does not count, as
-- it may follow the opening brackets directly. If the first line is a paragraph that ends with a
-- colon, lines behind it that are all indented alike are code.
local function lines_of(block)
   local lines, least = {}, math.huge
   for line in (block:gsub("%s+$", "") .. "\n"):gmatch("([^\n]*)\n") do
      if line:find("%S") and #lines > 0 then least = math.min(least, #line:match("^ *")) end
      lines[#lines + 1] = line
   end
   local announces = lines[1]:find(":%s*$") and lines[2] and not lines[2]:find("%S")
   if announces and (lines[3] or ""):match("^ *") == (" "):rep(least) then least = math.max(0, least - CODE) end
   lines[1] = lines[1]:gsub("^ +", "")
   for i = 2, #lines do lines[i] = lines[i]:sub(least + 1) end
   while lines[1] and not lines[1]:find("%S") do table.remove(lines, 1) end
   return lines
end

--- Returns the paragraphs of a text. Lines that are indented more than the others are code and are
-- not joined.
-- @string block
-- @string[opt] lead words in front of the first one
-- @treturn {table,...} `{ text=, code=bool }`
function text.paragraphs(block, lead)
   local out, open = {}, nil
   for _, line in ipairs(lines_of(block)) do
      local code, blank = line:find("^%s+%S") ~= nil, not line:find("%S")
      if blank then
         open = nil
      elseif open and open.code == code then
         open.text = open.text .. (code and "\n" or " ") .. line
      else
         open = { text = line, code = code }
         out[#out + 1] = open
      end
   end
   if lead and out[1] and not out[1].code then
      out[1].text = lead .. " " .. out[1].text
   elseif lead then
      table.insert(out, 1, { text = lead, code = false })
   end
   return out
end

-- Adds a line of code, broken at blanks. Its continuations have its indentation and the mark MORE.
-- A word that is longer than a line loses its middle.
local function add_code(out, line, width)
   local indent = line:match("^ *")
   if render.width(line) <= width then
      out[#out + 1] = line
      return
   end
   local room = math.max(width - #indent - #MORE, 4)
   for i, part in ipairs(render.wrap(line, room)) do
      out[#out + 1] = indent .. (i > 1 and MORE or "") .. render.shorten(part, room)
   end
end

--- Returns a text as lines for a terminal.
-- @string block
-- @int width columns
-- @string[opt] lead words in front of it
-- @treturn {string,...}
function text.lines(block, width, lead)
   local out = {}
   for i, paragraph in ipairs(text.paragraphs(block, lead)) do
      if i > 1 then out[#out + 1] = "" end
      if paragraph.code then
         for line in (paragraph.text .. "\n"):gmatch("([^\n]*)\n") do add_code(out, line, width) end
      else
         for _, line in ipairs(render.wrap(paragraph.text, width)) do out[#out + 1] = line end
      end
   end
   return out
end

--- Figures as `label: value` lines; figures that are pictures (`pfm.plot`) follow, each below its
-- label.
-- @tparam table rows of `show`: `{ label, name of the figure }`
-- @tparam table figures
-- @tparam[opt] table view how `pfm.plot` draws pictures; without it they are left out. With
-- `breaks`, lines are broken to its width, too.
-- @treturn {string,...} lines
function text.figures(rows, figures, view)
   local out = {}
   for _, row in ipairs(rows or {}) do
      if not plot.is_figure(figures[row[2]]) then
         local line = ("%s: %s"):format(text.fill(row[1], figures), text.fill("{" .. row[2] .. "}", figures))
         for _, part in ipairs(view and view.breaks and render.wrap(line, view.width, "   ") or { line }) do
            out[#out + 1] = "   " .. part
         end
      end
   end
   for _, picture in ipairs(view and text.pictures(rows, figures) or {}) do
      out[#out + 1] = ("   %s:"):format(picture.label)
      for line in picture.figure:text(view):gmatch("[^\n]+") do out[#out + 1] = "   " .. line end
   end
   return out
end

--- Returns the pictures among figures.
-- @tparam table rows of `show`
-- @tparam table figures
-- @treturn {table,...} `{ label=, figure= }`, the latter of `pfm.plot`
function text.pictures(rows, figures)
   local out = {}
   for _, row in ipairs(rows or {}) do
      local value = figures[row[2]]
      if plot.is_figure(value) then out[#out + 1] = { label = text.fill(row[1], figures), figure = value } end
   end
   return out
end

return text
