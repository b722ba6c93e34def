-- SPDX-License-Identifier: MIT
-- The memory of the simulated computer. Programs count in its caches what a textbook computes on
-- paper, here in a comment next to each program: lines of 64 bytes, LRU.
local c = require "support.c"
local files = require "support.files"
local fcntl = require "posix.fcntl"
local unistd = require "posix.unistd"
local lpfm = require "lpfm"
local sim = require "support.sim"

local KB, A, B, C = 1024, 0x1000000, 0x2000000, 0x3000000

-- Makes a computer with no cache but an L1D of this shape, "SIZE:WAYS:64".
local function computer(l1d, more)
   local options = { l1d = l1d, l2 = 0, l3 = 0, itlb = 0, dtlb = 0 }
   for k, v in pairs(more or {}) do options[k] = v end
   return sim.machine("k8", options)
end

local run, total = sim.run_program, sim.total

-- Returns the misses by cause of the loads at an address, without causes that have none.
local function causes(m, ip)
   local out = {}
   for cause, n in pairs(assert(m:explain(ip)).load_misses) do
      if n > 0 and cause ~= "total" then out[cause] = n end
   end
   return out
end

describe("the parts of the simulated memory", function()
   it("are as their models", function()
      -- once is enough: the program is C
      if (os.getenv("LPFM_LUA") or "luajit") ~= "luajit" then return end
      local program = c.target("caches", "-fsanitize=address,undefined -Ikernel kernel/sim/cache/*.c")
      local out, status = c.sh("env -u LD_PRELOAD " .. program)
      assert.are.equal(0, status, out)
   end)
end)

