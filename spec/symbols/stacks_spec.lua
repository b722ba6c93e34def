-- SPDX-License-Identifier: MIT
-- The sampling format with call stacks (6.3.2), and what is made of them: recordings, trees of
-- calls, reports. Second interpreter, all: most of it records programs.
local lpfm = require "lpfm"
local analyze = require "pfm.analyze"
local stored = require "lpfm.samples"
local chain = require "pfm.recording.chain"
local c = require "support.c"
local real = require "support.real"
local recording = require "pfm.recording"
local sim = require "support.sim"
local stacks = require "pfm.stacks"

local KERNEL = -0x1000 -- an address of the kernel, in two's complement
local LEAST = 128 + 64 + 8 * 127 -- bytes of header and largest sample, less 8 for each PMD

-- Returns a program; a round has 1 instruction in main, 2 in outer, 3 in inner, 1 in the kernel.
local function calls(rounds)
   return { { loop = rounds,
      { ip = 0x1000, ns = 10 },
      { call = 0x1011, { ip = 0x2000, ns = 10 }, { ip = 0x2004, ns = 10 },
         { call = 0x2011,
            { loop = 3, { ip = 0x3000, ns = 10 } },
            { call = 0x3011, { ip = KERNEL, ns = 10, level = "kernel" } } } } } }
end

-- Returns a machine, a context that samples each instruction of a program, and its thread.
local function sampling(options, program, pmd)
   local m = sim.machine("itanium2")
   options.format = "stack"
   local ctx = sim.context(options)
   pmd = pmd or {}
   pmd.value, pmd.short_reset, pmd.long_reset = -1, -1, -1
   sim.count(ctx, 4, "instructions", pmd)
   local tid = m:spawn { program = program }
   sim.start(ctx, tid)
   return m, ctx, tid
end

local function hex(list)
   local out = {}
   for i, v in ipairs(list) do out[i] = v < 0 and ("-%x"):format(-v) or ("%x"):format(v) end
   return table.concat(out, " ")
end

-- Returns how often each stack was sampled.
local function histogram(buffer)
   local counts = {}
   for s in buffer:samples() do
      local key = s.stack.kernel .. ": " .. hex(s.stack:copy())
      counts[key] = (counts[key] or 0) + 1
   end
   return counts
end

local USER = { ["0: 1000"] = 10, ["0: 2000 1011"] = 10, ["0: 2004 1011"] = 10, ["0: 3000 2011 1011"] = 30 }

local function with(t, more)
   local out = {}
   for _, from in ipairs { t, more } do
      for k, v in pairs(from) do out[k] = v end
   end
   return out
end

