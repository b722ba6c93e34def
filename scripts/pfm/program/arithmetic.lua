-- SPDX-License-Identifier: MIT
--- 64-bit arithmetic in pairs of 32-bit words.
--
-- A value is a constant (`lo`, `hi`), a field of the record (`offset`), or in scratch memory
-- (`slot`: two words). `wide`: its high word may be other than 0; `max`: what a value that is not
-- wide is at most. Operations leave their result in a given slot, which may be that of an operand;
-- `above` is the first slot that is free to work in.
-- @module pfm.program.arithmetic

local assembler = require "pfm.program.assembler"
local grammar = require "pfm.program.grammar"

local arithmetic = {}

local WORD, SLOTS = 2 ^ 32, 8
local label = assembler.label

-- --- values --------------------------------------------------------------------------------------

--- Makes a constant.
-- @number lo
-- @number[opt=0] hi
-- @treturn table
function arithmetic.constant(lo, hi)
   return { lo = lo, hi = hi or 0, wide = (hi or 0) > 0, max = lo, constant = true }
end

--- Makes a value in a slot.
-- @int slot
-- @bool wide
-- @number[opt] max
-- @treturn table
function arithmetic.in_slot(slot, wide, max)
   return { slot = slot, wide = wide, max = max or WORD - 1 }
end

local in_slot, constant = arithmetic.in_slot, arithmetic.constant

--- Returns the number of a constant, as far as a Lua number can hold it.
-- @tparam table value
-- @treturn number
function arithmetic.number_of(value)
   return value.hi * WORD + value.lo
end

-- Returns the low word of a value: a constant `k`, or its place in memory.
local function low(value)
   if value.constant then return { k = value.lo } end
   return value.slot and { mem = 2 * value.slot } or { abs = value.offset }
end

local function high(value)
   if value.constant then return { k = value.hi } end
   if not value.wide then return { k = 0 } end
   return value.slot and { mem = 2 * value.slot + 1 } or { abs = value.offset + 4 }
end

arithmetic.low, arithmetic.high = low, high

--- Loads a word into A.
-- @tparam table code of `pfm.program.assembler`
-- @tparam table word
function arithmetic.load(code, word)
   if word.k then
      code:put("ld_imm", word.k)
   elseif word.mem then
      code:put("ld_mem", word.mem)
   else
      code:put("ld_abs", word.abs)
   end
end

local load = arithmetic.load

--- Loads a word into A and makes another one the operand of an instruction: returns k or "x".
-- @tparam table code
-- @tparam table a
-- @tparam table b
-- @treturn ?int|string
function arithmetic.pair(code, a, b)
   if b.k then
      load(code, a)
      return b.k
   end
   if b.mem then
      load(code, a)
      code:put("ldx_mem", b.mem)
   else
      load(code, b)
      code:put "tax"
      load(code, a)
   end
   return "x"
end

local pair = arithmetic.pair

local function check_slot(slot, at)
   if slot >= SLOTS then grammar.raise(at, "this is nested too deep for a program") end
end

-- A = a op b
local function word_op(code, op, a, b)
   code:put(op, pair(code, a, b))
end

-- Returns the two words of scratch memory for an operation's result.
local function target(slot, at)
   check_slot(slot, at)
   return 2 * slot, 2 * slot + 1
end

-- --- sums and differences ------------------------------------------------------------------------

-- A = high(a) op high(b), op being "add" or "sub"; code that comes by the label `with` applies the
-- carry, too.
local function high_with_carry(code, op, a, b, hi, with, without)
   local done = label()
   code:place(with)
   word_op(code, op, high(a), high(b))
   code:put(op, 1)
   code:put("st", hi)
   code:jump(done)
   code:place(without)
   word_op(code, op, high(a), high(b))
   code:put("st", hi)
   code:place(done)
end

--- Adds a and b, in 64 bits.
-- @tparam table code
-- @tparam table a
-- @tparam table b
-- @int slot
-- @int at where the operator stands in the expression
-- @treturn table
function arithmetic.add(code, a, b, slot, at)
   local lo, hi = target(slot, at)
   if not a.wide and not b.wide and a.max + b.max < WORD then
      word_op(code, "add", low(a), low(b))
      code:put("st", lo)
      return in_slot(slot, false, a.max + b.max)
   end
   local with, without = label(), label()
   local operand = pair(code, low(a), low(b))
   code:put("add", operand)
   code:branch("jge", operand, without, with) -- the sum is less than b where it wrapped
   high_with_carry(code, "add", a, b, hi, with, without)
   word_op(code, "add", low(a), low(b))
   code:put("st", lo)
   return in_slot(slot, true)
end

--- Subtracts b from a, in 64 bits.
-- @tparam table code
-- @tparam table a
-- @tparam table b
-- @int slot
-- @int at where the operator stands in the expression
-- @treturn table
function arithmetic.sub(code, a, b, slot, at)
   local lo, hi = target(slot, at)
   local with, without = label(), label()
   code:branch("jge", pair(code, low(a), low(b)), without, with)
   high_with_carry(code, "sub", a, b, hi, with, without)
   word_op(code, "sub", low(a), low(b))
   code:put("st", lo)
   return in_slot(slot, true)
