-- SPDX-License-Identifier: MIT
-- Where threads came back from pauses (no sample for 10 ms): lpfm script pauses.lua [milliseconds]
local limit, last, found = tonumber(... or 10) or error(... .. ": milliseconds are expected", 0), {}, {}

for s in (samples or error("lpfm script runs this", 0))() do -- luacheck: ignore
   local before = last[s.tid]
   if before and (s.time - before.time) * 1e3 > limit then
      found[#found + 1] = { pause = s.time - before.time, from = before.symbol, to = s.symbol, comm = s.comm,
         tid = s.tid }
   end
   last[s.tid] = s
end
table.sort(found, function(a, b) return a.pause > b.pause end)
print(#found .. " pauses")
for i = 1, math.min(#found, 20) do
   local p = found[i]
   print(("%8.1f ms  %s (%d)  from %s to %s"):format(p.pause * 1e3, p.comm, p.tid, p.from, p.to))
end
