-- SPDX-License-Identifier: MIT
--- Raises an error without a position: the message is complete, and needs no line of the library.
-- @module pfm.util.fail

--- Raises an error.
-- @function fail
-- @string message a format of `string.format`
-- @param ... its arguments
return function(message, ...)
   error(message:format(...), 0)
end
