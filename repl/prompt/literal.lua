-- SPDX-License-Identifier: MIT
--- Writes values as Lua source.
-- @module repl.prompt.literal

local tokens = require "repl.prompt.tokens"

local literal = {}

-- The order of fields: those that identify an entry come first.
local order = { num = 1, id = 1, create = 1, name = 1, set = 2, sets = 2, value = 3, pmcs = 3, pmds = 4, flags = 5,
   target = 6, running = 7 }

local function sorted_keys(t)
   local keys = {}
   for k in pairs(t) do
      if not (type(k) == "number" and k >= 1 and k <= #t) then keys[#keys + 1] = k end
   end
   table.sort(keys, function(a, b)
      local p, q = order[a] or 9, order[b] or 9
      return p < q or (p == q and tostring(a) < tostring(b))
   end)
   return keys
end

local function number(n)
   if n ~= n then return "0/0" end
   if n == math.huge or n == -math.huge then return n > 0 and "1/0" or "-1/0" end
   return n == math.floor(n) and math.abs(n) < 2 ^ 63 and ("%.0f"):format(n) or ("%.17g"):format(n)
end

local function key(k)
   if type(k) == "string" and k:find("^[%a_][%w_]*$") and not tokens.keywords()[k] then return k end
   return "[" .. literal.text(k) .. "]"
end

--- Writes a value on one line.
-- @param value of strings, numbers, u64 objects, booleans, nil and tables of these
-- @treturn string
-- @usage literal.text{num = 66, value = -1000} --> "{num = 66, value = -1000}"
function literal.text(value)
   if type(value) == "number" then return number(value) end
   if type(value) == "string" then return (("%q"):format(value):gsub("\\\n", "\\n"):gsub("\r", "\\r")) end
   if type(value) == "userdata" then return ('"%s"'):format(value:hex()) end
   if type(value) ~= "table" then return tostring(value) end
   local out = {}
   for i = 1, #value do out[i] = literal.text(value[i]) end
   for _, k in ipairs(sorted_keys(value)) do out[#out + 1] = key(k) .. " = " .. literal.text(value[k]) end
   return "{" .. table.concat(out, ", ") .. "}"
end

--- Writes a table with a line for each of its entries.
-- @tparam table value
-- @tparam[opt=""] string indent
-- @tparam[opt=0] number deeper levels below that are also spread over lines
-- @treturn string
function literal.lines(value, indent, deeper)
   indent = indent or ""
   if next(value) == nil then return "{}" end
   local out = {}
   local function add(prefix, entry)
      local nested = (deeper or 0) > 0 and type(entry) == "table" and next(entry) ~= nil
      local text = nested and literal.lines(entry, indent .. "   ", deeper - 1) or literal.text(entry)
      out[#out + 1] = ("%s   %s%s,"):format(indent, prefix, text)
   end
   for i = 1, #value do add("", value[i]) end
   for _, k in ipairs(sorted_keys(value)) do add(key(k) .. " = ", value[k]) end
   return ("{\n%s\n%s}"):format(table.concat(out, "\n"), indent)
end

return literal
