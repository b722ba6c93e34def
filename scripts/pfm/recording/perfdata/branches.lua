-- SPDX-License-Identifier: MIT
--- The branches before a sample, in words: as `perf script -F brstack` prints them.
-- @module pfm.recording.perfdata.branches

local branches = {}

local ENTRY, WORD = 24, 8 -- bytes

-- Returns a word of 64 bits in hexadecimal.
local function hex(text, at)
   local out, big = {}, require("lpfm.chunks").byte_order == "big"
   for i = 0, WORD - 1 do out[i + 1] = ("%02x"):format(text:byte(big and at + i or at + WORD - 1 - i)) end
   return (table.concat(out):gsub("^0+(%x)", "%1"))
end

local function mark(flags, bit, letter)
   return math.floor(flags / bit) % 2 == 1 and letter or "-"
end

-- Returns the flags of a branch as perf script prints them: M or P, X, A, and the cycles since the last branch.
local function describe(flags)
   local missed = mark(flags, 1, "M")
   return ("%s/%s/%s/%d"):format(missed ~= "-" and missed or mark(flags, 2, "P"), mark(flags, 4, "X"),
      mark(flags, 8, "A"), math.floor(flags / 16) % 65536)
end

--- Returns what a branch stack says.
-- @string text words of 64 bits: from, to, flags of each branch, the latest first
-- @treturn string "0xFROM/0xTO/P/-/-/CYCLES ...": M mispredicted, P predicted, X in a transaction, A an abort
-- @usage require("pfm.recording.perfdata.branches").text("") --> ""
function branches.text(text)
   local out = {}
   for at = 1, #text, ENTRY do
      local flags = tonumber(hex(text, at + 2 * WORD):sub(-8), 16)
      out[#out + 1] = ("0x%s/0x%s/%s"):format(hex(text, at), hex(text, at + WORD), describe(flags))
   end
   return table.concat(out, " ")
end

return branches