describe("the format stack", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("is listed, under its UUID too", function()
      local found
      for _, f in ipairs(lpfm.formats()) do found = found or f.name == "stack" and f end
      assert.truthy(found)
      sim.machine("itanium2")
      assert.equal("lpfm.buffer (0 samples, 65536 bytes)",
         tostring(sim.context { format = "5b1e90c4-376d-4a28-8ef1-0b72d54963ac" }:buffer()))
   end)

   it("gives each sample the frames of the kernel, then those of the user, the innermost first", function()
      local m, ctx, tid = sampling({}, calls(10))
      m:run { until_exit = tid }
      assert.same(with(USER, { ["1: -1000 3011 2011 1011"] = 10 }), histogram(ctx:buffer()))
   end)

   it("leaves out a level on request", function()
      local m, ctx, tid = sampling({ buf_flags = { "NO_KERNEL" } }, calls(10))
      m:run { until_exit = tid }
      assert.same(with(USER, { ["0: 3011 2011 1011"] = 10 }), histogram(ctx:buffer()))
      m, ctx, tid = sampling({ buf_flags = { "NO_USER" } }, calls(10))
      m:run { until_exit = tid }
      assert.same({ ["0: "] = 60, ["1: -1000"] = 10 }, histogram(ctx:buffer()))
   end)

   it("takes so many frames at most, the innermost", function()
      local m, ctx, tid = sampling({ max_frames = 2 }, calls(10))
      m:run { until_exit = tid }
      assert.same({ ["0: 1000"] = 10, ["0: 2000 1011"] = 10, ["0: 2004 1011"] = 10, ["0: 3000 2011"] = 30,
         ["1: -1000 3011"] = 10 }, histogram(ctx:buffer()))
   end)

   it("has the interrupted thread's frames below those of an interrupt", function()
      local m = sim.machine("itanium2")
      local ctx = sim.context { format = "stack", flags = { "SYSTEM_WIDE" } }
      sim.count(ctx, 4, "instructions", { value = -1, short_reset = -1, long_reset = -1 })
      m:spawn { program = { { call = 0x1011, { loop = 10, { ip = 0x2000, ns = 1000 } } } } }
      sim.start(ctx, 0)
      m:interrupt { cpu = 0, start = 2500, program = { { call = KERNEL, level = "kernel",
         { ip = KERNEL - 16, ns = 10, level = "interrupt" } } } }
      m:run { ns = 5000 }
      assert.equal(1, histogram(ctx:buffer())["2: -1010 -1000 2000 1011"])
   end)

   it("keeps the fields and values of the default format", function()
      local m, ctx, tid = sampling({}, calls(2), { smpl_pmds = { 5 } })
      sim.count(ctx, 5, "cycles")
      m:run { until_exit = tid }
      local list = {}
      for ip, of, value, set, cpu, pmd in ctx:buffer():fields("ip", "tid", 5, "set", "cpu", "ovfl_pmd") do
         list[#list + 1] = ip
         assert.same({ tid, 0, 0, 4 }, { of, set, cpu, pmd })
         assert.equal(10 * #list, value)
      end
      assert.same({ 0x1000, 0x2000, 0x2004, 0x3000, 0x3000, 0x3000, KERNEL }, { unpack(list, 1, 7) })
      assert.equal(14, #list)
      local s = ctx:buffer():sample(4)
      assert.same({ 0x3000, 0x2011, 0x1011 }, s:copy().stack)
      assert.same({ [5] = 40 }, s:values())
      assert.equal(4, ctx:buffer():count_by("ip")[0x3000] - 2)
   end)

   it("is full when the largest sample does not fit any more, masks, and goes on at the restart (3.6.5)", function()
      -- room for three samples of 64 bytes and two frames; 8 bytes too little for the largest
      local size = LEAST + 8 * #lpfm.pmds() + 3 * (64 + 16) - 8
      local m, ctx, tid = sampling({ buf_size = size }, { { call = 0x1011, { loop = 7, { ip = 0x2000, ns = 10 } } } },
         { flags = { "OVFL_NOTIFY" } })
      m:run { until_message = ctx }
      local buffer = ctx:buffer()
      assert.equal("OVFL", ctx:read(0).type)
      local h = buffer:header()
      assert.same({ 3, 1, 128 + 3 * 80, 0 }, { h.count, h.overflows, h.cur_offs, h.lost })
      m:run { ns = 20 } -- masked: two instructions go by
      assert(ctx:restart())
      m:run { until_exit = tid }
      assert.same({ ["0: 2000 1011"] = 2 }, histogram(buffer))
   end)

   it("counts a sample as lost that comes together with the one that filled the buffer", function()
      local m = sim.machine("itanium2")
      local ctx = sim.context { format = "stack", buf_size = LEAST + 8 * #lpfm.pmds() }
      for _, num in ipairs { 4, 5 } do
         sim.count(ctx, num, "instructions", { value = -1, short_reset = -1, long_reset = -1 })
      end
      local tid = m:spawn { program = sim.work(3) }
      sim.start(ctx, tid)
      m:run { until_exit = tid }
      local h = ctx:buffer():header()
      assert.same({ 1, 1, 1 }, { h.count, h.overflows, h.lost })
   end)

   it("refuses what it cannot do, in words", function()
      sim.machine("itanium2")
      sim.refused("EINVAL", "format stack", lpfm.create { format = "stack", buf_size = LEAST + 8 * #lpfm.pmds() - 1 })
      sim.context { format = "stack", buf_size = LEAST + 8 * #lpfm.pmds() }
      sim.refused("EOPNOTSUPP", "does not copy stacks", lpfm.create { format = "stack", buf_flags = { "COPY" } })
      sim.refused("EINVAL", "format stack", lpfm.create { format = "stack", max_stack = 800 })
      sim.refused("EINVAL", "format stack", lpfm.create { format = "stack", buf_flags = { "COPY" }, max_stack = 12 })
      sim.refused("EINVAL", "format stack", lpfm.create { format = "stack", buf_flags = 1 })
      for field, text in pairs { max_frames = 1025, max_stack = 40000 } do
         assert.error_matches(function() lpfm.create { format = "stack", [field] = text } end, field)
      end
      assert.error_matches(function() lpfm.create { format = "default", max_frames = 5 } end, "to the format stack")
      assert.error_matches(function()
         lpfm.register_format { name = "x", base = "stack", handler = function() end }
      end, "default, default%-0.6 or n%-way expected")
   end)

   it("is walked as typed records under LuaJIT", function()
      if not rawget(_G, "jit") then return end
      local m, ctx, tid = sampling({}, calls(10), { smpl_pmds = { 5 } })
      sim.count(ctx, 5, "cycles")
      m:run { until_exit = tid }
      local counts, buffer = {}, require("pfm.ffi").context(ctx):buffer()
      for i, s, values, n in buffer:entries() do
         assert.equal(1, n)
         assert.equal(10 * i, tonumber(values[0]))
         local frames = {}
         for k = 0, s.num_kernel + s.num_user - 1 do frames[k + 1] = require("pfm.ffi.samples").exact(values[n + k]) end
         assert.equal(frames[1], require("pfm.ffi.samples").exact(s.entry.ip))
         local key = s.num_kernel .. ": " .. hex(frames)
         counts[key] = (counts[key] or 0) + 1
      end
      assert.same(with(USER, { ["1: -1000 3011 2011 1011"] = 10 }), counts)
      assert.equal(70, tonumber(buffer:hdr().hdr_count))
      local step, state = buffer:entries()
      ctx:close()
      assert.error_matches(function() step(state) end, "closed")
   end)

   it("has views that raise when their sample is gone", function()
      local m, ctx, tid = sampling({}, calls(1))
      m:run { until_exit = tid }
      local kept
      for s in ctx:buffer():samples() do kept = s.stack end
      assert.equal(4, #kept)
      assert.is_nil(kept[0])
      assert.is_nil(kept[5])
      assert.is_nil(kept[1.5])
      assert.equal("lpfm.stack (4 frames, 1 of the kernel)", tostring(kept))
      assert.same({}, kept:registers())
      assert.equal("", kept:memory())
      ctx:close()
      assert.error_matches(function() return kept[1] end, "closed")
   end)
end)

describe("a table of stacks", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("holds each stack once, and gives what is new", function()
      local m, ctx, tid = sampling({}, calls(10))
      m:run { until_exit = tid }
      local t = stored.stack_table()
      local samples, n, to = t:samples(ctx:buffer())
      assert.same({ 70, 70 * 48, 5 }, { n, #samples, #t })
      assert.same({ KERNEL, 0x3011, 0x2011, 0x1011 }, t:frames(5))
      local bytes = t:fresh()
      assert.is_nil(t:fresh())
      assert.equal(bytes, t:bytes())
      assert.same({ "", 0, to }, { t:samples(ctx:buffer(), to) })
      local other = stored.stack_table()
      assert.is_true(other:load(bytes))
      assert.same(t:frames(3), other:frames(3))
      assert.is_false(other:load(bytes))
   end)

   it("takes stacks of another table, with where they are cut", function()
      local function words(...)
         local out = {}
         for i, w in ipairs { ... } do out[i] = string.char(w) .. ("\0"):rep(7) end
         return table.concat(out)
      end
      local from, to = stored.stack_table(), stored.stack_table()
      from:add(words(1))
      from:add(words(7, 8) .. "\4" .. ("\0"):rep(6) .. "\128") -- 2^63 + 4
      assert.equal("stack", from:cut(2))
      assert.same({ 1, 1, 2 }, { to:copy(from, 2), to:copy(from, 2), to:copy(from, 1) })
      assert.same({ { 7, 8 }, "stack", { 1 } }, { to:frames(1), to:cut(1), to:frames(2) })
      assert.same({ 0, 0, 2 }, { to:copy(from, 0), to:copy(from, 3), #to })
      assert.equal(from:bytes():sub(9), words(1, 1) .. to:fresh():sub(9, 40))
      for _, bad in ipairs { to, {}, "x" } do assert.has_error(function() to:copy(bad, 1) end) end
      assert.has_error(function() to:copy(from) end)
   end)

   it("refuses bytes that are none of its, and leaves a gap where some are missing", function()
      local function words(...)
         local out = {}
         for i, w in ipairs { ... } do out[i] = string.char(w) .. ("\0"):rep(7) end
         return table.concat(out)
      end
      local cut, twice = words(1, 1, 7, 1), words(1, 1, 7, 1, 7)
      for _, bad in ipairs { "", "x", words(0), words(1, 2, 7), words(1, 0), cut, twice } do
         assert.is_false(stored.stack_table():load(bad))
      end
      assert.is_false(stored.stack_table():load(("\255"):rep(8)))
      local t = stored.stack_table()
      assert.is_true(t:load(words(3, 2, 7, 8)))
      assert.same({ {}, {}, { 7, 8 }, {} }, { t:frames(1), t:frames(2), t:frames(3), t:frames(4) })
   end)
end)

-- --- recordings ----------------------------------------------------------------------------------

local FUNCTIONS = { path = "/bin/prog", count = 3, segments = { { 0, 0x10000, 0 } }, files = {}, lines = {},
   frames = {}, functions = { { 0x1000, 0x100, "main" }, { 0x2000, 0x100, "outer" }, { 0x3000, 0x100, "inner" } } }
local IN_KERNEL = { path = "[kernel]", count = 1, segments = {}, files = {}, lines = {}, frames = {},
   functions = { { KERNEL, 16, "sys_work" } } }

-- Returns a recording of the program that calls() returns.
local function recorded(options, rounds)
   local m, ctx, tid = sampling(options or {}, calls(rounds or 10))
   m:run { until_exit = tid }
   local t = stored.stack_table()
   local samples, n = t:samples(ctx:buffer())
   local pid = sim.thread(tid).pid
   return recording.of {
      head = { events = { { name = "instructions", pmd = 4, period = 1 } }, fixed = true, stacks = "frame pointers",
         what = "the test" },
      blocks = { stored.head(n, #samples) .. samples }, stack_table = t, comms = { [pid] = "prog", [tid] = "prog" },
      maps = { { pid = pid, maps = { { 0, 0x10000, 0, "/bin/prog" } } } },
      symbols = { ["/bin/prog"] = FUNCTIONS, ["[kernel]"] = IN_KERNEL },
   }
end

local function shape(node)
   local out = { node.name, node.samples, node.self.samples }
   for _, child in ipairs(node.children) do out[#out + 1] = shape(child) end
   return out
end

describe("a recording with stacks", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("has the tree of calls from the callers on", function()
      local inner = { "inner", 40, 30, { "sys_work", 10, 10 } }
      assert.same({ "all", 70, 0, { "main", 70, 10, { "outer", 60, 20, inner } } }, shape(stacks.tree(recorded())))
   end)

   it("has the tree of calls from the callees on", function()
      local tree = stacks.tree(recorded(), { order = "callee" })
      assert.same({ "all", 70, 0,
         { "inner", 30, 30, { "outer", 30, 0, { "main", 30, 0 } } },
         { "outer", 20, 20, { "main", 20, 0 } },
         { "main", 10, 10 },
         { "sys_work", 10, 10, { "inner", 10, 0, { "outer", 10, 0, { "main", 10, 0 } } } } }, shape(tree))
      assert.equal(100, tree.percent)
      assert.near(300 / 7, tree.children[1].percent, 1e-9)
   end)

   it("counts samples by the function they lie in, and by those that called it", function()
      local rows = {}
      for i, row in ipairs(analyze.by(recorded(), "symbol", { children = true }).rows) do
         rows[i] = { row.symbol, row.total.samples, row.samples }
      end
      assert.same({ { "main", 70, 10 }, { "outer", 60, 20 }, { "inner", 40, 30 }, { "sys_work", 10, 10 } }, rows)
   end)

   it("counts a function once that called itself", function()
      local m, ctx, tid = sampling({}, { { call = 0x1011, { call = 0x1011, { ip = 0x1000, ns = 10 } } } })
      m:run { until_exit = tid }
      local s, t = recorded(), stored.stack_table()
      local samples, n = t:samples(ctx:buffer())
      s.stack_table, s.blocks = t, { stored.head(n, #samples) .. samples }
      local rows = analyze.by(s, "object", { children = true }).rows
      assert.same({ 1, 1, 1 }, { #rows, rows[1].total.samples, rows[1].samples })
   end)

   it("is filtered by where samples lie", function()
      assert.same({ "all", 20, 0, { "main", 20, 0, { "outer", 20, 20 } } },
         shape(stacks.tree(recorded(), { filter = { symbol = "outer" } })))
   end)

   it("gives whole stacks to flame graphs and their like", function()
      local out = {}
      for i, s in ipairs((stacks.collect(recorded()))) do out[i] = s.name .. " " .. s.weight end
      assert.same({ "prog;prog;main 10", "prog;prog;main;outer 20", "prog;prog;main;outer;inner 30",
         "prog;prog;main;outer;inner;sys_work 10" }, out)
   end)

   it("tells the functions of each sample", function()
      local s, seen = recorded(), {}
      for sample in require("pfm.recording.samples").each(s) do
         local names = {}
         for i, f in ipairs(stacks.frames(s, sample)) do names[i] = f.symbol end
         seen[table.concat(names, " ")] = (seen[table.concat(names, " ")] or 0) + 1
      end
      assert.same({ main = 10, ["outer main"] = 20, ["inner outer main"] = 30,
         ["sys_work inner outer main"] = 10 }, seen)
   end)

   it("is drawn as a flame graph, as an icicle, and as the difference to another", function()
      local function draw(options)
         local text = ""
         require("pfm.export.flamegraph").write(recorded(), { write = function(_, s) text = text .. s end }, options)
         return text
      end
      local function place_of(text, name)
         return tonumber(text:match('data%-name="' .. name .. '".-y="(%d+)"'))
      end
      local plain, icicle = draw(), draw { icicle = true }
      assert.is_true(place_of(plain, "outer") < place_of(plain, "main"))
      assert.is_true(place_of(icicle, "outer") > place_of(icicle, "main"))
      assert.truthy(plain:find("inner (symbol, 40 events, 57.14%)", 1, true))
      assert.truthy(plain:find("sys_work (kernel, 10 events, 14.29%)", 1, true))
      local old = recorded() -- a recording with samples that have no callers
      old.stack_table = stored.stack_table()
      local same = draw { base = recorded() }
      assert.truthy(same:find("inner (symbol, 40 events, 57.14%, +0.00 points)", 1, true))
      local function colour_of(text, name)
         return text:match('data%-name="' .. name .. '".-fill="hsl%((%d+,%d+%%,%d+%%)%)"')
      end
      local grey = "^%d+,0%%"
      for name in same:gmatch('data%-name="([^"]+)"') do assert.truthy(colour_of(same, name):find(grey), name) end
      local grown = draw { base = old }
      assert.truthy(grown:find("outer (symbol, 60 events, 85.71%, +85.71 points)", 1, true))
      assert.truthy(colour_of(grown, "outer"):find("^8,")) -- red
      assert.truthy(colour_of(grown, "all"):find(grey))
   end)

   it("keeps its stacks in a file, whole or saved again", function()
      local path = os.tmpname()
      require("pfm.recording.embedded_symbols").save(recorded(), path)
      local again = assert(recording.open(path))
      assert.same(shape(stacks.tree(recorded())), shape(stacks.tree(again)))
      assert.same({}, again.damage)
      os.remove(path)
   end)

   it("says so where there are no stacks, and what it does not know", function()
      local s = recorded()
      assert.error_matches(function() stacks.tree(s, { order = "calle" }) end, "did you mean 'calle[re]")
      assert.error_matches(function() stacks.tree(s, { by = "cpu" }) end, "not one key of where samples lie")
      s.head.stacks = nil
      assert.error_matches(function() stacks.tree(s) end, "no call stacks in %(memory%): lpfm record %-g")
   end)
end)

-- --- programs ------------------------------------------------------------------------------------

local function child(node, name)
   for _, n in ipairs(node.children) do
      if n.name == name then return n end
   end
   error(("%s calls no %s"):format(node.name, name))
end

-- Returns the node of a path that begins with main, below the node that calls main.
local function at(tree, path)
   local node = tree
   while #node.children > 0 and not pcall(child, node, "main") do node = node.children[1] end
   for name in path:gmatch("%S+") do node = child(node, name) end
   return node
end

local BUILD = os.getenv("LPFM_BUILD") or "build"
local LPFM = BUILD .. "/lpfm"

-- Records some thousand samples of a program, a dozen or more in each of its rounds, so that shares
-- vary by tenths of a percentage point.
local function record(path, how, prog)
   local line = ("LPFM_MACHINE=%s %s record %s -c 100000 -o %s -- %s 250"):format(real, LPFM, how, path, prog)
   local out, status = c.sh(line)
   assert(status == 0, out)
   return out
end

-- Checks the shares that spec/c/measured/calls.c has measured and printed, to 2 points.
local function shares_are_right(path, printed)
   local tree = stacks.tree(assert(recording.open(path)))
   local whole = at(tree, "main").percent
   local deep, less, down, spin = printed:match "shares ([%d.]+) ([%d.]+) ([%d.]+) ([%d.]+)\n"
   for place, share in pairs {
      ["main ping pong ping pong spin"] = deep, ["main ping pong ping spin"] = less, ["main spin"] = spin,
      ["main down spin"] = down / 4, ["main down down spin"] = down / 4, ["main down down down spin"] = down / 4,
      ["main down down down down spin"] = down / 4, ["main down"] = down, ["main ping pong"] = deep + less,
   } do
      local found = at(tree, place).percent / whole * 100
      assert(math.abs(found - share) <= 2, ("%s: %.2f %%, not %.2f %%"):format(place, found, share))
   end
end

describe("record -g", function()
   local path, words = os.tmpname(), nil

   setup(function()
      assert(lpfm.machine(real))
      words = record(path, "-g", c.target "calls")
   end)
   teardown(function() os.remove(path) end)

   it("takes frame pointers where the program has them, and says so", function()
      assert.truthy(words:find("call stacks by frame pointers", 1, true), words)
      assert.equal("frame pointers", assert(recording.open(path)).head.stacks)
   end)

   it("finds the share of each path of recursive and mutual calls to 2 points", function()
      shares_are_right(path, words)
   end)

   it("reports self and children, and the trees", function()
      local text = c.sh(("%s report -f %s"):format(LPFM, path))
      assert.truthy(text:find("children +self +samples +symbol"), text)
      local all, own = text:match("([%d.]+)%% +([%d.]+)%% +[%d,]+ +down\n")
      -- The shares are of the whole run, which includes the loading of the program.
      local down = words:match "shares [%d.]+ [%d.]+ ([%d.]+)"
      assert(math.abs(tonumber(all) - down) <= 3, text)
      assert(tonumber(own) <= 2, text)
      text = c.sh(("%s report -f %s -g callee"):format(LPFM, path))
      assert.truthy(text:find("%d%%  spin\n") or text:find("%d  spin\n"), text)
      assert.truthy(text:find("\n[^\n]+    main\n"), text)
      text = c.sh(("%s report -f %s --no-children"):format(LPFM, path))
      assert.truthy(text:find("percent +samples +symbol"), text)
   end)

   it("says how many nodes of a tree are too small to be shown, and of several events which it shows", function()
      local two = os.tmpname()
      finally(function() os.remove(two) end)
      record(two, "-q -g -e page-faults -c 1 -e cpu-clock", c.target "calls")
      local function tree(options)
         local text, status = c.sh(("%s report -f %s -g caller %s 2>/dev/null"):format(LPFM, two, options))
         assert.equal(0, status, text)
         return text
      end
      local all = tree "--percent-limit 0"
      local _, rows = all:gsub("\n +[%d.]+%%", "")
      assert.falsy(all:find("more row", 1, true), all)
      assert.truthy(all:find("^# [%d,]+ samples of page%-faults\n"), all)
      assert.truthy(tree("-e cpu-clock"):find("^# [%d,]+ samples of cpu%-clock\n"))
      local some = tree "--percent-limit 50"
      local _, shown = some:gsub("\n +[%d.]+%%", "")
      assert.equal(rows - shown, tonumber((some:match("# and ([%d,]+) more rows"):gsub(",", ""))), some)
   end)

   it("is what top -g shows", function()
      local text, status = c.sh(("LPFM_MACHINE=%s %s top -g --once -- %s 20"):format(real, LPFM, c.target "calls"))
      assert.equal(0, status, text)
      local all, own = text:match("([%d.]+)%% +([%d.]+)%% +[%d,]+ +calls +main\n")
      assert(tonumber(all) > 50, text)
      assert(tonumber(own) < 5, text)
   end)

   it("ends a stack where frame pointers lead astray", function()
      local s = assert(recording.open(path))
      s.stack_table = stored.stack_table()
      local function word(bytes) return bytes .. ("\0"):rep(8 - #bytes) end
      local wild = ("\254"):rep(8)
      assert.is_true(s.stack_table:load(word "\1" .. word "\3" .. word "\0\16" .. wild .. word "\0\32"))
      assert.same({ 0x1000 }, chain.addresses(s, 0x1000, 1))
   end)

   it("exports whole stacks", function()
      local text = c.sh(("%s export folded %s"):format(LPFM, path))
      assert.truthy(text:find("main;ping;pong;ping;pong;spin", 1, true), text)
      assert.truthy(c.sh(("%s export speedscope %s"):format(LPFM, path)):find('"name":"pong"', 1, true))
   end)
end)

describe("record -g of a program without frame pointers", function()
   local path, prog = os.tmpname(), nil

   setup(function()
      assert(lpfm.machine(real))
      if os.getenv("LPFM_PREBUILT") then return end
      prog = c.target("calls", "-DNO_POINTERS", "calls_without")
   end)
   teardown(function() os.remove(path) end)

   it("unwinds copies of the stack by itself, says so, and finds the same shares", function()
      if not prog then pending("there is no compiler here") end
      local text = record(path, "-g", prog)
      assert.truthy(text:find("call stacks by DWARF: calls_without has no frame pointers", 1, true), text)
      assert.equal("DWARF", assert(recording.open(path)).head.stacks)
      shares_are_right(path, text)
   end)

   it("takes stacks in the way that is asked for, and refuses others than fp and dwarf", function()
      if not prog then pending("there is no compiler here") end
      assert.truthy(record(path, "-g fp", prog):find("call stacks by frame pointers\n", 1, true))
      local text = record(path, "-g dwarf", c.target "calls")
      assert.truthy(text:find("call stacks by DWARF\n", 1, true), text)
      shares_are_right(path, text)
      local out, status = c.sh(("%s record --call-graph lbr -- true"):format(LPFM))
      assert.truthy(status ~= 0 and out:find("'lbr' is neither fp nor dwarf", 1, true), out)
   end)
end)

describe("the vDSO", function()
   for _, how in ipairs { "fp", "dwarf" } do
      it(("has its own symbols in record -g %s, and by DWARF its callers"):format(how), function()
         local path = os.tmpname()
         local line = "LPFM_MACHINE=%s %s record -g %s -q -c 200000 -o %s -- %s 5000000"
         local out, status = c.sh(line:format(real, LPFM, how, path, c.target "clock"))
         assert(status == 0, out)
         local s, n, called = assert(recording.open(path)), 0, 0
         for sample in require("pfm.recording.samples").each(s) do
            if sample.object == "[vdso]" then
               n = n + 1
               assert.truthy(sample.symbol:find("clock_gettime", 1, true), sample.symbol)
               local frames = stacks.frames(s, sample)
               for _, f in ipairs(frames) do called = called + (f.symbol == "main" and 1 or 0) end
            end
         end
         os.remove(path)
         assert.is_true(n > 10)
         assert.is_true(how == "fp" or called > 0.95 * n, ("%d of %d"):format(called, n))
      end)
   end
end)

describe("an unwinder", function()
   local objects = require "lpfm.symbols"

   it("finds nothing where nothing is known", function()
      local u = objects.unwinder {}
      assert.equal("", u:frames("", ""))
      assert.equal("", u:frames(("\0"):rep(20 * 8), ("\0"):rep(64)))
      assert.equal("", objects.unwinder({ { 4096, 8192, 0, "/no/such/file" } }):frames(("\0"):rep(20 * 8), ""))
   end)

   it("refuses what are no mappings and no registers", function()
      for _, bad in ipairs { 1, "x", { 1 }, { { "a", 2, 3, "/bin/sh" } }, { { -1, 2, 3, "/bin/sh" } } } do
         assert.error(function() objects.unwinder(bad) end)
      end
      assert.error_matches(function() objects.unwinder({}):frames("x", "") end, "not registers")
      assert.error_matches(function() objects.unwinder({}):frames(("x"):rep(65 * 8), "") end, "not registers")
   end)

   it("tells programs with frame pointers from others, and what is no program", function()
      assert.is_nil(objects.frame_pointers "/etc/passwd")
      assert.is_nil(objects.frame_pointers "/no/such/file")
   end)
end)
