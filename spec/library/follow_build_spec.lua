-- SPDX-License-Identifier: MIT
-- pfm.measure on a build of libperfmon: each of hundreds of processes is measured, totals are the
-- sums of the parts, and the build does as it does when it is not measured.
-- One interpreter: a build takes the time.

local c = require "support.c"
local files = require "support.files"
local count = require "pfm.count"
local lpfm = require "lpfm"
local parts = require "pfm.measure.parts"

local folder = c.folder()

-- Makes cc, a script that writes its process ID into the ledger and then executes gcc.
local function prepare()
   files.write(folder .. "/cc", "#!/bin/sh\necho $$ >>" .. folder .. "/ledger\nexec gcc \"$@\"\n")
   c.must("chmod +x " .. folder .. "/cc")
end

local function make_command(name)
   return { "sh", "-c", ("exec env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u LD_PRELOAD make -j2 LPFM_READY=1 SAN= "
      .. "CC=%s/cc CFLAGS=-O0 BUILD=%s/%s %s/%s/libperfmon.so >%s/%s.out 2>&1"):format(folder, folder, name, folder,
      name, folder, name) }
end

local function lines(name)
   local out = {}
   for line in io.lines(folder .. "/" .. name) do out[#out + 1] = line end
   return out
end

-- Returns what a build printed, without the folder's name, and sorted: two jobs run at a time.
local function output(name)
   local out = lines(name .. ".out")
   for i, line in ipairs(out) do out[i] = line:gsub(folder .. "/" .. name, "BUILD") end
   table.sort(out)
   return table.concat(out, "\n")
end

describe("counting a build process by process", function()
   local result, by_pid

   setup(function()
      assert(lpfm.machine("perf"))
      prepare()
      assert.equal(0, select(2, c.sh(make_command("alone")[3])))
      -- The kernel may lose records of threads that end together; then the build is measured again.
      for _ = 1, 3 do
         c.sh(("rm -rf %s/ledger %s/followed"):format(folder, folder))
         result = count.run { command = make_command("followed"), threads = true, names = true,
            events = "page-faults,task-clock" }
         if not (result.why or ""):find("the kernel lost records", 1, true) then break end
      end
      by_pid = {}
      for _, part in ipairs(result.per) do by_pid[part.pid] = true end
   end)

   it("measures hundreds of processes, and misses none", function()
      assert.equal(0, result.status)
      assert.equal(0, result.unmeasured)
      local compilers = lines("ledger")
      assert.is_true(#compilers > 50)
      for _, pid in ipairs(compilers) do assert(by_pid[tonumber(pid)], "compiler " .. pid .. " was not measured") end
      assert.is_true(#result.per > 3 * #compilers) -- beside gcc: a shell, cc1, as
   end)

   it("gives totals that are the sums of the parts", function()
      for i, event in ipairs { "page-faults", "task-clock" } do
         local sum = 0
         for _, part in ipairs(result.per) do sum = sum + part.values[i] end
         assert.equal(event, result.events[i].base)
         assert.equal(sum, result.events[i].value)
      end
      local used = (result.rusage.utime + result.rusage.stime) * 1e9
      assert.is_true(result.events[2].value > 0.5 * used)
   end)

   it("can be added up by process and by command", function()
      local commands = {}
      for _, group in ipairs(parts.by(result, "command")) do commands[group.name] = group end
      assert.is_true(commands.cc1.subjects > 50)
      -- each file is compiled and assembled
      assert.equal(commands.cc1.subjects, commands.as.subjects)
      assert.equal(1, commands.ld and commands.ld.subjects or commands["collect2"].subjects)
      for _, level in ipairs(parts.levels) do
         local subjects, faults = 0, 0
         for _, group in ipairs(parts.by(result, level)) do
            subjects, faults = subjects + group.subjects, faults + group.events[1].value
         end
         assert.equal(#result.per, subjects)
         assert.equal(result.events[1].value, faults)
      end
      assert.has_error(function() parts.by(result, "x") end, "parts: no level 'x'; there are thread, process, command")
   end)

   it("leaves the build's output and what it makes as they were", function()
      assert.equal(output("alone"), output("followed"))
      assert.equal(0, select(2, c.sh(("cmp %s/alone/libperfmon.so %s/followed/libperfmon.so"):format(folder, folder))))
   end)
end)

describe("the threads of a program", function()
   it("are all counted, each by itself", function()
      assert(lpfm.machine("perf"))
      local result = count.run { command = { c.target("crowd"), "300", "inturn" }, names = true, inherit = true,
         events = "task-clock" }
      assert.equal(0, result.status)
      assert.equal(301, #result.per)
      for _, part in ipairs(result.per) do
         assert.is_true(part.values[1] > 0, "CPU time of thread " .. part.tid)
         assert.equal("crowd", part.comm)
      end
   end)
end)
