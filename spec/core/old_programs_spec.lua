-- SPDX-License-Identifier: MIT
-- Programs written for perfmon2 2.x and libpfm 3, as they are: they compile, run and count.
-- One interpreter: the programs are C.

local c = require "support.c"
local lpfm = require "lpfm"
local real = require "support.real"

-- Simulated machines that follow real threads, on which any program runs.
local LIVE = { "sim:k8,live", "sim:itanium2,live", "sim:p6,live", "sim:armv8,live" }
local MACHINES = real == "linux" and { "linux", LIVE[1] } or { "perf", "sim:itanium2", LIVE[1], LIVE[2] }

local function run(command, machine)
   local out, status = c.sh(("LPFM_MACHINE=%s %s"):format(machine, command))
   assert.are.equal(0, status, machine .. ": " .. out)
   return out
end

describe("The sampling buffer of a 2.x program", function()
   local CASES = {
      private = "is mapped MAP_PRIVATE, or shared: it is read-only",
      unrounded = "is mapped with the length that was asked for, not rounded to pages",
      part = "is mapped in part",
      twice = "is mapped more than once",
      writable = "cannot be mapped to be written",
      too_long = "cannot be mapped beyond its end",
   }
   local program
   setup(function() program = c.compile("old_map") end)

   for _, machine in ipairs(MACHINES) do
      for case, sentence in pairs(CASES) do
         it(sentence .. ": " .. machine, function()
            run(program .. " " .. case, machine)
         end)
      end
   end
end)

describe("Source of 2.x", function()
   it("compiles without a warning: what it uses is in the headers it includes", function()
      local program = c.compile("old_headers")
      for _, machine in ipairs(MACHINES) do
         assert.are.equal("interface 2.82\n", run(program, machine))
      end
   end)

   it("compiles with the headers of 2.x's formats for PEBS, and is told by name that they are not there", function()
      local program = c.compile("old_pebs")
      for _, machine in ipairs { "sim:core2", "sim:em64t", unpack(MACHINES) } do
         assert.are.equal("", run(program, machine))
      end
   end)

   it("learns the version of the interface, 2.x; the project's own is another number", function()
      assert.are.same({ 2, 82 }, { lpfm.const.PFM_VERSION_MAJ, lpfm.const.PFM_VERSION_MIN })
      assert.are.equal("lpfm 3.0", lpfm._VERSION)
      local file = io.open("/sys/kernel/perfmon/version")
      if real == "linux" then
         assert.are.equal("2.82\n", assert(file):read("*a"))
      end
      if file then file:close() end
   end)
end)

describe("/sys/kernel/perfmon of a program that is linked with libperfmon", function()
   it("has perfmon.ko's files where there is no perfmon.ko: configuration, registers, formats", function()
      if real == "linux" then
         pending("perfmon.ko is here, and its files are the kernel's")
      end
      local program = c.compile("sysfs_files")
      for _, machine in ipairs { "sim:nehalem", unpack(MACHINES) } do
         assert.are.equal("", run(program, machine))
      end
   end)
end)

