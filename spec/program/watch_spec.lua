-- SPDX-License-Identifier: MIT
-- watch(): live views in a terminal, in a pipe, on the simulated computer.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local terminal = require "support.terminal"

local quote = terminal.quote
local program = c.program
local t

local function start(environment, size)
   t = terminal.start(("exec env TERM=screen XDG_STATE_HOME=/nonexistent LPFM_INIT= %s %s"):format(
      environment or "LC_ALL=C.UTF-8", program), size)
end

local function piped(text, environment)
   return c.sh(("printf %%s %s | %s %s"):format(quote(text), environment or "LC_ALL=C.UTF-8", program))
end

-- Types calls that make a context: it counts page faults and CPU time of the prompt's thread.
local function program_context()
   t:enter("c = lpfm.create()")
   t:enter("c:write_pmcs{ {num=64, value=9}, {num=66, value=9} }")
   t:enter("c:write_pmds{ {num=64, value=0}, {num=66, value=0} }")
   t:enter("c:load(); c:start()")
   t:wait_for("\ntrue\n")
end

-- Code that simulates a thread with a miss each microsecond for 3 ms, and a context on it.
local simulated = [[
m = lpfm.machine "sim:itanium2"
tid = m:spawn{program={ {loop=3000, {ip=0x1000, ns=1000, events={l2_misses=1}}} }}
c = lpfm.create()
x = c:write_pmcs{ {num=4, value=m:encode("l2_misses", 4, "u")} } and c:write_pmds{ {num=4, value=0} }
x = c:load(tid) and c:start()
]]

describe("watch in a terminal", function()
   after_each(function() t:stop() end)

   it("shows rates, totals and a sparkline for each counter, in place", function()
      start()
      program_context()
      t:enter("watch(c, {interval=0.05})")
      local screen = t:wait_for("q quits, p pauses")
      assert.truthy(screen:find("c, this thread, "))
      assert.truthy(screen:find("counter +rate +total"))
      t:wait_match("task%-clock +[%d.]+ %% +[%d.,]+ ms  [▁▂▃▄▅▆▇█]+")
      screen = t:wait_match("page%-faults +[%d,]+ /s +[%d,]+  [▁▂▃▄▅▆▇█]+") and t:screen()
      local _, views = screen:gsub("counter +rate +total", "")
      assert.equal(1, views)
      t:press("q")
      t:wait_for("watched for ")
      t:enter("6 * 7")
      t:wait_for("\n42\n")
   end)

   it("is left by Ctrl-C too, and the line editor works behind it", function()
      start()
      program_context()
      t:enter("watch(c, {interval=0.05})")
      t:wait_for("q quits")
      t:press("C-c")
      t:wait_for("watched for ")
      t:type("lpfm.mach")
      t:press("Tab")
      t:type("().name")
      t:wait_for("lpfm.machine().name")
   end)

   it("holds the counters and lets them go on", function()
      start()
      program_context()
      t:enter("watch(c, {interval=0.05})")
      t:wait_for("q quits, p pauses")
      t:press("p")
      t:wait_for("c, this thread, stopped")
      t:wait_for("paused; p resumes")
      t:press("p")
      t:wait_for("c, this thread, ")
      t:wait_for("q quits, p pauses")
      t:press("q")
      t:wait_for("watched for ")
   end)

   it("follows a change of the terminal's size", function()
      start(nil, { columns = 100, rows = 30 })
      program_context()
      t:enter("watch(c, {interval=0.02})")
      t:wait_for("q quits, p pauses")
      t:wait_match("page%-faults +[%d,]+ /s +[%d,]+  ([▁▂▃▄▅▆▇█]+)")
      t:resize(40, 8)
      t:wait_until(function(screen)
         for line in screen:gmatch("[^\n]+") do
            local _, continued = line:gsub("[\128-\191]", "")
            if #line - continued > 40 then return false end
         end
         return screen:find("q quits", 1, true)
      end, "a view of 40 columns")
      t:press("q")
      t:wait_for("watched for ")
   end)

   it("shows ASCII bars where the locale has no UTF-8", function()
      start("LC_ALL=C")
      program_context()
      t:enter("watch(c, {interval=0.02, count=20})")
      t:wait_match("page%-faults +[%d,]+ /s +[%d,]+  [_.=+*%%#-]+\n")
      local screen = t:wait_for("watched for ")
      assert.falsy(screen:find("[\128-\255]"))
   end)

   it("prints lines in a dumb terminal, and takes the same keys", function()
      start("TERM=dumb LC_ALL=C")
      program_context()
      t:enter("watch(c, {interval=0.02})")
      t:wait_match("%d s  page%-faults +[%d,]+ /s +[%d,]+\n")
      t:press("q")
      t:wait_for("watched for ")
   end)

   it("lets the simulated computer run by steps, and ends with the thread", function()
      start()
      t:paste(simulated)
      t:press("Enter")
      t:enter("watch(c, {interval=0.02, step=0.001})")
      local screen = t:wait_for("the thread has ended")
      assert.truthy(screen:find("c, thread 100, 0.00[34] s of simulated time, 1.000 ms a step"))
      assert.truthy(screen:find("l2_misses:u +%d[%d,]* /s +3,000 "))
   end)
end)