describe("a program that accesses memory", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("misses once a line on a walk with a stride, and every time with one of a line or more", function()
      for _, stride in ipairs { 1, 4, 8, 16, 32, 64, 128, 4096 } do
         local n = 4096
         local truth = run(computer("32768:8:64"), { { loop = n, { ip = 0x1000, load = { A, stride, size = 1 } } } })
         assert.are.equal(n, truth.loads.user)
         assert.are.equal(stride < 64 and n * stride / 64 or n, truth.l1d_misses.user, "stride " .. stride)
      end
   end)

   it("misses nothing the second time if it fits, everything if it is one line too large", function()
      local lines = 32 * KB / 64
      for extra = 0, 1 do
         local m = computer("32768:512:64", { explain = 1 })
         local truth = run(m, { { loop = 10, { loop = lines + extra, { ip = 0x1000, load = { A, 64 } } } } })
         assert.are.equal(extra == 0 and lines or 10 * (lines + 1), truth.l1d_misses.user)
         assert.are.same({ compulsory = lines + extra, capacity = extra == 1 and 9 * (lines + 1) or nil },
            causes(m, 0x1000))
      end
   end)

   it("has conflicts when more lines than ways go to one set", function()
      for ways = 1, 8 do
         local m = computer("32768:8:64", { explain = 1 })
         local sets, lines = 32 * KB / 64 / 8, 8 + ways
         run(m, { { loop = 100, { loop = lines, { ip = 0x1000, load = { A, 64 * sets } } } } })
         assert.are.same({ compulsory = lines, conflict = 99 * lines }, causes(m, 0x1000))
      end
   end)

   it("counts a linked list's nodes once round, whatever their order, and again where they do not fit", function()
      for _, nodes in ipairs { 512, 1024 } do -- 32 KB and 64 KB of nodes of a line each
         local m = computer("32768:512:64")
         local truth = run(m, { { loop = 4 * nodes, { ip = 0x1000, load = { A, 64, chase = nodes, seed = 7 } } } })
         assert.are.equal(nodes == 512 and nodes or 4 * nodes, truth.l1d_misses.user)
      end
   end)

   -- c[i][j] += a[i][k] * b[k][j], n x n doubles, and a cache of 12 KB = 192 lines, fully
   -- associative. n = 64: a matrix has 8 lines a row, 512 in all. For each i, j the walk along k
   -- takes 8 lines of a and, each a new row, 64 of b. The 8 lines of a's row stay for all j (8 + 64
   -- + 1 < 192), those of b for 8 neighbours j, not for the next i, as 512 lines do not fit: n *
   -- 8 * 64 misses for b. A line of c misses each 8 j, 8 lines of a each i.
   it("computes a matrix product, row by column", function()
      local n, row = 64, 64 * 8
      local m = computer("12288:192:64", { explain = 1 })
      run(m, { { loop = n, { loop = n, { loop = n,
         { ip = 0x1000, load = { A, 8, 0, row } },            -- innermost first: k, j, i
         { ip = 0x1004, load = { B, row, 8, 0 } },
         { ip = 0x1008, load = { C, 0, 8, row } } } } } })
      assert.are.equal(n * 8, m:explain(0x1000).load_misses.total)
      assert.are.equal(n * 8 * n, m:explain(0x1004).load_misses.total)
      assert.are.equal(n * 8, m:explain(0x1008).load_misses.total)
   end)

   -- In blocks of 16 x 16: 32 lines each (16 rows of 128 bytes), so that the blocks of all three
   -- fit in 192 lines, with those of the next step. For each pair ii, jj and each kk: 32 lines of a
   -- and 32 of b are new; c's stay for all kk. (n/16)^2 * (n/16) * 32 = 2048 each for a and b, and
   -- (n/16)^2 * 32 = 512 for c, each line once.
   it("computes it in blocks with the misses of a block each", function()
      local n, bs, row = 64, 16, 64 * 8
      local m = computer("12288:192:64", { explain = 1 })
      local blocks = n / bs
      run(m, { { loop = blocks, { loop = blocks, { loop = blocks, { loop = bs, { loop = bs, { loop = bs,
         { ip = 0x1000, load = { A, 8, 0, row, 8 * bs, 0, row * bs } },   -- k, j, i, kk, jj, ii
         { ip = 0x1004, load = { B, row, 8, 0, row * bs, 8 * bs, 0 } },
         { ip = 0x1008, load = { C, 0, 8, row, 0, 8 * bs, row * bs } } } } } } } } })
      assert.are.equal(blocks ^ 3 * 32, m:explain(0x1000).load_misses.total)
      assert.are.equal(blocks ^ 3 * 32, m:explain(0x1004).load_misses.total)
      assert.are.equal(blocks ^ 2 * 32, m:explain(0x1008).load_misses.total)
   end)

   it("translates once a page as long as the TLB has entries, else every time", function()
      for pages = 15, 17 do
         local m = computer("32768:8:64", { dtlb = "65536:16:4096" })
         local truth = run(m, { { loop = 10, { loop = pages, { ip = 0x1000, load = { A, 4096 } } } } })
         assert.are.equal(pages <= 16 and pages or 10 * pages, truth.dtlb_misses.user)
      end
   end)

   it("fetches each line of its code, and again what does not fit", function()
      local body = { loop = 10 }
      for i = 1, 32 do body[i] = { ip = 0x1000 + 64 * (i - 1), bytes = 4 } end
      for size, misses in pairs { ["2048:32:64"] = 32, ["1024:16:64"] = 320 } do
         local truth = run(computer("32768:8:64", { l1i = size }), { body })
         assert.are.equal(320, truth.l1i_accesses.user)
         assert.are.equal(misses, truth.l1i_misses.user)
      end
   end)

   it("takes a cycle an instruction and those that it waits for its misses", function()
      local m = sim.machine("k8", { cachegrind = 1 }) -- cycles: memory 100, L2 10
      local lines = 1024 -- twice the L1D's, less than the L2's
      local truth = run(m, { { loop = 3, { loop = lines, { ip = 0x1000, load = { A, 64 } } } } })
      assert.are.equal(3 * lines, truth.l1d_misses.user)
      assert.are.equal(lines + 1, truth.l2_misses.user) -- and the line of the code
      local waited = (lines + 1) * 100 + 2 * lines * 10
      assert.are.equal(waited, truth.stalls.user)
      assert.are.equal(3 * lines + waited, truth.cycles.user)
      assert.are.equal(3 * lines + waited, m:time())
   end)
end)