for _, machine in ipairs { real, unpack(LIVE) } do
   local live = machine ~= real

   describe("A program of 2.x and libpfm 3 on " .. machine, function()
      local program
      setup(function() program = c.compile("old_kinds", "-lpfmlib") end)

      local function kind(name, environment)
         return run(("env %s %s %s"):format(environment or "", program, name), machine)
      end

      local function counted(name)
         local n = tonumber(kind(name):match("^counted (%d+)\n$"))
         -- the 1000 pages, and few others
         assert.is_true(n >= 1000 and n <= 1300, name .. ": " .. n)
      end

      it("monitors itself", function() counted("self") end)
      it("monitors another task", function() counted("task") end)

      it("samples another task", function()
         local n = tonumber(kind("sampling"):match("^samples (%d+)\n$"))
         assert.is_true(n >= 10 and n <= 13, n) -- one every 100 pages
      end)

      it("multiplexes event sets", function()
         assert.are.equal("sets 1 1\n", kind("multiplexing"))
      end)

      it("is notified by SIGIO", function()
         assert.are.equal("notified\n", kind("sigio"))
      end)

      it("blocks a task at each notification", function()
         -- On perf, the task touches further pages until it is stopped, and during calls.
         for _, name in ipairs { "blocking", live and "blocking_polled" or nil } do
            local n = tonumber(kind(name):match("^blocked (%d+)\n$"))
            assert.is_true(n >= (live and 10 or 1) and n <= 13, ("%s: %d times"):format(name, n))
         end
      end)

      it("monitors all CPUs from one, where its user says LPFM_ANY_CPU=1", function()
         assert.are.equal("at least 1000\n", kind("system_wide", "LPFM_ANY_CPU=1"))
      end)

      it("is told of LPFM_ANY_CPU=1 where it would need that", function()
         local proc = require "lpfm.proc"
         if #proc.cpus() < 2 then return pending("there is one CPU") end
         for _, environment in ipairs { "", "LPFM_ANY_CPU=0" } do
            local out, status = c.sh(("LPFM_MACHINE=%s %s %s system_wide"):format(machine, environment, program))
            assert.are.equal(1, status)
            assert.is_truthy(out:find("LPFM_ANY_CPU=1 in the environment", 1, true), out)
         end
      end)
   end)
end

describe("A live simulated machine", function()
   local program
   setup(function() program = c.compile("live") end)

   local CASES = {
      threads = "counts each of several threads that monitor themselves at once, to the ns",
      forked = "is the parent's alone after fork; the child has one of its own",
      forking = "is whole in a child, whenever the parent forks",
      other = "notifies of another thread's overflow while nobody calls",
      last = "counts what threads did last, though they are gone when it looks at them",
      nobody = "attaches to threads that there are",
   }
   for case, sentence in pairs(CASES) do
      it(sentence, function() assert.are.equal("", run(program .. " " .. case, "sim:k8,live")) end)
   end

   it("counts commands to their end, also where the kernel permits no event on them", function()
      local lpfm_program = ("%s/%s/lpfm"):format(os.getenv("LPFM_BUILD") or "build",
         os.getenv("LPFM_LUA") or "luajit")
      local stat = ("%s 13 %s stat --json -e minor-faults -- %s 0 0 500"):format(c.target("denied"), lpfm_program,
         c.target("tree"))
      for _ = 1, 30 do
         local out = run(stat, "sim:k8,live")
         local faults = tonumber(out:match('"value":(%d+)'))
         assert.is_true(faults and faults >= 500, out)
      end
   end)

   it("runs commands, as the real ones do: lpfm stat", function()
      if not lpfm.event("cycles", "k8") then return pending("libpfm4 has no tables of x86 here") end
      local work = "sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'"
      local lpfm_program = ("%s/%s/lpfm"):format(os.getenv("LPFM_BUILD") or "build",
         os.getenv("LPFM_LUA") or "luajit")
      local out = run(("%s stat --json -e task-clock,cycles,instructions -- %s"):format(lpfm_program, work),
         "sim:k8,live")
      local function value(event)
         for object in out:gmatch("{[^{}]*}") do
            if object:find('"event":"' .. event .. '"', 1, true) then return tonumber(object:match('"value":(%d+)')) end
         end
         error(out)
      end
      -- counts are of whole steps of 10 ns, also of the step during which the context was loaded
      assert.is_true(math.abs(value("cycles") - value("task-clock")) < 10)
      assert.is_true(math.abs(value("instructions") / value("cycles") - 1.082) < 0.01)
   end)
end)

