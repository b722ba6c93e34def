-- SPDX-License-Identifier: MIT
-- The prompt, through a pseudo-terminal (tmux) and through a pipe.

local c = require "support.c"
local lpfm = require "lpfm"

local build = os.getenv("LPFM_BUILD") or "build"
local program = build .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm"
local state

-- --- a terminal ----------------------------------------------------------------------------------

local servers = 0 -- each terminal has a server of its own: the last one may still be ending

local function socket()
   return ("lpfm-spec-%d-%d"):format(require("lpfm.proc").getpid(), servers)
end

local function quote(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function tmux(...)
   local words = { "tmux", "-L", socket(), "-f", "/dev/null" }
   for _, word in ipairs { ... } do words[#words + 1] = quote(word) end
   return c.sh(table.concat(words, " "))
end

local function screen()
   return (tmux("capture-pane", "-p", "-t", "t", "-S", "-200"))
end

-- Waits until the screen shows text; looks for plain text.
local function wait_for(text)
   local shown
   for _ = 1, 200 do
      shown = screen()
      if shown:find(text, 1, true) then return shown end
      lpfm.poll({}, 0.05)
   end
   error(("'%s' does not appear in:\n%s"):format(text, (shown:gsub("%s+$", ""))), 2)
end

local function type_text(text)
   tmux("send-keys", "-t", "t", "-l", text)
end

local function press(...)
   tmux("send-keys", "-t", "t", ...)
end

local function enter(text)
   type_text(text)
   press("Enter")
end

local function open_terminal(command)
   servers = servers + 1
   tmux("new-session", "-d", "-s", "t", "-x", "120", "-y", "50", command)
   wait_for("lpfm>")
end

local function start()
   open_terminal(("exec env TERM=screen XDG_STATE_HOME=%s sh -c %s"):format(state,
      quote(program .. "; echo status $?; exec cat")))
end

local function stop()
   tmux("kill-server")
end

describe("the prompt", function()
   setup(function()
      state = os.tmpname()
      os.remove(state)
      assert.equal(0, select(2, c.sh("mkdir " .. state)))
   end)

   teardown(function() c.sh("rm -rf " .. state) end)

   before_each(function() start() end)
   after_each(stop)

   it("greets, prints values, and leaves at the end of input", function()
      wait_for("help() helps")
      enter("6*7")
      wait_for("\n42\n")
      enter("=2^40")
      wait_for("1,099,511,627,776")
      press("C-d")
      wait_for("status 0")
   end)

   it("goes on where a line is not complete", function()
      enter("for i = 1, 2 do")
      wait_for("   >>")
      enter("print('turn ' .. i)")
      enter("end")
      wait_for("turn 1\nturn 2\n")
      enter("s = [[one")
      enter("two]]")
      enter("#s")
      wait_for("\n7\n")
   end)

   it("remembers entries of several lines, across sessions", function()
      enter("x = {1,")
      enter("  2, 3}")
      enter("#x + 100")
      wait_for("\n103\n")
      press("C-d")
      wait_for("status 0")
      stop()
      start()
      press("Up", "Up", "Enter")
      press("Up", "Up", "Enter")
      wait_for("\n103\n")
   end)

   it("completes globals, fields, methods, keywords", function()
      type_text("lpfm.mach")
      press("Tab")
      wait_for("lpfm> lpfm.machine")
      enter("().name")
      wait_for("\n" .. lpfm.machine().name .. "\n")
      enter("ctx = lpfm.create()")
      type_text("ctx:write_pmc")
      press("Tab")
      wait_for("ctx:write_pmcs")
      press("C-c")
      type_text("repor")
      press("Tab")
      wait_for("lpfm> report")
      press("C-c")
      type_text("functio")
      press("Tab")
      wait_for("lpfm> function")
   end)

   it("completes events, registers, modules and files inside strings", function()
      type_text('list("minor-f')
      press("Tab")
      wait_for('list("minor-faults')
      press("C-c")
      type_text("stat('ls', 'task-clock,page-f")
      press("Tab")
      wait_for("task-clock,page-faults")
      press("C-c")
      type_text('require("pfm.sess')
      press("Tab")
      wait_for('require("pfm.session')
      press("C-c")
      type_text('dofile("/etc/passw')
      press("Tab")
      wait_for("/etc/passwd")
   end)

   it("shows tables as tables", function()
      enter("lpfm.pmds()")
      wait_for("page-faults")
      local shown = screen()
      assert.truthy(shown:find("\nnum  name"))
      assert.truthy(shown:find("\n 66  page%-faults"))
      enter("{b = 1, a = {2, 3}}")
      wait_for("\na  {2, 3}\nb  1\n")
   end)

   it("stops what runs at Ctrl-C, and goes on", function()
      enter("while true do end")
      lpfm.poll({}, 0.3)
      press("C-c")
      wait_for("interrupted")
      enter("1 + 1")
      wait_for("\n2\n")
      enter("stat('sleep 60')")
      lpfm.poll({}, 0.5)
      press("C-c")
      wait_for("s elapsed")
      enter("3 + 4")
      wait_for("\n7\n")
   end)

   it("drops a line at Ctrl-C", function()
      type_text("error('never'")
      press("C-c")
      wait_for("^C")
      enter("5 + 5")
      wait_for("\n10\n")
      enter("(")
      wait_for("   >>")
      press("C-c")
      enter("6 + 6")
      wait_for("\n12\n")
   end)

   it("explains errors without ending", function()
      enter("nosuch.field")
      wait_for("attempt to index global 'nosuch'")
      enter("x = = 1")
      wait_for("unexpected symbol near '='")
      enter("lpfm.create{flags = {'NOPE'}}")
      wait_for("NOPE")
      enter("events.parse('page-fault')")
      wait_for("did you mean 'page-faults'?")
      enter("error({})")
      wait_for("error value: table")
      enter("8 * 8")
      wait_for("\n64\n")
   end)

   it("counts, records and reports", function()
      enter("stat('true', 'page-faults')")
      wait_for("s elapsed")
      enter(("record(%q, %q)"):format(c.target("shares") .. " 0.2 1", state .. "/x.data"))
      wait_for(state .. "/x.data (")
      enter(("r = report(%q); r.rows[1].cells[1]"):format(state .. "/x.data"))
      enter(("report(%q)"):format(state .. "/x.data"))
      wait_for("percent  samples  symbol")
      wait_for("heavy")
   end)

   it("counts a function", function()
      enter("n = stat(function() return ('x'):rep(1e7) end, 'page-faults').events[1].value")
      enter("n > 1000")
      wait_for("\ntrue\n")
   end)

   it("helps", function()
      enter("help()")
      wait_for("Some things to try")
      enter("help('stat')")
      wait_for("counts events while a shell command line runs")
      enter("help(lpfm.create)")
      wait_for("c:write_pmcs")
      enter("help('statt')")
      wait_for("did you mean 'stat'?")
   end)

   it("takes a pasted script whole", function()
      local script = state .. "/paste"
      local file = assert(io.open(script, "w"))
      file:write("local function f(n)\n   return n * 2\nend\nprint('pasted ' .. f(21))\n")
      file:close()
      tmux("load-buffer", script)
      tmux("paste-buffer", "-p", "-t", "t")
      press("Enter")
      wait_for("\npasted 42\n")
   end)

   it("survives a change of the terminal's size", function()
      type_text("100 +")
      tmux("resize-window", "-t", "t", "-x", "60", "-y", "20")
      type_text(" 11")
      press("Enter")
      wait_for("\n111\n")
   end)

   it("leaves by quit()", function()
      enter("quit()")
      wait_for("status 0")
   end)
end)

describe("the prompt without a terminal's abilities", function()
   setup(function() state = os.tmpname() end)
   teardown(function() os.remove(state) end)

   local function piped(text, environment)
      return c.sh(("printf %%s %s | XDG_STATE_HOME=/nonexistent %s %s"):format(quote(text), environment or "", program))
   end

   it("evaluates what comes through a pipe, without prompts or escapes", function()
      local out, status = piped("1 + 1\nfor i = 1, 2 do\nprint(i)\nend\nlpfm.pmds()\n")
      assert.equal(0, status)
      assert.truthy(out:find("^2\n1\n2\nnum  name"))
      assert.falsy(out:find("\27", 1, true))
      assert.falsy(out:find("lpfm>", 1, true))
   end)

   it("goes on after errors in a pipe, and ends with status 1", function()
      local out, status = piped("error('one')\n2 + 3\n")
      assert.equal(1, status)
      assert.truthy(out:find("one", 1, true))
      assert.truthy(out:find("5\n", 1, true))
      assert.equal(1, select(2, piped("x = (1\n")))
   end)

   it("says what stat and record want, and where they cannot run", function()
      for _, name in ipairs { "stat", "record" } do
         local out = piped(name .. "(1)\n")
         assert.truthy(out:find("is wanted, not a number", 1, true), out)
         assert.falsy(out:find("traceback", 1, true), out)
         out = piped(name .. "(\"true\")\n", "LPFM_MACHINE=sim")
         assert.truthy(out:find("is a simulated machine and runs no real programs", 1, true), out)
      end
   end)

   it("reads a last line that does not end, and lines of any length", function()
      assert.equal("7\n", (piped("3 + 4")))
      local long = ("1 + "):rep(5000) .. "0"
      assert.equal("5,000\n", (piped("=" .. long .. "\n")))
   end)

   it("works in a dumb terminal, and without colours when asked", function()
      open_terminal("exec env TERM=dumb " .. program)
      enter("1 + 2")
      wait_for("\n3\n")
      stop()
      open_terminal("exec env TERM=screen NO_COLOR=1 XDG_STATE_HOME=/nonexistent " .. program)
      local coloured = tmux("capture-pane", "-p", "-e", "-t", "t")
      assert.falsy(coloured:find("\27[1m", 1, true))
      stop()
   end)
end)
