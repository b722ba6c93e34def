-- SPDX-License-Identifier: MIT
-- Runs commands and interrupts at the same time, on a machine with perfmon.ko's rules of locking,
-- under ASan and under TSan; and the threads of a program that uses libperfmon, under TSan.
-- One interpreter: the programs are C.
-- LPFM_SEED=N repeats the random choices of seed N.
local c = require "support.c"
local effort = require "support.effort"

local SECONDS = effort(30) -- seconds of processor time

-- DONE: how often each command has to be made in 30 seconds, at least. HAPPENED: how often each of
-- the things that interrupts cause has to happen.
local DONE = { create = 50, close = 10, write_pmcs = 100, write_pmds = 100, read_pmds = 100, load = 100, unload = 20,
   start = 100, stop = 50, restart = 50, create_evtsets = 50, delete_evtsets = 10, getinfo_evtsets = 100,
   ["getinfo registers"] = 50, config = 20, formats = 20, ["read messages"] = 50, ["look at buffer"] = 20 }
local HAPPENED = { overflows = 1000, masked = 20, throttled = 1, held = 5, timeouts = 100, ["sets entered"] = 500,
   ["sets not installed"] = 5, ["context switches"] = 100, messages = 20, END = 10, ["registers grown"] = 500,
   ["samples of families"] = 500, ["found a part taken"] = 5 }

local function at_least(out, names, pattern)
   for name, least in pairs(names) do
      local n = tonumber(out:match("\n  " .. name .. " +" .. pattern))
      assert.is_true((n or 0) >= effort(least), name .. ": " .. tostring(n) .. "\n" .. out)
   end
end

-- Runs a program with TSan, without ASLR if the kernel has mapped something where TSan must be.
local function finish(run, command)
   local out, status = run()
   if out:find("unexpected memory mapping", 1, true) then
      out, status = c.sh("setarch -R " .. command)
   end
   return out, status
end

describe("commands and interrupts at the same time", function()
   local commands, runs = {}, {}

   setup(function()
      for i, target in ipairs { "concurrent", "concurrent-tsan" } do
         commands[i] = ("env -u LD_PRELOAD %s %d"):format(c.make("build/spec/" .. target), SECONDS)
      end
      for i, command in ipairs(commands) do
         runs[i] = c.background(command)
      end
   end)

   for i, what in ipairs { "lose nothing, touch nothing that was freed, and leave nothing", "race for nothing" } do
      it(what, function()
         local out, status = finish(runs[i], commands[i])
         assert.are.equal(0, status, out)
         at_least(out, DONE, "(%d+) done")
         at_least(out, HAPPENED, "(%d+)\n")
      end)
   end
end)

describe("threads of one program", function()
   it("race for nothing in libperfmon", function()
      local clients = c.make("build/spec/clients-tsan")
      local command = ("env -u LD_PRELOAD LPFM_MACHINE=perf %s %d"):format(clients, effort(10))
      local out, status = finish(c.background(command), command)
      assert.are.equal(0, status, out)
      local lives, reads, forks = out:match("(%d+) lives, (%d+) reads, (%d+) forks")
      assert.is_true(tonumber(lives) > effort(50) and tonumber(reads) > effort(200), out)
      assert.is_true(tonumber(forks) > effort(5), out)
   end)
end)
