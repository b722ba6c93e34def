-- SPDX-License-Identifier: MIT
-- The sampling format "program": a BPF program that decides at each overflow what becomes of it.
local lpfm = require "lpfm"
local assembler = require "pfm.program.assembler"
local bucket = require("pfm.program").bucket
local c = require "support.c"
local effort = require "support.effort"
local sim = require "support.sim"
local where = require("pfm.program").where

local UUID = "c62f810d-5eb3-479a-a174-3ce8961d52fb"
local const = lpfm.const
local BUCKET = 2 ^ 31

-- Returns the program that fn(assembler) writes.
local function assembled(fn)
   local code = assembler.new()
   fn(code)
   return (code:finish())
end

local function always(verdict)
   return assembled(function(code) code:put("ret", verdict) end)
end

-- Returns work at four addresses and two levels, one of which causes l2_misses, too.
local function work(rounds)
   return { { loop = rounds,
      { ip = 0x1000, ns = 10 }, { ip = 0x7fff00001010, ns = 5, events = { l2_misses = 3 } },
      { loop = 3, { ip = 0x2000, ns = 7 } }, { ip = -0x1000, ns = 3, level = "kernel" } } }
end

-- Samples each instruction, with two PMDs; returns the context when the program has ended.
local function sampled(options, pmd)
   local m = sim.machine("itanium2")
   local ctx = sim.context(options)
   pmd = pmd or {}
   pmd.value, pmd.short_reset, pmd.long_reset = -1, pmd.short_reset or -1, pmd.long_reset or -1
   pmd.smpl_pmds, pmd.flags = { 5, 6 }, pmd.flags or { "OVFL_NOTIFY" }
   sim.count(ctx, 4, "instructions", pmd)
   sim.count(ctx, 5, "cycles")
   sim.count(ctx, 6, "l2_misses")
   local tid = m:spawn { program = work(50) }
   sim.start(ctx, tid)
   m:run { until_exit = tid }
   return ctx
end

local FIELDS = { "ip", "tid", "pid", "cpu", "set", "ovfl_pmd", "tstamp", "last_reset", 5, 6 }

