-- SPDX-License-Identifier: MIT
-- Specification 3.6: the default sampling format, in the layout of the section and in that of 2.x.
local lpfm = require "lpfm"
local c = require "support.c"
local sim = require "support.sim"

-- By layout: sizes of header and sample header, format's version, and { offset, size } of fields.
local LAYOUTS = {
   ["0.6"] = { uuid = "4d72bec0-0664-4143-82b4-d3fd27243c97", header = 40, entry = 40, version = 0x20000,
      fields = { pid = { 0, 4 }, tid = { 4, 4 }, ovfl_pmd = { 8, 2 }, set = { 10, 2 }, cpu = { 12, 2 },
         last_reset = { 16, 8 }, tstamp = { 24, 8 }, ip = { 32, 8 } },
      head = { count = { 0, 8 }, cur_offs = { 8, 8 }, overflows = { 16, 8 }, size = { 24, 8 }, version = { 32, 4 },
         flags = { 36, 4 } } },
   ["2.x"] = { uuid = "d139b29e-62e8-40e4-b402-73078792e937", header = 128, entry = 40, version = 0x10000,
      fields = { tid = { 0, 4 }, ovfl_pmd = { 4, 2 }, last_reset = { 8, 8 }, ip = { 16, 8 }, tstamp = { 24, 8 },
         cpu = { 32, 2 }, set = { 34, 2 }, pid = { 36, 4 } },
      head = { count = { 0, 8 }, cur_offs = { 8, 8 }, overflows = { 16, 8 }, size = { 24, 8 }, version = { 40, 4 },
         flags = { 44, 4 } } },
}

