-- SPDX-License-Identifier: MIT
--- Checks the names of fields in tables of options: a mistyped one would be ignored silently.
-- @module pfm.util.fields

local expect = require "pfm.util.expect"
local nearest = require "pfm.util.nearest"

local fields = {}

--- Joins lists of names.
-- @tparam {string,...} ... lists
-- @treturn {string,...}
-- @usage fields.join({ "command" }, { "events" }) --> { "command", "events" }
function fields.join(...)
   local out = {}
   for _, list in ipairs { ... } do
      for _, name in ipairs(list) do out[#out + 1] = name end
   end
   return out
end

--- Raises an error where a value is no table, or the table has an unknown name; the message has the nearest known one.
-- @string call name of the function that takes the table
-- @tparam ?table t nil: all that is in it is left out
-- @tparam {string,...} known
-- @string[opt="field"] what such a name is
-- @usage pcall(fields.check, "count.run", { commnd = {} }, { "command" }) -- ... did you mean 'command'?
function fields.check(call, t, known, what)
   if t then expect.kind(call, t, "table") end
   local set = {}
   for _, name in ipairs(known) do set[name] = true end
   for name in pairs(t or {}) do
      if not set[name] then
         error(("%s: unknown %s '%s'%s"):format(call, what or "field", tostring(name),
            nearest.hint(tostring(name), known)), 0)
      end
   end
end

return fields
