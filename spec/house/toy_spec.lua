-- SPDX-License-Identifier: MIT
-- The recipes in C of kernel/README.md and CONTRIBUTING.md, followed to the letter in a copy of the
-- source tree: a new sampling format, PMU model and software event touch as many files as
-- CONTRIBUTING.md says, and everything that lists them has them.
-- One interpreter: what is built is C.

local c = require "support.c"
local recipe = require "support.recipe"
local files = require "support.files"

local build = (os.getenv("LPFM_BUILD") or "build"):match("build/san$") or "build"
local interpreter = os.getenv("LPFM_LUA") or "luajit"
local CLEAN = "env -u LD_PRELOAD -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "
local root

local must = c.must

local function paths()
   return ("LUA_CPATH='%s/%s/%s/?.so;;'"):format(root, build, interpreter)
end

-- Runs a script with the copy's C module, and the tree's Lua files, which no recipe in C changes.
local function lua(code, machine)
   local script = root .. "/script.lua"
   files.write(script, code)
   return must(("LPFM_MACHINE=%s %s %s %s"):format(machine or "sim", paths(), interpreter, script))
end

local function names(text)
   local set = {}
   for name in text:gmatch("[^%s,]+") do set[name] = true end
   return set
end

setup(function()
   root = os.tmpname()
   os.remove(root)
   -- objects and times are copied, too, so that make compiles only what the recipes touch
   must(("mkdir -p %s/%s && cp -a Makefile kernel lpfm %s && cp -a %s/obj %s/%s %s/*.so* %s/%s/"):format(root, build,
      root, build, build, interpreter, build, root, build))
end)
teardown(function() c.sh("rm -rf " .. root) end)

