-- SPDX-License-Identifier: MIT
-- lpfm top: pictures of the last seconds, on a screen and in a pipe.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local terminal = require "support.terminal"
local handmade = require "support.handmade"
local recording = require "pfm.recording"
local top = require "repl.command.top"

local program = c.program
local scratch = os.tmpname()
local shares

setup(function() shares = c.target("shares") end)
teardown(function() os.remove(scratch) end)

describe("lpfm top", function()
   it("adds up the threads and leaves idle time out", function()
      local list = {}
      for _, s in ipairs { { 0, -4096 }, { 0, -4096 }, { 7, 64 }, { 8, 64 }, { 7, 64 }, { 8, -4096 } } do
         list[#list + 1] = { tid = s[1], pid = s[1], ip = s[2] }
      end
      handmade.write(scratch, {
         what = "a test", fixed = true, events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 } },
      }, { samples = list })
      local rows, idle = top.rows(assert(recording.open(scratch)), "symbol,object")
      assert.equal(1 / 3, idle)
      assert.same({
         { cells = { "[unknown]", "[unknown]" }, samples = 3, events = 3000, percent = 75 },
         { cells = { "[kernel]", "[kernel]" }, samples = 1, events = 1000, percent = 25 },
      }, rows)
   end)

   it("has shares of each event by itself, and names it, where there are several", function()
      local list = {}
      for _, s in ipairs { { 0, 64, 65 }, { 7, 64, 65 }, { 7, -4096, 66 }, { 7, 64, 66 }, { 7, 64, 66 } } do
         list[#list + 1] = { tid = s[1], pid = s[1], ip = s[2], pmd = s[3] }
      end
      handmade.write(scratch, { what = "a test", fixed = true,
         events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1e6 },
            { name = "page-faults", pmd = 66, period = 1 } } }, { samples = list })
      local rows, idle = top.rows(assert(recording.open(scratch)), "object")
      local seen = {}
      for i, row in ipairs(rows) do seen[i] = ("%.1f %s %s"):format(row.percent, row.event, row.cells[1]) end
      assert.same({ "100.0 cpu-clock [unknown]", "66.7 page-faults [unknown]", "33.3 page-faults [kernel]" }, seen)
      assert.equal(1 / 2, idle)
      local out = c.sh(("%s top --once -e page-faults,minor-faults -c 10 -s comm -- true"):format(program))
      assert.truthy(out:find("percent  ?samples  ?event +comm\n 100.00%% +%d+ +%l+%-faults +true"), out)
      assert.truthy(out:find("100.00%%[^\n]+ minor%-faults") and out:find("100.00%%[^\n]+ page%-faults"), out)
   end)

   it("shows a process once", function()
      local line = "%s 20 1 >/dev/null & %s top --once -d 0.5 -s symbol -p $!; s=$?; kill $!; exit $s"
      local out, status = c.sh(line:format(shares, program))
      assert.equal(0, status, out)
      assert.truthy(out:find("^lpfm top: process %d+, [%d,]+ samples? of cpu%-clock in [%d.]+ s\n\n percent"), out)
      local heavy, light = tonumber(out:match("([%d.]+)%% +%d+  heavy")), tonumber(out:match("([%d.]+)%% +%d+  light"))
      assert.is_true(heavy > light, out)
      assert.falsy(out:find("\27", 1, true))
   end)

   it("shows the last samples with the time they took", function()
      local out, status = c.sh(("%s top --once -d 5 -c 1000000 -- %s 0.3 1"):format(program, shares))
      assert.equal(0, status, out)
      local n, seconds = out:match("(%d+) samples of cpu%-clock in ([%d.]+) s\n")
      assert.is_true(n / 1000 <= seconds + 0.06, out) -- one thread has a sample each ms at most
   end)

   it("shows picture after picture in a pipe, with samples from the first", function()
      local out, status = c.sh(("%s top -d 0.6 -s comm -- %s 1.6 1 | cat"):format(program, shares))
      assert.equal(0, status, out)
      local _, shown = out:gsub("lpfm top: '", "")
      assert.is_true(shown >= 2, out)
      local _, with = out:gsub("\n +100%.00%% +[%d,]+  shares", "")
      assert.equal(shown, with, out)
   end)

   it("shows all CPUs, and how long they were idle", function()
      local out, status = c.sh(("%s top --once -d 0.3 -s comm --top 3"):format(program))
      assert.equal(0, status, out)
      assert.truthy(out:find("^lpfm top: [^\n]*CPUs?[^\n]* samples? of cpu%-clock"), out)
      assert.falsy(out:find("(idle)", 1, true))
   end)

   it("ends a command it watches when its time is over, and passes no status on", function()
      local out, status = c.sh(("%s top --once -d 0.2 -- sh -c 'exit 5'"):format(program))
      assert.equal(0, status, out)
   end)

   it("draws on a screen, and gives it back when q is typed", function()
      local name = "lpfmtop" .. require("lpfm.proc").getpid()
      local tmux = ("env -u LD_PRELOAD tmux -L %s -f /dev/null "):format(name)
      local command = ("%s top -d 0.5 -s symbol -- %s 60 1; echo left $?; stty -a; cat"):format(program, shares)
      assert.equal(0, select(2, c.sh(("%s new-session -d -x 130 -y 20 %q"):format(tmux, command))))
      local function wait_for(what)
         local text
         for _ = 1, 200 do
            text = c.sh(tmux .. "capture-pane -p")
            if text:find(what) then return text end
            c.sh("sleep 0.1")
         end
         c.sh(tmux .. "kill-server")
         error(what .. " did not appear:\n" .. text)
      end
      local shown = wait_for("heavy")
      assert.truthy(shown:find("^lpfm top: '[^\n]* in [%d.]+ s\n"))
      c.sh(tmux .. "send-keys z")
      wait_for("heavy")
      c.sh(tmux .. "send-keys q")
      -- the settings, too, are as before
      assert.falsy(wait_for("left 0.*[^-]icanon"):find("heavy", 1, true))
      c.sh(tmux .. "kill-server")
   end)

   it("shows its first samples long before an update is due, and the whole tree by one key", function()
      local line = ("%s top -d 100000 -g -- %s 600 1"):format(program, shares)
      local t = terminal.start(line, { first = "heavy", columns = 100, rows = 150 })
      finally(function() t:stop() end)
      t:type("E")
      -- main() is the only caller of work(); the shell that executes the command has samples, too
      local share, again = t:wait_until(function(screen)
         return screen:match("%- +(%d+%.%d+)%%[^\n]* work\n") and screen
      end, "an unfolded row"):match("%- +(%d+%.%d+)%%[^\n]* work\n +(%d+%.%d+)%% +called by main\n")
      assert.equal(share, again, "the share of a function, and of its only caller: of the same samples")
      t:wait_match("calls main\n[^\n]+calls work\n")
      t:press("C-c")
   end)

   it("is gone through with keys while it goes on, and follows the terminal's size", function()
      local line = ("%s top -d 0.2 -g -s symbol -- %s 60 1; echo left $?; stty -a; cat"):format(program, shares)
      local t = terminal.start(line, { first = "heavy", columns = 100, rows = 20 })
      finally(function() t:stop() end)
      t:type("/heavy")
      t:press("Enter")
      t:wait_match(">[^\n]*heavy")
      t:press("Enter")
      t:wait_for("called by work")
      t:type("t")
      t:wait_for("Show only the samples of one thread")
      t:press("Down", "Enter")
      t:wait_match("lpfm top: [^\n]*tid %d+")
      t:resize(60, 10)
      t:wait_for("\n? help, q quits, Enter unfolds, e whole tree, s sorts, a cod\n")
      t:press("C-c")
      local shown = t:wait_match("(left 0.*[ \n]icanon.*)")
      assert.truthy(shown:find("[ \n]echo[ \n]"))
   end)

   it("offers no option that it always refuses", function()
      assert.falsy((c.sh(program .. " top --help")):find("--output", 1, true))
   end)

   it("names the culprit of every mistake", function()
      c.fail({
         { "-s colour", 2, "unknown sort key 'colour'" }, { "--children", 2, "-g counts samples" },
         { "-K -U", 2, "--all-user and --all-kernel exclude each other" },
         { "-d x", 2, "--refresh: 'x'" }, { "-p x", 2, "'x' is not a list" },
         { "-e nosuch", 2, "unknown event 'nosuch'" }, { "-c 5 -F 5", 2, "exclude each other" },
         { "-o x", 2, "updates go to standard output" }, { "--once -p 999999999", 1, "999999999" },
         { "--once -- /no/such/program", 127, "/no/such/program" },
      }, function(line) return c.lpfm("top " .. line) end)
   end)
end)
