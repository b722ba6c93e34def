-- SPDX-License-Identifier: MIT
--- Says what an assertion without a message was about: when is_true() and its like fail, the
-- message has the source of the assertion and the values of the variables in it.
local inspect = require "inspect"
local luassert = require "luassert"

local MOST = 4000 -- bytes of a value
local HOLDS = {
   is_true = function(value) return value == true end,
   is_false = function(value) return value == false end,
   is_nil = function(value) return value == nil end,
   is_not_nil = function(value) return value ~= nil end,
   truthy = function(value) return value end,
   falsy = function(value) return not value end,
}
HOLDS.is_truthy, HOLDS.is_falsy = HOLDS.truthy, HOLDS.falsy

-- Returns the source from a line on, until its parentheses are closed.
local function statement(path, first)
   local text, n, open = "", 0, 0
   local file = io.open(path)
   if not file then return "" end
   for line in file:lines() do
      n = n + 1
      if n >= first then
         text = text .. line .. "\n"
         open = open + select(2, line:gsub("[({]", "")) - select(2, line:gsub("[)}]", ""))
         if open <= 0 or n > first + 20 then break end
      end
   end
   file:close()
   return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- Returns the local variables and upvalues of the function at a level of the stack, by name.
local function variables(level)
   local values, fn = {}, debug.getinfo(level + 1, "f").func
   local function keep(name, value)
      if name then values[name] = { value } end
      return name
   end
   local i = 1
   while keep(debug.getupvalue(fn, i)) do i = i + 1 end
   i = 1
   while keep(debug.getlocal(level + 1, i)) do i = i + 1 end
   return values
end

local function explain(level)
   local at = debug.getinfo(level + 1, "Sl")
   local text, lines, seen = statement(at.short_src, at.currentline), {}, {}
   local values = variables(level + 1)
   for name in text:gsub("%b\"\"", ""):gmatch("[%a_][%w_]*") do
      local value = values[name] and values[name][1]
      if values[name] and not seen[name] and type(value) ~= "function" and type(value) ~= "userdata" then
         seen[name] = true
         value = type(value) == "string" and value or inspect(value, { depth = 3 })
         lines[#lines + 1] = ("   %s = %s"):format(name, #value > MOST and value:sub(1, MOST) .. " ..." or value)
      end
   end
   return text .. (#lines > 0 and "\nwhere\n" .. table.concat(lines, "\n") or "")
end

for name, holds in pairs(HOLDS) do
   local original = luassert[name]
   rawset(luassert, name, function(...)
      local value, message = ...
      if message ~= nil or holds(value) then return original(...) end
      return original(value, explain(2))
   end)
end
