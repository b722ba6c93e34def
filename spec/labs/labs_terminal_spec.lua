-- SPDX-License-Identifier: MIT
-- A lab at a terminal: typed to, left, gone on with; and where there is no terminal, or a dumb one.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local render = require "pfm.render"
local terminal = require "support.terminal"

local program = c.program
local scratch = c.folder()
local ENVIRONMENT = ("env -u LPFM_SCRIPTS TERM=screen LC_ALL=C.UTF-8 LPFM_INIT= XDG_STATE_HOME=%s "):format(scratch)

local function lab(arguments, input)
   files.write(scratch .. "/typed", input or "")
   return c.sh(("%s %s lab %s <%s/typed"):format(ENVIRONMENT, program, arguments, scratch))
end

-- Returns the row of --grade for a task.
local function grade_of(task, options)
   for text in lab("counters --grade " .. (options or "")):gmatch("[^\n]+") do
      local row = assert(render.from_json(text))
      if row.task == task then return row end
   end
end

describe("a lab at a terminal", function()
   local t
   after_each(function() t:stop() end)

   local function start()
      t = terminal.start(ENVIRONMENT .. program .. " lab counters; echo ended: $?; exec cat", { first = "lab>",
         columns = 90, rows = 60 })
   end

   it("asks, compares, explains, opens the prompt, keeps what was done, and goes on", function()
      start()
      t:enter("")
      t:wait_for("Question: How many instructions")
      t:enter("hint")
      t:wait_for("Hint 1 of 2")
      t:enter("3000")
      t:wait_for("Not so. That is all three of each round.")
      t:wait_for("instructions, user: 2,000")
      t:press("C-c")
      t:wait_for("ended: 130")
      t:stop()

      start()
      t:wait_for("(page 2 of 9)")
      t:enter("2000")
      t:wait_for("Right. The instruction of the kernel does not count there")
      for _, answer in ipairs { "3000", "b", "20000", "2000" } do
         t:enter("next")
         t:wait_until(function(screen) return screen:find("next\n.*Type your prediction.*lab> *\n*$") end, "a question")
         t:enter(answer)
         t:wait_until(function(screen) return screen:find("\nRight%.[^>]*Enter goes on%.\nlab> *\n*$") end, "right")
      end
      t:enter("next")
      t:wait_for("Try it: `tally")
      t:enter("prompt")
      t:wait_for("Names: check, hint, kit, m, params, reset, tally")
      t:enter("tally(\"loads:u\")")
      t:wait_match("\n1000 *\n")
      t:press("C-d")
      t:wait_for("Back in lab counters.")
      t:enter("quit")
      t:wait_for("'lpfm lab counters' goes on from here.\nended: 0")
   end)
end)

describe("the list of labs", function()
   it("has a line for each lab on a terminal of 80 columns", function()
      local t = terminal.start(ENVIRONMENT .. program .. " lab; exec cat", { first = "opens a lab", columns = 80,
         rows = 30 })
      local screen = t:screen()
      t:stop()
      assert.truthy(screen:find("\n 1  counters [^\n]+Counters, [^\n]+\n 2  width "), screen)
   end)
end)

