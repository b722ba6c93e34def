-- SPDX-License-Identifier: MIT
-- The C module and pfm.ffi give the same results for registers and sampling buffers, on the
-- simulated computer.

local lpfm = require "lpfm"
local sim = require "support.sim"

local UUID_06 = "4d72bec0-0664-4143-82b4-d3fd27243c97"
local PERIOD = 1000

local typed = rawget(_G, "jit") and require "pfm.ffi"

-- The forms of the interface, each with functions for contexts and for prepared vectors.
local forms = { module = { context = function(ctx) return ctx end, pmds = lpfm.pmds, pmcs = lpfm.pmcs } }
if typed then
   forms["pfm.ffi"] = typed
   forms["module, jit.off"] = forms.module -- the module's loops over samples are interpreted
end

-- Sets a period of n events in the fields of a PMD.
local function period(n, fields)
   fields.value, fields.long_reset, fields.short_reset = -n, -n, -n
   return fields
end

-- Fills a buffer by two counters: PMD4 every 1000 instructions, PMD5 every 2000. 6700 loops of two
-- instructions make 19 samples.
local function sampled(options, smpl4, smpl5, loops)
   local m = sim.machine("itanium2")
   local ctx = sim.count(sim.context(options), 4, "instructions", period(PERIOD, { smpl_pmds = smpl4 }))
   sim.count(ctx, 5, "instructions", period(2 * PERIOD, { smpl_pmds = smpl5 }))
   local body = { loop = loops or 6700, { ip = 0x1000, ns = 1 }, { ip = 0x1010, ns = 1 } }
   local tid = m:spawn { program = { body } }
   sim.start(ctx, tid)
   m:run { until_exit = tid }
   return ctx, tid
end

