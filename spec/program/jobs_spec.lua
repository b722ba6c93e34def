-- SPDX-License-Identifier: MIT
-- Jobs in the background: counted while the user types, paused, ended and listed.

local jobs = require "repl.prompt.jobs"
local c = require "support.c"
local handles = require "support.handles"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local terminal = require "support.terminal"

local program = c.program

-- Returns a command that runs until the second result is called, or until this process has ended.
local function gate()
   local path = os.tmpname()
   local busy = ("while [ -e %s ] && [ -d /proc/%d ]; do :; done"):format(path, proc.getpid())
   return busy, function() os.remove(path) end
end

local function value_of(result, event)
   for _, row in ipairs(result.events) do
      if row.base == event then return row.value end
   end
end

describe("a job", function()
   local busy, open
   local real = not lpfm.machine().name:find("^sim")

   before_each(function() busy, open = gate() end)
   after_each(function()
      open()
      jobs.stop_all()
   end)

   if not real then return pending("jobs measure real programs; this machine is simulated") end

   it("counts while others do something else, and ends with its command", function()
      local s = jobs.start(busy, "task-clock,page-faults")
      assert.equal("counting", s:state())
      local before = value_of(s:result(), "task-clock")
      repeat jobs.turn() until value_of(s:result(), "task-clock") > before
      open()
      local result = s:wait(20)
      assert.equal("ended", s:state())
      assert.equal(0, result.status)
      assert.is_true(value_of(result, "page-faults") > 0)
      assert.truthy(tostring(s):find("ended", 1, true))
      assert.equal(result, s:result())
      assert.equal(0, #s:contexts())
   end)

   it("is held, and goes on", function()
      local s = jobs.start(busy, "task-clock")
      repeat until value_of(s:result(), "task-clock") > 0
      s:pause()
      assert.equal("paused", s:state())
      local held = value_of(s:result(), "task-clock")
      local until_then = proc.clock() + 0.02
      repeat jobs.turn() until proc.clock() > until_then
      assert.equal(held, value_of(s:result(), "task-clock"))
      assert.equal(s, s:pause())
      s:resume()
      assert.equal("counting", s:state())
      repeat until value_of(s:result(), "task-clock") > held
   end)

   it("ends before its command when it is told to", function()
      local s = jobs.start(busy, "task-clock")
      local child = s:contexts()[1]
      assert.is_false(child:closed())
      local result = s:stop()
      assert.is_true(child:closed())
      assert.is_nil(result.status)
      assert.equal("ended", s:state())
      assert.equal(result, s:stop())
      assert.equal(s, s:pause():resume())
   end)

   it("keeps what its command wrote", function()
      local s = jobs.start("echo out; echo err >&2; cat", "page-faults")
      s:wait(20)
      assert.equal("out\nerr\n", s:output())
   end)

   it("does not get the terminal's Ctrl-C", function()
      local s = jobs.start("exec cat /proc/self/stat", "page-faults")
      s:wait(20)
      local pid, group = s:output():match("^(%d+) %b() %a %d+ (%d+)")
      assert.equal(pid, group)
   end)

   it("waits so long, and no longer", function()
      local s = jobs.start(busy, "task-clock")
      assert.same({ nil, "timeout" }, { s:wait(0.01) })
      local first, second = jobs.start(busy, "task-clock"), jobs.start(busy, "page-faults")
      open()
      first:wait(20)
      second:wait(20)
      assert.equal("ended", s:wait(20) and s:state())
   end)

   it("ends after so many seconds, its command goes on", function()
      local s = jobs.start { command = { "/bin/sh", "-c", busy }, events = "task-clock", seconds = 0.05 }
      local result = s:wait(20)
      assert.is_nil(result.status)
      assert.is_true(result.elapsed >= 0.05)
   end)

   it("counts new threads and children with threads=true, each by itself with names=true", function()
      local command = { "/bin/sh", "-c", "(exit 3); (exit 4); true" }
      local s = jobs.start { command = command, events = "page-faults", threads = true }
      assert.is_true(s:wait(20).inherited)
      s = jobs.start { command = command, events = "page-faults", threads = true, names = true }
      assert.equal(3, #s:wait(20).per)
   end)

   it("samples into a file", function()
      local file = os.tmpname()
      local script = ("s = job{command={%q, '0.2', '1'}, record=%q, period=1000000}; print(s:state())\n"
         .. "print(s:wait(30).samples)\n"):format(c.target("shares"), file)
      local out = c.sh(("printf %%s %s | %s"):format(terminal.quote(script), program))
      local samples = tonumber(out:match("sampling\n(%d+)\n"))
      assert.is_true(samples and samples > 0, out)
      local recorded = assert(require("pfm.recording").open(file))
      assert.equal(samples, recorded.ends.samples)
      os.remove(file)
   end)

   it("tells of its end once, at the prompt", function()
      local s = jobs.start("exit 7", "page-faults")
      s:wait(20)
      local _, _, notice = jobs.idle()
      assert.truthy(notice:find(("[%d] 'exit 7' ended with status 7 after "):format(s.id), 1, true), notice)
      assert.is_nil((select(3, jobs.idle())))
   end)

   it("is listed with the others", function()
      local s = jobs.start(busy, "task-clock")
      local list = jobs.list()
      assert.equal(s, list[s.id])
      assert.truthy(tostring(list):find(("\n *%d  counting +[%%d.]+ %%a+  '"):format(s.id)))
      assert.equal(s, jobs.find(tostring(s.id)))
      assert.has_error(function() jobs.find(99999) end, "there is no job 99999; jobs() lists them")
   end)

   it("refuses what it cannot do", function()
      assert.has_error(function() jobs.start(function() end) end)
      assert.has_error(function() jobs.start(5) end)
      assert.has_error(function() jobs.start("true", "no-such-event") end)
   end)

   it("leaves no descriptors", function()
      jobs.start("true", "task-clock"):wait(20)
      local before = handles.settled()
      for _ = 1, 5 do jobs.start("true", "task-clock,page-faults"):wait(20) end
      jobs.start(busy, "task-clock"):stop()
      assert.equal(before, handles.settled(before))
   end)
end)

describe("the prompt with jobs", function()
   local t, busy, open

   before_each(function()
      busy, open = gate()
      t = terminal.start("exec env TERM=screen LPFM_INIT= XDG_STATE_HOME=/nonexistent LC_ALL=C.UTF-8 " .. program)
   end)
   after_each(function()
      open()
      t:stop()
   end)

   it("goes on reading, and tells above the line when one has ended", function()
      t:enter(("s = job(%q, 'task-clock')"):format(busy))
      t:enter("6 * 7")
      t:wait_for("\n42\n")
      t:enter("jobs()")
      t:wait_match("\n 1  counting +[%d.]+ %a+  'while")
      t:type("'half a li")
      t:wait_for("lpfm> 'half a li")
      open()
      t:wait_for("ended with status 0 after")
      t:wait_match("ended with status 0 after [^\n]+\nlpfm> 'half a li") -- the line is shown again
      t:enter("ne'")
      t:wait_for("\nhalf a line\n")
      t:enter("s:state()")
      t:wait_for("\nended\n")
   end)

   it("holds, resumes and ends them by commands, and watches them", function()
      t:enter(("s = job(%q, 'task-clock')"):format(busy))
      t:enter(".pause 1")
      t:wait_for("job 1, 'while")
      t:wait_match("done': paused, ")
      t:enter(".resume")
      t:wait_match("done': counting, ")
      t:enter("watch(s, {interval=0.02})")
      t:wait_match("task%-clock +[%d.]+ %% +[%d.,]+ ms  [▁▂▃▄▅▆▇█]+")
      t:press("p")
      t:wait_for("paused; p resumes")
      t:press("p")
      t:press("q")
      t:wait_for("watched for ")
      t:enter(".stop")
      t:wait_match("done': ended, ")
      t:enter(".stop 9")
      t:wait_for("there is no job 9")
   end)

   it("lets them see the end of the prompt, and says so", function()
      t:stop()
      t = terminal.start("exec env TERM=screen LPFM_INIT= XDG_STATE_HOME=/nonexistent sh -c "
         .. terminal.quote(program .. "; echo status $?; cat"))
      t:enter(("s = job(%q, 'task-clock')"):format(busy))
      t:enter("6 * 7")
      t:wait_match("\n42\nlpfm>%s*$") -- at the prompt a key is the prompt's
      t:press("C-d")
      t:wait_for("job 1, 'while")
      t:wait_for("ends with the prompt")
      t:wait_for("status 0")
   end)

   it("stops a wait by Ctrl-C", function()
      t:enter(("s = job(%q, 'task-clock'); print('be' .. 'gun'); s:wait()"):format(busy))
      t:wait_for("\nbegun\n")
      t:press("C-c")
      t:wait_for("nterrupted")
      t:enter("s:state()")
      t:wait_for("\ncounting\n")
   end)
end)
