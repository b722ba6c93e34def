-- SPDX-License-Identifier: MIT
--- Runs scripts in an interpreter of their own, on the machine perf.
local c = require "support.c"
local files = require "support.files"

local script = {}

local PRELUDE = [[
   local lpfm, proc = require "lpfm", require "lpfm.proc"
   local PATIENCE = require "support.patience"
   assert(lpfm.machine("perf"))

   -- A started context that counts the time of this thread, or tid, and overflows every period ns.
   local function started(options, period, tid)
      local ctx = assert(lpfm.create(options))
      assert(ctx:write_pmcs { { num = 65, value = 9 } })
      assert(ctx:write_pmds { { num = 65, value = -period, long_reset = -period, short_reset = -period,
         flags = { "OVFL_NOTIFY" }, smpl_pmds = { 82 } } })
      assert(ctx:load(tid))
      assert(ctx:start())
      return ctx
   end

   -- Computes until something is true.
   local function burn(until_true)
      local deadline = proc.clock() + PATIENCE
      repeat
         for _ = 1, 10000 do math.random() end
         assert(proc.clock() < deadline, ("nothing happened in %d s"):format(PATIENCE))
      until until_true()
   end
]]

--- Runs a script, which has the names of PRELUDE and must succeed. Returns its output.
function script.run(text)
   local name = os.tmpname()
   files.write(name, PRELUDE .. text)
   local out, status = c.sh((os.getenv("LPFM_LUA") or "lua5.1") .. " " .. name)
   os.remove(name)
   assert(status == 0, out)
   return out
end

return script