describe("two CPUs that write", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- At each write but the first of all, the other CPU has the line: 2 n - 1 transactions.
   local function writers(distance)
      local m = computer("32768:8:64", { cpus = 2, explain = 1, l1i = 0 })
      local n, tids = 1000, {}
      for cpu = 0, 1 do
         tids[cpu] = assert(m:spawn { cpu = cpu, program = { { loop = n, { ip = 0x1000 + 16 * cpu,
            store = A + cpu * distance } } } })
      end
      for cpu = 0, 1 do assert(m:run { until_exit = tids[cpu], s = 1 }) end
      return m, n
   end

   it("take the line from each other when both are in it", function()
      local m, n = writers(8)
      local why = { m:explain(0x1000).store_misses, m:explain(0x1010).store_misses }
      assert.are.equal(2, why[1].compulsory + why[2].compulsory)
      assert.are.equal(2 * n - 2, why[1].coherence + why[2].coherence)
      assert.are.equal(2 * n - 1, m:caches(0).L1D.invalidated + m:caches(1).L1D.invalidated)
   end)

   it("keep their lines when each has one of its own", function()
      local m = writers(64)
      for cpu = 0, 1 do
         assert.are.equal(1, m:caches(cpu).L1D.store_misses)
         assert.are.equal(0, m:caches(cpu).L1D.invalidated)
      end
   end)
end)

describe("a branch", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function wrong(predictor, program)
      return total(run(computer("32768:8:64", { predictor = predictor }), program), "branch_misses")
   end

   -- n times not taken, then n times taken. Counters start at 0 and say "taken" from 2 on. Bimodal:
   -- two predictions are wrong. Two-level: each of the histories 0, 1, 11, ... 1111111 has a
   -- counter of its own; all but the last occur once and are wrong, the last is wrong twice: 7 + 2.
   it("is predicted but for a few times when its data is sorted", function()
      for predictor, n in pairs { [1] = 2, [0] = 9 } do
         assert.are.equal(n, wrong(predictor, {
            { loop = 5000, { ip = 0x1000, taken = false } }, { loop = 5000, { ip = 0x1000, taken = true } } }))
      end
   end)

   it("is predicted wrongly half the time when its data is not sorted, else as its chance says", function()
      for predictor = 0, 2 do
         local n = wrong(predictor, { { loop = 100000, { ip = 0x1000, taken = 0.5, seed = 3 } } })
         -- 4 sigma: sigma is the square root of n/4
         assert.is_true(math.abs(n - 50000) < 4 * 158, n)
      end
      local n = wrong(1, { { loop = 100000, { ip = 0x1000, taken = 0.01 } } })
      assert.is_true(n > 500 and n < 1500, n)
   end)

   it("back to a loop's start is wrong when it ends, and twice at first", function()
      assert.are.equal(2 + 100, wrong(1, { { loop = 100, { loop = 50, { ip = 0x1000, taken = "back" } } } }))
   end)

   it("with a pattern is known to predictors with a history", function()
      local program = { { loop = 1000, { ip = 0x1000, taken = "TN" } } }
      assert.is_true(wrong(1, program) >= 500)
      assert.is_true(wrong(0, program) < 20)
      assert.is_true(wrong(2, program) < 40)
   end)
end)

