-- SPDX-License-Identifier: MIT
-- What lpfm says about a measurement is true of it: partial ones, rates, names, signals.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local cjson = require "cjson"

local build = os.getenv("LPFM_BUILD") or "build"
local program = build .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm"
local scratch = os.tmpname()
local shares, named

local function run(line)
   return c.sh(program .. " " .. line)
end

setup(function()
   os.remove(scratch)
   assert(select(2, c.sh("mkdir -p " .. scratch)) == 0)
   shares, named = c.target("shares"), c.target("named")
end)

teardown(function() c.sh("rm -rf " .. scratch) end)

describe("a measurement that ends before its command", function()
   it("blames no threads where there are none", function()
      local out = run(("stat --timeout 0.3 -e task-clock -- %s 1.5 1"):format(shares))
      assert.falsy(out:find("Threads or children", 1, true), out)
      assert.truthy(out:find("The measurement ended before the command did", 1, true), out)
      out = run(("record --timeout 0.3 -o %s/partial.data -- %s 1.5 1"):format(scratch, shares))
      assert.falsy(out:find("was not sampled", 1, true), out)
      assert.falsy((run(("report %s/partial.data"):format(scratch))):find("not sampled", 1, true))
   end)

   it("says nothing false after SIGINT or SIGTERM, either", function()
      for _, signal in ipairs { "INT", "TERM" } do
         local out = c.sh(("timeout --foreground -s %s 0.4 %s record -o %s/cut.data -- %s 1.5 1"):format(signal,
            program, scratch, shares))
         assert.truthy(out:find("samples in", 1, true), out)
         assert.falsy(out:find("was not sampled", 1, true), out)
      end
   end)

   it("has the CPU times of that time only", function()
      local out = run(("stat --json --timeout 0.3 -e task-clock -- %s 1.5 1"):format(shares))
      local result = cjson.decode(out:match("{.*}"))
      assert.is_true(result.user + result.system < 1.4, "all of the command's time: " .. result.user)
      out = run(("stat --json -D 1000 -e task-clock -- %s 1.5 1"):format(shares))
      result = cjson.decode(out:match("{.*}"))
      assert.is_true(result.user + result.system < 1.45, "the time before the delay, too: " .. result.user)
   end)
end)

describe("the parts of a count", function()
   local function rows(level)
      local out = run(("stat --json --threads --per-%s -e page-faults:u,task-clock -- %s 0.4"):format(level, named))
      local by_name = {}
      for _, group in ipairs(cjson.decode(out:match("{.*}")).groups) do
         by_name[group.name:gsub("^%d+ ", "")] = group
      end
      return by_name, out
   end

   it("have rates by the CPU time that they used", function()
      for _, level in ipairs { "thread", "command" } do
         local by_name, out = rows(level)
         local idle = assert(by_name.idle, out)
         local faults, clock = idle.events[1], idle.events[2]
         local expected = faults.value / (clock.value / 1e9)
         assert.equal("/sec", faults["metric-unit"])
         assert.is_true(math.abs(faults.metric - expected) <= expected * 0.02,
            ("%g instead of %g"):format(faults.metric, expected))
      end
   end)

   it("have the names of their threads", function()
      local by_name, out = rows "thread"
      assert.truthy(by_name.busy and by_name.idle and by_name.named, out)
   end)
end)

describe("stat", function()
   it("says that its command died by a signal", function()
      local out, status = run("stat -e page-faults -- sh -c 'kill -SEGV $$'")
      assert.truthy(out:find("signal 11 (SIGSEGV)", 1, true), out)
      assert.equal(139, status)
   end)
end)

describe("the columns of a count's parts", function()
   it("have titles", function()
      local out = run(("stat --threads --per-thread -e page-faults -- %s 0.05"):format(named))
      assert.truthy(out:find("\n  name +threads +count +event\n"), out)
   end)
end)
