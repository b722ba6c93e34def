-- SPDX-License-Identifier: MIT
-- PAPI's test programs, with its component for perfmon2 built over this tree. spec/coverage.md has
-- all of them. One interpreter: the programs are C.
-- Engine: Debian's source package of PAPI, which is fetched once, and built in a minute.

local c = require "support.c"

local MACHINE = "sim:core2,live"

-- Programs that take less than two seconds, with verdicts that depend neither on the machine's load
-- nor on its speed.
local PASS = { "all_native_events", "cmpinfo", "code2name", "describe", "disable_component", "eventname", "exec",
   "exec2", "exeinfo", "failed_events", "fork", "fork2", "forkexec", "forkexec2", "forkexec3", "forkexec4",
   "get_event_component", "hwinfo", "johnmay2", "locks_pthreads", "low-level", "max_multiplex", "memory", "mendes-alt",
   "multiattach", "multiattach2", "overflow", "overflow2", "overflow_index", "overflow_one_and_read",
   "overflow_single_event", "overflow_twoevents", "profile", "profile_force_software",
   "pthread_hl", "pthrtough", "pthrtough2", "remove_events", "serial_hl", "tenth", "thrspecific", "version",
   "zero", "zero_attach", "zero_flip", "zero_fork", "zero_named", "zero_pthreads" }

-- Programs that test what PAPI's component or the model does not have.
local SKIP = { "attach_cpu", "branches", "data_range", "earprofile", "inherit", "p4_lst_ins" }

-- Programs that fail as spec/coverage.md says: what they print, or the signal that ends them.
local END_SIGNAL = "status 164" -- 128 + SIGRTMIN + 2: PAPI has this signal sent for each message
local DECLARED = { attach2 = END_SIGNAL, attach_validate = END_SIGNAL, calibrate = "FAILED", case1 = "FAILED",
   case2 = "FAILED", derived = "FAILED", sprofile = "FAILED" }

local function names()
   local list = {}
   for _, some in ipairs { PASS, SKIP } do
      for _, name in ipairs(some) do list[#list + 1] = name end
   end
   for name in pairs(DECLARED) do list[#list + 1] = name end
   return list
end

describe("PAPI on " .. MACHINE, function()
   local root, folder, why

   setup(function()
      if (os.getenv("LPFM_BUILD") or "build"):match("/san$") then
         why = "the archive that PAPI is linked with has no sanitizers"
         return
      end
      root = os.tmpname()
      os.remove(root)
      local out, status = c.sh(("mkdir %s && spec/papi %s attach_target %s"):format(root, root,
         table.concat(names(), " ")))
      assert(status == 0 or status == 125, out)
      if status == 125 then why = out end
      folder = out:match("([^\n]+)\n$")
   end)
   teardown(function() if root then c.sh("rm -rf " .. root) end end)

   -- Returns the last word of a program's output that is a verdict; else how the program ended.
   local function verdict(name)
      local out, status = c.sh(("cd %s && LPFM_MACHINE=%s timeout 300 ./%s"):format(folder, MACHINE, name))
      local word
      for found in out:gmatch("%f[%u](%u+)%f[%U]") do
         if found == "PASSED" or found == "FAILED" or found == "SKIPPED" then word = found end
      end
      return status > 128 and "status " .. status or word or out, out
   end

   for wanted, list in pairs { PASSED = PASS, SKIPPED = SKIP } do
      for _, name in ipairs(list) do
         it(("%s: %s"):format(name, wanted:lower()), function()
            if why then return pending(why) end
            local is, out = verdict(name)
            assert.are.equal(wanted, is, out)
         end)
      end
   end

   for name, wanted in pairs(DECLARED) do
      it(name .. " does what is declared of it", function()
         if why then return pending(why) end
         local is, out = verdict(name)
         assert.are.equal(wanted, is, out)
      end)
   end
end)