end

-- --- bitwise operations --------------------------------------------------------------------------

local function bitwise(op, narrow)
   return function(code, a, b, slot, at)
      local lo, hi = target(slot, at)
      local wide = narrow and a.wide and b.wide or not narrow and (a.wide or b.wide)
      if wide then
         word_op(code, op, high(a), high(b))
         code:put("st", hi)
      end
      word_op(code, op, low(a), low(b))
      code:put("st", lo)
      local most = math.min(a.wide and WORD - 1 or a.max, b.wide and WORD - 1 or b.max)
      return in_slot(slot, wide, narrow and most or nil)
   end
end

arithmetic.band, arithmetic.bor, arithmetic.bxor = bitwise("and", true), bitwise "or", bitwise "xor"

local function shift_in(code, from, by, other, back)
   load(code, from)
   code:put(by[1], by[2])
   if other then
      code:put "tax"
      load(code, other)
      code:put(back[1], back[2])
      code:put("or", "x")
   end
end

--- Shifts to the left by a constant.
-- @tparam table code
-- @tparam table a
-- @int n 0 to 63
-- @int slot
-- @int at
-- @treturn table
function arithmetic.shl(code, a, n, slot, at)
   local lo, hi = target(slot, at)
   if not a.wide and n < 32 and a.max * 2 ^ n < WORD then
      shift_in(code, low(a), { "lsh", n })
      code:put("st", lo)
      return in_slot(slot, false, a.max * 2 ^ n)
   end
   if n >= 32 then
      shift_in(code, low(a), { "lsh", n - 32 })
   else
      shift_in(code, high(a), { "lsh", n }, n > 0 and low(a), { "rsh", 32 - n })
   end
   code:put("st", hi)
   if n >= 32 then code:put("ld_imm", 0) else shift_in(code, low(a), { "lsh", n }) end
   code:put("st", lo)
   return in_slot(slot, true)
end

--- Shifts to the right by a constant, zeros coming in.
-- @tparam table code
-- @tparam table a
-- @int n 0 to 63
-- @int slot
-- @int at
-- @treturn table
function arithmetic.shr(code, a, n, slot, at)
   local lo, hi = target(slot, at)
   if not a.wide or n >= 32 then
      local word = a.wide and high(a) or low(a)
      if a.wide then n = n - 32 end
      if n >= 32 then code:put("ld_imm", 0) else shift_in(code, word, { "rsh", n }) end
      code:put("st", lo)
      return in_slot(slot, false, math.floor((a.wide and WORD - 1 or a.max) / 2 ^ n))
   end
   shift_in(code, low(a), { "rsh", n }, n > 0 and high(a), { "lsh", 32 - n })
   code:put("st", lo)
   shift_in(code, high(a), { "rsh", n })
   code:put("st", hi)
   return in_slot(slot, true)
end

-- --- products ------------------------------------------------------------------------------------

local function half(code, word, upper)
   load(code, word)
   code:put(upper and "rsh" or "and", upper and 16 or 0xffff)
end

-- A = the upper or lower half of the word a, times that of b; `free`: a word of memory to work in.
local function half_product(code, a, a_upper, b, b_upper, free)
   half(code, b, b_upper)
   code:put("st", free)
   half(code, a, a_upper)
   code:put("ldx_mem", free)
   code:put("mul", "x")
end

-- Adds a word of scratch memory to the register A.
local function add_mem(code, mem)
   code:put("ldx_mem", mem)
   code:put("add", "x")
end

-- Puts the high word of a product of two words into the word `to`; `t`, `free`: words to work in.
local function high_product(code, a, b, to, t, free)
   half_product(code, a, false, b, false, free)
   code:put("rsh", 16)
   code:put("st", t)
   half_product(code, a, true, b, false, free)
   add_mem(code, t)
   code:put("st", t)
   code:put("rsh", 16)
   code:put("st", to)
   code:put("ld_mem", t)
   code:put("and", 0xffff)
   code:put("st", t)
   half_product(code, a, false, b, true, free)
   add_mem(code, t)
   code:put("rsh", 16)
   add_mem(code, to)
   code:put("st", to)
   half_product(code, a, true, b, true, free)
   add_mem(code, to)
   code:put("st", to)
end