describe("counters of what comes from the caches", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local PROGRAM = { { loop = 20, { loop = 40,
      { ip = 0x1000, load = { A, 64, 24 } }, { ip = 0x1004, store = { B, 8 } },
      { ip = 0x1008, taken = "back" } }, { ip = 0x100c, ns = 7 } } }

   it("agree with the truth on every model", function()
      for _, model in ipairs(sim.models()) do
         local m = sim.machine(model)
         for _, event in ipairs { "cycles", "instructions", "l1d_misses", "branch_misses", "l2_misses", "stalls" } do
            local pmd = sim.counter(event)
            if pmd then
               local tid = m:spawn { program = PROGRAM }
               local ctx = sim.count(sim.context(), pmd, event)
               sim.start(ctx, tid)
               assert(m:run { until_exit = tid })
               assert.are.equal(total(m:truth(tid), event), sim.value(ctx, pmd), model .. ": " .. event)
               ctx:close()
            end
         end
      end
   end)

   it("do not depend on how time is cut into pieces", function()
      local function truth_of(options, piece)
         local m = sim.machine("p6", options)
         local tid = m:spawn { program = PROGRAM }
         while m:threads()[1].state ~= "dead" do m:run { ns = piece } end
         return m:truth(tid)
      end
      local whole = truth_of({}, 1e9)
      for _, piece in ipairs { 3, 100, 12345 } do
         local t = truth_of({}, piece)
         for _, event in ipairs { "cycles", "l1d_misses", "time", "branch_misses", "stores" } do
            assert.are.equal(total(whole, event), total(t, event), event .. " in pieces of " .. piece)
         end
      end
   end)

   -- A threshold makes a counter count cycles with a miss or more; inverted, cycles without a miss.
   local THRESHOLD, INVERTED = 2 ^ 24, 2 ^ 23

   local function looked_at(piece, declares)
      local m = sim.machine("k8")
      local tid = m:spawn { program = { { loop = 50, { loop = 40,
         { ip = 0x1000, load = { A, 24, 0 }, events = declares and { fp_ops = 3 } or nil },
         { ip = 0x1004, store = { B, 64 } }, { ip = 0x1008, taken = "TTN" } } } } }
      local ctx = sim.context { format = "default", buf_size = 65536 }
      local misses = assert(m:encode("l1d_misses", 0, "uk"))
      sim.count(ctx, 0, "l1d_misses")
      sim.count(ctx, 1, nil, { value = -7, long_reset = -7, short_reset = -7 }, { value = misses + THRESHOLD })
      sim.count(ctx, 2, nil, nil, { value = misses + THRESHOLD + INVERTED })
      sim.count(ctx, 3, "fp_ops")
      sim.start(ctx, tid)
      while m:threads()[1].state ~= "dead" do m:run { ns = piece } end
      return m, m:truth(tid), ctx
   end

   it("are the same beside counters with thresholds, and beside events that a program declares", function()
      for _, piece in ipairs { 1e9, 777 } do
         for _, declares in ipairs { false, true } do
            local m, truth, ctx = looked_at(piece, declares)
            local misses, l1d = truth.l1d_misses.user, m:caches().L1D
            local overflows = 0
            for sample in ctx:buffer():samples() do
               overflows = overflows + 1
               assert.is_true(sample.ip < 0x1008) -- the branch at 0x1008 accesses no data
            end
            assert.are.equal(l1d.load_misses + l1d.store_misses, misses)
            assert.are.equal(misses, sim.value(ctx, 0))
            assert.are.equal(math.floor(misses / 7), overflows)
            assert.are.equal(truth.cycles.user - misses, sim.value(ctx, 2))
            assert.are.equal(declares and 3 * 50 * 40 or 0, sim.value(ctx, 3))
            assert.are.equal(50 * 40 * 3, truth.instructions.user)
            ctx:close()
         end
      end
   end)

   it("overflow at the site that made them, every period misses", function()
      local m = sim.machine("armv8")
      local tid = m:spawn { program = { { loop = 1000,
         { ip = 0x1000, load = A }, { ip = 0x1004, load = { B, 64 } } } } }
      local ctx = sim.context { format = "default", buf_size = 65536 }
      sim.count(ctx, 0, "l1d_misses", { value = -10, long_reset = -10, short_reset = -10 })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      local n = 0
      for sample in ctx:buffer():samples() do
         assert.are.equal(0x1004, sample.ip)
         n = n + 1
      end
      assert.are.equal(100, n) -- of 1 + 1000 misses every tenth
   end)
end)

describe("Itanium 2's data address register", function()
   before_each(sim.begin)
   after_each(sim.finish)

   -- The D-EAR keeps the load that missed: its data address (PMD2), latency (PMD3) and instruction
   -- (PMD17).
   it("has the load that missed, its address and latency", function()
      local m = sim.machine("itanium2")
      local tid = m:spawn { program = { { loop = 1000,
         { ip = 0x1000, load = A }, { ip = 0x1010, load = { B, 128 } } } } }
      local ctx = sim.count(sim.context(), 4, "dear_events")
      -- PMC11: loads that take 4 << 5 cycles or more, at user level
      assert(ctx:write_pmcs { { num = 11, value = 5 * 2 ^ 16 + 8 } })
      sim.start(ctx, tid)
      assert(m:run { until_exit = tid })
      local regs = assert(ctx:read_pmds { 2, 3, 17, 4 })
      assert.are.equal(B + 999 * 128, regs[1].value)
      assert.are.equal("201", tostring(regs[2].value % 0x2000)) -- 1 cycle of the L1D, 200 of memory
      assert.are.equal(0x1010, regs[3].value - regs[3].value % 16)
      assert.are.equal(1001, regs[4].value)
   end)
end)