-- Returns the little-endian number of n bytes at offset; 8 bytes are signed, or hex if inexact.
local function number(bytes, offset, n)
   local hex = {}
   for i = n, 1, -1 do
      hex[#hex + 1] = ("%02x"):format(bytes:byte(offset + i))
   end
   local value = lpfm.u64("0x" .. table.concat(hex))
   if n < 8 then
      return value:tonumber()
   end
   local signed = tonumber(value:signed())
   return math.abs(signed) < 2 ^ 53 and signed or value:hex()
end

local function record(bytes, offset, fields)
   local t = {}
   for name, at in pairs(fields) do
      t[name] = number(bytes, offset + at[1], at[2])
   end
   return t
end

-- Makes a context in which PMD4, with the fields `pmd`, counts a thread's n instructions of 10 ns.
local function sampling(n, layout, options, pmd, machine)
   local m = sim.machine("itanium2", machine)
   options.format = LAYOUTS[layout].uuid
   local ctx = sim.count(sim.context(options), 4, "instructions", pmd)
   local tid = m:spawn { program = sim.work(n) }
   return m, ctx, tid
end

local function go(ctx, tid, set)
   sim.start(ctx, tid, set)
end

local function tstamps(ctx)
   local t = {}
   for s in ctx:buffer():samples() do
      t[#t + 1] = s.tstamp
   end
   return t
end

-- 3.6.5: sizeof(pfm_default_smpl_entry_t) + 8 x num_impl_PMD, whatever the flags are
local function max_sample()
   return 40 + 8 * #lpfm.pmds()
end

for layout, L in pairs(LAYOUTS) do
   describe("3.6.2 Format specific parameters (" .. layout .. ")", function()
      before_each(sim.begin)
      after_each(sim.finish)

      it("buf_flags: 'The bits which are not defined are reserved and must be cleared'", function()
         for bit = 2, 31 do
            sim.refused("EINVAL", "the argument is not valid", lpfm.create { format = L.uuid, buf_size = 65536,
               buf_flags = 2 ^ bit })
         end
      end)

      it("NO_HDR and IIP_HDR contradict each other: 'invalid value ... the command fails'", function()
         sim.refused("EINVAL", "the argument is not valid", lpfm.create { format = L.uuid,
            buf_flags = { "NO_HDR", "IIP_HDR" } })
      end)

      it("'responsible for checking that this size is large enough': header and the largest sample", function()
         for _, flags in ipairs { "NO_HDR", "IIP_HDR", "" } do
            local f, size = flags ~= "" and { flags } or {}, L.header + max_sample()
            sim.refused("EINVAL", "not valid", lpfm.create { format = L.uuid, buf_flags = f, buf_size = size - 1 })
            local ctx = sim.context { format = L.uuid, buf_flags = f, buf_size = size }
            assert.are.equal(size, ctx:buffer():header().size)
         end
         sim.refused("EINVAL", "not valid", lpfm.create { format = L.uuid, buf_size = 1 })
         sim.refused("EINVAL", "buf_size 1 is refused: a sample takes",
            lpfm.create { format = L.uuid, buf_size = 1 })
      end)

      it("'the actual memory allocated for the buffer that includes the buffer header': it is accounted for", function()
         sim.context { format = L.uuid, buf_size = 10000 }
         assert.are.equal(12288, lpfm.config().smpl_buf_size_cur)
      end)
   end)

   describe("3.6.3 The buffer header (" .. layout .. ")", function()
      before_each(sim.begin)
      after_each(sim.finish)

      it("to the byte: all fields, after creation and after two samples", function()
         local m, ctx, tid = sampling(100, layout, { buf_size = 10000, buf_flags = { "IIP_HDR" } },
            { value = -10, short_reset = -10 })
         local expected = { count = 0, cur_offs = L.header, overflows = 0, size = 10000, flags = 2,
            version = L.version }
         assert.are.same(expected, record(ctx:buffer():snapshot(), 0, L.head))
         go(ctx, tid)
         assert(m:run { ns = 250 })
         expected.count, expected.cur_offs = 2, L.header + 16
         assert.are.same(expected, record(ctx:buffer():snapshot(), 0, L.head))
      end)

      it("'the size of the buffer header is such that it aligns on, at least, an 8-byte boundary'", function()
         assert.are.equal(0, L.header % 8)
      end)

      it("hdr_count: 'can be used to determine how many samples are left' when monitoring ended", function()
         local m, ctx, tid = sampling(95, layout, {}, { value = -10, short_reset = -10 })
         go(ctx, tid)
         assert(m:run { until_idle = true })
         assert.are.equal(9, ctx:buffer():header().count)
      end)

      it("hdr_cur_offs: 'In case no sample is present, it points to the first byte after the buffer header'", function()
         local m, ctx, tid = sampling(95, layout, {}, { value = -10, short_reset = -10 })
         go(ctx, tid)
         assert(m:run { until_idle = true })
         assert.are.equal(L.header + 9 * 40, ctx:buffer():header().cur_offs)
      end)

      it("hdr_overflows: 'is not reset as part of the PFM_RESTART ... It is monotonically increasing'", function()
         local m, ctx, tid = sampling(1000, layout, { buf_size = sim.buffer_size(3, 40, layout) },
            { value = -10, short_reset = -10, long_reset = -10, flags = { "OVFL_NOTIFY" } })
         go(ctx, tid)
         for i = 1, 5 do
            assert(m:run { until_message = ctx })
            ctx:read(0)
            assert.are.equal(i, ctx:buffer():header().overflows)
            assert.are.equal(3, ctx:buffer():header().count)
            assert(ctx:restart())
            assert.are.equal(i, ctx:buffer():header().overflows)
            assert.are.equal(0, ctx:buffer():header().count)
         end
      end)

      it("'In order to locate samples': 'the buffer header is immediately followed by the first sample'", function()
         local m, ctx, tid = sampling(95, layout, {}, { value = -10, short_reset = -10 })
         go(ctx, tid)
         assert(m:run { ns = 100 })
         assert.are.equal(100, record(ctx:buffer():snapshot(), L.header, L.fields).tstamp)
      end)
   end)

   describe("3.6.4 Structure of a sample (" .. layout .. ")", function()
      before_each(sim.begin)
      after_each(sim.finish)

      it("to the byte: all fields of the header, then the body", function()
         local m = sim.machine("itanium2", { cpus = 3 })
         local ctx = sim.context { format = L.uuid }
         assert(ctx:create_evtsets { { id = 513 } })
         sim.count(ctx, 4, "instructions", { set = 513, value = -10, short_reset = -20, smpl_pmds = { 7, 5 } })
         sim.count(ctx, 5, "cycles", { set = 513 })
         sim.count(ctx, 7, "loads", { set = 513, value = "0x0102030405060708" })
         local parent = m:spawn { program = sim.work(1), cpu = 2 }
         local tid = m:spawn { process = parent, cpu = 2, program = { { loop = 40, { ip = "0xa000000000010230", ns = 10,
            events = { loads = 1 } } } } }
         go(ctx, tid, 513)
         assert(m:run { until_idle = true })
         local bytes = ctx:buffer():snapshot()
         local first = { pid = parent, tid = tid, ovfl_pmd = 4, set = 513, cpu = 2, last_reset = -10, tstamp = 110,
            ip = "0xa000000000010230" }
         assert.are.same(first, record(bytes, L.header, L.fields))
         assert.are.equal(100, number(bytes, L.header + 40, 8)) -- PMD5's value, before PMD7's
         assert.are.equal("0x102030405060712", number(bytes, L.header + 48, 8))
         first.last_reset, first.tstamp = -20, 310
         assert.are.same(first, record(bytes, L.header + 56, L.fields))
         assert.are.equal(L.header + 2 * 56, #bytes)
      end)

      it("tstamp: 'a unique time stamp for the processor', also of instructions that take no time", function()
         local m = sim.machine()
         local ctx = sim.context { format = L.uuid }
         sim.count(ctx, 4, "instructions", { value = -1, short_reset = -1 })
         go(ctx, m:spawn { program = { { loop = 100, { ip = 1, ns = 10 }, { ip = 2 }, { ip = 3 } } } })
         assert(m:run { until_idle = true })
         local t = tstamps(ctx)
         assert.are.equal(300, #t)
         for i = 2, #t do
            assert.is_true(t[i] > t[i - 1])
         end
      end)

      it("system-wide: pid and tid of 'the process that was running at the time', of each thread", function()
         local m = sim.machine("itanium2", { slice_ns = 1000000 })
         local a, b = m:spawn { program = sim.work(500000) }, m:spawn { program = sim.work(500000) }
         local ctx = sim.context { format = L.uuid, flags = { "SYSTEM_WIDE" } }
         sim.count(ctx, 4, "instructions", { value = -1000, short_reset = -1000, level = "u" })
         sim.start(ctx, 0)
         assert(m:run { ms = 4 })
         assert.are.same({ [a] = 200, [b] = 200 }, ctx:buffer():count_by("tid"))
         assert.are.same({ [a] = { [a] = 200 }, [b] = { [b] = 200 } }, ctx:buffer():count_by("pid", "tid"))
      end)

      it("cpu: 'the processor on which the thread was running', which changes when it migrates", function()
         local m = sim.machine("itanium2", { cpus = 2, slice_ms = 1 })
         m:spawn { program = sim.work(150000), cpu = 0 }
         local tid = m:spawn { program = sim.work(1000000) }
         m:spawn { program = sim.work(300000), cpu = 1 }
         local ctx = sim.context { format = L.uuid }
         sim.count(ctx, 4, "instructions", { value = -1000, short_reset = -1000 })
         go(ctx, tid)
         assert(m:run { until_idle = true })
         local cpus = ctx:buffer():count_by("cpu")
         assert.is_true(cpus[0] > 0 and cpus[1] > 0)
         assert.are.equal(1000, cpus[0] + cpus[1])
      end)

      it("cpu, system-wide: 'the processor to which the context is bound. It remains constant'", function()
         local m = sim.machine("itanium2", { cpus = 3 })
         m:spawn { program = sim.work(1000), cpu = 1 }
         m:set("tool_cpu", 1)
         local ctx = sim.context { format = L.uuid, flags = { "SYSTEM_WIDE" } }
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, level = "u" })
         sim.start(ctx, 1)
         assert(m:run { us = 5 })
         assert.are.same({ [1] = 50 }, ctx:buffer():count_by("cpu"))
      end)

      it("last_reset_val: with randomization 'the pseudo-random value that was last loaded'", function()
         local m, ctx, tid = sampling(1000, layout, {}, { value = -10, short_reset = -20, flags = { "RANDOM" },
            random_seed = 5, random_mask = 7 })
         go(ctx, tid)
         assert(m:run { us = 2 })
         local resets = {}
         for s in ctx:buffer():samples() do
            resets[#resets + 1] = s.last_reset
         end
         -- 5, 5 * 16807 mod 8 = 3, ... are the random numbers
         assert.are.same({ -10, -20 + 5, -20 + 84035 % 8 }, { resets[1], resets[2], resets[3] })
      end)

      it("'does not make use of the reg_smpl_eventid field'", function()
         local snapshots = {}
         for i, id in ipairs { 0, "0xffffffffffffffff" } do
            local m, ctx, tid = sampling(100, layout, {}, { value = -10, short_reset = -10, eventid = id })
            go(ctx, tid)
            assert(m:run { until_idle = true })
            snapshots[i] = ctx:buffer():snapshot()
         end
         assert.is_true(snapshots[1] == snapshots[2])
      end)

      it("figure 3.28: 'PMD5 and PMD7 must be stored in the sample', in increasing index", function()
         local m, ctx, tid = sampling(100, layout, {}, { value = -10, short_reset = -10, smpl_pmds = { 7, 5 } })
         sim.count(ctx, 5, "instructions", { value = 5000 })
         sim.count(ctx, 7, "instructions", { value = 7000 })
         go(ctx, tid)
         assert(m:run { until_idle = true })
         for s in ctx:buffer():samples() do
            assert.are.equal(2, s.pmds)
            assert.are.same({ 5000 + 10 * s.index, 5 }, { s:pmd(1) })
            assert.are.same({ 7000 + 10 * s.index, 7 }, { s:pmd(2) })
         end
      end)

      it("'samples can have different sizes'; 'the body is empty and sample headers follow each other'", function()
         local m, ctx, tid = sampling(100, layout, {}, { value = -10, short_reset = -10 })
         sim.count(ctx, 5, "instructions", { value = -15, short_reset = -15, smpl_pmds = { 4, 6, 7 } })
         go(ctx, tid)
         assert(m:run { ns = 400 }) -- PMD4 overflows at 10, 20, 30, 40, PMD5 at 15, 30
         local offset, bytes = L.header, ctx:buffer():snapshot()
         for _, e in ipairs { { 4, 100 }, { 5, 150 }, { 4, 200 }, { 4, 300 }, { 5, 300 }, { 4, 400 } } do
            local s = record(bytes, offset, L.fields)
            assert.are.same(e, { s.ovfl_pmd, s.tstamp })
            offset = offset + (s.ovfl_pmd == 5 and 40 + 24 or 40)
         end
         assert.are.equal(#bytes, offset)
      end)

      it("figure 3.29, simultaneous overflows: 'one sample is recorded per overflowed PMD', one time stamp",
         function()
            local m, ctx, tid = sampling(100, layout, {}, { value = -10, short_reset = -10 })
            sim.count(ctx, 5, "instructions", { value = -10, short_reset = -10, smpl_pmds = { 6 } })
            sim.count(ctx, 7, "instructions", { value = -10, short_reset = -10 })
            go(ctx, tid)
            assert(m:run { ns = 300 })
            local i = 0
            for s in ctx:buffer():samples() do
               assert.are.same({ ({ 4, 5, 7 })[i % 3 + 1], 100 * math.floor(i / 3 + 1), 0 },
                  { s.ovfl_pmd, s.tstamp, s.set })
               i = i + 1
            end
            assert.are.equal(9, i)
         end)

      it("PFM_DFL_SMPL_NO_HDR: 'samples do not have headers, only the body part is recorded'", function()
         local m, ctx, tid = sampling(100, layout, { buf_flags = { "NO_HDR" } },
            { value = -10, short_reset = -10, smpl_pmds = { 5, 6 } })
         sim.count(ctx, 5, "instructions")
         sim.count(ctx, 6, "cycles")
         go(ctx, tid)
         assert(m:run { ns = 200 })
         local bytes = ctx:buffer():snapshot()
         assert.are.equal(L.header + 2 * 16, #bytes)
         for i, v in ipairs { 10, 100, 20, 200 } do
            assert.are.equal(v, number(bytes, L.header + 8 * i - 8, 8))
         end
      end)

      it("PFM_DFL_SMPL_IIP_HDR: 'only record the instruction pointer in the header'; body 'not affected'", function()
         local m, ctx, tid = sampling(100, layout, { buf_flags = { "IIP_HDR" } },
            { value = -10, short_reset = -10, smpl_pmds = { 5 } })
         sim.count(ctx, 5, "instructions")
         go(ctx, tid)
         assert(m:run { ns = 200 })
         local bytes = ctx:buffer():snapshot()
         assert.are.equal(L.header + 2 * 16, #bytes)
         for i, v in ipairs { 0x1000, 10, 0x1000, 20 } do
            assert.are.equal(v, number(bytes, L.header + 8 * i - 8, 8))
         end
      end)

      it("PMDs that do not count are recorded as they are, also those of the operating system (3.2.2)", function()
         local m, ctx, tid = sampling(100, layout, {},
            { value = -10, short_reset = -10, smpl_pmds = { 8, 80, 82, 83 } })
         assert(ctx:write_pmds { { num = 8, value = 0x77 } })
         go(ctx, tid)
         assert(m:run { ns = 100 })
         local s = ctx:buffer():sample(1)
         assert.are.same({ 0x77, 100, tid, tid }, { s[8], s[80], s[82], s[83] })
      end)
   end)

   describe("3.6.5 Overflow and restart behaviors (" .. layout .. ")", function()
      before_each(sim.begin)
      after_each(sim.finish)

      local function filling(n, pmd, options)
         options = options or {}
         options.buf_size = sim.buffer_size(n, 40, layout)
         pmd.value, pmd.short_reset, pmd.long_reset = -10, -10, pmd.long_reset or -35
         return sampling(10000, layout, options, pmd)
      end

      it("'If the buffer is not full, then the overflowed counters are all reset using their short periods'", function()
         local m, ctx, tid = filling(5, { flags = { "OVFL_NOTIFY" } })
         sim.count(ctx, 5, "instructions", { value = -10, short_reset = -17, long_reset = -99 })
         go(ctx, tid)
         assert(m:run { ns = 100 })
         assert.are.same({ -10, -17 }, ctx:read_values { 4, 5 })
         assert.is_nil(ctx:read(0)) -- 'No notification is sent'
      end)

      it("reset_pmds: 'each of the designated PMD register is also reset using the short reset value'", function()
         local m, ctx, tid = filling(5, { reset_pmds = { 5, 8 } })
         sim.count(ctx, 5, "instructions", { short_reset = 50, long_reset = 51 })
         sim.count(ctx, 6, "instructions", { short_reset = 60 })
         assert(ctx:write_pmds { { num = 8, value = 1, short_reset = 88 } })
         go(ctx, tid)
         assert(m:run { ns = 100 })
         assert.are.same({ -10, 50, 10, 88 }, ctx:read_values { 4, 5, 6, 8 })
      end)

      it("full: 'none of the overflowed PMD register is reset. This is deferred until the PFM_RESTART'", function()
         local m, ctx, tid = filling(2, { flags = { "OVFL_NOTIFY" }, reset_pmds = { 6 } })
         sim.count(ctx, 5, "instructions", { value = -20, short_reset = -1, long_reset = -55 })
         sim.count(ctx, 6, "instructions", { short_reset = 66, long_reset = 666 })
         go(ctx, tid)
         assert(m:run { until_message = ctx })
         assert.are.equal(200, m:time())
         assert.are.same({ 4, 5 }, ctx:read(0).pmds)
         assert.are.same({ 0, 0, 76 }, ctx:read_values { 4, 5, 6 })
         assert.are.equal(1, ctx:buffer():header().overflows)
         assert(ctx:restart())
         assert.are.same({ -35, -55, 666 }, ctx:read_values { 4, 5, 6 })
      end)

      it("post check: 'If the remaining space is smaller than the largest sample'; figure 3.30", function()
         for extra = 0, 1 do -- one byte more makes room for one sample more
            local m = sim.machine()
            local ctx = sim.context { format = L.uuid, buf_size = L.header + 3 * 40 + max_sample() - 1 + extra }
            sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10 })
            go(ctx, m:spawn { program = sim.work(10000) })
            assert(m:run { us = 10 })
            local h = ctx:buffer():header()
            assert.are.same({ 3 + extra, 1, L.header + (3 + extra) * 40 }, { h.count, h.overflows, h.cur_offs })
         end
      end)

      it("the largest sample: sizeof(header) 'plus 8 x num_impl_PMD', so many values fit in one", function()
         local all, m = {}, sim.machine()
         for i, pmd in ipairs(lpfm.pmds()) do
            all[i] = pmd.num
         end
         local ctx = sim.context { format = L.uuid, buf_size = L.header + max_sample() }
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, smpl_pmds = all })
         go(ctx, m:spawn { program = sim.work(100) })
         assert(m:run { us = 1 })
         -- no byte is left
         assert.are.equal(L.header + max_sample(), ctx:buffer():header().cur_offs)
         assert.are.equal(#all, ctx:buffer():sample(1).pmds)
      end)

      it("'the remaining space is smaller than max_sample_size': of NO_HDR and IIP_HDR the same", function()
         for flag, size in pairs { NO_HDR = 8, IIP_HDR = 16 } do -- with PMD5
            for extra = 0, 1 do
               local m = sim.machine()
               local ctx = sim.context { format = L.uuid, buf_flags = { flag },
                  buf_size = L.header + 3 * size + max_sample() - 1 + extra }
               sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, smpl_pmds = { 5 } })
               go(ctx, m:spawn { program = sim.work(10000) })
               assert(m:run { us = 10 })
               local h = ctx:buffer():header()
               assert.are.same({ 3 + extra, 1, L.header + (3 + extra) * size }, { h.count, h.overflows, h.cur_offs })
            end
         end
      end)

      it("simultaneous: 'samples up to what can be accommodated ... are written, the others ... lost'", function()
         -- a largest sample does not fit after PMD4's; PMD5's does, PMD6's and PMD7's do not
         local all, m = {}, sim.machine()
         for i, pmd in ipairs(lpfm.pmds()) do
            all[i] = pmd.num
         end
         local ctx = sim.context { format = L.uuid, buf_size = sim.buffer_size(1, 40, layout) }
         for num = 4, 7 do
            sim.count(ctx, num, "instructions", { value = -10, long_reset = -num, smpl_pmds = num > 5 and all or nil,
               flags = { "OVFL_NOTIFY" } })
         end
         go(ctx, m:spawn { program = sim.work(100) })
         assert(m:run { until_message = ctx })
         local msg, h = ctx:read(0), ctx:buffer():header()
         assert.are.same({ 2, 1, L.header + 80 }, { h.count, h.overflows, h.cur_offs })
         assert.are.same({ 4, 5 }, { ctx:buffer():sample(1).ovfl_pmd, ctx:buffer():sample(2).ovfl_pmd })
         -- 'possible to detect ... by analyzing the bitvector'
         assert.are.same({ 4, 5, 6, 7 }, msg.pmds)
         assert(ctx:restart())
         assert.are.same({ -4, -5, -6, -7 }, ctx:read_values { 4, 5, 6, 7 })
      end)

      it("'only if any one of the overflowed PMD registers has the PFM_REGFL_OVFL_NOTIFY flag': any one", function()
         for asks = 4, 6 do
            local m = sim.machine()
            local ctx = sim.context { format = L.uuid, flags = { "NOTIFY_BLOCK" },
               buf_size = sim.buffer_size(3, 40, layout) }
            for num = 4, 6 do
               sim.count(ctx, num, "instructions", { value = -10, flags = num == asks and { "OVFL_NOTIFY" } or nil })
            end
            local tid = m:spawn { program = sim.work(100) }
            go(ctx, tid)
            assert(m:run { until_message = ctx, us = 5 })
            assert.are.equal(100, m:time())
            assert.are.same({ 4, 5, 6 }, ctx:read(0).pmds)
            assert(m:run { ns = 100 })
            assert.are.equal("blocked", sim.thread(tid).state)
         end
      end)

      it("'Otherwise, the buffer is said to have saturated': monitoring is masked, nobody told", function()
         local m, ctx, tid = filling(3, {})
         sim.count(ctx, 5, "instructions")
         go(ctx, tid)
         assert(m:run { us = 10 })
         assert.are.same({ 3, 1 }, { ctx:buffer():header().count, ctx:buffer():header().overflows })
         assert.is_nil(ctx:read(0))
         assert.are.same({ 0, 30 }, ctx:read_values { 4, 5 })
      end)

      it("saturated, 'monitoring is masked and execution resumes', also with PFM_FL_NOTIFY_BLOCK", function()
         local m, ctx, tid = filling(3, {}, { flags = { "NOTIFY_BLOCK" } })
         go(ctx, tid)
         assert(m:run { us = 10 })
         assert.are.equal("running", sim.thread(tid).state)
         assert.are.equal(3, #ctx:buffer())
      end)

      it("'PFM_RESTART ... on a saturated buffer does reset the buffer and monitoring resumes'", function()
         local m, ctx, tid = filling(3, {})
         go(ctx, tid)
         assert(m:run { ns = 500 })
         assert.are.same({ 100, 200, 300 }, tstamps(ctx))
         assert(ctx:restart())
         assert(m:run { us = 5 })
         assert.are.same({ 850, 950, 1050 }, tstamps(ctx)) -- the long period, then the short
      end)

      it("PFM_RESTART: 'hdr_count ... is set to 0', counters 'are reset using their long reset values'", function()
         local m, ctx, tid = filling(3, { flags = { "OVFL_NOTIFY" } })
         go(ctx, tid)
         assert(m:run { until_message = ctx })
         ctx:read(0)
         assert(m:run { ns = 77 })
         assert.are.equal(3, #ctx:buffer()) -- 'the buffer is in a stable state'
         assert(ctx:restart())
         assert.are.same({ 0, L.header }, { ctx:buffer():header().count, ctx:buffer():header().cur_offs })
         assert.are.equal(-35, sim.value(ctx, 4))
         assert(m:run { until_message = ctx })
         assert.are.same({ 370 + 350, 370 + 450, 370 + 550 }, tstamps(ctx))
      end)

      it("'The counters that overflowed last ... are reset using their long reset values', the others go on", function()
         local m, ctx, tid = filling(2, { flags = { "OVFL_NOTIFY" } })
         sim.count(ctx, 5, "instructions", { value = -25, short_reset = -25, long_reset = -1 })
         go(ctx, tid)
         assert(m:run { until_message = ctx }) -- PMD4 overflows at 10 and 20
         assert(ctx:restart())
         assert.are.same({ -35, -5 }, ctx:read_values { 4, 5 })
      end)

      it("'When randomization is used new pseudo-random values are chosen'", function()
         local m, ctx, tid = filling(1, { flags = { "OVFL_NOTIFY", "RANDOM" }, long_reset = -1000, random_seed = 3,
            random_mask = 0xffff })
         go(ctx, tid)
         assert(m:run { until_message = ctx })
         assert(ctx:restart())
         assert.are.equal(-1000 + 3, sim.value(ctx, 4))
      end)

      it("'while monitoring is not masked, the command simply resets the buffer header': active restart", function()
         local m, ctx, tid = filling(5, { flags = { "OVFL_NOTIFY" } })
         go(ctx, tid)
         assert(m:run { ns = 250 })
         assert.are.equal(2, #ctx:buffer())
         assert(ctx:restart())
         assert.are.same({ 0, L.header, 0 }, { #ctx:buffer(), ctx:buffer():header().cur_offs,
            ctx:buffer():header().overflows })
         assert.are.equal(-5, sim.value(ctx, 4)) -- the restart resets no PMD
         assert(m:run { ns = 100 })
         assert.are.same({ 300 }, tstamps(ctx))
      end)

      it("'generic enough to work for both system-wide and per-thread context': full, system-wide", function()
         local m = sim.machine()
         m:spawn { program = sim.work(10000) }
         local ctx = sim.context { format = L.uuid, flags = { "SYSTEM_WIDE" },
            buf_size = sim.buffer_size(3, 40, layout) }
         sim.count(ctx, 4, "instructions", { value = -10, short_reset = -10, long_reset = -20, level = "u",
            flags = { "OVFL_NOTIFY" } })
         sim.start(ctx, 0)
         for i = 1, 3 do
            assert(m:run { until_message = ctx })
            ctx:read(0)
            assert.are.equal(i == 1 and 300 or 300 + 400 * (i - 1), m:time())
            assert(ctx:restart())
         end
      end)
   end)
end

describe("3.6.5 Overflow and restart behaviors", function()
   it("'The reset only affects the buffer header ... the previous samples are not cleared'", function()
      local out, status = c.sh(c.compile("formats_map") .. " restarted")
      assert.are.equal(0, status, out)
   end)
end)
