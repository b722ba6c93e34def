-- SPDX-License-Identifier: MIT
-- pfm.system: CPUs, added up by core, socket and node; and what a target can be on a simulated
-- computer.

local c = require "support.c"
local cjson = require "cjson"
local count = require "pfm.count"
local lpfm = require "lpfm"
local measure = require "pfm.measure"
local proc = require "lpfm.proc"
local profile = require "pfm.profile"
local sim = require "support.sim"
local system = require "pfm.system"

local program, run = c.program, c.lpfm

-- Makes a computer of 4 CPUs with a thread each: on CPU n it does 1000 * (n + 1) loads a ms.
local function busy()
   local m = sim.machine("itanium2", { cpus = 4 })
   for cpu = 0, 3 do
      local loop = { loop = "forever", { ip = 0x1000, ns = 1000, events = { loads = cpu + 1 } } }
      assert(m:spawn { program = { loop }, cpu = cpu })
   end
   return m
end

local TWO_SOCKETS = {
   { cpu = 0, core = 0, socket = 0, node = 0 }, { cpu = 1, core = 0, socket = 0, node = 0 },
   { cpu = 2, core = 0, socket = 1, node = 1 }, { cpu = 3, core = 1, socket = 1, node = 1 },
}

-- Returns the name, the CPUs and the first count of each group.
local function seen(groups)
   local out = {}
   for i, g in ipairs(groups) do out[i] = { g.name, table.concat(g.cpus, ","), g.events[1].value } end
   return out
end

