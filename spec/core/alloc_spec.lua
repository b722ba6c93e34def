-- SPDX-License-Identifier: MIT
-- Makes each call with each of its allocations failing.
-- One interpreter: the program is C.
local c = require "support.c"

-- The least number of allocations that can fail in a call; 0: the call must not need memory.
local AT_LEAST = {
   ["pfm_create_context"] = 6, ["pfm_create_context, default format"] = 8, ["pfm_create_context, n-way by UUID"] = 8,
   ["pfm_map_buffer"] = 1, ["pfm_write_pmcs"] = 4, ["pfm_write_pmcs, loaded"] = 4, ["pfm_write_pmds"] = 3,
   ["pfm_write_pmds, loaded"] = 3, ["pfm_create_evtsets"] = 5, ["PFM_CREATE_CONTEXT"] = 8, ["PFM_WRITE_PMCS"] = 4,
   ["PFM_WRITE_PMDS"] = 2, ["PFM_READ_PMDS"] = 1, ["PFM_CREATE_EVTSETS"] = 4, ["pfm_set_machine"] = 5,
   ["pfm_sim_spawn"] = 8, ["pfm_sim_interrupt"] = 4, ["pfm_sim_share"] = 1, ["pfm_sim_run_ns, forking"] = 3,
   ["pfm_create_context, inheriting"] = 9, ["pfm_sim_run_ns, a family"] = 7,
}
local NONE = {
   "pfm_read_pmds", "pfm_start", "pfm_stop", "pfm_unload_context", "pfm_delete_evtsets", "pfm_getinfo_evtsets"
}

describe("without memory", function()
   local out, status

   setup(function()
      out, status = c.sh(c.make("build/spec/alloc"))
   end)

   local function failed(call)
      for line in out:gmatch("[^\n]+") do
         local name, n = line:match("^(.-)%s%s+(%d+)$")
         if name == call then
            return tonumber(n)
         end
      end
   end

   it("every call says ENOMEM, leaves what there was, works when made again, and leaks nothing", function()
      assert.are.equal(0, status, out)
   end)

   for call, n in pairs(AT_LEAST) do
      it(call .. " was made to fail", function()
         assert.is_true((failed(call) or 0) >= n, out)
      end)
   end

   for _, call in ipairs(NONE) do
      it(call .. " needs none", function()
         assert.are.equal(0, failed(call), out)
      end)
   end
end)
