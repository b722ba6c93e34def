-- SPDX-License-Identifier: MIT
-- Makes the text of a list of records: a line of titles, and a line for each record. Columns in
-- which all values are 0 are left out, and so are the records after the 200th. base/rows.c contains
-- this file, and calls it with the columns.
local columns = {}
for field, title in ((...) .. " "):gmatch("([%w_]+)=?([%w_]*) ") do
   columns[#columns + 1] = { field = field, title = title ~= "" and title or field }
end

local MOST = 200

local function number(value)
   local text = type(value) == "number" and ("%.0f"):format(value) or tostring(value)
   return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

local function address(value)
   return type(value) == "number" and ("0x%x"):format(value) or value:hex()
end

-- Returns a column's texts after its title, or nil if all values are 0; and true if the column is
-- aligned to the right.
local function texts_of(column, list, last)
   local out, empty, right = { column.title }, true, column.field ~= "ip"
   for i = 1, last do
      local value = list[i][column.field]
      right = right and type(value) ~= "string"
      empty = empty and value == 0
      out[i + 1] = type(value) == "string" and value or column.field == "ip" and address(value) or number(value)
   end
   return not empty and out or nil, right
end

-- Pads the texts to the width of the widest.
local function align(texts, right)
   local width = 0
   for _, text in ipairs(texts) do width = math.max(width, #text) end
   local format = ("%%%s%ds"):format(right and "" or "-", width)
   for i, text in ipairs(texts) do texts[i] = format:format(text) end
   return texts
end

return function(list)
   if #list == 0 then return "none" end
   local last, lines = math.min(#list, MOST), {}
   for _, column in ipairs(columns) do
      local texts, right = texts_of(column, list, last)
      for i, text in ipairs(texts and align(texts, right) or {}) do
         lines[i] = lines[i] and lines[i] .. "  " .. text or text
      end
   end
   for i, line in ipairs(lines) do lines[i] = line:gsub(" +$", "") end
   if #list > last then lines[#lines + 1] = ("... %s more rows"):format(number(#list - last)) end
   return table.concat(lines, "\n")
end
