-- SPDX-License-Identifier: MIT
--- Numbers for texts: equal texts have equal numbers on every machine, so that a database needs no other agreement
-- about them. Of 10 million texts two have the same number once in 20,000 times.
-- @module pfm.fleet.store.hash

local byte = string.byte

-- Primes below 10^9; products stay below 2^53.
local FIRST, SECOND = 999999937, 999999893
local BY_FIRST, BY_SECOND = 7368787, 5915587

--- Returns the number of a text.
-- @function hash
-- @string text
-- @treturn string decimal, below 10^18: what signed 64-bit columns hold
-- @usage assert(hash("main") == hash("main"))
return function(text)
   local a, b = 1, 1
   for i = 1, #text do
      local c = byte(text, i) + 1
      a, b = (a * BY_FIRST + c) % FIRST, (b * BY_SECOND + c) % SECOND
   end
   return ("%d%09d"):format(a, b)
end