-- Returns what a loop over fields yields, a row for each sample.
local function rows(buf, ...)
   local list = {}
   local function add(...)
      list[#list + 1] = { n = select("#", ...), ... }
      return ...
   end
   local step, state = buf:fields(...)
   while add(step(state)) do -- luacheck: ignore
   end
   list[#list] = nil
   return list
end

-- Returns the same rows as rows(), from samples().
local function rows_of_cursor(ctx, names, filter)
   local list = {}
   for s in ctx:buffer():samples(filter) do
      local row = { n = #names }
      for i, name in ipairs(names) do
         local value = s[name]
         if value == nil then
            value = false
         end
         row[i] = value
      end
      list[#list + 1] = row
   end
   return list
end

-- Returns the text of the error that fn raises, without its position.
local function raised(fn, ...)
   local ok, message = pcall(fn, ...)
   assert.is_false(ok)
   return (message:gsub("^[^ ]+:%d+: ", ""))
end

for form, api in pairs(forms) do
   describe("registers through " .. form, function()
      before_each(sim.begin)
      after_each(sim.finish)

      it("count exactly", function()
         local m = sim.machine("itanium2")
         local ctx = sim.context {}
         local t = api.context(ctx)
         local code = m:encode("instructions", 4, "uk")
         assert.is_true(t:write_pmcs(api.pmcs { { num = 4, value = code }, { num = 6, value = code } }))
         local v = api.pmds { 4, 6, 80, 5 }
         assert.is_true(t:write_pmds(api.pmds { { num = 4, value = 5 }, { num = 6, value = -1000 } }))
         local tid = m:spawn { program = sim.work(777) }
         assert(ctx:load(tid) and ctx:start())
         m:run { until_exit = tid }
         local a, b, _, d, none = t:read_pmds(v)
         assert.same({ 782, -223, 0 }, { a, b, d })
         assert.is_nil(none)
         assert.is_true(t:read_into(v))
         assert.same({ 782, -223, 0 }, { v[1], v[2], v[4] })
         assert.same({ t:read_pmds(v) }, { v:values() })
         assert.equal(-223, v:get(2))
         assert.equal(6, v:get(2, "num"))
      end)

      it("hold 64 bits, and are changed in the vector", function()
         local t = api.context(sim.context {})
         local v = api.pmds { { num = 4, value = "0x7fffffffffff" }, { num = 5, long_reset = -3 } }
         v[2] = 2 ^ 53
         assert.equal(v, v:set(1, "value", "0xfedcba9876543210"))
         assert(t:write_pmds(v))
         local a, b, c = t:read_pmds(v)
         assert.same({ "0xfedcba9876543210", 2 ^ 53 }, { a:hex(), b })
         assert.is_nil(c)
         assert.equal("0xfedcba9876543210", v[1]:hex())
         assert.equal(-3, v:get(2, "long_reset"))
         assert.equal("lpfm.pmds: 2 elements", tostring(v))
         assert.equal(2, #v)
      end)

      it("are refused with call, element and reason", function()
         local t = api.context(sim.context {})
         local v = api.pmds { 4, 300, 5 }
         for _ = 1, 2 do
            sim.refused("EINVAL", "read_pmds: element 2: PMD300 is not available", t:read_pmds(v))
            sim.refused("EINVAL", "read_into: element 2: PMD300 is not available", t:read_into(v))
         end
         assert.same({}, v:get(2, "flags"))
         sim.refused("EINVAL", "write_pmds: element 2: PMD300", t:write_pmds(v))
         local pmcs = api.pmcs { { num = 300, value = 0 } }
         sim.refused("EINVAL", "write_pmcs: element 1: PMC300", t:write_pmcs(pmcs))
         local many = {}
         for i = 1, 2000 do
            many[i] = 4
         end
         sim.refused("E2BIG", "read_into: 2000 elements of 176 bytes exceed", t:read_into(api.pmds(many)))
      end)

      it("are read although the vector carries the flags of a write, and reset by a read", function()
         local t = api.context(sim.context {})
         local v = api.pmds { { num = 4, value = 9, long_reset = -5, flags = { "OVFL_NOTIFY" } } }
         assert(t:write_pmds(v))
         assert.equal(9, t:read_pmds(v))
         assert.same({ "OVFL_NOTIFY" }, v:get(1, "flags"))
         local reset = api.pmds { { num = 4, flags = { "READ_RESET" } } }
         assert.equal(9, t:read_pmds(reset))
         assert.equal(-5, t:read_pmds(reset))
      end)

      it("of any number are read at once", function()
         local t = api.context(sim.context {})
         for n = 1, 12 do
            local list, want = {}, {}
            for i = 1, n do
               list[i], want[i] = { num = 4 + i % 4, value = 100 + i % 4 }, 100 + i % 4
            end
            local v = api.pmds(list)
            assert(t:write_pmds(v))
            assert.same(want, { t:read_pmds(v) })
            assert.equal(n, select("#", v:values()))
         end
      end)

      it("refuse misuse", function()
         local ctx = sim.context {}
         local t = api.context(ctx)
         local v = api.pmds { 4 }
         for _, i in ipairs { 0, -1, 3, 1.5, 2 ^ 40, 0 / 0 } do
            assert.has_error(function() return v[i] end)
            assert.has_error(function() v[i] = 1 end)
            assert.has_error(function() v:get(i) end)
            assert.has_error(function() v:set(i, "value", 1) end)
         end
         assert.is_nil(v[2])
         assert.is_nil(v.nothing)
         assert.has_error(function() v:set(1, "last_reset", 1) end)
         assert.has_error(function() v.x = 1 end)
         for _, bad in ipairs { 1, "x", io.stdout, ctx, api.pmcs {}, lpfm.u64(1) } do
            assert.has_error(function() t:read_into(bad) end)
            assert.has_error(function() t:write_pmds(bad) end)
            if form == "pfm.ffi" then
               assert.has_error(function() t:read_pmds(bad) end)
               assert.has_error(function() api.context(bad ~= ctx and bad) end)
               assert.has_error(function() api.pmds(bad) end)
            end
         end
         ctx:close()
         for _, call in ipairs { "read_pmds", "read_into", "write_pmds" } do
            assert.equal("the context is closed", raised(t[call], t, v))
         end
         assert.equal("the context is closed", raised(t.write_pmcs, t, api.pmcs {}))
         assert.equal("the context is closed", raised(t.buffer, t))
      end)
   end)

   describe("a sampling buffer through " .. form, function()
      before_each(function()
         sim.begin()
         if form == "module, jit.off" then jit.off() end
      end)
      after_each(function()
         sim.finish()
         if typed then jit.on() end
      end)

      for layout, format in pairs { ["2.x"] = "default", ["0.6"] = UUID_06 } do
         it("has samples of several kinds, in the layout of " .. layout, function()
            local ctx, tid = sampled({ format = format, buf_size = 30000 }, { 5 }, { 4, 80, 82 })
            local buf = api.context(ctx):buffer()
            assert.equal(19, buf:header().count)
            assert.equal(19, #buf)
            local names = { "ip", "tid", "pid", "cpu", "tstamp", "set", "ovfl_pmd", "last_reset", 4, 5, 80, 82,
               83 }
            local got = rows(buf, unpack(names))
            assert.same(rows_of_cursor(ctx, names), got)
            assert.same({ n = 3, 4, -PERIOD, tid }, { n = 3, got[1][7], got[1][8], got[1][2] })
            local fours, fives = rows(buf, 5, { ovfl_pmd = 4 }), rows(buf, "last_reset", 82, { ovfl_pmd = 5 })
            assert.same({ 13, 6 }, { #fours, #fives })
            assert.same({ n = 1, -PERIOD }, fours[1])
            for _, row in ipairs(fives) do
               assert.same({ n = 2, -2 * PERIOD, tid }, row)
            end
         end)

         for _, flag in ipairs { "IIP_HDR", "NO_HDR" } do
            it("has samples with " .. flag .. ", in the layout of " .. layout, function()
               local options = { format = format, buf_size = 30000, buf_flags = { flag } }
               local ctx = sampled(options, { 5, 80 }, { 5, 80 })
               local buf = api.context(ctx):buffer()
               local names = { flag == "IIP_HDR" and "ip" or 5, 80, 5, 4 }
               local got = rows(buf, unpack(names))
               assert.equal(19, #got)
               assert.same(rows_of_cursor(ctx, names), got)
               assert.is_false(got[1][4])
               local message = "fields: the samples of this buffer have no field 'tid' (buf_flags NO_HDR, IIP_HDR)"
               assert.equal(message, raised(buf.fields, buf, "tid"))
            end)
         end
      end

      it("has headers alone", function()
         local ctx = sampled { format = "default", buf_size = 30000 }
         local buf = api.context(ctx):buffer()
         local got = rows(buf, "ip", "tstamp")
         assert.equal(19, #got)
         assert.same(rows_of_cursor(ctx, { "ip", "tstamp" }), got)
         assert.same({ [4] = 13, [5] = 6 }, buf:count_by("ovfl_pmd"))
         assert.equal(buf:header().cur_offs, #buf:snapshot())
         assert.equal(3, buf:sample(3).index)
         assert.same(tostring(ctx:buffer()), tostring(buf))
      end)

      it("of the n-way format shows a region", function()
         local ctx = sampled({ format = "n-way", buf_size = 20000, regions = 2 }, { 5 }, { 5 })
         local buf = api.context(ctx):buffer()
         assert.equal(2, buf:header().regions)
         local got = rows(buf, "ip", 5)
         assert.is_true(#got > 0 and #got == buf:header().count)
         assert.same(rows_of_cursor(ctx, { "ip", 5 }), got)
      end)

      it("is filtered by what the module takes for a value", function()
         local ctx, tid = sampled({ format = "default", buf_size = 30000 }, { 5 }, { 5 })
         local buf = api.context(ctx):buffer()
         local filters = { { tid = tid }, { last_reset = -PERIOD }, { last_reset = lpfm.u64(-PERIOD) },
            { last_reset = "-2000", ovfl_pmd = 5 }, { [5] = -PERIOD }, { [80] = 1 },
            { ip = "0xffffffffffffffff" }, {} }
         for _, filter in ipairs(filters) do
            assert.same(rows_of_cursor(ctx, { "ip", 5 }, filter), rows(buf, "ip", 5, filter))
         end
      end)

      it("gives each loop its own fields, or raises, when iterators and states are mixed up", function()
         local ctx = sampled({ format = "default", buf_size = 30000 }, { 5 }, { 5 })
         local buf = api.context(ctx):buffer()
         local words = buf:fields("ip", "tstamp")
         local _, state = buf:fields("ip", 5, "cpu", 80)
         assert.same({ 0x1010, -1000, 0, false }, { words(state) })
         for _, bad in ipairs { 1, {}, io.stdout, buf } do
            assert.has_error(function() words(bad) end)
         end
      end)

      it("takes the names that the headers have, too", function()
         local ctx, tid = sampled({ format = "default", buf_size = 30000 }, { 5 }, { 5 })
         local buf = api.context(ctx):buffer()
         assert.same(rows(buf, "ovfl_pmd", "last_reset", "pid"), rows(buf, "pmd", "last_reset_val", "tgid"))
         assert.same(rows(buf, "ip", { ovfl_pmd = 5, pid = tid }), rows(buf, "ip", { pmd = 5, tgid = tid }))
         assert.same(buf:count_by("ovfl_pmd"), buf:count_by("pmd"))
      end)

      it("steps by a function in Lua where LuaJIT compiles", function()
         local ctx = sampled({ format = "default", buf_size = 30000 }, { 5 }, { 5 })
         local compiled = typed and form ~= "module, jit.off"
         for _, wanted in ipairs { { "ip" }, { "cpu", 5, { ovfl_pmd = 4 } } } do
            local step = api.context(ctx):buffer():fields(unpack(wanted))
            assert.equal(compiled and "Lua" or "C", debug.getinfo(step, "S").what)
            assert.equal(step, (api.context(ctx):buffer():fields(unpack(wanted))))
         end
      end)

      it("refuses what is no field", function()
         local ctx = sampled { format = "default", buf_size = 30000 }
         local buf = api.context(ctx):buffer()
         for _, bad in ipairs { "x", true, -1, 320, 1.5 } do
            assert.has_error(function() buf:fields(bad) end)
         end
         assert.has_error(function() buf:fields() end)
         assert.has_error(function() buf:fields("ip", { x = 1 }) end)
         assert.has_error(function() buf:fields("ip", { ip = {} }) end)
      end)

      it("is stale after a restart, and closed with its context", function()
         local m = sim.machine("itanium2")
         local ctx = sim.context { format = "default", buf_size = sim.buffer_size(5) }
         sim.count(ctx, 4, "instructions", period(10, { flags = { "OVFL_NOTIFY" } }))
         local tid = m:spawn { program = sim.work(100000) }
         assert(ctx:load(tid) and ctx:start())
         assert(m:run { until_message = ctx } and ctx:read(0))
         local buf = api.context(ctx):buffer()
         local step, state = buf:fields("ip")
         assert.equal(0x1000, step(state))
         assert(ctx:restart())
         assert.equal("the sample is stale: the context was restarted", raised(step, state))
         assert.equal(0, buf:header().count)
         assert(m:run { until_message = ctx })
         assert.equal(5, #rows(buf, "ip"))
         step, state = buf:fields("ip")
         ctx:close()
         assert.equal("the buffer is closed", raised(step, state))
         for _, call in ipairs { "header", "count_by", "samples", "sample", "snapshot", "fields" } do
            assert.equal("the buffer is closed", raised(buf[call], buf, "ip"))
         end
      end)

      it("that does not fit what is programmed raises", function()
         local ctx = sampled({ format = "default", buf_size = 8192 }, nil, nil, 67000)
         local buf = api.context(ctx):buffer()
         assert.equal(195, buf:header().count)
         local more = { 80, 81, 82, 83, 84 } -- each sample has twice the size
         assert(ctx:write_pmds { { num = 4, smpl_pmds = more }, { num = 5, smpl_pmds = more } })
         local step, state = buf:fields("ip")
         local last = raised(function()
            while step(state) do -- luacheck: ignore
            end
         end)
         assert.truthy(last:find("^the buffer is corrupt: sample %d+ of 195 lies outside it$"), last)
         assert.is_nil(step(state))
      end)

      it("is there only with a format", function()
         local t = api.context(sim.context {})
         sim.refused("EINVAL", "buffer: the context was created without a sampling buffer", t:buffer())
      end)
   end)
end

describe("pfm.ffi", function()
   if not typed then
      it("says in PUC Lua what to use instead", function()
         local ok, message = pcall(require, "pfm.ffi")
         assert.is_false(ok)
         assert.truthy(message:find("pfm.ffi needs LuaJIT; in PUC Lua use", 1, true), message)
         assert.truthy(message:find("ctx:reader(v), buf:fields(...), buf:count_by(...)", 1, true), message)
      end)
      return
   end
   local ffi = require "ffi"
   before_each(sim.begin)
   after_each(sim.finish)

   it("declares the structures with the sizes of the interface", function()
      for name, size in pairs { pfarg_ctx_t = 64, pfarg_pmc_t = 48, pfarg_pmd_t = 176, pfarg_setdesc_t = 64,
         pfarg_start_t = 32, pfarg_load_t = 32, pfm_dfl_smpl_hdr_t = 128, pfm_dfl_smpl_entry_t = 40,
         pfm_default_smpl_hdr_t = 40, pfm_default_smpl_entry_t = 40, ["struct pfm06_load"] = 8 } do
         assert.equal(size, ffi.sizeof(name), name)
      end
   end)

   it("calls libperfmon on the same machine as the module", function()
      local cfg = ffi.new("pfarg_config_t")
      assert.equal(0, typed.C.pfm_get_config(cfg))
      assert.equal(lpfm.config().pmu, ffi.string(cfg.cf_pmu))
   end)

   it("has a vector's elements in place", function()
      local ctx = sim.context {}
      local v = typed.pmds { { num = 4, value = 5 }, 5 }
      v.data[1].reg_value = ffi.new("int64_t", -7)
      v.data[0].reg_long_reset = 3
      assert.same({ 5, -7, 3 }, { v[1], v[2], v:object():get(1, "long_reset") })
      assert(ctx:write_pmds(v:object()))
      assert.same({ 5, -7 }, { ctx:read_pmds(v:object()) })
      assert.same({ 2, "lpfm.pmds: 2 elements" }, { v.n, tostring(typed.pmds(v:object())) })
      for _, field in ipairs { "c", "data", "n" } do
         assert.has_error(function() v[field] = 5 end)
      end
   end)

   for layout, format in pairs { ["2.x"] = "default", ["0.6"] = UUID_06 } do
      it("has header, samples and their values in place, in the layout of " .. layout, function()
         local ctx, tid = sampled({ format = format, buf_size = 30000 }, { 5 }, { 4, 80, 82 })
         local buf = typed.context(ctx):buffer()
         assert.equal(19, tonumber(buf:hdr().hdr_count))
         assert.equal(30000, tonumber(buf:hdr().hdr_buf_size))
         local got, sum = {}, ffi.new("uint64_t")
         for i, e, values, n in buf:entries() do
            local last = lpfm.u64(values[n - 1]):hex()
            got[i] = { n = 5, tonumber(e.ip), tonumber(e.tstamp), e.ovfl_pmd, n, last }
            sum = sum + e.ip + values[0]
         end
         local want, total = {}, lpfm.u64(0)
         for s in ctx:buffer():samples() do
            want[s.index] = { n = 5, s.ip, s.tstamp, s.ovfl_pmd, s.pmds, lpfm.u64((s:pmd(s.pmds))):hex() }
            total = total + s.ip + (s:pmd(1))
         end
         assert.same(want, got)
         assert.equal(tid, ctx:buffer():sample(1).tid)
         assert.equal(tostring(total) .. "ULL", tostring(sum))
      end)
   end

   it("keeps what a pointer leads to until the context is collected", function()
      local ctx = sampled { format = "default", buf_size = 30000 }
      local kept, first = {}, nil
      local buf = typed.context(ctx):buffer()
      for i, e in buf:entries() do
         kept[i], first = e, first or e.ip
      end
      ctx:close()
      collectgarbage()
      assert.equal(19, #kept)
      assert.equal(first, kept[1].ip)
      assert.equal("the buffer is closed", raised(buf.hdr, buf))
      assert.equal("the buffer is closed", raised(buf.entries, buf))
   end)

   it("keeps context and vector alive as long as it needs them", function()
      local buf = typed.context(sampled { format = "default", buf_size = 30000 }):buffer()
      local step, state = buf:fields("ip")
      buf = nil -- luacheck: ignore
      local v = typed.pmds { 4 }
      local t = typed.context(sim.context {})
      for _ = 1, 19 do
         collectgarbage()
         collectgarbage()
         assert.truthy(step(state))
         assert.equal(0, t:read_pmds(v))
      end
   end)

   it("says that a method is called with a colon where its object is another value", function()
      local ctx = assert(lpfm.create { format = "default", flags = { "MAP_SETS" } })
      local c, v = typed.context(ctx), typed.pmds { 64 }
      for name, object in pairs { vector = v, context = c, view = c:view() or nil, buffer = c:buffer() } do
         local other = name == "vector" and c or v
         for _, key in ipairs { "get", "set", "object", "values", "read_into", "read_pmds", "write_pmcs", "write_pmds",
            "buffer", "view", "read", "hdr", "entries", "records", "fields" } do
            local found, method = pcall(function() return object[key] end)
            if found and type(method) == "function" then
               for _, value in ipairs { false, 5, {}, other } do
                  local ok, message = pcall(method, value or nil, v)
                  assert.is_false(ok, name .. ":" .. key)
                  assert.truthy(message:find(("%s: %s expected, got %s: a method is called with a colon"):format(key,
                     name, type(value or nil)), 1, true), message)
               end
            end
         end
      end
      ctx:close()
   end)
end)
