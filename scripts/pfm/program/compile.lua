-- SPDX-License-Identifier: MIT
--- Compiles the tree of an expression to a program.
-- @module pfm.program.compile

local arithmetic = require "pfm.program.arithmetic"
local assembler = require "pfm.program.assembler"
local grammar = require "pfm.program.grammar"
local lpfm = require "lpfm"
local nearest = require "pfm.util.nearest"

local compile = {}

local label, constant, in_slot = assembler.label, arithmetic.constant, arithmetic.in_slot
local low, high, raise = arithmetic.low, arithmetic.high, grammar.raise

-- where the record has the PMDs, and how many
local VALUES, MOST_VALUES = 48, lpfm.const.PFM_PROG_SMPL_VALUES

--- The fields of an overflow's record, by the names they have in expressions; see
-- pfm_prog_record_t.
compile.fields = {
   ip = { offset = 0, wide = true }, time = { offset = 8, wide = true }, pid = { offset = 16 }, tid = { offset = 20 },
   last_reset = { offset = 24, wide = true }, cpu = { offset = 32, max = 0xffff }, set = { offset = 36, max = 0xffff },
   counter = { offset = 40, max = 0xffff },
}
for _, field in pairs(compile.fields) do field.max = field.max or 2 ^ 32 - 1 end

local conditions = {} -- by operator: conditions[op](self, node, yes, no)
local values = {}     -- by operator: values[op](self, node, slot), a value

local function is_condition(node)
   return conditions[node.op] ~= nil
end

-- --- values --------------------------------------------------------------------------------------

