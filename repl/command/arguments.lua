-- SPDX-License-Identifier: MIT
--- The arguments of the prompt's functions: what is wrong with one is said before anything is done.
-- @module repl.command.arguments

local fields = require "pfm.util.fields"

local arguments = {}

-- "string?": or nothing; "string|table": either.
local function fits(value, kinds)
   if value == nil and kinds:find("?", 1, true) then return true end
   for kind in kinds:gmatch("%a+") do
      if type(value) == kind then return true end
   end
   return false
end

--- Raises an error unless each argument is of its kind.
-- @string call the function
-- @string example a call that is right
-- @param ... for each argument, {value, kinds, what it is}
function arguments.check(call, example, ...)
   for i, argument in ipairs { ... } do
      local value, kinds, what = argument[1], argument[2], argument[3]
      if not fits(value, kinds) then
         error(("%s: argument %d: expected %s, got %s: %s"):format(call, i, what,
            value == nil and "nothing" or "a " .. type(value), example), 0)
      end
   end
end

--- Raises an error where a table of options has one that is not known.
-- @string call the function
-- @tparam ?table options
-- @tparam {string,...} known
function arguments.known(call, options, known)
   fields.check(call, options, known, "option")
end

return arguments
