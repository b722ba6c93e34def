-- SPDX-License-Identifier: MIT
--- Raises a message that says all there is to say: without the position in the library.
-- @module pfm.util.fail

--- Raises an error.
-- @function fail
-- @string message a format of `string.format`
-- @param ... its arguments
return function(message, ...)
   error(message:format(...), 0)
end
