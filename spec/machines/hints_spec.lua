-- SPDX-License-Identifier: MIT
-- What helps where perf_event_open(2) refuses: "using perf_event_paranoid ... 2 allow only
-- user-space measurements, 1 allow both kernel and user measurements, 0 allow access to
-- CPU-specific data"; 3 and 4 are distributions' own.

local c = require "support.c"
local files = require "support.files"

local build, interpreter = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"

local SETTING = "/proc/sys/kernel/perf_event_paranoid"

-- Runs lpfm as a user without rights, where the setting's file shows `level` and /proc is mounted
-- with `options`; the kernel's setting itself is not changed.
local function as_a_user(level, arguments, options)
   local file = os.tmpname()
   files.write(file, level .. "\n")
   local out, status = c.sh(("chmod 644 %s && unshare -m sh -c 'mount -t proc -o %s proc /proc && mount --bind %s %s "
      .. "&& LPFM_MACHINE=perf setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "
      .. "%s/%s/lpfm stat %s'"):format(file, options or "hidepid=0", file, SETTING, build, interpreter, arguments))
   os.remove(file)
   return out, status
end

-- Returns why this cannot be tested here; nil if it can.
local function obstacle()
   local really = io.open(SETTING)
   local level = really and really:read("*n")
   if really then really:close() end
   if (level or 0) < 2 then return "this kernel does not refuse" end
   if select(2, as_a_user(2, "--help")) ~= 0 then
      return "only root can be another user, and that one must reach the program"
   end
end

describe("advice where measuring is refused", function()
   local why = obstacle()

   for level = 2, 4 do
      local function advises(name, arguments, wanted, options)
         it(("at level %d, %s"):format(level, name), function()
            if why then return pending(why) end
            local out = as_a_user(level, arguments, options)
            assert.is_truthy(out:find(wanted, 1, true), out)
         end)
      end
      local SETS = "kernel.perf_event_paranoid <= %d (it is %d; sysctl -w kernel.perf_event_paranoid=%d)"
      advises("CPUs as a whole need 0", "-a true", SETS:format(0, level, 0))
      advises("the kernel's part needs 1", "-e page-faults:k true", SETS:format(1, level, 1))
      local FOREIGN = "thread 1 belongs to another user or is protected: monitor it as that user, or with CAP_PERFMON "
         .. "or CAP_SYS_PTRACE"
      advises("another user's process needs no setting", "-p 1", FOREIGN)
      advises("another user's process is there where /proc hides it", "-p 1", FOREIGN, "hidepid=2")
      advises("a process that is not there is not, where /proc hides others", "-p 4194304",
         "there is no thread or process 4194304", "hidepid=2")
      advises("another user's threads are not counted where /proc hides them", "--threads -p 1", FOREIGN, "hidepid=2")
   end
end)
