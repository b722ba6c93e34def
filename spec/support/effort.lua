-- SPDX-License-Identifier: MIT
--- Shortens long tests: under make check they take a quarter of what they take under make
-- check-all.
local percent = tonumber(os.getenv("LPFM_SPEC_PERCENT") or 100)

--- Returns the share of a number of seconds, steps, calls or expected events; at least 1.
return function(n)
   return math.max(1, math.ceil(n * percent / 100))
end