describe("A program for perfmon 2.0 of Linux/ia64, compiled with include/lpfm/ia64,", function()
   local program
   setup(function() program = c.compile("ia64_20", nil, "kernel/include/ia64") end)

   local function out(case) return run(program .. " " .. case, "sim:itanium2,live") end

   it("monitors itself with perfmonctl() and pfarg_reg_t", function()
      local cycles, instructions = out("self"):match("^(%d+) (%d+)\n$")
      assert.is_true(tonumber(cycles) >= 4e6) -- 4 to 5 ms at 1 GHz: the first ms is not whole
      assert.is_true(math.abs(instructions / cycles - 1.082) < 0.01)
   end)

   it("restricts monitoring to a range of code with PFM_WRITE_IBRS", function()
      assert.are.equal("0 in a range without code\n", out("ranges"))
   end)

   it("samples another task into a buffer that PFM_CREATE_CONTEXT maps, and reads 2.0's messages", function()
      assert.are.equal("enough samples\n", out("sampling"))
   end)

   it("asks for features and reset values; the errors are 2.0's", function()
      assert.are.equal("2.0 0x2078fefefefe\n", out("queries"))
   end)
end)

describe("System-wide monitoring of another CPU, with PFM_FL_ANY_CPU", function()
   local sim = require "support.sim"
   before_each(sim.begin)
   after_each(sim.finish)

   it("takes the CPU's number from wherever the caller is", function()
      local m = sim.machine("itanium2", { cpus = 3 })
      m:spawn { program = sim.work(1000), cpu = 2 }
      local ctx = sim.count(sim.context { flags = { "SYSTEM_WIDE", "ANY_CPU" } }, 4, "instructions")
      sim.refused("EINVAL", ", nor one of the 3 CPUs", ctx:load(3))
      assert(ctx:load(2))
      assert(ctx:start())
      assert(m:run { ns = 100 })
      assert.are.equal(10, sim.value(ctx, 4))
   end)
end)

describe("libpfm 3 without a hardware PMU", function()
   local before, program
   setup(function()
      before = lpfm.machine().name
      program = c.compile("old_software", "-lpfmlib")
   end)
   teardown(function() assert(lpfm.machine(before)) end)

   it("has the software events: counters, codes, what counts them", function()
      local out = run("env LIBPFM_FORCE_PMU=software " .. program, real)
      assert.are.equal(#lpfm.software_events() .. " counters, PAGE_FAULTS is 66\n", out)
   end)

   it("dispatches nothing that pfm_write_pmcs refuses", function()
      local refused = {}
      for _, machine in ipairs { real, "sim:itanium2" } do
         assert(lpfm.machine(machine))
         for _, event in ipairs(lpfm.software_events()) do
            local name = event.name:upper():gsub("-", "_")
            for plm = 1, 15 do
               local out, why = lpfm.dispatch_events { events = { name }, plm = plm }
               if out then
                  local ctx = assert(lpfm.create())
                  assert(ctx:write_pmcs(out.pmcs))
                  ctx:close()
               else
                  refused[name] = why
               end
            end
         end
      end
      assert.is_truthy(refused.CONTEXT_SWITCHES:find("occur in the kernel alone", 1, true))
      assert.is_truthy(refused.CPU_MIGRATIONS and not refused.PAGE_FAULTS)
   end)
end)

describe("libpfm 3's headers of x86 models", function()
   it("say of an event's counter what its modifiers say by name: threshold, inversion, edge", function()
      local known = {}
      for _, pmu in ipairs(lpfm.pmus()) do known[pmu.name] = true end
      if not (known.core and known.amd64_k8_revg and known.skl) then
         return pending("libpfm4 has the tables of x86 on x86 alone")
      end
      run(c.compile("old_models", "-lpfmlib"), real)
   end)
end)

describe("libpfm 3's headers of the Itanium processors", function()
   it("program EARs, trace buffers, opcode matchers and ranges, and answer questions", function()
      run(c.compile("old_ia64", "-lpfmlib"), real)
   end)
end)
