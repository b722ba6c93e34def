-- SPDX-License-Identifier: MIT
-- The simulated computer itself: events of its programs are counted exactly, and its rules hold.
local c = require "support.c"
local lpfm = require "lpfm"
local sim = require "support.sim"

local MODELS = { itanium2 = 4, k8 = 0, p6 = 0, armv8 = 0 } -- the first counter of each
local MIX = { -- all levels, nested loops, a sleep, interrupts off
   { loop = 100, { ip = 1, ns = 10, events = { cycles = 7, instructions = 2 } },
      { loop = 77, { ip = 2, ns = 4, level = "kernel" }, { ip = 3, ns = 1, irqs_off = true } } },
   { sleep = 12345 },
   { loop = 1000000, { ip = 4, ns = 3 }, { ip = 5, ns = 2, level = "interrupt" } },
}
local FOREVER = { { loop = "forever", { ip = 0x10, ns = 10, events = { fp_ops = 1 } } } }

local function truth(m, tid, event, levels)
   local t = m:truth(tid)[event]
   return t and (levels == "u" and t.user or levels == "k" and t.kernel + t.interrupt or t.total) or 0
end

-- Returns the number of "uops" in each cycle of a program, false at a level that is not monitored.
local function cycles_of(steps, into)
   for _, step in ipairs(steps) do
      for _ = 1, step.loop or 0 do cycles_of(step, into) end
      local k, spread = step.events and step.events.uops or 0, step.spread or 1
      local n = step.ns and (k > 0 and step.ns < spread and spread or step.ns) or 0
      for i = 1, n do
         local left = n - i -- cycles after this one
         local here = k > 0 and left < spread and math.floor(k / spread) + (left < k % spread and 1 or 0) or 0
         into[#into + 1] = step.level ~= "kernel" and here
      end
   end
   return into
end

-- Returns what PerfEvtSel counts: cycles with cmask events or more; with inv, cycles with fewer;
-- with edge, only the first of successive ones.
local function promised(cycles, cmask, inv, edge)
   local sum, before = 0, false
   for _, n in ipairs(cycles) do
      local counts = n and (n >= math.max(cmask, 1)) ~= (inv and cmask > 0)
      if counts and not (edge and before) then sum = sum + 1 end
      before = counts
   end
   return sum
end

describe("thresholds, inversion and edges of x86's counters", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local PROGRAMS = {
      { { loop = 9, { ip = 1, ns = 3, events = { uops = 5 }, spread = 2 }, { ip = 2, ns = 2 } } },
      { { loop = 7, { loop = 3, { ip = 1, ns = 1, events = { uops = 2 } } },
         { ip = 2, ns = 4, events = { uops = 1 } } } },
      { { loop = 5, { ip = 1, ns = 2, events = { uops = 8 }, spread = 2 }, { ip = 3, ns = 3, level = "kernel" } },
         { ip = 2, ns = 0, events = { uops = 9 }, spread = 3 } },
      { { ip = 1, ns = 5 }, { loop = 1000, { ip = 1, ns = 1, events = { uops = 3 } } }, { ip = 2, ns = 1 } },
      { { loop = 4, { loop = 2, { ip = 1, ns = 1 }, { ip = 1, ns = 1, events = { uops = 1 } } }, { ip = 2, ns = 0 } } },
   }

   local function counted(program, chunk, cmask, inv, edge, value)
      local m = sim.machine("k8")
      local ctx = sim.context()
      local sel = assert(m:encode("uops", 0, "u")) + cmask * 2 ^ 24 + (inv and 2 ^ 23 or 0) + (edge and 2 ^ 18 or 0)
      sim.count(ctx, 0, "uops", { value = value }, { value = sel })
      sim.start(ctx, m:spawn { program = program })
      repeat
         local done = m:run { until_idle = true, ns = chunk }
         sim.value(ctx, 0)
      until done
      return sim.value(ctx, 0)
   end

   for cmask = 0, 5 do
      it("are exact, whatever is passed at once: CMASK " .. cmask, function()
         for i, program in ipairs(PROGRAMS) do
            local cycles = cycles_of(program, {})
            for _, inv in ipairs { false, true } do
               for _, edge in ipairs { false, true } do
                  if cmask > 0 or edge then
                     local expected = promised(cycles, cmask, inv, edge)
                     local what = ("program %d, inv %s, edge %s"):format(i, tostring(inv), tostring(edge))
                     for _, chunk in ipairs { 1e9, 7, 1 } do
                        assert.are.equal(expected, counted(program, chunk, cmask, inv, edge), what)
                     end
                  end
               end
            end
         end
      end)
   end

   it("do not keep a counter that never counts from passing a long loop at once", function()
      local program = { { loop = 1e12, { ip = 1, ns = 1, events = { uops = 3 } } } }
      assert.are.equal(1, counted(program, nil, 2, false, true))
      assert.are.equal(1e12, counted(program, nil, 2, false, false))
   end)
end)

describe("the simulated computer", function()
   before_each(sim.begin)
   after_each(sim.finish)

   for model, first in pairs(MODELS) do
      for _, levels in ipairs { "u", "k", "uk" } do
         it(("counts on %s exactly what two of three threads did (%s)"):format(model, levels), function()
            local m = sim.machine(model, { cpus = 2, slice_ms = 1 })
            local tids = { m:spawn { program = MIX }, m:spawn { program = MIX }, m:spawn { program = MIX } }
            local ctxs = {}
            for i = 1, 2 do
               ctxs[i] = sim.context()
               sim.count(ctxs[i], first, "cycles", { level = levels })
               sim.count(ctxs[i], first + 1, "instructions", { level = levels })
               assert(ctxs[i]:load(tids[i]))
               assert(ctxs[i]:start())
            end
            for step = 1, 60 do
               m:run { ns = 100000 + step }
               for i = 1, 2 do
                  assert.are.equal(truth(m, tids[i], "cycles", levels), sim.value(ctxs[i], first))
                  assert.are.equal(truth(m, tids[i], "instructions", levels), sim.value(ctxs[i], first + 1))
               end
            end
            assert.is_true(m:run { until_idle = true })
            assert.are.equal(truth(m, tids[1], "cycles", levels), sim.value(ctxs[1], first))
            assert.are.equal(100 * (7 + 77 * 5) + 5000000, truth(m, tids[3], "cycles"))
         end)
      end
   end

   for skid = 0, 40, 8 do
      it("loses nothing when hardware counters wrap, sets switch and interrupts come late: skid " .. skid, function()
         local m = sim.machine("armv8", { skid = skid, timer_ns = 1 })
         local tid = m:spawn { program = { { loop = "forever", { ip = 1, ns = 10, events = { loads = 3 } } } } }
         local ctx = sim.context()
         ctx:create_evtsets {
            { id = 0, flags = { "TIME_SWITCH" }, timeout = 1003 }, { id = 1, flags = { "TIME_SWITCH" }, timeout = 777 },
         }
         for set = 0, 1 do
            sim.count(ctx, 0, "loads", { set = set, value = "0xffffffff" })
         end
         ctx:load(tid)
         ctx:start()
         for _ = 1, 200 do
            m:run { ns = 331 }
            local sum = sim.value(ctx, 0, 0) + sim.value(ctx, 0, 1) - 2 * 0xffffffff
            assert.are.equal(truth(m, tid, "loads"), sum)
         end
      end)
   end

   it("shares a CPU by slices that end at ticks", function()
      local m = sim.machine("k8", { hz = 1000, slice_ms = 2 })
      local a, b = m:spawn { program = FOREVER }, m:spawn { program = FOREVER }
      m:run { ms = 11 }
      assert.are.equal(6000000, sim.thread(a).ran)
      assert.are.equal(5000000, sim.thread(b).ran)
      assert.are.equal("ready", sim.thread(a).state)
   end)

   it("takes the interrupt skid instructions after the overflow (figure 3.27)", function()
      local m = sim.machine("itanium2", { skid = 2 })
      local tid = m:spawn { program = { { loop = 9, { ip = 1, ns = 1, events = { loads = 1 } }, { ip = 2, ns = 1 },
         { ip = 3, ns = 1 }, { ip = 4, ns = 1 } } } }
      local ctx = sim.count(sim.context(), 4, "loads", { value = -2, flags = { "OVFL_NOTIFY" } })
      ctx:load(tid)
      ctx:start()
      m:run { until_message = ctx }
      assert.are.equal(3, ctx:read(0).ip)
   end)

   it("keeps an interrupt waiting while interrupts are off (figure 3.27)", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 9, { ip = 1, ns = 1, events = { loads = 1 }, irqs_off = true },
         { ip = 2, ns = 1, irqs_off = true }, { ip = 3, ns = 1 } } } }
      local ctx = sim.count(sim.context(), 4, "loads", { value = -1, flags = { "OVFL_NOTIFY" } })
      ctx:load(tid)
      ctx:start()
      m:run { until_message = ctx }
      assert.are.equal(3, ctx:read(0).ip)
      assert.are.equal(3, m:time())
   end)

   it("keeps a set timeout waiting while interrupts are off (3.7.6)", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 5, { ip = 1, ns = 100000 } },
         { loop = 20, { ip = 2, ns = 100000, irqs_off = true } }, { loop = 100, { ip = 3, ns = 100000 } } } }
      local ctx = sim.context()
      ctx:create_evtsets { { id = 0, flags = { "TIME_SWITCH" }, timeout = 1000000 }, { id = 1 } }
      for set = 0, 1 do
         sim.count(ctx, 4, "instructions", { set = set })
      end
      ctx:load(tid)
      ctx:start()
      m:run { ms = 12 }
      assert.are.equal(26, sim.value(ctx, 4, 0))
      assert.are.equal(94, sim.value(ctx, 4, 1))
   end)

   it("fills the event address registers and the branch buffer of itanium2", function()
      local m = sim.machine()
      local tid = m:spawn { program = { { loop = 100000,
         { ip = 0x1000, ns = 10, data = 0xdeadbee0, latency = 20, events = { dear_events = 1 } },
         { ip = 0x1010, ns = 10, data = 0x1234560, latency = 5 }, { ip = 0x1020, ns = 1, branch = 0x1000 } } } }
      local ctx = sim.context()
      -- PMC11: loads that take 8 cycles or more, at user level
      assert(ctx:write_pmcs { { num = 11, value = 0x10008 }, { num = 12, value = 8 } })
      sim.count(ctx, 4, "dear_events")
      ctx:load(tid)
      ctx:start()
      m:run { ms = 1 }
      assert.are.equal(0xdeadbee0, sim.value(ctx, 2))
      assert.are.equal("20", tostring(lpfm.u64(sim.value(ctx, 3)) % 8192))
      assert.are.equal(0x1000, sim.value(ctx, 17) - sim.value(ctx, 17) % 16)
      assert.are.equal(0x1020, sim.value(ctx, 8) - sim.value(ctx, 8) % 16)
      assert.are.equal(0x1000 + 2, sim.value(ctx, 9)) -- a valid target, 0x1000
   end)

   it("counts software events and samples by task clock", function()
      local m = sim.machine("p6", { slice_ms = 1 })
      local tid = m:spawn { program = { { loop = "forever", { ip = 1, ns = 777, events = { minor_faults = 1 } },
         { ip = 2, ns = 333, level = "kernel" } } } }
      m:spawn { program = FOREVER }
      local ctx = sim.context { format = "default", buf_size = 65536 }
      ctx:write_pmcs { { num = 64, value = 9 }, { num = 66, value = 8 }, { num = 69, value = 1 } }
      ctx:write_pmds {
         { num = 64, value = -100000, short_reset = -100000, long_reset = -100000, smpl_pmds = { 80, 82 } },
         { num = 66 }, { num = 69 } }
      ctx:load(tid)
      ctx:start()
      m:run { ms = 20 }
      assert.are.equal(100, ctx:buffer():header().count)
      for s in ctx:buffer():samples() do
         assert.are.equal(s.tstamp, s:pmd(1))
         assert.are.equal(tid, s:pmd(2))
      end
      assert.are.equal(truth(m, tid, "minor_faults"), sim.value(ctx, 66))
      assert.are.equal(truth(m, tid, "context_switches"), sim.value(ctx, 69))
   end)

   it("says where a program is wrong", function()
      local m = sim.machine()
      sim.refused("EINVAL", "step 3: no event 'foo'",
         m:spawn { program = { { loop = 2, { ip = 1, ns = 1 }, { ip = 2, events = { foo = 1 } } } } })
      sim.refused("EINVAL", "step 1: a loop without end must take time",
         m:spawn { program = { { loop = "forever", { ip = 1 } } } })
      assert.has_error(function() m:spawn { program = { { loop = 2, { ip = 1 }, { ipp = 1 } } } } end,
         "spawn: program[1][2]: unknown field 'ipp'")
   end)

   it("says what is wrong with an option", function()
      sim.refused("EINVAL", "no simulated model \"foo\"", lpfm.machine("sim:foo"))
      sim.refused("EINVAL", "option cpus is from 1 to 64, not 99", lpfm.machine("sim", { cpus = 99 }))
      sim.refused("EINVAL", "no option at \"cpu=3\"", lpfm.machine("sim", { cpu = 3 }))
   end)

   it("does the same in every run", function()
      local function run()
         local m = sim.machine("itanium2", { cpus = 2, slice_ms = 1, skid = 1 })
         m:spawn { program = MIX }
         local tid = m:spawn { program = MIX }
         local ctx = sim.context { format = "default", buf_size = 65536 }
         sim.count(ctx, 4, "instructions", { value = -997, short_reset = -997, long_reset = -997, flags = { "RANDOM" },
            random_mask = 255, random_seed = 7 })
         ctx:load(tid)
         ctx:start()
         m:run { ms = 3 }
         return ctx:buffer():snapshot()
      end
      local first = run()
      assert.is_true(first == run())
   end)