describe("CPUs", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("are counted all at once, each for itself", function()
      busy()
      local result = system.count { events = "LOADS_RETIRED", seconds = 0.010, by = "cpu" }
      assert.are.equal(100000, result.events[1].value)
      assert.are.same({ { "CPU0", "0", 10000 }, { "CPU1", "1", 20000 }, { "CPU2", "2", 30000 },
         { "CPU3", "3", 40000 } }, seen(result.groups))
   end)

   it("can be some of them", function()
      busy()
      local result = system.count { events = "LOADS_RETIRED", seconds = 0.010, cpus = { 1, 3 }, by = "socket" }
      assert.are.same({ { "S0", "1,3", 60000 } }, seen(result.groups))
   end)

   it("are added up by core, socket and node", function()
      busy()
      local result = system.count { events = "LOADS_RETIRED,CPU_CYCLES", seconds = 0.010 }
      assert.are.same({ { "S0-C0", "0,1", 30000 }, { "S1-C0", "2", 30000 }, { "S1-C1", "3", 40000 } },
         seen(system.group(result, "core", TWO_SOCKETS)))
      assert.are.same({ { "S0", "0,1", 30000 }, { "S1", "2,3", 70000 } },
         seen(system.group(result, "socket", TWO_SOCKETS)))
      assert.are.same({ { "N0", "0,1", 30000 }, { "N1", "2,3", 70000 } },
         seen(system.group(result, "node", TWO_SOCKETS)))
      assert.are.equal(20000000, system.group(result, "socket", TWO_SOCKETS)[1].events[2].value)
      assert.has_error(function() system.group(result, "die") end,
         "system: no level 'die'; there are cpu, core, socket, node")
   end)

   it("are added up in intervals, the last one included", function()
      busy()
      local rows = {}
      count.run { cpus = { 0, 1, 2, 3 }, events = "LOADS_RETIRED", seconds = 0.010, interval = 0.004, parts = true,
         on_interval = function(row) rows[#rows + 1] = seen(system.group(row, "socket", TWO_SOCKETS)) end }
      assert.are.same({
         { { "S0", "0,1", 12000 }, { "S1", "2,3", 28000 } }, { { "S0", "0,1", 12000 }, { "S1", "2,3", 28000 } },
         { { "S0", "0,1", 6000 }, { "S1", "2,3", 14000 } },
      }, rows)
   end)

   it("take turns of event sets, each for itself", function()
      busy()
      local result = system.count { seconds = 0.100, by = "cpu", switch = 1,
         events = "LOADS_RETIRED,CPU_CYCLES,IA64_INST_RETIRED,FP_OPS_RETIRED,L2_MISSES" }
      assert.are.equal(2, result.sets)
      for cpu = 0, 3 do assert.are.equal(100000 * (cpu + 1), result.groups[cpu + 1].events[1].value) end
   end)

   it("lie where sysfs says", function()
      local root = os.tmpname()
      os.remove(root)
      for cpu, where in ipairs { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 1 }, { -1, -1, 1 } } do
         local folder = ("%s/cpu%d"):format(root, cpu - 1)
         assert.are.equal(0, select(2, c.sh(("mkdir -p %s/topology %s/node%d && cd %s && touch node%d/cpumap && "
            .. "echo %d >topology/core_id && echo %d >topology/physical_package_id"):format(folder, folder, where[3],
            folder, where[3], where[1], where[2]))))
      end
      assert(lpfm.machine("perf"))
      assert.are.same({
         { cpu = 0, core = 0, socket = 0, node = 0 }, { cpu = 1, core = 1, socket = 0, node = 0 },
         { cpu = 2, core = 0, socket = 1, node = 1 }, { cpu = 3, core = 3, socket = 0, node = 1 },
      }, system.topology({ 0, 1, 2, 3 }, root))
      c.sh("rm -r " .. root)
   end)
end)

describe("targets of a simulated computer", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("are threads, counted together and apart, until they end", function()
      local m, tids = sim.machine(), {}
      for i = 1, 3 do tids[i] = assert(m:spawn { program = sim.work(1000 * i, { loads = 2 }, 1000) }) end
      local result = count.run { tids = tids, events = "LOADS_RETIRED" }
      assert.are.same({ 12000, 3 }, { result.events[1].value, result.subjects })
      assert.are.equal(6000000, result.ran)
      local of = {}
      for _, part in ipairs(result.per) do of[part.tid] = part.values[1] end
      assert.are.same({ 2000, 4000, 6000 }, { of[tids[1]], of[tids[2]], of[tids[3]] })
   end)

   it("are counted in intervals of their own time", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sim.work(10000, { loads = 1 }, 1000) })
      local rows = {}
      count.run { tids = { tid }, events = "LOADS_RETIRED", interval = 0.003,
         on_interval = function(row) rows[#rows + 1] = row.events[1].value end }
      assert.are.same({ 3000, 3000, 3000, 1000 }, rows)
   end)

   it("are counted while a function runs, which may fail", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sim.work(10000, { loads = 1 }, 1000) })
      local result = count.call(function()
         m:run { ms = 4 }
         return "done", nil, 3
      end, "LOADS_RETIRED", tid)
      assert.are.equal(4000, result.events[1].value)
      assert.are.equal(4, math.floor(result.elapsed * 1000 + 0.5))
      assert.are.same({ "done", 3 }, { result.results[1], result.results[3] })
      assert.has_error(function() count.call(function() error("oh", 0) end, "LOADS_RETIRED", tid) end, "oh")
   end)

   it("are sampled until they end, at every address exactly as often as it should be", function()
      local m = sim.machine()
      local tids = {}
      for i = 1, 2 do
         tids[i] = assert(m:spawn { program = { { loop = 1000, { ip = 16 * i, ns = 1000, events = { loads = 1 } } } } })
      end
      local result = profile.collect { tids = tids, events = "LOADS_RETIRED", period = 10 }
      local places = require("pfm.bias").places(result)
      assert.are.same({ ["0x10"] = 100, ["0x20"] = 100 }, places)
   end)

   it("are sampled while buffers fill and are emptied, part by part, so that none is ever full", function()
      local m = sim.machine()
      local tid = assert(m:spawn { program = sim.work(100000, { loads = 1 }, 1000) })
      local result = profile.collect { tids = { tid }, events = "LOADS_RETIRED", period = 10, buffer = 4096 }
      assert.are.same({ 10000, 0, 0 }, { result.samples, result.full, result.lost })
   end)

   it("are no commands", function()
      sim.machine()
      for words, spec in pairs {
         ["runs no real programs"] = { command = { "true" } },
         ["tids or cpus say what"] = { call = print }, ["there is no thread or process 999"] = { tids = { 999 } },
      } do
         spec.events = "LOADS_RETIRED"
         local ok, err = pcall(count.run, spec)
         assert.is_false(ok)
         assert.is_truthy(err:find(words, 1, true), err)
      end
   end)
end)