describe("the recipes in C", function()
   it("touch as many files as CONTRIBUTING.md says, and the result builds", function()
      local documents = { ["Add a sampling format"] = "kernel/README.md", ["Add a PMU model"] = "kernel/README.md",
         ["Add a software event"] = "CONTRIBUTING.md" }
      for title, document in pairs(documents) do
         local touched = recipe.follow(root, { "kernel", "lpfm" }, document, title)
         assert.equal(recipe.files_named(title), touched, title)
      end
      must(("cd %s && %s make -j2 LPFM_READY=1 %s CFLAGS='-O0 -g -Werror' %s/%s/lpfm.so"):format(root, CLEAN,
         build:match("san$") and "SAN=1" or "", build, interpreter))
   end)

   it("the format is listed, and keeps samples", function()
      assert.are.equal("toy 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0 65536\n1 4096\n2 4112\n3 4096\nfull 511\n" ..
         "restarted 0\n", (lua([[
         local lpfm = require "lpfm"
         for _, f in ipairs(lpfm.formats()) do
            if f.name == "toy" then print(f.name, f.uuid, f.version) end
         end
         local m = lpfm.machine("sim:k8")
         local tid = m:spawn { program = { { loop = 1000, { ip = 4096, ns = 10 }, { ip = 4112, ns = 10 } } } }
         local ctx = assert(lpfm.create { format = "toy" })
         assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) } })
         assert(ctx:write_pmds { { num = 0, value = -1, long_reset = -1, short_reset = -3, flags = "OVFL_NOTIFY" } })
         assert(ctx:load(tid) and ctx:start())
         assert(m:run { ns = 70 })
         for i = 1, ctx:buffer():get("u64", 0) do print(i, ctx:buffer():get("u64", 8 * i)) end
         assert(m:run { until_message = ctx })
         print("full", ctx:buffer():get("u64", 0))
         assert(ctx:restart())
         print("restarted", ctx:buffer():get("u64", 0))
      ]]):gsub("\t", " ")))
   end)

   it("the model is a machine, and counts", function()
      assert.are.equal("sim:toy Toy 2\n2000 20000\nPMC0 PMC1\n", (lua([[
         local lpfm = require "lpfm"
         local m = assert(lpfm.machine("sim:toy"))
         print(m.name, m.pmu, m.hw_counters)
         local tid = m:spawn { program = { { loop = 2000, { ip = 1, ns = 10 } } } }
         local ctx = assert(lpfm.create())
         assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) },
            { num = 1, value = m:encode("cycles", 1) } })
         assert(ctx:write_pmds { { num = 0 }, { num = 1, value = -100 } })
         assert(ctx:load(tid) and ctx:start() and m:run { until_exit = tid })
         local v = ctx:read_pmds { 0, 1 }
         print(v[1].value, v[2].value + 100)
         print(lpfm.pmcs()[1].name, lpfm.pmcs()[2].name)
      ]]):gsub("\t", " ")))
   end)

   it("the model has no caches unless it describes some: memory is what accesses wait for", function()
      assert.are.equal("0\n1000\n201\n", (lua([[ -- 1, and 100 for the instruction as for what it loads
         local lpfm = require "lpfm"
         local m = assert(lpfm.machine("sim:toy"))
         local load = { ip = 4096, load = { 2 ^ 20, 64 } }
         local tid = m:spawn { program = { { loop = 1000, load } } }
         local ctx = assert(lpfm.create())
         assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) },
            { num = 1, value = m:encode("cycles", 1) } })
         assert(ctx:write_pmds { { num = 0 }, { num = 1 } })
         assert(ctx:load(tid) and ctx:start() and m:run { until_exit = tid, s = 10 })
         local v = ctx:read_pmds { 0, 1 }
         print(#m:caches())
         print(v[1].value)
         print(math.floor(v[2].value / v[1].value))
      ]])))
   end)

   it("the model passes the tests of all models, of its events and of its registers", function()
      local busted = ("%s LPFM_MACHINE=sim %s $(command -v busted) --output=TAP --pattern=_spec"):format(paths(),
         interpreter)
      must(busted .. " $(grep -l 'sim.models()' spec/specification/*_spec.lua)")
      local out = must(busted .. " --filter='toy$' spec/machines/models_spec.lua")
      local passed = "ok 1 - a model counts by code what happened, on each counter that can: toy"
      assert.truthy(out:find(passed, 1, true), out)
   end)

   it("the model has hardware counters, and what needs names of their events says that there are none", function()
      local out = lua([[
         local lpfm = require "lpfm"
         local metrics = require "pfm.metrics"
         print((select(2, lpfm.dispatch_events { events = { "cycles" } })))
         print((select(2, lpfm.event("cycles"))))
         print((select(2, require("pfm.events").parse("cycles"))))
         print((select(2, metrics.group("cpi"))))
         for _, entry in ipairs(metrics.all()) do print(entry.reason) end
         for _, pmu in ipairs(lpfm.pmus()) do print(pmu.desc) end
         print(require("pfm.events").default_counts())
      ]], "sim:toy")
      assert.falsy(out:find("no hardware counters", 1, true), out)
      for line in out:gmatch("[^\n]*has no event cycles[^\n]*") do
         assert.truthy(line:find("its events have no names here", 1, true), line)
      end
      assert.truthy(out:find("\ntask-clock,context-switches,cpu-migrations,page-faults\n", 1, true), out)
   end)

   it("the software event is in all lists, by its names, with its number and its levels", function()
      local out = lua([[
         local lpfm = require "lpfm"
         local events = require "pfm.events"
         local new = assert(events.read("cgroup-switches"))[1]
         print(new.num, new.base, lpfm.event("CGROUP_SWITCHES").desc)
         local last = lpfm.software_events()[#lpfm.software_events()]
         print(last.name, last.num, last.description)
         local sent = assert(lpfm.dispatch_events { events = { "CGROUP_SWITCHES" }, plm = "k" })
         print(sent.pmcs[1].num, sent.pmcs[1].value)
         print((select(2, lpfm.dispatch_events { events = { "CGROUP_SWITCHES" }, plm = "u" })))
         local ctx = assert(lpfm.create())
         print((select(2, ctx:write_pmcs { { num = new.num, value = 8 } })))
         assert(ctx:write_pmcs(sent.pmcs) and ctx:write_pmds { { num = new.num } })
         package.loaded["lpfm"], _G.lpfm = lpfm, lpfm
         print(require("repl.command.kinds").complete("event", "cgroup-s")[1])
         print(#require("repl.command.list").call("cgroup-switches"))
      ]], "perf")
      assert.equal([[
73 cgroup-switches switches to another cgroup
cgroup-switches 73 switches to another cgroup
73 1
dispatch_events: CGROUP_SWITCHES occur in the kernel alone: they cannot be counted at user level
write_pmcs: element 1: PMC73: cgroup-switches occur in the kernel alone: they cannot be counted at user level
cgroup-switches
3
]], (out:gsub("\t", " ")))
   end)

   it("the software event is not counted by a computer that does not simulate it, which says so", function()
      local out = lua([[
         local lpfm = require "lpfm"
         local list = assert(require("pfm.events").parse("cgroup-switches,page-faults"))
         print(list[1].reason, list[1].pmd, list[2].reason, list[2].pmd)
         local ctx = assert(lpfm.create())
         print((select(2, ctx:write_pmcs { { num = 73, value = 1 } })))
         print((select(2, lpfm.dispatch_events { events = { "CGROUP_SWITCHES" }, plm = "k" })))
         print(require("repl.command.list").call("cgroup-switches"))
      ]], "sim:k8")
      assert.equal([[
the machine sim:k8 does not count it nil nil 66
write_pmcs: element 1: PMC73 is not available
dispatch_events: no counter that CGROUP_SWITCHES can use is available
Events (for -e; levels by :u, :k, :uk; raw events as rHEX)
  cgroup-switches    switches to another cgroup Not here: the machine sim:k8 does not count it  PMD 73
]], (out:gsub("\t", " ")))
   end)

   it("lists, error messages and completion have them", function()
      local out = lua [[
         local lpfm = require "lpfm"
         print(table.concat(lpfm.machines(), " "))
         print((select(2, lpfm.machine("sim:nosuch"))))
         print((select(2, lpfm.machine("nosuch"))))
         package.loaded["lpfm"], _G.lpfm = lpfm, lpfm
         local complete = require "repl.prompt.complete"
         print(table.concat(complete.words("sim:t", 'lpfm.machine("', '"'), " "))
         print(table.concat(complete.words("to", 'lpfm.create{format="', '"'), " "))
      ]]
      local machines, model, machine, offered, format = out:match("(.-)\n(.-)\n(.-)\n(.-)\n(.-)\n")
      assert.is_true(names(machines)["sim:toy"], machines)
      assert.is_true(names(model)["toy"], model)
      assert.is_true(names(machine)["sim:toy"], machine)
      assert.are.equal("sim:toy", offered)
      assert.are.equal("toy", format)
   end)

   it("Kbuild and DKMS build the format's module", function()
      local list = must(([[cd %s && %s make -s -f kernel/linux/Kbuild src=kernel/linux CONFIG_ARM64=y \
         --eval='print: ; @echo $(obj-m:%%.o=%%); echo $(perfmon_toy_smpl-y)' print]]):format(root, CLEAN))
      local modules, parts = list:match("(.-)\n(.-)\n")
      assert.is_true(names(modules).perfmon_toy_smpl)
      assert.are.equal("modules/fmt_toy.o ../formats/toy.o", parts)
      local dkms = must(("cd %s && arch=aarch64 bash -c '. kernel/dkms.conf; echo ${BUILT_MODULE_NAME[@]}'"):format(
         root))
      assert.same(names(modules), names(dkms))
   end)
end)
