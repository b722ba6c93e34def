-- SPDX-License-Identifier: MIT
--- How much of a chosen duration a run takes: all of it under make check-all, a quarter under make check.
local percent = tonumber(os.getenv("LPFM_SPEC_PERCENT") or 100)

--- A number of seconds, steps, calls or of what they have to make happen, at least 1.
return function(n)
   return math.max(1, math.ceil(n * percent / 100))
end