-- Returns all that a buffer says of its samples, a line each.
local function samples_of(ctx, keep)
   local out = {}
   for s in ctx:buffer():samples() do
      if not keep or keep(s) then
         local line = {}
         for i, field in ipairs(FIELDS) do line[i] = tostring(s[field]) end
         out[#out + 1] = table.concat(line, " ")
      end
   end
   return out
end

local function all() return sampled { format = "default", buf_size = 2 ^ 17 } end

local options = { smpl_pmds = { 5, 6 }, buf_size = 2 ^ 17 }

local function count(list, fn)
   local out = {}
   for s in list:buffer():samples() do
      local n = fn(s)
      if n then out[n] = (out[n] or 0) + 1 end
   end
   return out
end

local function log2(n) return n > 0 and math.floor(math.log(n) / math.log(2) + 1e-9) or 0 end

describe("the format program", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("is listed, and goes by its UUID too", function()
      local names = {}
      for _, f in ipairs(lpfm.formats()) do names[f.name] = true end
      assert.is_true(names.program)
      local ctx = sim.context { format = UUID, program = always(const.PFM_PROG_KEEP) }
      assert.equal(0, ctx:verdicts().runs)
   end)

   it("keeps exactly the samples that meet the condition", function()
      local filters = {
         ["ip == 0x2000"] = function(s) return s.ip == 0x2000 end,
         ["ip >= 0x7fff00001010 and ip < 0x7fff00001011"] = function(s) return s.ip == 0x7fff00001010 end,
         ["ip in 'kernel'"] = function(s) return s.ip < 0 end,
         ["not ip in 'kernel' && pmd6 % 4 != 1"] = function(s) return s.ip >= 0 and s[6] % 4 ~= 1 end,
         ["pmd.5 > 300 or pmd6 in {3, 12..20, 99}"] = function(s)
            return s[5] > 300 or s[6] == 3 or s[6] >= 12 and s[6] <= 20 or s[6] == 99
         end,
         ["time % 1000 < 500"] = function(s) return s.tstamp % 1000 < 500 end,
         ["tid == 0"] = function() return false end,
         ["counter == 4 and set == 0 and cpu == 0 and period == 1"] = function() return true end,
         ["last_reset == -1"] = function(s) return s.last_reset == -1 end,
      }
      for text, keep in pairs(filters) do
         local expected = samples_of(all(), keep)
         local ctx = sampled(where(text):create(options))
         assert.same(expected, samples_of(ctx), text)
         assert.equal(300, ctx:verdicts().runs)
         assert.equal(#expected, ctx:verdicts().kept)
      end
   end)

   it("counts the same in buckets as one counts in all samples", function()
      local histograms = {
         ["log2(pmd5)"] = function(s) return log2(s[5]) end,
         ["pmd6 / 3 * 2 + 1"] = function(s) return math.floor(s[6] / 3) * 2 + 1 end,
         ["ip >> 12 & 0xf"] = function(s) return math.floor(s.ip / 4096) % 16 end,
         ["time / 100000 % 7"] = function(s) return math.floor(s.tstamp / 100000) % 7 end,
         ["min(pmd5, pmd6) + (ip == 0x2000)"] = function(s)
            return math.min(s[5], s[6]) + (s.ip == 0x2000 and 1 or 0)
         end,
         ["max(pmd5 - pmd5, 3)"] = function() return 3 end,
      }
      for text, fn in pairs(histograms) do
         local ctx = sampled(bucket(text):create { smpl_pmds = { 5, 6 } })
         assert.same(count(all(), fn), ctx:verdicts().buckets, text)
         assert.equal(0, ctx:verdicts().outside)
      end
   end)

   it("counts what meets the condition, and apart what has no bucket", function()
      local p = bucket("pmd5", { where = "ip == 0x2000", buckets = 100 })
      local expected = count(all(), function(s) return s.ip == 0x2000 and s[5] or nil end)
      local outside = 0
      for n, times in pairs(expected) do
         if n >= 100 then
            outside = outside + times
            expected[n] = nil
         end
      end
      local verdicts = sampled(p:create { smpl_pmds = { 5, 6 } }):verdicts()
      assert.same(expected, verdicts.buckets)
      assert.equal(outside, verdicts.outside)
      assert.is_true(outside > 0)
      assert.equal(0, verdicts.kept)
   end)

   it("fills, notifies and restarts as its base alone", function()
      local function run(opts)
         local m = sim.machine("itanium2")
         opts.buf_size = sim.buffer_size(20)
         local ctx, seen = sim.context(opts), {}
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, long_reset = -50,
            flags = { "OVFL_NOTIFY" } })
         sim.start(ctx, m:spawn { program = sim.work(1e6) })
         for _ = 1, 4 do
            m:run { until_message = ctx }
            local h = ctx:buffer():header()
            seen[#seen + 1] = { h.count, h.overflows, h.cur_offs, ctx:read(0).type, m:time() }
            assert(ctx:restart())
         end
         return seen
      end
      local expected = run { format = "default" }
      assert.same({ 20, 1 }, { expected[1][1], expected[1][2] })
      assert.same(expected, run { format = "program", base = "default", program = always(const.PFM_PROG_KEEP) })
   end)

   it("keeps samples with call stacks, and in regions", function()
      local ctx = sampled(where("ip == 0x2000"):create { base = "stack", buf_size = 2 ^ 17, max_frames = 4 })
      assert.equal(150, #ctx:buffer())
      for s in ctx:buffer():samples() do assert.same({ 0x2000 }, s.stack:copy()) end
      ctx = sampled(where("ip == 0x2000"):create { base = "n-way", buf_size = 2 ^ 17, regions = 3 })
      assert.equal(150, #ctx:buffer())
      assert.equal(3, ctx:buffer():header().regions)
   end)

   it("keeps what its base is told of programs, whatever becomes of the samples", function()
      local ctx = sampled { format = "program", program = always(0), base = "stack", buf_size = 2 ^ 17, max_frames = 4,
         buf_flags = { "RECORDS" } }
      local kinds = {}
      for r in ctx:buffer():records() do kinds[#kinds + 1] = r.kind end
      assert.same({ "EXIT" }, kinds)
      assert.equal(0, #ctx:buffer())
   end)

   it("keeps nothing without a base", function()
      local ctx = sampled { format = "program", program = always(const.PFM_PROG_KEEP) }
      assert.same({ 300, 0 }, { ctx:verdicts().runs, ctx:verdicts().kept })
      assert.equal("END", ctx:read(0).type)
   end)

   it("notifies only when the verdict says so, and goes on while there is room for messages", function()
      local ctx = sampled { format = "program", program = always(const.PFM_PROG_NOTIFY) }
      for _ = 1, 8 do assert.equal("OVFL", ctx:read(0).type) end
      assert.equal("END", ctx:read(0).type)
      assert.equal(9, ctx:verdicts().runs)
      ctx = sampled({ format = "program", program = always(const.PFM_PROG_NOTIFY) }, { flags = {} })
      assert.equal("END", ctx:read(0).type)
   end)

   it("masks until the restart", function()
      local ctx = sampled { format = "program", program = always(const.PFM_PROG_MASK + const.PFM_PROG_NOTIFY) }
      assert.equal(1, ctx:verdicts().runs)
      assert.is_false(ctx:verdicts().stopped)
   end)

   local function endless(verdict)
      local m = sim.machine("itanium2")
      local ctx = sim.context { format = "program", program = always(verdict) }
      sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } })
      local tid = m:spawn { program = { { loop = 1e6, { ip = 0x1000, ns = 10 } } } }
      sim.start(ctx, tid)
      m:run { ns = 1e5 }
      return ctx, m, tid
   end

   it("counts on after the restart of a mask, and not after that of a stop", function()
      local ctx, m = endless(const.PFM_PROG_MASK)
      assert(ctx:restart())
      m:run { ns = 1e5 }
      assert.equal(2, ctx:verdicts().runs)
      local tid
      ctx, m, tid = endless(const.PFM_PROG_STOP)
      assert.is_true(ctx:verdicts().stopped)
      assert(ctx:restart())
      m:run { ns = 1e5 }
      assert.equal(1, ctx:verdicts().runs)
      assert(ctx:unload())
      assert(ctx:write_pmds { { num = 4, value = -10, short_reset = -10, long_reset = -10 } })
      sim.start(ctx, tid)
      m:run { ns = 1e5 }
      assert.equal(2, ctx:verdicts().runs)
   end)

   it("counts and keeps at once if the verdict is both", function()
      local ctx = sampled { format = "program", base = "default", buf_size = 2 ^ 17, buckets = 8,
         program = always(BUCKET + 7 + const.PFM_PROG_KEEP) }
      assert.same({ [7] = 300 }, ctx:verdicts().buckets)
      assert.equal(300, #ctx:buffer())
   end)

   it("never touches a bucket that is not there", function()
      for _, n in ipairs { 8, 9, 2 ^ 20, 2 ^ 24 - 1 } do
         local verdicts = sampled({ format = "program", buckets = 8, program = always(BUCKET + n) }):verdicts()
         assert.same({ 300, 300, {} }, { verdicts.runs, verdicts.outside, verdicts.buckets })
      end
   end)

   it("gives 0 for PMDs that are not sampled", function()
      local ctx = sampled { format = "program", buckets = 4, program = assembled(function(code)
         code:put("ld_abs", 48 + 8 * 31 + 4)
         code:put("or", BUCKET)
         code:put "ret_a"
      end) }
      assert.same({ [0] = 300 }, ctx:verdicts().buckets)
   end)

   it("tells what the overflow was: set, counter, thread, last reset", function()
      local m = sim.machine("itanium2", { cpus = 2 })
      local texts = { "counter", "set", "cpu", "tid", "pid == tid", "period" }
      local expected = { { [5] = 10 }, { [0] = 10 }, { [1] = 10 }, nil, { [1] = 10 }, { [100] = 9, [50] = 1 } }
      for i, text in ipairs(texts) do
         local ctx = sim.context(bucket(text):create())
         sim.count(ctx, 5, "instructions", { value = -50, short_reset = -100, long_reset = -100 })
         local tid = m:spawn { affinity = { 1 }, cpu = 1, program = sim.work(999) }
         sim.start(ctx, tid)
         m:run { until_exit = tid }
         assert.same(expected[i] or { [tid] = 10 }, ctx:verdicts().buckets, text)
         ctx:close()
      end
   end)
end)

describe("a program", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function refused(why, fn)
      sim.machine("itanium2")
      sim.refused("EINVAL", why, lpfm.create { format = "program", program = assembled(fn) })
   end

   it("is refused if it loads anything but words of its record", function()
      for _, offset in ipairs { 304, 2, 1, 300 + 1, 2 ^ 32 - 4, 2 ^ 32 - 0x1000, 2 ^ 32 - 0x1000 + 20 } do
         refused("instruction 0 of the program loads what is no word of the record", function(code)
            code:put("ld_abs", offset)
            code:put("ret", 0)
         end)
      end
      sim.context { format = "program", program = assembled(function(code)
         code:put("ld_abs", 300)
         code:put("ret", 0)
      end) }
   end)

   it("is refused if it loads otherwise, or has codes that are not known", function()
      -- Loads of half-words and bytes, indirect loads, MSH, LDX|ABS, which the kernel uses
      -- internally, eBPF's call, and two numbers that are no codes.
      for _, code in ipairs { 0x28, 0x30, 0x40, 0x48, 0x50, 0xb1, 0xa1, 0x21, 0x85, 0xff, 0x0100 } do
         sim.machine("itanium2")
         local bytes = string.char(code % 256, math.floor(code / 256)) .. ("\0"):rep(6) .. always(0)
         sim.refused("EINVAL", "instruction 0 of the program is not known",
            lpfm.create { format = "program", program = bytes })
      end
   end)

   it("is refused if it does not end, divides by 0, shifts too far, or reads what it has not written", function()
      refused("instruction 0 of the program is the last one, and does not return", function(code)
         code:put("ld_imm", 1)
      end)
      refused("instruction 0 of the program divides by 0", function(code)
         code:put("div", 0)
         code:put("ret", 0)
      end)
      refused("instruction 0 of the program shifts by more than 31", function(code)
         code:put("lsh", 32)
         code:put("ret", 0)
      end)
      refused("instruction 0 of the program reads a scratch word", function(code)
         code:put("ld_mem", 3)
         code:put("ret", 0)
      end)
      refused("instruction 0 of the program names a scratch word that is not there", function(code)
         code:put("st", 16)
         code:put("ret", 0)
      end)
      sim.machine("itanium2")
      sim.refused("EINVAL", "instruction 0 of the program jumps out of the program",
         lpfm.create { format = "program", program = "\5\0\0\0\1\0\0\0" .. always(0) })
   end)

   it("has 1 to 1024 instructions, and up to 2^20 buckets", function()
      sim.machine("itanium2")
      sim.context { format = "program", program = always(0):rep(1024), buckets = 2 ^ 20 }
      for text, options_ in pairs {
         ["1 to 1024 instructions of 8 bytes expected, got 8200 bytes"] = { program = always(0):rep(1025) },
         ["got 0 bytes"] = { program = "" }, ["got 7 bytes"] = { program = ("x"):rep(7) },
         ["field 'buckets'"] = { program = always(0), buckets = 2 ^ 20 + 1 },
         ["field 'program' is missing"] = {},
         ["default, n-way, stack or none expected"] = { program = always(0), base = "x" },
         ["not format_arg"] = { program = always(0), format_arg = ("\1"):rep(128) },
      } do
         options_.format = "program"
         local ok, err = pcall(lpfm.create, options_)
         assert.is_false(ok)
         assert.matches(text, err, 1, true)
      end
      assert.has_error(function() lpfm.create { format = "default", buckets = 1 } end,
         "create: program, buckets and base belong to the format program")
   end)

   it("is no base of formats in Lua", function()
      assert.error_matches(function()
         lpfm.register_format { name = "over-program", base = "program", handler = function() return "RESET" end }
      end, "field 'base'")
   end)

   it("has a base whose argument is in order", function()
      sim.machine("itanium2")
      sim.refused("EINVAL", "the argument of its base, default, is not valid",
         lpfm.create { format = "program", program = always(0), base = "default", buf_size = 10 })
   end)
end)

-- --- expressions ---------------------------------------------------------------------------------

describe("expressions", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local random = 1
   local function next_random(below)
      random = (random * 16807) % 2147483647
      return math.floor(random / 2147483647 * below)
   end

   local function value()
      local kind = next_random(4)
      if kind == 0 then return lpfm.u64(next_random(40)) end
      if kind == 1 then return lpfm.u64(next_random(2 ^ 31)) * 2 + next_random(2) end
      if kind == 2 then return lpfm.u64(0) - next_random(5) end
      return lpfm.u64(next_random(2 ^ 32)) * (2 ^ 32) + next_random(2 ^ 32)
   end

   local m

   -- Returns true if an expression of PMD5 and PMD6 (a, b) yields `expected`.
   local function yields(text, a, b, expected)
      local test = bucket(("(%s) == %s"):format(text, expected:hex()))
      local ctx = assert(lpfm.create(test:create { smpl_pmds = { 5, 6 } }))
      assert(ctx:write_pmcs { { num = 4, value = assert(m:encode("instructions", 4)) } })
      assert(ctx:write_pmds { { num = 5, value = a }, { num = 6, value = b },
         { num = 4, value = -1, smpl_pmds = { 5, 6 } } })
      sim.start(ctx, m:spawn { program = { { ip = 0x1000, ns = 1 } } })
      m:run { ns = 1 }
      local verdicts = ctx:verdicts()
      ctx:close()
      return verdicts.runs == 1 and verdicts.buckets[1] == 1
   end

   local function u(n) return lpfm.u64(n) end
   local function truth(is) return u(is and 1 or 0) end

   local function highest_bit(v)
      local n = 0
      while v > u(1) do v, n = v:rshift(1), n + 1 end
      return u(n)
   end

   local results = {
      ["pmd5 + pmd6"] = function(a, b) return a + b end,
      ["pmd5 - pmd6"] = function(a, b) return a - b end,
      ["pmd5 * pmd6"] = function(a, b) return a * b end,
      ["pmd5 & pmd6 | 5"] = function(a, b) return a:band(b):bor(5) end,
      ["pmd5 ^ pmd6 ^ 0xf0f0f0f0f0"] = function(a, b) return a:bxor(b):bxor("0xf0f0f0f0f0") end,
      ["~pmd5 + -pmd6"] = function(a, b) return a:bnot() - b end,
      ["(pmd5 + pmd6) * (pmd5 - pmd6) + pmd5"] = function(a, b) return (a + b) * (a - b) + a end,
      ["pmd5 * 3 - (pmd6 & 0xff) * 0x12345678"] = function(a, b) return a * 3 - b:band(0xff) * 0x12345678 end,
      ["min(pmd5, pmd6)"] = function(a, b) return a < b and a or b end,
      ["max(pmd5, pmd6 >> 7)"] = function(a, b) return a > b:rshift(7) and a or b:rshift(7) end,
      ["log2(pmd5) + log2(pmd6 & 0xffffffff)"] = function(a, b)
         return highest_bit(a) + highest_bit(b:band("0xffffffff"))
      end,
      ["(pmd5 < pmd6) + 2 * (pmd5 <= pmd6) + 4 * (pmd5 == pmd6)"] = function(a, b)
         return truth(a < b) + truth(a <= b) * 2 + truth(a == b) * 4
      end,
      ["pmd5 + (pmd6 - pmd5 > pmd6) + (pmd5 ~= pmd6)"] = function(a, b) return a + truth(b - a > b) + truth(a ~= b) end,
      ["pmd5 in {0, 3..0xffffffff} and not pmd6 in {1..0xffffffff00000000}"] = function(a, b)
         return truth((a == u(0) or a >= u(3) and a <= u "0xffffffff")
            and not (b >= u(1) and b <= u "0xffffffff00000000"))
      end,
      ["(pmd5 & 0xffff) / ((pmd6 & 0xff) + 1) % 10"] = function(a, b)
         return a:band(0xffff) / (b:band(0xff) + 1) % 10
      end,
   }
   for _, n in ipairs { 0, 1, 31, 32, 33, 63 } do
      results["pmd5 << " .. n] = function(a) return a:lshift(n) end
      results["pmd5 >> " .. n .. " ^ pmd6"] = function(a, b) return a:rshift(n):bxor(b) end
   end
   for _, n in ipairs { 1, 2, 7, 1000, 65535, 65536, 1000000, 4294967296, 1e12, 2 ^ 53 } do
      results[("pmd5 / %.0f"):format(n)] = function(a) return a / n end
      results[("(pmd5 + pmd6) %% %.0f"):format(n)] = function(a, b) return (a + b) % n end
   end

   it("have 64 bits without a sign", function()
      m = sim.machine("itanium2")
      for text, fn in pairs(results) do
         for _ = 1, 12 do
            local a, b = value(), value()
            assert.is_true(yields(text, a, b, u(fn(a, b))), ("%s of %s, %s"):format(text, a:hex(), b:hex()))
         end
      end
   end)

   it("end in a drop where something is divided by 0", function()
      m = sim.machine("itanium2")
      assert.is_false(yields("(pmd5 & 1) / (pmd6 & 1)", u(1), u(2), u(0)))
   end)

   it("are as nested as scratch memory allows, and refused beyond", function()
      m = sim.machine("itanium2")
      local function nested(n) return n == 0 and "pmd5" or "(pmd6 + " .. nested(n - 1) .. ")" end
      assert.is_true(yields(nested(10), u(2), u(3), u(32)))
      assert.error_matches(function() where(nested(100)) end, "this is nested too deep")
      local function deep(n) return n == 0 and "(pmd5 + 1)" or "(" .. deep(n - 1) .. " * " .. deep(n - 1) .. ")" end
      assert.is_true(yields(deep(2), u(2), u(3), u(81)))
      assert.error_matches(function() bucket(deep(8)):create { smpl_pmds = { 5 } } end, "nested too deep for a program")
   end)

   it("jump as far as it takes", function()
      m = sim.machine("itanium2")
      local list = {}
      for i = 1, 200 do list[i] = 3 * i end
      local text = "pmd5 in {" .. table.concat(list, ", ") .. "}"
      assert.is_true(yields(text, u(3), u(0), u(1)))
      assert.is_true(yields(text, u(600), u(0), u(1)))
      assert.is_true(yields(text, u(601), u(0), u(0)))
      assert.error_matches(function() where(text .. " or " .. text:gsub("5", "6")):create { smpl_pmds = { 5, 6 } } end,
         "this takes %d+ instructions; a program has 1024 at most")
   end)

   it("say what is wrong, with a caret under the place", function()
      sim.machine("itanium2")
      local function message(text, opts)
         local ok, err = pcall(function() return where(text):create(opts) end)
         assert.is_false(ok)
         return err
      end
      assert.equal("expected an operand at the end\n   cpu == \n          ^", message "cpu == ")
      assert.equal("expected ')' at the end\n   (cpu\n       ^", message "(cpu")
      assert.equal("expected an operator or the end, found 'tid'\n   cpu tid\n       ^", message "cpu tid")
      assert.equal("'cpuu' is neither a field of an overflow nor an event; did you mean 'cpu'?\n   1 < cpuu\n       ^",
         message "1 < cpuu")
      assert.equal("there is no function 'log'; did you mean 'log2'?\n   log(ip)\n   ^", message "log(ip)")
      assert.equal("this divides by 0\n   ip / 0\n      ^", message "ip / 0")
      assert.equal("PMD7 is not among the smpl_pmds of the PMD that samples\n   pmd7 == 1\n   ^", message "pmd7 == 1")
      assert.matches("^where 'libc' is mapped is known of a running process: its pid is wanted\n   ip in 'libc'\n"
         .. "         %^$", message "ip in 'libc'")
      assert.equal("no object 'libx' is mapped there\n   ip in 'libx'\n         ^",
         message("ip in 'libx'", { maps = {} }))
      assert.matches("'1.5': expected an integral number", message "cpu == 1.5", 1, true)
      assert.matches("is no number of 64 bits", message "cpu == 0x10000000000000000", 1, true)
   end)

   it("know in which object of a process an address is", function()
      sim.machine("itanium2")
      local maps = { { 0x1000, 0x2000, 0, "/lib/libc.so.6" }, { 0x7fff00001000, 0x7fff00002000, 0, "/lib/libc.so.6" },
         { 0x2000, 0x2001, 0, "/usr/bin/libcrypt" } }
      local function kept(text)
         local list = {}
         local ctx = sampled(where(text):create { maps = maps, buf_size = 2 ^ 17 })
         for ip, n in pairs(ctx:buffer():count_by("ip")) do list[#list + 1] = ("%x:%d"):format(ip, n) end
         table.sort(list)
         return table.concat(list, " ")
      end
      assert.equal("1000:50 7fff00001010:50", kept "ip in 'libc'")
      assert.equal("2000:150", kept "ip in 'libcrypt'")
      assert.equal("1000:50 7fff00001010:50", kept "ip in '/lib/libc.so.6'")
   end)

   it("name PMDs by their events", function()
      sim.machine("itanium2")
      local p = where("pmd.page_faults > 1 and pmd.'context-switches' == 0 and page_faults < 9")
      assert.same({ "page_faults", "context-switches" }, p.events)
      assert.is_string(p:create({ smpl_pmds = { 66, 69 } }).program)
   end)
end)

describe("verdicts", function()
   local rounds, mutants = effort(1000000), effort(100000)

   it("of the interpreter are those of the kernel", function()
      local out, status = c.sh(c.make("build/spec/bpf_oracle") .. " 1 " .. rounds)
      assert.equal(0, status, out)
      assert.matches(("\n%d records judged alike"):format(rounds), out)
   end)

   it("never come of a touch outside the record, nor of a program that breaks a rule", function()
      local out, status = c.sh("env -u LD_PRELOAD " .. c.make("build/spec/fuzz_bpf_random") .. " 1 " .. mutants)
      assert.equal(0, status, out)
      local judged, taken = out:match("(%d+) programs and mutants judged, (%d+) taken")
      assert.is_true(tonumber(judged) > 2 * mutants and tonumber(taken) > mutants / 2, out)
   end)
end)
