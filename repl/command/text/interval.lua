-- SPDX-License-Identifier: MIT
--- Tables that grow line by line, as in 'lpfm stat -I': the columns keep their places, and the
-- header is repeated on each screenful.
-- @module repl.command.text.interval

local render = require "pfm.render"
local terminal = require "pfm.util.terminal"

local interval_text = {}

local table_of = {}
table_of.__index = table_of

-- Widens each column to its widest cell so far.
local function widen(columns, rows)
   for i, column in ipairs(columns) do
      for _, row in ipairs(rows) do column.least = math.max(column.least or 0, render.width(row[i] or "")) end
   end
end

-- Returns true if these rows and the lines since the last header would exceed the screen.
local function is_over(self, n)
   if self.shown == 0 then return true end
   if not self.on_terminal then return false end
   local _, height = terminal.size()
   return self.shown + n >= height
end

--- Formats the next lines.
-- @tparam {table,...} rows cells, in the order of the columns
-- @treturn {string,...}
function table_of:lines(rows)
   widen(self.columns, rows)
   local lines = render.align(self.columns, rows, "  ")
   if is_over(self, #rows) then
      self.shown = 0
   else
      table.remove(lines, 1)
   end
   self.shown = self.shown + #lines
   return lines
end

--- Creates a table.
-- @tparam {table,...} columns as of `render.align`, one at least with a title
-- @bool on_terminal repeat the header
-- @treturn table with `lines(rows)`
function interval_text.new(columns, on_terminal)
   local own = {}
   for i, column in ipairs(columns) do own[i] = { title = column.title, right = column.right, least = column.least } end
   return setmetatable({ columns = own, on_terminal = on_terminal, shown = 0 }, table_of)
end

return interval_text
