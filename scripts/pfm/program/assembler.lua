-- SPDX-License-Identifier: MIT
--- Programs under construction: instructions of classic BPF, and places that they jump to.
-- @module pfm.program.assembler

local assembler = {}
assembler.__index = assembler

local NEAR = 255 -- instructions that a conditional jump can skip

local codes = {
   ld_imm = 0x00, ld_abs = 0x20, ld_mem = 0x60, ldx_imm = 0x01, ldx_mem = 0x61, st = 0x02, stx = 0x03,
   add = 0x04, sub = 0x14, mul = 0x24, div = 0x34, ["or"] = 0x44, ["and"] = 0x54, lsh = 0x64, rsh = 0x74, mod = 0x94,
   xor = 0xa4, ja = 0x05, jeq = 0x15, jgt = 0x25, jge = 0x35, jset = 0x45, ret = 0x06, ret_a = 0x16, tax = 0x07,
}
local X = 0x08 -- the operand is X, not k

--- Makes an empty program.
-- @treturn table with the methods below
function assembler.new()
   return setmetatable({ list = {} }, assembler)
end

--- Makes a label that jumps can lead to, once `place` has put it somewhere.
-- @treturn table
function assembler.label()
   return {}
end

--- Puts a label before the next instruction.
-- @tparam table label
function assembler:place(label)
   label.before = #self.list + 1
end

--- Appends an instruction.
-- @string op `ld_imm`, `ld_abs`, `add`, `ret`, ...
-- @tparam[opt=0] ?int|string k the operand; "x": the register X
function assembler:put(op, k)
   local code = codes[op]
   if k == "x" then code, k = code + X, 0 end
   self.list[#self.list + 1] = { code = code, k = k or 0 }
end

--- Appends a conditional jump.
-- @string op `jeq`, `jgt`, `jge`, `jset`
-- @tparam ?int|string k as for put
-- @tparam table yes the label that it leads to if the condition holds
-- @tparam table no the label that it leads to otherwise
function assembler:branch(op, k, yes, no)
   self:put(op, k)
   local last = self.list[#self.list]
   last.yes, last.no = yes, no
end

--- Appends a jump.
-- @tparam table label
function assembler:jump(label)
   self.list[#self.list + 1] = { code = codes.ja, k = 0, to = label }
end

-- --- laying out jumps ----------------------------------------------------------------------------

local function lay_out(list)
   local starts, at = {}, 0
   for i, insn in ipairs(list) do
      starts[i] = at
      -- a jump for each way too far follows
      at = at + 1 + (insn.far_yes and 1 or 0) + (insn.far_no and 1 or 0)
   end
   starts[#list + 1] = at
   return starts
end

-- Marks jumps that are too far; returns true if any was not marked before.
local function mark_far(list, starts)
   local changed = false
   for i, insn in ipairs(list) do
      for _, way in ipairs { "yes", "no" } do
         local far = "far_" .. way
         if insn[way] and not insn[far] and starts[insn[way].before] - starts[i] - 1 > NEAR then
            insn[far], changed = true, true
         end
      end
   end
   return changed
end

local function bytes(code, jt, jf, k)
   local function byte(shift) return math.floor(k / 2 ^ shift) % 256 end
   return string.char(code % 256, math.floor(code / 256), jt, jf, byte(0), byte(8), byte(16), byte(24))
end

local function encode(insn, at, starts)
   local function skip(label, from) return starts[label.before] - from - 1 end
   if insn.to then return bytes(insn.code, 0, 0, skip(insn.to, at)) end
   if not insn.yes then return bytes(insn.code, 0, 0, insn.k) end
   local jt, jf, more, n = nil, nil, "", 0
   if insn.far_yes then
      jt, n = 0, 1
      more = bytes(codes.ja, 0, 0, skip(insn.yes, at + 1))
   end
   if insn.far_no then
      jf, n = n, n + 1
      more = more .. bytes(codes.ja, 0, 0, skip(insn.no, at + n))
   end
   return bytes(insn.code, jt or skip(insn.yes, at), jf or skip(insn.no, at), insn.k) .. more
end

--- Returns the program as the kernel takes it, little-endian.
-- @treturn string 8 bytes an instruction
-- @treturn int instructions
function assembler:finish()
   local starts
   repeat starts = lay_out(self.list) until not mark_far(self.list, starts)
   local out = {}
   for i, insn in ipairs(self.list) do out[i] = encode(insn, starts[i], starts) end
   return table.concat(out), starts[#self.list + 1]
end

return assembler
