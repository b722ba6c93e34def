-- SPDX-License-Identifier: MIT
--- Any value as a person reads it.
-- @module repl.prompt.show

local render = require "pfm.render"

local show = {}

local WIDTH, DEPTH, ROWS = 100, 4, 200
local first_columns = { "num", "name", "set", "id", "event", "value" }

-- Units of fields that the interface has.
local units = { timeout = "ns", act_duration = "ns", tstamp = "ns", width = "bits", buf_size = "bytes",
   arg_size = "bytes", arg_size_max = "bytes", smpl_buf_size_max = "bytes", smpl_buf_size_cur = "bytes",
   elapsed = "s", utime = "s", stime = "s", maxrss = "KiB", counter_width = "bits" }

local function with_unit(name)
   return units[name] and ("%s/%s"):format(name, units[name]) or name
end

local function is_list(t)
   local n = 0
   for _ in pairs(t) do n = n + 1 end
   return n == #t
end

local function has_tostring(t)
   local meta = getmetatable(t)
   return type(meta) == "table" and meta.__tostring ~= nil
end

local inline

local function sorted_keys(t)
   local keys = {}
   for k in pairs(t) do keys[#keys + 1] = k end
   table.sort(keys, function(a, b)
      if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
      return type(a) < type(b)
   end)
   return keys
end

local function key_text(k)
   if type(k) == "string" and k:find("^[%a_][%w_]*$") then return k end
   return "[" .. inline(k, 1) .. "]"
end

local function inline_table(t, depth)
   if depth > DEPTH then return "{...}" end
   local out = {}
   for i = 1, #t do out[i] = inline(t[i], depth + 1) end
   if #t == 0 or not is_list(t) then
      out = {}
      for _, k in ipairs(sorted_keys(t)) do out[#out + 1] = key_text(k) .. "=" .. inline(t[k], depth + 1) end
   end
   return "{" .. table.concat(out, ", ") .. "}"
end

-- On one line, inside something else.
function inline(value, depth)
   if type(value) == "string" then return ("%q"):format(value):gsub("\\\n", "\\n") .. "" end
   if type(value) == "number" then return render.number(value) end
   if type(value) == "table" and not has_tostring(value) then return inline_table(value, depth) end
   return tostring(value)
end

-- Fields that are lists of register numbers.
local registers = { avail_pmcs = true, avail_pmds = true, ovfl_pmds = true, impl_pmcs = true, impl_pmds = true,
   reset_pmds = true, smpl_pmds = true, pmds = true }

-- Register numbers as ranges, "4-15 64-72"; nil for any other list.
local function ranges(list)
   local out, i = {}, 1
   while i <= #list do
      local first, last = list[i], list[i]
      if type(first) ~= "number" then return nil end
      while list[i + 1] == last + 1 do i, last = i + 1, list[i + 1] end
      out[#out + 1] = first == last and ("%d"):format(first) or ("%d-%d"):format(first, last)
      i = i + 1
   end
   return #out > 0 and table.concat(out, " ") or nil
end

-- In a cell of a table, texts need no quotes and lists of texts no braces.
local function cell(value, name)
   if value == nil then return "" end
   if type(value) == "string" then return value end
   if type(value) == "table" and not has_tostring(value) and #value > 0 and type(value[1]) == "string" then
      return table.concat(value, " ")
   end
   if registers[name] and type(value) == "table" then return ranges(value) or "" end
   return inline(value, 2)
end

local function column_names(rows)
   local seen, out = {}, {}
   for _, name in ipairs(first_columns) do
      for _, row in ipairs(rows) do
         if row[name] ~= nil and not seen[name] then
            seen[name] = true
            out[#out + 1] = name
         end
      end
   end
   local rest = {}
   for _, row in ipairs(rows) do
      for k in pairs(row) do
         if not seen[k] then
            seen[k] = true
            rest[#rest + 1] = k
         end
      end
   end
   table.sort(rest)
   for _, k in ipairs(rest) do out[#out + 1] = k end
   return out
end

local function is_records(t)
   if #t == 0 or not is_list(t) then return false end
   for _, row in ipairs(t) do
      if type(row) ~= "table" or has_tostring(row) or #row > 0 or next(row) == nil then return false end
      for k in pairs(row) do
         if type(k) ~= "string" then return false end
      end
   end
   return true
end

local function right_aligned(rows, name)
   for _, row in ipairs(rows) do
      local v = row[name]
      if v ~= nil and type(v) ~= "number" and not (type(v) == "userdata" or type(v) == "cdata") then return false end
   end
   return true
end

local function register_names()
   local out = {}
   for _, reg in ipairs(require("lpfm").pmds() or {}) do out[reg.num] = reg.name end
   for _, e in ipairs(require("pfm.events").software()) do out[e.num] = e.name .. (e.unit and "/" .. e.unit or "") end
   return out
end

-- What read_pmds returns is shown with the names of the registers.
local function with_names(rows)
   local first = rows[1]
   if not (first.num and first.value ~= nil and first.last_reset ~= nil) or first.name then return rows end
   local names, out = register_names(), {}
   for i, row in ipairs(rows) do
      out[i] = { name = names[row.num] }
      for k, v in pairs(row) do out[i][k] = v end
   end
   return out
end

local function more_rows(n)
   return ("... %s"):format(render.plural(n, "more row"))
end

--- A list of records as columns and rows of texts.
-- @param value
-- @treturn[1] {table,...} columns: `title`, `right` if it is of numbers
-- @treturn[1] {table,...} rows, 200 at most
-- @treturn[1] ?string what follows them, if there are more
-- @treturn[2] nil it is none
-- @usage local columns, rows = require("repl.prompt.show").columns(lpfm.pmds())
function show.columns(value)
   if type(value) ~= "table" or has_tostring(value) or not is_records(value) then return nil end
   local rows = with_names(value)
   local names, columns, cells = column_names(rows), {}, {}
   for i, name in ipairs(names) do columns[i] = { title = with_unit(name), right = right_aligned(rows, name) } end
   for r = 1, math.min(#rows, ROWS) do
      cells[r] = {}
      for i, name in ipairs(names) do cells[r][i] = cell(rows[r][name], name) end
   end
   return columns, cells, #rows > ROWS and more_rows(#rows - ROWS) or nil
end

local function records(columns, cells, more)
   local lines = render.align(columns, cells)
   lines[#lines + 1] = more
   return table.concat(lines, "\n")
end

local function pairs_text(t)
   local rows, keys = {}, sorted_keys(t)
   for i = 1, math.min(#keys, ROWS) do
      local text = cell(t[keys[i]], keys[i])
      local unit = type(t[keys[i]]) == "number" and units[keys[i]]
      if unit then text = text .. " " .. unit end
      rows[i] = { cell(keys[i]), #text > WIDTH and text:sub(1, WIDTH) .. "..." or text }
   end
   local lines = render.align({ {}, {} }, rows)
   if #keys > ROWS then lines[#lines + 1] = ("... %d more"):format(#keys - ROWS) end
   return table.concat(lines, "\n")
end

--- A value as text, of several lines where that reads better.
-- @param value
-- @treturn string
-- @usage require("repl.prompt.show").text(lpfm.pmds())
function show.text(value)
   if type(value) == "string" then return value end
   if type(value) ~= "table" or has_tostring(value) then return inline(value, 1) end
   if next(value) == nil then return "{}" end
   if is_records(value) then return records(show.columns(value)) end
   local short = inline(value, 1)
   if #short <= WIDTH and is_list(value) then return short end
   return pairs_text(value)
end

--- Prints values as the prompt does.
-- @prompt show
-- @param ...
function show.print(...)
   local parts = {}
   for i = 1, select("#", ...) do parts[i] = show.text((select(i, ...))) end
   if #parts > 0 then io.stdout:write(table.concat(parts, "\t"), "\n") end
end

return show