describe("lpfm stat on this machine's CPUs", function()
   local function json(options)
      local out, status = run("stat -o - --json -e cs,task-clock --timeout 0.2 " .. options)
      assert.are.equal(0, status, out)
      return cjson.decode(out:match("{.*}"))
   end

   for _, level in ipairs(system.levels) do
      it("adds up by " .. level .. ": the groups are the whole", function()
         local result = json("-a --per-" .. level)
         local sums, cpus = { 0, 0 }, 0
         for _, group in ipairs(result.groups) do
            cpus = cpus + #group.cpus
            for i, row in ipairs(group.events) do sums[i] = sums[i] + row.value end
         end
         assert.are.equal(#result.cpus, cpus)
         assert.are.same({ result.events[1].value, result.events[2].value }, sums)
      end)
   end

   it("names the group before each row, for people and programs", function()
      local out = run("stat -C 0 --per-core -o - -e cs --timeout 0.1")
      assert.is_truthy(out:find("S0%-C0 +1 +[%d,]+%s+cs"), out)
      assert.is_truthy(run("stat -C 0 -A -x, -o - -e cs --timeout 0.1"):find("CPU0,1,%d+,,cs,"))
      assert.is_truthy(run("stat -C 0 --per-node -I 50 -o - -e cs --timeout 0.1"):find("N0 cs", 1, true))
   end)

   it("refuses groups of what is no CPU", function()
      for options, words in pairs { ["--per-core -- true"] = "--per-core needs -a or -C",
         ["-a --per-core --per-node --timeout 1"] = "exclude each other",
         ["-a --per-core -r 2 -- true"] = "--per-core and --repeat exclude each other" } do
         local out, status = run("stat " .. options)
         assert.are.equal(2, status, out)
         assert.is_truthy(out:find(words, 1, true), out)
      end
   end)
end)

describe("This machine", function()
   it("counts on no CPU before all are ready, and on none after the first is read", function()
      lpfm.machine "perf"
      local cpus, contexts, first, counts = proc.cpus(), {}, nil, {}
      local function read(ctx) return tonumber(ctx:read_pmds { 65 }[1].value) end
      local ok, err = pcall(measure.run, { cpus = cpus, seconds = 0.001 }, {
         attach = function(subject)
            local ctx = assert(lpfm.create { flags = { "SYSTEM_WIDE", "ANY_CPU" } })
            assert(ctx:write_pmcs { { num = 65, value = 9 } })
            assert(measure.load(ctx, subject))
            if not subject.held then ctx:start() end
            contexts[#contexts + 1] = ctx
            return ctx
         end,
         prepare = function()
            for _, ctx in ipairs(contexts) do assert.equal(0, read(ctx)) end
         end,
         ended = function(subject)
            if not first then
               for _, ctx in ipairs(contexts) do counts[ctx] = read(ctx) end
            end
            first = first or subject
            assert.is_true(counts[subject.ctx] > 0)
            assert.equal(counts[subject.ctx], read(subject.ctx))
         end,
      })
      if tostring(err):find("perf_event_paranoid", 1, true) then return pending("only root may count CPUs here") end
      assert.is_true(ok, err)
      assert.is_truthy(first)
   end)

   it("ends a measurement in time, however fast messages come", function()
      lpfm.machine "perf"
      local child, messages = assert(proc.spawn { c.target "shares", "60", "1" }), 0
      assert(child:go())
      local ok, err = pcall(measure.run, { tids = { child.pid }, seconds = 0.1 }, {
         attach = function(subject)
            local ctx = assert(lpfm.create {})
            assert(ctx:write_pmcs { { num = 64, value = 9 } })
            assert(ctx:write_pmds { { num = 64, value = -1e6, long_reset = -1e6, flags = { "OVFL_NOTIFY" } } })
            assert(measure.load(ctx, subject))
            return assert(ctx:start()) and ctx
         end,
         message = function(subject)
            messages = messages + 1
            assert(messages < 500, "the end is not looked for")
            subject.ctx:restart()
            lpfm.poll({ subject.ctx }, 1) -- until the next one is there
         end,
         ended = function() end,
      })
      child:kill "KILL"
      child:wait()
      assert.is_true(ok, err)
      assert.is_true(messages > 0)
   end)

   it("is free again when a measurement's callback has raised an error", function()
      lpfm.machine "perf"
      local function attach(subject)
         local ctx = assert(lpfm.create { flags = { "SYSTEM_WIDE", "ANY_CPU" } })
         local ok, err, errno = measure.load(ctx, subject)
         return ok and ctx, err, errno
      end
      local function failing() error("this callback fails", 0) end
      for _ = 1, 2 do
         local _, err = pcall(measure.run, { cpus = { 0 }, seconds = 0.001 }, { attach = attach, ended = failing })
         if err:find("perf_event_paranoid", 1, true) then return pending("only root may count CPUs here") end
         assert.equal("this callback fails", err)
      end
   end)

   it("is sampled with the name of each process, also of those that end as the recording begins", function()
      local file = os.tmpname()
      local out, status = c.sh(([[(while :; do %s 0.03 1; done) >/dev/null 2>&1 & loop=$!; s=0
         for i in 1 2 3 4; do
            { %s record -q -a -o %s --timeout 0.2 && %s report --plain -s comm %s; } || s=1
         done; kill $loop; exit $s]]):format(c.target("shares"), program, file, program, file))
      os.remove(file)
      if out:find("perf_event_paranoid", 1, true) then return pending("only root may sample CPUs here") end
      assert.are.equal(0, status, out)
      assert.is_truthy(out:find(" shares\n", 1, true), out)
      for percent in out:gmatch("([%d.]+)%%[^\n]* %?\n") do -- rows without a name
         assert.is_true(tonumber(percent) < 1, out)
      end
   end)
end)