--- Multiplies a and b, in 64 bits.
-- @tparam table code
-- @tparam table a
-- @tparam table b
-- @int slot
-- @int at where the operator stands in the expression
-- @int above
-- @treturn table
function arithmetic.mul(code, a, b, slot, at, above)
   local lo, hi = target(slot, at)
   if not a.wide and not b.wide and a.max * b.max < WORD then
      word_op(code, "mul", low(a), low(b))
      code:put("st", lo)
      return in_slot(slot, false, a.max * b.max)
   end
   check_slot(above + 1, at)
   local to, t, free = 2 * above, 2 * above + 1, 2 * above + 2
   high_product(code, low(a), low(b), to, t, free)
   for _, cross in ipairs { { low(a), high(b) }, { high(a), low(b) } } do
      if cross[1].k ~= 0 and cross[2].k ~= 0 then
         word_op(code, "mul", cross[1], cross[2])
         add_mem(code, to)
         code:put("st", to)
      end
   end
   word_op(code, "mul", low(a), low(b))
   code:put("st", lo)
   code:put("ld_mem", to)
   code:put("st", hi)
   return in_slot(slot, true)
end

-- --- quotients -----------------------------------------------------------------------------------

local DIGIT = 0x10000

-- Prepares the next digit of a long division: A = (the rest in the word r) * 2^16 + half of a word.
local function next_digit(code, r, word, upper)
   half(code, word, upper)
   code:put "tax"
   code:put("ld_mem", r)
   code:put("lsh", 16)
   code:put("or", "x")
end

-- Divides a wide value by a constant of 16 bits; the rest comes into the word r. q: a word to use.
local function long_division(code, a, d, slot, r, q)
   local lo, hi = 2 * slot, 2 * slot + 1
   local low_word = low(a)
   load(code, high(a))
   code:put("mod", d)
   code:put("st", r)
   load(code, high(a))
   code:put("div", d)
   code:put("st", hi)
   next_digit(code, r, low_word, true)
   code:put("st", q)
   code:put("mod", d)
   code:put("st", r)
   next_digit(code, r, low_word, false)
   code:put("st", r)
   code:put("div", d)
   code:put "tax"
   code:put("ld_mem", q)
   code:put("div", d)
   code:put("lsh", 16)
   code:put("or", "x")
   code:put("st", lo)
   code:put("ld_mem", r)
   code:put("mod", d)
   code:put("st", r)
end

-- Returns factors of n, all below 2^16; nil if n has a larger prime factor.
local function factors_of(n)
   local out, f = {}, 2
   while n >= DIGIT do
      while n % f ~= 0 do
         f = f + 1
         if f >= DIGIT then return nil end
      end
      local last = out[#out]
      if last and last * f < DIGIT then out[#out] = last * f else out[#out + 1] = f end
      n = n / f
   end
   if n > 1 then out[#out + 1] = n end
   return out
end

local function divided_by(a, b, at)
   if b.constant and b.lo == 0 and b.hi == 0 then grammar.raise(at, "this divides by 0") end
   if not a.wide and not b.wide then return nil end
   if not b.constant then
      grammar.raise(at, "a value of 64 bits can be divided by a constant alone")
   end
   local factors = arithmetic.number_of(b) <= 2 ^ 53 and factors_of(arithmetic.number_of(b))
   if not factors then
      grammar.raise(at, "a value of 64 bits cannot be divided by this constant: it has a prime factor above 65535")
   end
   return factors
end

local function quotient(code, a, factors, slot, at, above)
   check_slot(above, at)
   local value = a
   for _, d in ipairs(factors) do
      long_division(code, value, d, slot, 2 * above, 2 * above + 1)
      value = in_slot(slot, true)
   end
   return value
end

--- Divides a by b, rounded down. If either is wide, b must be a constant, else an error is raised.
-- @tparam table code
-- @tparam table a
-- @tparam table b
-- @int slot
-- @int at where the operator stands in the expression
-- @int above
-- @treturn table
function arithmetic.div(code, a, b, slot, at, above)
   local factors = divided_by(a, b, at)
   local lo = target(slot, at)
   if factors then
      if #factors > 0 then return quotient(code, a, factors, slot, at, above) end
      return arithmetic.bor(code, a, constant(0), slot, at)
   end
   word_op(code, "div", low(a), low(b))
   code:put("st", lo)
   return in_slot(slot, false, a.max)
end

--- Computes the remainder of a / b, for the values that `arithmetic.div` takes.
-- @tparam table code
-- @tparam table a
-- @tparam table b
-- @int slot
-- @int at where the operator stands in the expression
-- @int above
-- @treturn table
function arithmetic.mod(code, a, b, slot, at, above)
   local factors = divided_by(a, b, at)
   local lo = target(slot, at)
   if not factors then
      word_op(code, "mod", low(a), low(b))
      code:put("st", lo)
      return in_slot(slot, false, b.constant and b.lo - 1 or a.max)
   end
   if #factors == 1 then
      quotient(code, a, factors, slot, at, above)
      code:put("ld_mem", 2 * above)
      code:put("st", lo)
      return in_slot(slot, false, factors[1] - 1)
   end
   -- a - a / b * b
   local whole = quotient(code, a, factors, above, at, above + 1)
   local back = arithmetic.mul(code, whole, b, above, at, above + 1)
   local rest = arithmetic.sub(code, a, back, slot, at)
   return b.wide and rest or in_slot(slot, false, b.lo - 1)
end

return arithmetic