describe("accesses that cannot be", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("are refused by the name of what is wrong", function()
      local m = sim.machine("k8")
      local function raises(text, site)
         local ok, err = pcall(m.spawn, m, { program = { site } })
         assert.is_false(ok)
         assert.is_truthy(err:find(text, 1, true), err)
      end
      raises("field 'load': { address, stride... } expected", { ip = 1, load = {} })
      raises("field 'load': unknown field 'step' of a pattern", { ip = 1, load = { 0, step = 1 } })
      raises("field 'store'", { ip = 1, store = { 0, 8, chase = 0 } })
      raises("random or a chase", { ip = 1, load = { 0, 8, chase = 2, random = 2 } })
      raises("field 'taken'", { ip = 1, taken = "TNX" })
      raises("a chance is from 0 to 1", { ip = 1, taken = 1.5 })
      raises("cannot read '/no/such': No such file", { trace = "/no/such" })
      raises("field 'ops': a function expected", { ops = 1 })
      raises("\"load\", \"store\"", { ops = function() return 1, "leap", 2 end })
      raises("my own", { ops = function() error("my own") end })
      local function refuses(text, site)
         local ok, err = m:spawn { program = { site } }
         assert.is_nil(ok)
         assert.is_truthy(err:find(text, 1, true), err)
      end
      refuses("comes from the caches", { ip = 1, load = 8, events = { l1d_misses = 1 } })
      refuses("the trace is empty", { ops = function() end })
      for option, value in pairs { l1d = "1000:1:64", l2 = "1024:1", itlb = "-5", l3 = "1024:1:64:9" } do
         local ok, err = lpfm.machine("sim:k8", { [option] = value })
         assert.is_nil(ok)
         assert.is_truthy(err:find(option .. "=" .. value, 1, true) or err:find(option, 1, true), err)
      end
      local ok, err = m:explain(0x1000)
      assert.is_nil(ok)
      assert.is_truthy(err:find("explain=1", 1, true), err)
   end)
end)