--- The names in expressions, in alphabetical order.
compile.names = { "period", "true", "false", "log2(", "min(", "max(", "pmd." }
for name in pairs(compile.fields) do compile.names[#compile.names + 1] = name end
table.sort(compile.names)

-- Compiles a condition to a number: 1 or 0.
local function truth(self, node, slot)
   local yes, no, done, base = label(), label(), label(), self.base
   self.base = slot -- the slots below hold values of the enclosing expression
   conditions[node.op](self, node, yes, no)
   self.base = base
   for i, way in ipairs { yes, no } do
      self.code:place(way)
      self.code:put("ld_imm", 2 - i)
      if i == 1 then self.code:jump(done) end
   end
   self.code:place(done)
   self.code:put("st", 2 * slot)
   return in_slot(slot, false, 1)
end

local function evaluate(self, node, slot)
   if slot > 7 then raise(node.at, "this is nested too deep for a program") end
   if is_condition(node) then return truth(self, node, slot) end
   return values[node.op](self, node, slot)
end

-- Evaluates both operands; returns their values, and the first slot that is free above both.
local function operands(self, node, slot)
   local a = evaluate(self, node[1], slot)
   local b = evaluate(self, node[2], a.slot and a.slot + 1 or slot)
   return a, b, math.max(a.slot or -1, b.slot or -1, slot) + 1
end

function values.num(_, node)
   return constant(node.lo, node.hi)
end

function values.name(self, node, slot)
   if node.name == "true" or node.name == "false" then return constant(node.name == "true" and 1 or 0) end
   if node.name == "period" then
      return arithmetic.sub(self.code, constant(0), compile.fields.last_reset, slot, node.at)
   end
   local field = compile.fields[node.name]
   if field then return field end
   raise(node.at, "'%s' is neither a field of an overflow nor an event%s", node.name,
      nearest.hint(node.name, compile.names))
end

function values.pmd(self, node)
   local index = self.index(node)
   if index > MOST_VALUES then raise(node.at, "a program sees %d PMDs at most", MOST_VALUES) end
   return { offset = VALUES + 8 * (index - 1), wide = true }
end

local function fold(op, a, b)
   local x, y = arithmetic.number_of(a), arithmetic.number_of(b)
   local out = op == "+" and x + y or op == "-" and x >= y and x - y or op == "*" and x * y
   return out and out <= 2 ^ 53 and constant(out % 2 ^ 32, math.floor(out / 2 ^ 32)) or nil
end

local function binary(op, fn)
   values[op] = function(self, node, slot)
      local a, b, above = operands(self, node, slot)
      local folded = a.constant and b.constant and fold(op, a, b)
      return folded or fn(self.code, a, b, slot, node.at, above)
   end
end

for op, name in pairs {
   ["+"] = "add", ["-"] = "sub", ["*"] = "mul", ["/"] = "div", ["%"] = "mod", ["&"] = "band", ["|"] = "bor",
   ["^"] = "bxor",
} do
   binary(op, arithmetic[name])
end

local function shift(op, fn)
   values[op] = function(self, node, slot)
      local a, by = evaluate(self, node[1], slot), evaluate(self, node[2], slot)
      if not by.constant or by.hi > 0 or by.lo > 63 then
         raise(node[2].at, "expected a constant from 0 to 63 to shift by")
      end
      return fn(self.code, a, by.lo, slot, node.at)
   end
end

shift("<<", arithmetic.shl)
shift(">>", arithmetic.shr)

function values.neg(self, node, slot)
   local a = evaluate(self, node[1], slot)
   if a.constant and a.hi == 0 then
      return constant(-a.lo % 2 ^ 32, a.lo > 0 and 2 ^ 32 - 1 or 0)
   end
   return arithmetic.sub(self.code, constant(0), a, slot, node.at)
end

function values.inv(self, node, slot)
   local ones = constant(2 ^ 32 - 1, 2 ^ 32 - 1)
   return arithmetic.bxor(self.code, evaluate(self, node[1], slot), ones, slot, node.at)
end

-- --- functions -----------------------------------------------------------------------------------

local functions = {}

-- Finds the highest bit of A (2^from or more, below 2^(from + count)) by halving; gives its place
-- plus base.
local function highest_bit(code, from, count, base, slot, done)
   if count == 1 then
      code:put("ld_imm", base + from)
      code:put("st", 2 * slot)
      code:jump(done)
      return
   end
   local upper, lower = label(), label()
   code:branch("jge", 2 ^ (from + count / 2), upper, lower)
   code:place(lower)
   highest_bit(code, from, count / 2, base, slot, done)
   code:place(upper)
   highest_bit(code, from + count / 2, count / 2, base, slot, done)
end

--- Compiles log2(x), the whole part of the logarithm; log2(0) is 0.
function functions.log2(self, node, slot)
   local code, a, done = self.code, evaluate(self, node[1], slot), label()
   if a.wide then
      local some, none = label(), label()
      arithmetic.load(code, high(a))
      code:branch("jeq", 0, none, some)
      code:place(some)
      highest_bit(code, 0, 32, 32, slot, done)
      code:place(none)
   end
   arithmetic.load(code, low(a))
   highest_bit(code, 0, 32, 0, slot, done)
   code:place(done)
   return in_slot(slot, false, a.wide and 63 or 31)
end

local less

-- Compiles min() or max(): puts one of two values into the slot.
local function extreme(self, node, slot, first_if)
   local code, yes, no, done = self.code, label(), label(), label()
   local a, b = operands(self, node, slot)
   first_if(code, a, b, yes, no)
   for i, way in ipairs { yes, no } do
      local from = i == 1 and a or b
      code:place(way)
      for k, part in ipairs { low(from), high(from) } do
         arithmetic.load(code, part)
         code:put("st", 2 * slot + k - 1)
      end
      if i == 1 then code:jump(done) end
   end
   code:place(done)
   return in_slot(slot, a.wide or b.wide, math.max(a.max or 0, b.max or 0))
end

function functions.min(self, node, slot)
   return extreme(self, node, slot, function(code, a, b, yes, no) less(code, a, b, yes, no) end)
end

function functions.max(self, node, slot)
   return extreme(self, node, slot, function(code, a, b, yes, no) less(code, b, a, yes, no) end)
end

local arity = { log2 = 1, min = 2, max = 2 }

function values.call(self, node, slot)
   local fn = functions[node.name]
   if not fn then
      raise(node.at, "there is no function '%s'%s", node.name, nearest.hint(node.name, { "log2", "min", "max" }))
   end
   if #node ~= arity[node.name] then
      raise(node.at, "%s takes %d argument%s, not %d", node.name, arity[node.name],
         arity[node.name] == 1 and "" or "s", #node)
   end
   return fn(self, node, slot)
end

-- --- conditions ----------------------------------------------------------------------------------

local function decide(self, node, yes, no)
   if is_condition(node) then return conditions[node.op](self, node, yes, no) end
   local value, more = evaluate(self, node, self.base), label()
   if value.wide then
      arithmetic.load(self.code, high(value))
      self.code:branch("jeq", 0, more, yes)
      self.code:place(more)
   end
   arithmetic.load(self.code, low(value))
   self.code:branch("jeq", 0, no, yes)
end

conditions["and"] = function(self, node, yes, no)
   local next_one = label()
   decide(self, node[1], next_one, no)
   self.code:place(next_one)
   decide(self, node[2], yes, no)
end

conditions["or"] = function(self, node, yes, no)
   local next_one = label()
   decide(self, node[1], yes, next_one)
   self.code:place(next_one)
   decide(self, node[2], yes, no)
end

conditions["not"] = function(self, node, yes, no)
   decide(self, node[1], no, yes)
end

-- Branches to `yes` if a < b, without a sign, else to `no`.
function less(code, a, b, yes, no)
   if a.wide or b.wide then
      local equal, not_above = label(), label()
      local operand = arithmetic.pair(code, high(a), high(b))
      code:branch("jgt", operand, no, not_above)
      code:place(not_above)
      code:branch("jeq", operand, equal, yes)
      code:place(equal)
   end
   code:branch("jge", arithmetic.pair(code, low(a), low(b)), no, yes)
end

local function equal(code, a, b, yes, no)
   if a.wide or b.wide then
      local alike = label()
      code:branch("jeq", arithmetic.pair(code, high(a), high(b)), alike, no)
      code:place(alike)
   end
   code:branch("jeq", arithmetic.pair(code, low(a), low(b)), yes, no)
end

local function comparison(op, fn)
   conditions[op] = function(self, node, yes, no)
      local a, b = operands(self, node, self.base)
      fn(self.code, a, b, yes, no)
   end
end

comparison("==", equal)
comparison("~=", function(code, a, b, yes, no) equal(code, a, b, no, yes) end)
comparison("<", less)
comparison(">", function(code, a, b, yes, no) less(code, b, a, yes, no) end)
comparison("<=", function(code, a, b, yes, no) less(code, b, a, no, yes) end)
comparison(">=", function(code, a, b, yes, no) less(code, a, b, no, yes) end)

-- Branches to `yes` if from <= value <= to, else to `no`.
local function between(code, value, from, to, yes, no)
   local not_below = label()
   less(code, value, from, no, not_below)
   code:place(not_below)
   less(code, to, value, no, yes)
end

function conditions.within(self, node, yes, no)
   local value = evaluate(self, node[1], self.base)
   local slot = value.slot and value.slot + 1 or self.base
   for i = 2, #node do
      local element, missed = node[i], label()
      if element.op == "range" then
         local from, to = operands(self, element, slot)
         between(self.code, value, from, to, yes, missed)
      else
         equal(self.code, value, evaluate(self, element, slot), yes, missed)
      end
      self.code:place(missed)
   end
   self.code:jump(no)
end

local function address(n)
   return constant(n % 2 ^ 32, math.floor(n / 2 ^ 32) % 2 ^ 32)
end

function conditions.object(self, node, yes, no)
   if node[1].op ~= "name" or node[1].name ~= "ip" then raise(node[1].at, "only ip can be in an object") end
   for _, range in ipairs(self.ranges(node)) do
      local missed = label()
      between(self.code, compile.fields.ip, address(range[1]), address(range[2] - 1), yes, missed)
      self.code:place(missed)
   end
   self.code:jump(no)
end

-- --- programs ------------------------------------------------------------------------------------

local VERDICTS = { keep = lpfm.const.PFM_PROG_KEEP, drop = lpfm.const.PFM_PROG_DROP,
   no_bucket = 2 ^ 31 + lpfm.const.PFM_PROG_NO_BUCKET }

local function give(code, verdict)
   code:put("ret", VERDICTS[verdict])
end

-- Compiles a condition: if it holds, the program goes on; otherwise the sample is dropped.
local function demand(self, tree)
   local yes, no = label(), label()
   decide(self, tree, yes, no)
   self.code:place(no)
   give(self.code, "drop")
   self.code:place(yes)
end

local function count(self, tree, buckets)
   local code, value = self.code, evaluate(self, tree, 0)
   local outside, more, inside = label(), label(), label()
   buckets = buckets or not value.wide and value.max < compile.DEFAULT_BUCKETS and value.max + 1
      or compile.DEFAULT_BUCKETS
   if value.wide then
      arithmetic.load(code, high(value))
      code:branch("jeq", 0, more, outside)
      code:place(more)
   end
   arithmetic.load(code, low(value))
   code:branch("jge", buckets, outside, inside)
   code:place(inside)
   code:put("or", 2 ^ 31)
   code:put "ret_a"
   code:place(outside)
   give(code, "no_bucket")
   return buckets
end

--- Buckets of a histogram, unless the expression has fewer values.
compile.DEFAULT_BUCKETS = 4096

--- Makes a program.
-- @tparam table trees where: a condition, or nil; bucket: a value, or nil: what is not dropped is
-- kept
-- @tparam table bindings index(node): the place, from 1, of a PMD among those sampled;
-- ranges(node): addresses of an object, { { from, to }, ... }, the ends not included
-- @int[opt] buckets
-- @treturn string its code
-- @treturn[opt] int buckets
function compile.program(trees, bindings, buckets)
   local self = { code = assembler.new(), base = 0, index = bindings.index, ranges = bindings.ranges }
   if trees.where then demand(self, trees.where) end
   if trees.bucket then
      buckets = count(self, trees.bucket, buckets)
   else
      give(self.code, "keep")
   end
   local text, n = self.code:finish()
   if n > lpfm.const.PFM_PROG_SMPL_MAX_INSNS then
      raise(1, "this takes %d instructions; a program has %d at most", n, lpfm.const.PFM_PROG_SMPL_MAX_INSNS)
   end
   return text, trees.bucket and buckets or nil
end

return compile
