-- SPDX-License-Identifier: MIT
-- The records in buffers of the format "stack" (6.3.2): MAP, EXEC, FORK, EXIT and LOST.
local lpfm = require "lpfm"
local analyze = require "pfm.analyze"
local c = require "support.c"
local real = require "support.real"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"
local sim = require "support.sim"

local LEAST = 128 + 64 + 8 * 127 -- bytes of header and largest sample, less 8 for each PMD
-- bytes that are kept free for a MAP record with the longest path, and a LOST of each reason
local FREE = 72 + 4096 + 4 * 40
local SECOND = { { map = "/bin/second", ip = 0x5000, size = 0x1000, offset = 0x200 }, { ip = 0x5000, ns = 10 } }

-- Makes a context that samples instructions, with records.
local function with_records(m, options, period)
   options.format, options.buf_flags = "stack", { "RECORDS", unpack(options.buf_flags or {}) }
   local ctx = sim.context(options)
   sim.count(ctx, 4, "instructions", { value = -period, short_reset = -period, long_reset = -period,
      flags = { "OVFL_NOTIFY" } })
   return ctx, m
end

local function on_thread(program, options, period)
   local m = sim.machine("itanium2")
   local ctx = with_records(m, options or {}, period or 1)
   local tid = m:spawn { program = program, name = "first" }
   sim.start(ctx, tid)
   return m, ctx, tid
end

