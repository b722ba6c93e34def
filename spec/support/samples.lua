-- SPDX-License-Identifier: MIT
--- Writes blocks of samples byte by byte: the default format in the layout of perfmon2 2.x.
local samples = {}

local function le(n, bytes)
   local out = {}
   for i = 1, bytes do
      out[i] = string.char(n % 256)
      n = math.floor(n / 256)
   end
   return table.concat(out)
end

--- Returns the bytes of -n in two's complement.
function samples.negative(n, bytes)
   return (le(n - 1, bytes):gsub(".", function(ch) return string.char(255 - ch:byte()) end))
end

--- Returns a number's bytes, the lowest first; negative numbers are in two's complement.
function samples.int(n, bytes)
   return n < 0 and samples.negative(-n, bytes) or le(n, bytes)
end

local int = samples.int

-- Returns the bytes of a sample: an entry of 40 bytes, and the PMDs' values behind it.
local function entry(s)
   local values = {}
   for i, v in ipairs(s.values or {}) do values[i] = int(v, 8) end
   return le(s.tid, 4) .. le(s.pmd or 65, 2) .. le(0, 2) .. int(-(s.period or 1000), 8) .. int(s.ip, 8)
      .. le(s.tstamp or 0, 8) .. le(s.cpu or 0, 2) .. le(s.set or 0, 2) .. le(s.pid or s.tid, 4) .. table.concat(values)
end

--- Returns the bytes of a buffer: a header of 128 bytes, and the samples.
-- @param list of tables: tid, ip, and optional pid, cpu, pmd (65), set, period (1000), tstamp,
-- values
-- @param count the number that the header states, by default the true one
function samples.block(list, count)
   local body = {}
   for i, s in ipairs(list) do body[i] = entry(s) end
   local data = table.concat(body)
   return le(count or #list, 8) .. le(128 + #data, 8) .. le(0, 8 * 14) .. data
end

return samples
