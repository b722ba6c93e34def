-- SPDX-License-Identifier: MIT
-- Misuse: each function raises an error that names the argument of a wrong type.

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local handles = require "support.handles"

assert(lpfm.machine(require "support.real"))
local descriptors = handles.settled()

-- Returns values of all types. Functions are called with each of them as each of their arguments.
local function samples()
   local values = { true, false, -1, 0, 1, 1.5, 0 / 0, 1 / 0, -1 / 0, 2 ^ 53, 2 ^ 64, "", "x", "1", {}, { 1 }, { {} },
      { x = 1 }, { { num = 64 } }, print, coroutine.create(function() end), io.stdout, lpfm.u64(1), lpfm.pmds { 64 },
      lpfm.pmcs { { num = 64 } }, ("x"):rep(300) }
   if newproxy then
      values[#values + 1] = newproxy()
   end
   return values
end

local function message_of(fn, ...)
   local ok, message = pcall(fn, ...)
   assert.is_false(ok)
   return message
end

describe("arguments of lpfm", function()
   local ctx, buf, vector

   before_each(function()
      ctx = assert(lpfm.create { format = "default" })
      buf = assert(ctx:buffer())
      vector = lpfm.pmds { 64, 65 }
   end)

   after_each(function()
      ctx:close()
   end)

   it("name the method that is called without its object, also where it is replaced or called last", function()
      for _, name in ipairs { "lpfm.samples", "lpfm.chunks", "lpfm.perfdata", "lpfm.sim" } do pcall(require, name) end
      local methods = 0
      for fn, method in pairs(debug.getregistry()["lpfm.methods"]) do
         for _, bad in ipairs { {}, 5, "x", io.stdout } do
            local message = message_of(function() return fn(bad) end):gsub("^[^%s]+%.lua:%d+: ", "")
            assert.equal(method .. ": ", message:sub(1, #method + 2), message)
         end
         methods = methods + 1
      end
      assert.is_true(methods > 80, methods)
   end)

   local function says(expected, fn, ...)
      local message = message_of(fn, ...)
      assert.truthy(message:find(expected, 1, true), message)
   end

   it("name call, element, field, what was expected and what came", function()
      says("write_pmds: element 2: field 'value': 64-bit integer expected, got table", ctx.write_pmds, ctx,
         { { num = 64 }, { num = 65, value = {} } })
      says("write_pmds: element 1: field 'num': integer from 0 to 65535 expected, got 70000", ctx.write_pmds, ctx,
         { { num = 70000 } })
      says("write_pmds: element 1: field 'num': integer expected, got 1.5", ctx.write_pmds, ctx, { { num = 1.5 } })
      says("write_pmds: element 1: field 'num' is missing", ctx.write_pmds, ctx, { { value = 1 } })
      says("write_pmds: element 1: unknown field 'valeu'", ctx.write_pmds, ctx, { { num = 64, valeu = 1 } })
      says("write_pmds: element 1: unexpected number as the name of a field", ctx.write_pmds, ctx, { { 64 } })
      for call, fn in pairs { dispatch_events = lpfm.dispatch_events, split_events = lpfm.split_events,
         perf_event = lpfm.perf_event, event_options = lpfm.event_options, create = lpfm.create } do
         says(call .. ": unexpected number as the name of a field", fn, { "cycles" })
      end
      says("events: unexpected number as the name of a field", lpfm.events, "x", { 1 })
      local faults = lpfm.perf_event { type = 1, config = 2 }
      assert.equal(faults, lpfm.perf_event(setmetatable({ type = 1 }, { __index = { config = 2 } })))
      says("write_pmds: element 1: field 'last_reset' cannot be set", ctx.write_pmds, ctx,
         { { num = 64, last_reset = 1 } })
      says("write_pmds: element 1: field 'smpl_pmds': list of register numbers expected, got 5", ctx.write_pmds, ctx,
         { { num = 64, smpl_pmds = 5 } })
      says("write_pmds: element 1: field 'smpl_pmds': integer from 0 to 319 expected, got 320", ctx.write_pmds, ctx,
         { { num = 64, smpl_pmds = { 320 } } })
      says("write_pmds: element 1: field 'switch_cnt': integer of 0 or more expected, got -1", ctx.write_pmds, ctx,
         { { num = 64, switch_cnt = -1 } })
      says("write_pmds: element 2: number or table expected, got 'x'", ctx.write_pmds, ctx, { 64, "x" })
      says("write_pmcs: element 1: table expected, got 64", ctx.write_pmcs, ctx, { 64 })
      says("write_pmcs: list expected, got no value", ctx.write_pmcs, ctx)
      says("a list of one is written {{...}}", ctx.write_pmcs, ctx, { num = 64 })
      says("read_pmds: element 1: field 'value' cannot be set", ctx.read_pmds, ctx, { { num = 64, value = 1 } })
      says("load: tid: integer expected, got 'x'", ctx.load, ctx, "x")
      says("load: set: integer from 0 to 65535 expected, got -1", ctx.load, ctx, 1, -1)
      says("read: timeout: number of seconds expected, got -1", ctx.read, ctx, -1)
      says("read: timeout: number of seconds expected, got nan", ctx.read, ctx, 0 / 0)
   end)

   it("name unknown flags and the known ones", function()
      says("write_pmds: element 1: field 'flags': unknown flag 'OVFL' (known: OVFL_NOTIFY, RANDOM, READ_RESET",
         ctx.write_pmds, ctx, { { num = 64, flags = { "OVFL" } } })
      says("name or number of a flag expected, got boolean", ctx.write_pmds, ctx, { { num = 64, flags = { true } } })
      says("a list of flags is written", ctx.write_pmds, ctx, { { num = 64, flags = { RANDOM = true } } })
      says("create: field 'flags': unknown flag 'X'", lpfm.create, { flags = "X" })
   end)

   it("take flags as names, numbers, constants and lists of them", function()
      for _, flags in ipairs { "OVFL_NOTIFY", 1, { 1 }, { "OVFL_NOTIFY" }, { "PFM_REGFL_OVFL_NOTIFY" }, {}, 0 } do
         assert(ctx:write_pmds { { num = 64, flags = flags } })
      end
      local v = lpfm.pmds { { num = 64, flags = { "RANDOM", "OVFL_NOTIFY" } } }
      assert.same({ "OVFL_NOTIFY", "RANDOM" }, v:get(1, "flags"))
   end)

   it("names a PMU model that there is not", function()
      for _, model in ipairs { "nosuch", 9999 } do
         local ok, message, _, name = lpfm.force_pmu(model)
         assert.same({ nil, "force_pmu: there is no PMU model " .. model, "NOTSUPP" }, { ok, message, name })
      end
   end)

   it("are not cut at a zero byte", function()
      local zero = "a string without zero bytes expected"
      says("create: field 'format': " .. zero, lpfm.create, { format = "default\0x" })
      says("create: field 'flags': " .. zero, lpfm.create, { flags = { "OVFL_NO_MSG\0x" } })
      says("write_pmds: element 1: " .. zero, ctx.write_pmds, ctx, { { num = 64, ["num\0x"] = 65 } })
      says("machine: options: " .. zero, lpfm.machine, "sim:k8", { l1d = "32768:8:64\0x" })
      says("register_format: field 'name': " .. zero, lpfm.register_format, { name = "a\0x", handler = print })
      says("dispatch_events: element 1: " .. zero, lpfm.dispatch_events, { events = { "page-faults\0x" } })
      says("perf_event: field 'filter': " .. zero, lpfm.perf_event, { type = 2, config = 1, filter = "a\0x" })
      says("perfmonctl: command: " .. zero, lpfm.perfmonctl, nil, "PFM_GET_CONFIG\0x")
      for _, fn in ipairs { lpfm.machine, lpfm.event, lpfm.events, lpfm.suggest_event, lpfm.force_pmu } do
         says("string without zero bytes expected", fn, "page-faults\0x")
      end
      says("string without zero bytes expected", vector.get, vector, 1, "value\0x")
      -- such names and paths may come from recordings and from files of other programs
      local symbols = require "lpfm.symbols"
      assert.same({ nil, "/bin/sh: its path has a zero byte" }, { symbols.object("/bin/sh\0x") })
      assert.is_nil(symbols.build_id("/bin/sh\0x"))
      assert.same({ nil, "unknown event 'nosuch?x'" }, { require("pfm.events").read "nosuch\0x" })
      assert.equal("_ZN3foo3barEv\0x", symbols.demangle("_ZN3foo3barEv\0x"))
      assert.equal("a?b", (require("pfm.jitmap").parse("1000 40 a\0b"):func(0x1000)))
   end)

   it("refuse unknown fields of create, and fields that do not fit together", function()
      says("create: unknown field 'bufsize'", lpfm.create, { bufsize = 1 })
      says("create: table expected, got 'default'", lpfm.create, "default")
      says("create: field 'buf_size': integer from 1", lpfm.create, { format = "default", buf_size = -4096 })
      says("create: field 'format': name or UUID of a format expected", lpfm.create, { format = 1 })
      says("buf_size and buf_flags belong to the formats default", lpfm.create, { buf_size = 4096 })
      says("regions belongs to the formats n-way and stack", lpfm.create, { format = "default", regions = 2 })
      says("create: field 'format_arg': string expected, got table", lpfm.create, { format = "x", format_arg = {} })
   end)

   it("are read raw: no metamethod runs in between", function()
      local function called()
         error("called")
      end
      local trap = setmetatable({}, { __index = called, __len = called })
      says("field 'num' is missing", ctx.write_pmds, ctx, { trap })
      assert.is_nil((ctx:read_pmds(trap)))
   end)

   it("of config", function()
      says("config: field 'version' cannot be set", lpfm.config, { version = 1 })
      says("config: unknown field 'x'", lpfm.config, { x = 1 })
      says("config: table expected", lpfm.config, 5)
      says("config: field 'arg_size_max': integer of 0 or more expected, got -1", lpfm.config, { arg_size_max = -1 })
   end)

   it("of machine", function()
      says("string expected", lpfm.machine, {})
      says("machine: options: table expected, got 1", lpfm.machine, "perf", 1)
      says("the name of an option", lpfm.machine, "perf", { 1 })
      says("x: a value has no ','", lpfm.machine, "perf", { x = "a,b" })
      local _, message, errno = lpfm.machine("toaster")
      assert.truthy(message:find("^machine: .*toaster"), message)
      assert.equal("number", type(errno))
   end)

   it("of a closed context raise that", function()
      ctx:close()
      for _, name in ipairs { "write_pmcs", "write_pmds", "read_pmds", "read_values", "read_into", "load", "start",
         "stop", "restart", "unload", "fd", "read", "messages", "buffer", "create_evtsets", "getinfo_evtsets",
         "delete_evtsets" } do
         says("the context is closed", ctx[name], ctx, {})
      end
      for _, name in ipairs { "header", "samples", "sample", "fields", "count_by", "snapshot" } do
         says("the buffer is closed", buf[name], buf, "ip")
      end
      assert.is_true(ctx:closed())
      assert.is_true(ctx:close())
   end)

   it("of the wrong kind never do more than raise or be refused", function()
      local child = assert(proc.spawn { "true" })
      local functions = {}
      local function add(object, names)
         for _, name in ipairs(names) do
            functions[#functions + 1] = { object[name], object }
         end
      end
      add(ctx, { "write_pmcs", "write_pmds", "read_pmds", "read_values", "read_into", "load", "start", "stop",
         "restart", "unload", "fd", "messages", "buffer", "create_evtsets", "getinfo_evtsets", "delete_evtsets",
         "closed" })
      add(buf, { "header", "samples", "sample", "fields", "count_by", "snapshot" })
      add(vector, { "get", "set", "values" })
      add(child, { "fd", "kill" })
      add(lpfm.u64(5), { "hex", "signed", "tonumber", "compare", "band", "bor", "bxor", "bnot", "lshift", "rshift" })
      for _, fn in ipairs { lpfm.create, lpfm.pmds, lpfm.pmcs, lpfm.formats, lpfm.u64, lpfm.config } do
         functions[#functions + 1] = { fn }
      end
      functions[#functions + 1] = { proc.threads }
      functions[#functions + 1] = { proc.setaffinity }
      local affinity = proc.getaffinity()
      local values, calls = samples(), 0
      for _, f in ipairs(functions) do
         for _, a in ipairs(values) do
            pcall(f[1], a)
            if f[2] then
               pcall(f[1], f[2], a)
               pcall(f[1], f[2], a, a)
               pcall(f[1], f[2], 1, a)
               pcall(f[1], f[2], 1, "value", a)
            end
            calls = calls + 1
         end
      end
      proc.setaffinity(affinity)
      child:close()
      assert.equal(#functions * #values, calls)
      assert.is_true(ctx:fd() > 2)
   end)

   it("cannot make one object pass for another", function()
      local objects = { ctx, buf, vector, lpfm.pmcs { { num = 64 } }, lpfm.u64(1) }
      local names = { { "fd", "closed" }, { "header" }, { "values" }, { "values" }, { "hex" } }
      for i, object in ipairs(objects) do
         for _, name in ipairs(names[i]) do
            for j, other in ipairs(objects) do
               local same = i == j or (names[i][1] == "values" and names[j][1] == "values")
               assert.equal(same, (pcall(object[name], other)))
            end
         end
         assert.equal("string", type(getmetatable(object)))
         assert.has_error(function() setmetatable(object, {}) end)
      end
      local stolen = debug.getmetatable(ctx)
      local file = assert(io.tmpfile())
      local own = debug.getmetatable(file)
      debug.setmetatable(file, stolen)
      assert.has_error(function() file:fd() end)
      debug.setmetatable(file, own)
      file:close()
   end)
end)

it("leaves no descriptor open", function()
   assert.equal(descriptors, handles.settled(descriptors))
end)