-- Returns records as short texts, and where the last ends.
local function list(buffer, from)
   local out, to = {}, from
   for r, after in buffer:records(from) do
      out[#out + 1], to = r, after
   end
   return out, to
end

local function kinds(buffer)
   local out = {}
   for r in buffer:records() do out[#out + 1] = r.kind end
   return table.concat(out, " ")
end

describe("records of the format stack", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("say what a thread has mapped, whom it created, what it runs, and its end, each once", function()
      local m, ctx, tid = on_thread { { map = "/bin/first", ip = 0x1000, size = 0x800 }, { ip = 0x1000, ns = 10 },
         { fork = { { ip = 0x1000, ns = 10 } } }, { thread = { { ip = 0x1000, ns = 10 } } },
         { exec = SECOND, name = "second" } }
      m:run { until_exit = tid }
      local child, thread = tid + 1, tid + 2
      assert.same({
         { kind = "MAP", pid = tid, tid = tid, tstamp = 0, addr = 0x1000, len = 0x800, offset = 0,
            path = "/bin/first" },
         { kind = "FORK", pid = child, tid = child, tstamp = 10, ppid = tid, ptid = tid },
         { kind = "FORK", pid = tid, tid = thread, tstamp = 10, ppid = tid, ptid = tid },
         { kind = "EXEC", pid = tid, tid = tid, tstamp = 10, comm = "second" },
         { kind = "MAP", pid = tid, tid = tid, tstamp = 10, addr = 0x5000, len = 0x1000, offset = 0x200,
            path = "/bin/second" },
         { kind = "EXIT", pid = tid, tid = tid, tstamp = 20 },
      }, (list(ctx:buffer())))
      local seen = {}
      for s in ctx:buffer():samples() do seen[#seen + 1] = ("%s %x"):format(s.kind, s.ip) end
      assert.same({ "SAMPLE 1000", "SAMPLE 5000" }, seen)
   end)

   it("have times that are numbers, too, on a computer that has run for 116 days", function()
      local m = sim.machine("itanium2")
      m:run { s = 5e6 }
      m:run { s = 5e6 }
      local ctx = with_records(m, {}, 1)
      local tid = m:spawn { program = { { ip = 0x1000, ns = 16 } } }
      sim.start(ctx, tid)
      m:run { until_exit = tid }
      local records = list(ctx:buffer())
      assert.equal("EXIT", records[#records].kind)
      assert.equal(1e16 + 16, records[#records].tstamp)
   end)

   it("are walked as typed records under LuaJIT", function()
      if not rawget(_G, "jit") then return end
      local ffi = require "ffi"
      local m, ctx, tid = on_thread { { map = "/bin/first", ip = 0x1000, size = 0x800 }, { ip = 0x1000, ns = 10 },
         { fork = { { ip = 0x1000, ns = 10 } } }, { exec = SECOND, name = "second" } }
      m:run { until_exit = tid }
      local out = {}
      local typed = require("pfm.ffi").context(ctx):buffer()
      for kind, r in typed:records() do
         out[#out + 1] = kind
         if kind == "MAP" then
            out[#out + 1] = ("%x %s"):format(tonumber(r.addr), ffi.string(ffi.cast("const char *", r + 1)))
         elseif kind == "FORK" then
            assert.same({ tid + 1, tid }, { r.event.pid, r.ptid })
         elseif kind == "EXEC" then
            assert.equal("second", ffi.string(r.comm))
         else
            assert.same({ tid, 20 }, { r.pid, tonumber(r.tstamp) })
         end
      end
      assert.same({ "MAP", "1000 /bin/first", "FORK", "EXEC", "MAP", "5000 /bin/second", "EXIT" }, out)
      local step, state = typed:records()
      ctx:close()
      assert.error_matches(function() step(state) end, "closed")
   end)

   it("are those of whoever runs on a monitored CPU", function()
      local m = sim.machine("itanium2")
      local ctx = with_records(m, { flags = { "SYSTEM_WIDE" } }, 1000)
      sim.start(ctx, 0)
      local born = {}
      for i = 1, 20 do born[i] = m:spawn { program = { { fork = { { exec = SECOND, name = "p" .. i } } } } } end
      m:run { until_idle = true }
      local seen, maps = {}, 0
      for r in ctx:buffer():records() do
         if r.kind == "FORK" then seen[r.pid] = { r.ppid } end
         if r.kind == "EXEC" then table.insert(seen[r.pid], r.comm) end
         if r.kind == "MAP" then maps = maps + 1 end
         if r.kind == "EXIT" and seen[r.pid] then table.insert(seen[r.pid], "exit") end
      end
      local expected = {}
      for i = 1, 20 do expected[born[20] + i] = { born[i], "p" .. i, "exit" } end
      assert.same(expected, seen)
      assert.equal(20, maps)
   end)

   it("come on request alone, from a machine that tells", function()
      local m = sim.machine("itanium2")
      local ctx = sim.context { format = "stack" }
      sim.count(ctx, 4, "instructions", { value = -1, short_reset = -1, long_reset = -1 })
      local tid = m:spawn { program = SECOND }
      sim.start(ctx, tid)
      m:run { until_exit = tid }
      assert.equal("", kinds(ctx:buffer()))
      local other = sim.context({ format = "default" }):buffer()
      assert.error_matches(function() other:records() end, "format stack expected")
   end)

   it("tell of context switches where the machine does, and with RECORDS alone", function()
      sim.machine("itanium2")
      sim.refused("EOPNOTSUPP", "format stack: this machine does not report context switches",
         lpfm.create { format = "stack", buf_flags = { "RECORDS", "SWITCHES" } })
      sim.refused("EINVAL", "format stack", lpfm.create { format = "stack", buf_flags = { "SWITCHES" } })
   end)

   it("are written while monitoring is stopped, too", function()
      local m, ctx, tid = on_thread({ { ip = 0x1000, ns = 10 }, { map = "/lib/late", ip = 0x9000, size = 16 },
         { ip = 0x9000, ns = 10 } })
      m:run { ns = 5 }
      assert(ctx:stop())
      m:run { until_exit = tid }
      assert.equal("MAP EXIT", kinds(ctx:buffer()))
      assert.equal(0, #ctx:buffer())
   end)

   it("that come while the buffer is full come first after the restart", function()
      local m, ctx = on_thread({ { loop = "forever", { ip = 0x1000, ns = 10 },
         { map = "/lib/x", ip = 0x9000, size = 16 } } }, { buf_size = 20000 })
      m:run { until_message = ctx }
      assert.equal("OVFL", ctx:read(0).type)
      local buffer = ctx:buffer()
      local before, to = list(buffer)
      m:run { ns = 50 } -- 5 records do not fit
      assert.same({}, (list(buffer, to)))
      assert.equal(#before, #list(buffer))
      assert(ctx:restart())
      local held = list(buffer)
      assert.equal(5, #held)
      assert.equal(10, held[1].tstamp - before[#before].tstamp)
      assert.equal(0, #buffer)
      m:run { ns = 20 }
      assert.equal(7, #list(buffer))
      assert.equal(2, #buffer)
   end)

   it("fill the buffer as samples do: monitoring is masked, and that is told", function()
      local m, ctx = on_thread({ { loop = "forever", { ip = 0x1000, ns = 10 },
         { map = "/lib/x", ip = 0x9000, size = 16 } } }, { buf_size = 20000 }, 1e6)
      m:run { until_message = ctx }
      local msg, h = ctx:read(0), ctx:buffer():header()
      assert.same({ "OVFL", 0, 0, 1 }, { msg.type, #msg.pmds, h.count, h.overflows })
      local before = #list(ctx:buffer())
      assert.equal(80, (h.cur_offs - 128) / before)
      assert(ctx:restart())
      assert.equal(0, #list(ctx:buffer()))
      m:run { until_message = ctx }
      assert.equal(before, #list(ctx:buffer()))
   end)

   it("say what was lost, before what was not", function()
      local m = sim.machine("itanium2")
      -- The 101st sample of 72 bytes fills the buffer. Two samples have each time stamp, so the
      -- second of that time is lost.
      local size = 128 + 101 * 72 + (LEAST - 128 + 8 * #lpfm.pmds() + FREE) - 1
      local ctx = sim.context { format = "stack", buf_flags = { "RECORDS" }, buf_size = size }
      for _, num in ipairs { 4, 5 } do
         sim.count(ctx, num, "instructions", { value = -1, short_reset = -1, long_reset = -1,
            flags = { "OVFL_NOTIFY" } })
      end
      local tid = m:spawn { program = sim.work(1000) }
      sim.start(ctx, tid)
      m:run { until_message = ctx }
      assert.same({ 101, 1 }, { #ctx:buffer(), ctx:buffer():header().lost })
      assert.equal("", kinds(ctx:buffer()))
      assert(ctx:restart())
      m:run { ns = 20 }
      assert.same({ { kind = "LOST", pid = tid, tid = tid, tstamp = 520, count = 1, why = "full" } },
         (list(ctx:buffer())))
      assert.equal(4, #ctx:buffer())
   end)

   it("that find no room are counted", function()
      local m, ctx = on_thread({ { loop = "forever", { ip = 0x1000, ns = 10 },
         { map = "/lib/" .. ("x"):rep(1000), ip = 0x9000, size = 16 } } }, { buf_size = 20000 })
      m:run { until_message = ctx }
      m:run { ns = 100 } -- 10 records come, and there is room for some
      assert(ctx:restart())
      local held = #list(ctx:buffer())
      assert.is_true(held > 0 and held < 10)
      m:run { ns = 20 }
      local got = list(ctx:buffer())
      assert.same({ "LOST", 10 - held, "records" }, { got[held + 1].kind, got[held + 1].count, got[held + 1].why })
   end)

   it("need room in the buffer", function()
      sim.machine("itanium2")
      local least = 128 + 2 * (LEAST - 128 + 8 * #lpfm.pmds() + FREE)
      sim.refused("EINVAL", "format stack", lpfm.create { format = "stack", buf_flags = { "RECORDS" },
         buf_size = least - 1 })
      sim.context { format = "stack", buf_flags = { "RECORDS" }, buf_size = least }
   end)
end)

-- --- programs ------------------------------------------------------------------------------------

local BUILD = os.getenv("LPFM_BUILD") or "build"

-- brood.c creates so many processes with three names that live for less than a millisecond.
local PROCESSES = tonumber(os.getenv("LPFM_PROCESSES")) or 400

-- System-wide recordings have the records with call stacks and without.
for _, options in ipairs { "-a -g fp", "-a" } do
describe("record " .. options, function()
   local data, folder = os.tmpname(), os.tmpname()
   local self, words

   setup(function()
      assert(lpfm.machine(real))
      os.remove(folder)
      local brood, first, second = c.target "brood", folder .. "/the_first", folder .. "/a_second"
      c.sh(("mkdir %s && cp %s %s && cp %s %s"):format(folder, brood, first, brood, second))
      local status
      words, status = c.sh(("LPFM_MACHINE=%s %s/lpfm record %s -c 250000 -o %s -- %s %d %s %s"):format(real,
         BUILD, options, data, brood, PROCESSES, first, second))
      assert(status == 0, words)
      self = assert(recording.open(data))
   end)
   teardown(function() c.sh(("rm -rf %s %s"):format(data, folder)) end)

   -- Returns the processes that brood created, by the records.
   local function children()
      local out, root = {}, nil
      for _, row in ipairs(self.records) do
         if row[1] == "EXEC" and row[5] == "brood" then root = row[3] end
      end
      for _, row in ipairs(self.records) do
         if row[1] == "FORK" and row[5] == root then out[row[3]] = true end
      end
      return out
   end

   it("knows each of many programs of under a millisecond, and what its samples lie in", function()
      local born, of, sampled, n = children(), {}, {}, 0
      for _ in pairs(born) do n = n + 1 end
      assert.equal(PROCESSES, n, words)
      for s in samples.each(self) do
         if born[s.pid] then
            assert(s.object ~= "[unknown]", ("%s of %s"):format(s.address, s.process))
            of[s.symbol] = of[s.symbol] or {}
            of[s.symbol][s.process], sampled[s.pid] = true, true
            assert(s.process == "the_first" or s.process == "a_second" or s.process == "brood", s.process)
         end
      end
      assert.same({ { the_first = true }, { a_second = true }, { brood = true } }, { of.first, of.second, of.third })
      n = 0
      for _ in pairs(sampled) do n = n + 1 end
      assert(n > PROCESSES / 4, n .. " were sampled; " .. words)
   end)

   it("counts them by their names in reports and exports", function()
      -- The recording has all processes of the machine. Others may have functions of these names,
      -- so only samples of brood's children are counted.
      local pids, counts = {}, {}
      for pid in pairs(children()) do pids[#pids + 1] = pid end
      for _, row in ipairs(analyze.by(self, "comm,symbol", { filter = { pid = table.concat(pids, ",") } }).rows) do
         counts[row.symbol] = counts[row.symbol] or {}
         counts[row.symbol][row.comm] = row.samples
      end
      for symbol, comm in pairs { first = "the_first", second = "a_second", third = "brood" } do
         assert.same({ [comm] = counts[symbol][comm] }, counts[symbol])
         local n = 0
         for _, stack in ipairs((require("pfm.stacks").collect(self, { inlined = false }))) do
            if stack.name:find("^" .. comm .. ";.*;" .. symbol .. "$") then n = n + stack.weight end
         end
         assert(n >= counts[symbol][comm] * 0.9, ("%s: %d of %d"):format(symbol, n, counts[symbol][comm]))
      end
   end)

   it("keeps the records when the recording is saved again", function()
      local path = os.tmpname()
      require("pfm.recording.embedded_symbols").save(self, path)
      local again = assert(recording.open(path))
      assert.same({}, again.damage)
      assert.equal(#self.records, #again.records)
      local one, two = analyze.by(self, "pid").rows, analyze.by(again, "pid").rows
      assert.equal(#one, #two)
      for i, row in ipairs(one) do assert.same(row.cells, two[i].cells) end
      os.remove(path)
   end)

   it("knows the names that threads give themselves, however short they live, and when", function()
      local path = os.tmpname()
      local out, status = c.sh(("LPFM_MACHINE=%s %s/lpfm record %s -c 250000 -o %s -- %s 0.02"):format(real, BUILD,
         options, path, c.target "named"))
      assert.equal(0, status, out)
      local named, when, seen = assert(recording.open(path)), {}, {}
      for _, row in ipairs(named.records) do
         if row[1] == "RENAME" and (row[5] == "busy" or row[5] == "idle") then when[row[4]] = row end
      end
      for s in samples.each(named) do
         if when[s.tid] then seen[s.comm], seen[s.process] = true, true end
      end
      os.remove(path)
      assert.same({ busy = true, idle = true, named = true }, seen)
   end)
end)
end