end)

describe("pfm_sim_simulates", function()
   it("tells a counter that stays at 0 from one that counts, and from a PMD that there is not", function()
      if not rawget(_G, "jit") then return pending "declarations in C need LuaJIT" end
      local code = [[
         local lpfm, ffi = require "lpfm", require "ffi"
         assert(lpfm.machine "sim:k8")
         ffi.cdef(require "lpfm.cdef")
         ffi.cdef "struct pfm_sim *pfm_sim_get(void); void pfm_sim_put(struct pfm_sim *);"
         ffi.cdef "struct pfm_sim_pmc { uint32_t num; uint64_t value; };"
         ffi.cdef "int pfm_sim_simulates(struct pfm_sim *, int, const struct pfm_sim_pmc *, int);"
         local C = ffi.load "libperfmon.so.3"
         local sim = C.pfm_sim_get()
         local function ask(pmd, value)
            local answer = C.pfm_sim_simulates(sim, pmd, ffi.new("struct pfm_sim_pmc", { num = 0, value = value }), 1)
            return answer < 0 and ffi.string(C.pfm_explain()) or answer
         end
         io.stderr:write(table.concat({ ask(0, 0x5300c0), ask(0, 0x530099), ask(99, 0), ask(-1, 0) }, "; "), "\n")
         C.pfm_sim_put(sim)]]
      local out = c.sh(("%s -e '%s'"):format(os.getenv("LPFM_LUA") or "luajit", code))
      assert.equal("1; 0; k8 has no PMD99; k8 has no PMD-1\n", out)
   end)
end)

