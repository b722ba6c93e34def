-- SPDX-License-Identifier: MIT
--- Checks the arguments of the prompt's functions before anything is done.
-- @module repl.command.arguments

local expect = require "pfm.util.expect"

local arguments = {}

-- Returns true if a value is of one of the kinds: "string?" permits nil, "string|table" either
-- type.
local function fits(value, kinds)
   if value == nil and kinds:find("?", 1, true) then return true end
   for kind in kinds:gmatch("%a+") do
      if type(value) == kind then return true end
   end
   return false
end

--- Raises an error unless each argument has its kind.
-- @string call the function's name
-- @string example a correct call
-- @param ... for each argument, {value, kinds, what it means}
function arguments.check(call, example, ...)
   for i, argument in ipairs { ... } do
      local value, kinds, what = argument[1], argument[2], argument[3]
      if not fits(value, kinds) then
         error(("%s: argument %d: expected %s, got %s: %s"):format(call, i, what,
            value == nil and "nothing" or "a " .. type(value), example), 0)
      end
   end
end

--- Raises an error if a table of options has an unknown one.
-- @string call the function's name
-- @tparam ?table options
-- @tparam {string,...} known
function arguments.known(call, options, known)
   expect.fields(call, options, known, "option")
end

return arguments
