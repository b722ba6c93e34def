-- SPDX-License-Identifier: MIT
--- Describes call stacks that were cut: the program's outermost functions are missing.
-- @module pfm.recording.cuts

local render = require "pfm.render"
local tables = require "pfm.util.tables"

local cuts = {}

local MOST = 65528 -- bytes of a stack that can be copied

local function size(bytes)
   return bytes % 1024 == 0 and ("%d KiB"):format(bytes / 1024) or render.plural(bytes, "byte")
end

-- Suggests a larger copy; returns nil if the copy cannot be larger.
local function larger(bytes)
   if bytes >= MOST then return nil end
   return ("dwarf,%d copies more"):format(math.min(MOST, bytes * 4))
end

-- Where a stack was cut, and the remedy, by the words of `stack_table:cut`.
local kinds = {
   { "copy", function(bytes) return "at the end of the " .. size(bytes) .. " copied", larger(bytes) end },
   { "pointers", function()
      return "in functions without frame pointers", "-g dwarf finds what called those"
   end },
   { "table", function() return "in code without an unwind table" end },
   { "code", function() return "at a return address that is no code" end },
   { "stack", function() return "where the stack pointer leaves the stack" end },
   { "mappings", function() return "in processes with unknown mappings" end },
   { "frames", function() return "after the most frames that are kept" end },
   { "registers", function() return "in programs without registers from the kernel" end },
}

local function percent(n, of)
   local share = n / of * 100
   if share < 0.05 then return "less than 0.1%" end
   return share > 99.95 and n < of and "more than 99.9%" or ("%.1f%%"):format(share)
end

--- Says where a stack was cut.
-- @string word of `stack_table:cut`
-- @int[opt] bytes of the stack that were copied
-- @treturn string
-- @usage require("pfm.recording.cuts").place("table") --> "in code without an unwind table"
function cuts.place(word, bytes)
   local _, kind = tables.find(kinds, word, 1)
   return kind and (kind[2](bytes or 0)) or "for a reason that this version does not know"
end

--- Says how many stacks are incomplete, and why.
-- @tparam table counts samples, by what `stack_table:cut` says
-- @int total samples with stacks
-- @int bytes of a stack that were copied
-- @treturn string nil: all are whole
-- @usage print(require("pfm.recording.cuts").text({ copy = 1 }, 4, 8192))
function cuts.text(counts, total, bytes)
   local n, out = 0, {}
   for _, kind in ipairs(kinds) do
      local count, where, remedy = counts[kind[1]], kind[2](bytes or 0)
      if count then
         n = n + count
         out[#out + 1] = ("%s %s%s"):format(render.number(count), where, remedy and (" (%s)"):format(remedy) or "")
      end
   end
   if n == 0 then return nil end
   return ("%s of stacks are incomplete: %s"):format(percent(n, total), table.concat(out, ", "))
end

return cuts