describe("a computer that follows threads", function()
   it("names the lack of descriptors, for which it cannot look at a thread", function()
      local code = [[
         local lpfm = require "lpfm"
         assert(lpfm.machine "sim:k8,live")
         local ctx, held = assert(lpfm.create {}), {}
         repeat
            local file = io.open "/dev/null"
            held[#held + 1] = file
         until not file
         local _, message, errno = ctx:load()
         io.stderr:write(message, " ", errno, "\n")]]
      local out = c.sh(("ulimit -n 40; exec %s -e '%s'"):format(os.getenv("LPFM_LUA") or "luajit", code))
      assert.equal("load: the context: all 40 descriptors are in use: raise RLIMIT_NOFILE (ulimit -n) "
         .. lpfm.errno.EMFILE .. "\n", out, "with all descriptors in use")
   end)

   it("credits later what it could not look at for lack of descriptors", function()
      local code = [[
         local lpfm = require "lpfm"
         assert(lpfm.machine "sim:k8,live")
         local ctx, held = assert(lpfm.create {}), {}
         assert(ctx:write_pmcs { { num = 0, value = 0x5300c0 } })
         assert(ctx:write_pmds { { num = 0, value = 0 } })
         assert(ctx:load() and ctx:start())
         local function count()
            local from = os.clock()
            repeat until os.clock() > from + 0.1
            return tonumber(assert(ctx:read_pmds { 0 })[1].value)
         end
         local usual = count()
         repeat
            local file = io.open "/dev/null"
            held[#held + 1] = file
         until not file
         count()
         for _, file in ipairs(held) do file:close() end
         io.stderr:write(tostring(count() - usual > 1.5 * usual), "\n")]]
      local out = c.sh(("ulimit -n 40; exec %s -e '%s'"):format(os.getenv("LPFM_LUA") or "luajit", code))
      assert.equal("true\n", out)
   end)

   it("catches up with a thread that monitors itself, however many overflows that takes", function()
      local code = [[
         local lpfm = require "lpfm"
         assert(lpfm.machine "sim:k8,live")
         local ctx, instructions = assert(lpfm.create {}), 0x5300c0
         for set = 0, 1 do
            assert(ctx:create_evtsets { { id = set, flags = { "OVFL_SWITCH" } } })
            assert(ctx:write_pmcs { { num = 0, set = set, value = instructions } })
            assert(ctx:write_pmds { { num = 0, set = set, value = -5, short_reset = -5, long_reset = -5,
               switch_cnt = 1 } })
         end
         assert(ctx:load() and ctx:start())
         for _ = 1, 20 do
            for _ = 1, 3e5 do end
            assert(ctx:read_pmds { 0 })
         end
         io.stderr:write(tostring(ctx:getinfo_evtsets { 0 }[1].runs > 1000), "\n")]]
      local out = c.sh(("timeout -k 5 300 %s -e '%s'"):format(os.getenv("LPFM_LUA") or "luajit", code))
      assert.equal("true\n", out)
   end)

   it("does not take a thread for ended which it has no descriptor to look at", function()
      local code = [[
         local lpfm = require "lpfm"
         assert(lpfm.machine "sim:k8,live")
         local pid = io.popen("sleep 100 >/dev/null 2>&1 & echo $!"):read("*n")
         local ctx, held = assert(lpfm.create {}), {}
         assert(ctx:load(pid) and ctx:start())
         repeat
            local file = io.open "/dev/null"
            held[#held + 1] = file
         until not file
         assert(ctx:stop())
         held[1]:close()
         held[2]:close()
         assert(ctx:start() and ctx:stop())
         io.stderr:write(tostring(ctx:read(0)), "\n")
         os.execute("kill " .. pid)
         local message = ctx:read(10)
         io.stderr:write(message and message.type or "none", "\n")]]
      local out = c.sh(("ulimit -n 40; exec %s -e '%s'"):format(os.getenv("LPFM_LUA") or "luajit", code))
      assert.equal("nil\nEND\n", out)
   end)
end)
