-- SPDX-License-Identifier: MIT
-- Commands and interrupts at the same time, on a machine that keeps perfmon.ko's rules of locking: under ASan,
-- and under TSan. The same programs whatever the interpreter, so that one run of them is enough.
-- LPFM_SEED=N makes the choices of a seed again.
if (os.getenv("LPFM_LUA") or "luajit") ~= "luajit" then
   return
end
local c = require "support.c"

local SECONDS = 30

-- Each command, and what interrupts make of contexts, at least this often.
local DONE = { create = 50, close = 10, write_pmcs = 100, write_pmds = 100, read_pmds = 100, load = 100, unload = 20,
   start = 100, stop = 50, restart = 50, create_evtsets = 50, delete_evtsets = 10, getinfo_evtsets = 100,
   ["getinfo registers"] = 50, config = 20, formats = 20, ["read messages"] = 50, ["look at buffer"] = 20 }
local HAPPENED = { overflows = 1000, masked = 20, throttled = 1, held = 5, timeouts = 100, ["sets entered"] = 500,
   ["context switches"] = 100, messages = 20, END = 10, ["registers grown"] = 500 }

local function at_least(out, names, pattern)
   for name, least in pairs(names) do
      local n = tonumber(out:match("\n  " .. name .. " +" .. pattern))
      assert.is_true((n or 0) >= least, name .. ": " .. tostring(n) .. "\n" .. out)
   end
end

describe("commands and interrupts at the same time", function()
   for what, target in pairs { ASan = "concurrent", TSan = "concurrent-tsan" } do
      it("lose nothing, leave nothing, and race for nothing: " .. what, function()
         local out, status = c.sh(c.make("build/spec/" .. target) .. " " .. SECONDS)
         assert.are.equal(0, status, out)
         at_least(out, DONE, "(%d+) done")
         at_least(out, HAPPENED, "(%d+)\n")
      end)
   end
end)