describe("a lab without a terminal", function()
   it("is plain text, one question after the other, and graded", function()
      c.sh("rm -rf " .. scratch .. "/lpfm")
      local out, status = lab("counters", "\n2000\n\n7\nhint\n\n\nback\nquit\n")
      assert.equal(0, status, out)
      assert.is_nil(out:find("\27", 1, true))
      assert.truthy(out:find("Right. The instruction of the kernel", 1, true), out)
      assert.equal("right", grade_of("user").state)
      assert.same({ lab = "counters", task = "all", kind = "prediction", state = "wrong", answer = "7", attempts = 1,
         hints = 1 }, grade_of "all")
      assert.equal("open", grade_of("sleep").state)
      assert.truthy(lab(""):find("counters +40 min +page %d of 9, 1 of 7 right +Counters, "), (lab ""))
   end)

   it("has a prompt that is left by the words that leave others", function()
      for _, word in ipairs { "quit", "exit", "quit()", ".quit" } do
         local out = lab("counters --at 2", ("prompt\n%s\nquit\n"):format(word))
         assert.truthy(out:find("Back in lab counters.\n'lpfm lab counters' goes on from here.", 1, true), out)
         assert.is_nil(out:find("function", 1, true), out)
      end
   end)

   it("has the names of its page at the prompt where lpfm has functions of these names, too", function()
      local out = lab("sets --at 8", "prompt\ncascade(30, 40, 7)\nquit\nquit\n")
      assert.truthy(out:find("\n77\n", 1, true), out)
      out = lab("formats --at 7", "prompt\ntry(count())\nquit\nquit\n")
      assert.truthy(out:find("\n90\n", 1, true), out)
   end)

   it("tells mistakes in calls and scripts without positions in files that are not the student's", function()
      local out = lab("stacks --at 5 2>&1", 'prompt\ntime{}\nquit\nquit\n')
      assert.truthy(out:find("\ntime: attempt to perform arithmetic on [^\n]*\n"), out)
      assert.is_nil(out:find("%.lua:%d"), out)
      files.write(scratch .. "/mine.lua", "return {")
      out = lab("bias --at 8", scratch .. "/mine.lua\nquit\n")
      os.remove(scratch .. "/mine.lua")
      assert.truthy(out:find("\n" .. scratch .. "/mine.lua:1: ", 1, true), out)
   end)

   it("has no escapes on a dumb terminal, nor with NO_COLOR", function()
      for _, setting in ipairs { "TERM=dumb", "NO_COLOR=1" } do
         local out = c.sh(([[echo quit | %s %s script -qec '%s lab bias' /dev/null]]):format(ENVIRONMENT, setting,
            program))
         if setting == "TERM=dumb" then assert.is_nil(out:find("\27", 1, true), out) end
         assert.is_nil(out:find("\27%[[%d;]*m"), out)
         assert.truthy(out:find("goes on from here", 1, true), out)
      end
   end)

   it("is listed, and what the mark means is a line of its own", function()
      assert.truthy(lab(""):find("\n* has a second part on this computer: [^\n]+perfmon%.ko\n'lpfm lab NAME' opens"))
   end)

   it("begins again with --restart, and says where progress cannot be kept", function()
      assert.truthy(lab("counters --restart", "quit\n"):find("page 1 of 9", 1, true))
      local out = c.sh(("echo quit | env XDG_STATE_HOME=/dev/null %s lab counters"):format(program))
      assert.truthy(out:find("Your progress is not kept", 1, true), out)
   end)

   it("stays done when it is opened again, from its first page", function()
      lab("counters --restart", ("skip\n"):rep(30))
      assert.truthy(lab(""):find("counters +40 min +done, 0 of 7 right"), lab(""))
      assert.truthy(lab("counters", "next\nquit\n"):find("page 1 of 9", 1, true))
      assert.truthy(lab(""):find("counters +40 min +done, 0 of 7 right"), lab(""))
      assert.truthy(lab("counters", "quit\n"):find("page 2 of 9", 1, true))
      lab("counters --restart", "quit\n")
   end)

   it("grades a script that solves a task by running it again", function()
      files.write(scratch .. "/mine.lua", dofile("scripts/labs/counters.lua").pages[9].solution)
      local out = lab("counters", "\n" .. ("skip\n"):rep(12) .. scratch .. "/mine.lua\n\n")
      assert.truthy(out:find("Right. It counts programs that it has not seen before.", 1, true), out)
      os.remove(scratch .. "/mine.lua")
      assert.equal("right", grade_of("by-hand").state)
      files.write(scratch .. "/lpfm/labs/counters-by-hand.lua", "return print")
      assert.equal("wrong", grade_of("by-hand").state)
      files.write(scratch .. "/lpfm/labs/counters-by-hand.lua", "print 'no JSON' io.stdout:flush() return print")
      assert.equal("wrong", grade_of("by-hand").state)
      files.write(scratch .. "/lpfm/labs/counters-by-hand.lua", "while true do end")
      local row = grade_of("by-hand", "--limit 0.2")
      assert.same({ "wrong", "it did not end within 0.2 s" }, { row.state, row.why })
   end)

   it("reads a damaged file of progress as far as it can be", function()
      for _, text in ipairs { '{"page":1.5,"answers":{"user":3}}', '{"page":"nan"}',
         '{"answers":{"user":{"answer":{},"attempts":"x","hints":"many"}}}' } do
         files.write(scratch .. "/lpfm/labs/counters.json", text)
         assert.truthy(lab("counters", "\nhint\n5\nquit\n"):find("Hint 1 of 2", 1, true))
         assert.equal(1, grade_of("user").attempts)
      end
   end)

   it("has functions at the prompt that name what they cannot use, and guess nothing", function()
      for page, calls in pairs { ["counters --at 7"] = { ["tally()"] = "tally: expected an event, such as" },
         ["width --at 8"] = { ["from(1)"] = "from: n: expected a whole number of 1 or more, got nil" },
         ["periods --at 8"] = { ["distances{sort = 5}"] = "distances: no 'sort': initial, short, long, buffer",
            ["distances{short = 0}"] = "distances: short: expected a whole number of 1 or more, got 0" },
         ["bias --at 5"] = { ["shares(-1)"] = "shares: period: expected", ["shares()"] = "got nil" },
         ["multiplex --at 7"] = { ["estimate({}, 10)"] = "estimate: expected a list",
            ["estimate({8, -1}, 10)"] = "estimate: A of slice 2: expected a whole number of 0 or more, got -1" },
         ["sets --at 8"] = { ["cascade(5)"] = "cascade: a: expected" },
         ["caches --at 13"] = { ["walk()"] = "walk: n: expected", ["walk(5)"] = "walk: stride: expected" },
         ["branches --at 6"] = { ["wrong()"] = "wrong: expected a pattern" },
         ["waiting --at 9"] = { ["elapsed(1.5)"] = "elapsed: workers: expected", ["switches(0)"] = "got 0" },
         ["statistics --at 9"] = { ["runs(1.5)"] = "runs: n: expected" },
         ["costs --at 7"] = { ["measure(0, 25)"] = "measure: period: expected" } } do
         for call, text in pairs(calls) do
            local out = lab(page .. " --restart 2>&1", "prompt\n" .. call .. "\n.quit\nquit\n")
            assert.truthy(out:find(text, 1, true), page .. ": " .. call .. ": " .. out)
         end
      end
   end)

   it("has functions at the prompt that take strides backwards, and the model's skid", function()
      for page, call in pairs { ["caches --at 13"] = { "walk(64, -64, 2)", "\n64\n" },
         ["tlb --at 6"] = { "walk(64, -4096, 2)", "\n128\n" },
         ["skid --at 3"] = { 'sampled("model")', "\nI2 I8\n" } } do
         local out = lab(page .. " --restart 2>&1", "prompt\n" .. call[1] .. "\n.quit\nquit\n")
         assert.truthy(out:find(call[2], 1, true), page .. ": " .. out)
      end
   end)

   it("refuses what it does not know, and names it", function()
      for arguments, text in pairs { ["nosuch"] = "there is no lab 'nosuch'",
         ["bias --set nosuch=1 --sheet"] = "no parameter 'nosuch'",
         ["bias --set x"] = "--set: expected NAME=VALUE, got 'x'", ["--sheet"] = "--sheet: expected the name of a lab",
         ["--check /nonexistent"] = "--check: cannot read the folder /nonexistent",
         ["--check spec"] = "--check: there is no lab in spec",
         ["bias --check scripts/labs/template"] = "unexpected argument 'bias': --check",
         ["--check scripts/labs/template --set x=3"] = "--check and --set exclude each other",
         ["--check scripts/labs/template -o x"] = "--check and --output exclude each other",
         ["bias --sheet --handout"] = "--sheet and --handout exclude each other",
         ["bias --notebook --at 3"] = "--notebook and --at exclude each other",
         ["bias --grade --restart"] = "--grade and --restart exclude each other",
         ["bias --grade --sheet"] = "--grade and --sheet exclude each other",
         ["bias --set period=abc --sheet"] = "parameter period: expected a whole number, not negative, got 'abc'",
         ["bias --set period=-1"] = "got '-1'", ["bias --set period=2.5"] = "got '2.5'",
         ["bias --set model=x --sheet"] = "lab bias does not run with model=x: ",
         ["bias --at 99"] = "there is no page 99: lab bias has 9 pages",
         ["bias --set samples=1e12 --sheet"] = "parameter samples: expected at most 600,000, got '1000000000000'",
         ["--limit 3"] = "--limit: expected --grade", ["--grade --limit 0"] = "--limit: '0' is not a positive number",
         ["--restart"] = "--restart: expected the name of a lab",
         ["bias -o x"] = "--output: expected --sheet" } do
         local out, status = c.sh(("%s lab %s 2>&1"):format(program, arguments))
         assert.equal(2, status, out)
         assert.truthy(out:find(text, 1, true), out)
      end
   end)

   it("checks the labs of a folder", function() -- labs_spec.lua checks lpfm's own labs
      c.sh(("mkdir %s/course && cp scripts/labs/counters.lua scripts/labs/width.lua scripts/labs/template/mylab.lua "
         .. "%s/course"):format(scratch, scratch))
      local out, status = lab("--check " .. scratch .. "/course")
      assert.equal(0, status, out)
      assert.truthy(out:find("nothing to complain of", 1, true))
      files.write(scratch .. "/bad.lua", "return { pages = { {} } }")
      assert.equal(1, select(2, lab("--check " .. scratch .. " 2>&1")))
   end)
end)
