-- SPDX-License-Identifier: MIT
-- Precise samples of the machine perf: :p, :pp, :ppp after an event's name, as in perf and libpfm4,
-- set precise_ip of perf_event_open(2). The tests need no PMU: a folder stands for sysfs, its "cpu"
-- has software events, for which the kernel ignores precise_ip, and precise_ip.c, preloaded, prints
-- precise_ip. Whether the samples' addresses are precise only a PMU could show.

local c = require "support.c"
local cjson = require "cjson"
local files = require "support.files"
local lpfm = require "lpfm"
local events = require "pfm.events"
local pebs = require "pfm.pebs"

local program = c.program
local work = "sh -c 'dd if=/dev/zero of=/dev/null bs=1M count=1 2>/dev/null'"

local folder, env

setup(function()
   folder = c.sh("mktemp -d"):match("%S+")
   c.sh("mkdir -p " .. folder .. "/cpu/format")
   files.write(folder .. "/cpu/type", "1\n")
   files.write(folder .. "/cpu/cpus", "0-4095\n")
   files.write(folder .. "/cpu/format/event", "config:0-7\n")
   env = ("LD_PRELOAD=\"$LD_PRELOAD %s\" LPFM_MACHINE=perf LPFM_EVENT_SOURCES=%s "):format(
      c.compile("precise_ip", "-shared -fPIC -ldl"), folder)
end)

teardown(function()
   c.sh("rm -rf " .. folder)
end)

before_each(function()
   assert(lpfm.machine("perf"))
end)

local function has(text, part)
   assert.is_truthy(text:find(part, 1, true), text)
end

local function record(event, more)
   return c.sh(("%s %s %s record -o %s/data -e %s -c 10 -- %s"):format(env, more or "", program, folder, event, work))
end

describe("an event with :p", function()
   it("asks the kernel for samples so precise, whatever its levels", function()
      for letters, n in pairs { p = 1, pp = 2, upp = 2, ppp = 3 } do
         local out, status = record("cpu/event=2/" .. letters)
         assert.are.equal(0, status, out)
         has(out, ("type 1 config 2 precise_ip %d period 10\n"):format(n))
      end
      local out, status = record("cpu/event=2/u")
      assert.are.equal(0, status, out)
      assert.is_nil(out:find("precise_ip", 1, true), out)
   end)

   it("has samples in its recording, under its name", function()
      record("cpu/event=2/upp")
      local report = cjson.decode((c.sh(("%s report -i %s/data --json"):format(program, folder))))
      assert.is_true(report.samples > 0)
      assert.are.equal("cpu/event=2/upp", report.head.events[1].name)
   end)

   it("counts as without: only samples are precise", function()
      local out, status = c.sh(("%s %s stat -e cpu/event=2/upp,page-faults:u -- true"):format(env, program))
      assert.are.equal(0, status, out)
      assert.is_nil(out:find("precise_ip", 1, true), out)
      local precise, plain = out:match("([%d,]+) +cpu/event=2/upp.-([%d,]+) +page%-faults:u")
      assert.are.equal(plain, precise, out)
      assert.is_truthy(plain, out)
   end)

   it("that the PMU does not have so precise is refused, and precise samples are named", function()
      local out, status = record("cpu/event=2/ppp", "PRECISE_MOST=2")
      assert.are_not.equal(0, status)
      has(out, "no precise samples (precise_ip 3) of event 0x2 on this machine")
      out, status = record("cpu/event=2/pp", "PRECISE_MOST=2")
      assert.are.equal(0, status, out)
   end)

   it("is of the PMU: other events, and machines without, are told", function()
      for name, words in pairs {
         ["page-faults:p"] = "'page-faults:p': precise samples are of the PMU's events",
         ["sched:sched_switch:pp"] = "'sched:sched_switch:pp': precise samples are of the PMU's events",
         ["nonsense:upp"] = "'nonsense:upp': precise samples are of the PMU's events",
      } do
         local list, err = events.read(name)
         assert.is_nil(list)
         has(err, words)
      end
      if lpfm.machine().hw_counters == 0 then
         for _, name in ipairs { "cycles:pp", "r1c2:up" } do
            assert.are.equal("precise samples are of hardware counters, and this machine has none",
               events.parse(name)[1].reason)
         end
      end
      lpfm.machine("sim:core2")
      local list, err = events.read("cycles:pp")
      assert.is_nil(list)
      has(err, "'cycles:pp': events have precise samples on the machine perf; this is sim:core2")
   end)

   it("keeps its letters when it has to count at user level alone", function()
      assert.are.equal("cycles:upp", events.user_only(events.read("cycles:pp")[1]).name)
      assert.are.equal("cycles:upp", events.at_level(events.read("cycles:pp"), "u")[1].name)
   end)
end)

describe("the formats pebs", function()
   it("are not on the machine perf, which keeps the processor's records, and say so", function()
      local ctx, err, errno = lpfm.create { format = "pebs", format_arg = pebs.argument { periods = { [0] = 100 } } }
      assert.is_nil(ctx)
      assert.are.equal(lpfm.errno.EOPNOTSUPP, errno)
      has(err, "format pebs: this machine's processor does not write such samples")
   end)
end)

describe("lpfm.perf_event's precise", function()
   it("is 0 to 3", function()
      for precise = 0, 3 do assert(lpfm.perf_event { type = 1, config = 2, precise = precise }) end
      assert.are_not.equal(lpfm.perf_event { type = 1, precise = 1 }, lpfm.perf_event { type = 1, precise = 2 })
      assert.are.equal(lpfm.perf_event { type = 1, precise = 0 }, lpfm.perf_event { type = 1 })
      for _, bad in ipairs { 4, -1, 1.5, "x" } do
         local ok, err = pcall(lpfm.perf_event, { type = 1, precise = bad })
         assert.is_false(ok)
         has(err, "precise")
      end
   end)
end)