describe("a computer's sites", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("are those of a trace, the one that misses most first, each as explain has it", function()
      local m = computer("1024:1:64", { explain = 1 })
      local lines = {}
      for i = 0, 99 do
         -- a hit, but for the first time
         lines[#lines + 1] = "I  401000,4\n L 1000000,8"
         lines[#lines + 1] = ("I  401010,4\n L %x,8"):format(A + 64 + 1024 * i)
         lines[#lines + 1] = i < 10 and ("I  401020,4\n S %x,8"):format(B + 128 + 1024 * i) or nil
         lines[#lines + 1] = "I  401030,4"                            -- accesses no data
      end
      local path = os.tmpname()
      files.write(path, table.concat(lines, "\n") .. "\n")
      local fd = assert(fcntl.open(path, fcntl.O_RDONLY))
      files.write(path, assert(lpfm.lackey_trace(fd)))
      unistd.close(fd)
      run(m, { { trace = path } })
      os.remove(path)
      local sites = assert(m:sites())
      local seen = {}
      for i, site in ipairs(sites) do
         seen[i] = ("%x %d %d %d"):format(site.ip, site.loads, site.stores, site.misses)
         local why = assert(m:explain(site.ip))
         assert.are.equal(why.load_misses.total + why.store_misses.total, site.misses)
         assert.are.same({ why.loads, why.stores, why.waited }, { site.loads, site.stores, site.waited })
      end
      assert.are.same({ "401010 100 0 100", "401020 0 10 10", "401000 100 0 1" }, seen)
   end)

   it("are in the order of their addresses where they miss as often, however many there are", function()
      local m, body = computer("1024:1:64", { explain = 1 }), {}
      for i = 200, 1, -1 do body[#body + 1] = { ip = 0x1000 + 16 * i, load = { A + 4096 * i, 0 } } end
      run(m, body)
      local sites = assert(m:sites())
      assert.are.equal(200, #sites)
      for i, site in ipairs(sites) do assert.are.same({ 0x1000 + 16 * i, 1 }, { site.ip, site.misses }) end
   end)

   it("are none before something ran, and not known without explain=1", function()
      assert.are.same({}, computer("1024:1:64", { explain = 1 }):sites())
      local ok, err = computer("1024:1:64"):sites()
      assert.is_nil(ok)
      assert.are.equal("sites: the computer was made without explain=1", err)
   end)
end)

describe("what a computer says of its memory", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local program = { { loop = 2000, { ip = 0x1000, load = { A, 64 } }, { ip = 0x1008, store = { B, 0 } } } }

   it("prints as a table, without columns in which all is 0", function()
      local m = computer("32768:8:64", { explain = 1, l1i = 0 })
      run(m, program)
      assert.are.equal(table.concat({
         "name    size  assoc  line  policy  loads  misses  stores  misses",
         "L1D   32,768      8    64  LRU     2,000   2,000   2,000       1",
      }, "\n"), tostring(m:caches()))
      local sites = m:sites()
      local waited = require("pfm.render").number(sites[1].waited)
      local lines = { "ip      loads  stores  misses",
         "0x1000  2,000       0   2,000", "0x1008      0   2,000       1" }
      for i, text in ipairs { "waited", waited, tostring(sites[2].waited) } do
         lines[i] = ("%s  %" .. #waited .. "s"):format(lines[i], text)
      end
      assert.are.equal(table.concat(lines, "\n"), tostring(sites))
   end)

   it("prints the first rows of a long list, and how many more there are; nothing as such", function()
      local m, body = computer("1024:1:64", { explain = 1 }), {}
      for i = 1, 1300 do body[i] = { ip = 0x1000 + 16 * i, load = { A, 0 } } end
      run(m, body)
      local text = tostring(m:sites())
      assert.are.equal(202, select(2, text:gsub("[^\n]+", "")))
      assert.is_truthy(text:find("\n... 1,100 more rows$"), text:sub(-60))
      assert.are.equal("none", tostring(computer("1024:1:64", { explain = 1 }):sites()))
   end)

   it("is shown by the prompt as print prints it", function()
      local m = computer("32768:8:64", { explain = 1 })
      run(m, program)
      local show = require "repl.prompt.show"
      assert.are.equal(tostring(m:caches()), show.text(m:caches()))
      assert.are.equal(tostring(m:sites()), show.text(m:sites()))
   end)
end)

describe("a function's operations", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("are executed one after the other", function()
      local m = computer("32768:8:64")
      local list, at = {}, 0
      for i = 0, 99 do
         list[#list + 1] = { 0x1000, "load", A + 64 * i }
         list[#list + 1] = { 0x1004, "store", B + 8 * i, 4 }
         list[#list + 1] = { 0x1008, "branch", i % 2 == 0 }
         list[#list + 1] = { 0x100c }
      end
      local truth = run(m, { { ops = function()
         at = at + 1
         return unpack(list[at] or {})
      end } })
      assert.are.equal(400, truth.instructions.user)
      assert.are.equal(100, truth.loads.user)
      assert.are.equal(100, truth.stores.user)
      assert.are.equal(100, truth.branches.user)
      assert.are.equal(50, truth.branches_taken.user)
      assert.are.equal(100 + 13, truth.l1d_misses.user) -- 800 bytes are 13 lines
   end)

   it("may change the program that is being read, which is an error", function()
      local m = sim.machine("k8")
      local function refused(change)
         local program = { {}, { loop = 2, { ip = 2 } }, { ip = 3, events = { x = 1 } } }
         program[1].ops = function() change(program) end
         local ok, err = pcall(m.spawn, m, { program = program })
         assert.is_false(ok)
         assert.is_truthy(err:find("the program changed while it was read", 1, true), err)
      end
      refused(function(program)
         for i = 1, 10000 do program[2][i] = { ip = i } end
      end)
      refused(function(program)
         for i = 1, 10000 do program[3].events["x" .. i] = i end
      end)
      refused(function(program) program[2].thread, program[2].loop = { { ip = 1 } }, nil end)
      refused(function(program) program[2][1] = nil end)
   end)
end)