describe("watch in a pipe", function()
   it("prints lines without escapes; on the simulated computer exact ones", function()
      local out, status = piped(simulated .. "watch(c, {step=0.001, count=3})\n")
      assert.equal(0, status, out)
      assert.falsy(out:find("\27", 1, true))
      assert.equal(table.concat({
         "c, thread 100, 0.000 s of simulated time, 1.000 ms a step",
         "        time  counter                  rate               total",
         "  0.000000 s  l2_misses:u                                     0",
         "  0.001000 s  l2_misses:u      1,000,000 /s               1,000",
         "  0.002000 s  l2_misses:u      1,000,000 /s               2,000",
         "  0.003000 s  l2_misses:u      1,000,000 /s               3,000",
         "the thread has ended", "watched for 3.000 ms", "",
      }, "\n"), out)
   end)

   it("returns what it counted", function()
      local out = piped(simulated .. "r = watch(c, {step=0.0005, seconds=0.002})\n"
         .. "print(r[1].name, r[1].num, r[1].count, r[1].rate, r.seconds, r.refreshes)\n")
      assert.truthy(out:find("l2_misses:u\t4\t2000\t1000000\t0.002\t4\n", 1, true), out)
   end)

   it("shows several contexts, sets, and samples", function()
      local out = piped([[
m = lpfm.machine "sim:itanium2"
tid = m:spawn{program={ {loop=3000, {ip=0x1000, ns=1000, events={l2_misses=1}}} }}
c = lpfm.create{format="default"}
x = c:create_evtsets{ {id=1, flags={"TIME_SWITCH"}, timeout=1e6} }
x = c:write_pmcs{ {num=4, value=m:encode("l2_misses", 4, "u")}, {num=4, set=1, value=m:encode("l2_misses", 4, "u")} }
x = c:write_pmds{ {num=4, value=-100, long_reset=-100, short_reset=-100, flags={"OVFL_NOTIFY"}}, {num=4, set=1} }
x = c:load(tid) and c:start()
watch(c, {step=0.001, count=2})
]])
      assert.truthy(out:find("0.002000 s  l2_misses:u, every 100 ", 1, true), out)
      assert.truthy(out:find("0.002000 s  set 1: l2_misses:u ", 1, true), out)
      assert.truthy(out:find("  samples ", 1, true), out)
   end)

   it("shows counters that PMCs alone brought into use, as those of the README's first context", function()
      local out = piped(simulated:gsub(" and c:write_pmds[^\n]*", "") .. "watch(c, {step=0.001, count=1})\n")
      assert.truthy(out:find("0.001000 s  l2_misses:u", 1, true), out)
   end)

   it("says what it wants", function()
      local function failure(call) return (piped(simulated .. call .. "\n")) end
      assert.truthy(failure("watch(5)"):find("expected a context, a list of contexts or a job, got a number", 1, true))
      assert.truthy(failure("watch{}"):find("got an empty table", 1, true))
      assert.truthy(failure("watch{c, 5}"):find("element 2: expected a context, got a number", 1, true))
      assert.truthy(failure("watch(c, {intervall=1})"):find("did you mean 'interval'?", 1, true))
      assert.truthy(failure("watch(c, {interval='1'})"):find("'interval': expected a number, got a string", 1, true))
      assert.truthy(failure("watch(lpfm.create())"):find("no counters programmed", 1, true))
   end)

   it("works in a script", function()
      local path = os.tmpname()
      files.write(path, simulated .. 'require("repl.prompt.watch").call(c, {step=0.001, count=3})\n')
      local out, status = c.sh(program .. " " .. path)
      os.remove(path)
      assert.equal(0, status, out)
      assert.truthy(out:find("  0.003000 s  l2_misses:u      1,000,000 /s               3,000\n", 1, true), out)
   end)
end)
