-- SPDX-License-Identifier: MIT
-- The course: a student goes through every lab, rightly and wrongly; what is printed comes from the
-- machine. Second interpreter, all: the simulated computer's work takes two minutes there.

local c = require "support.c"
local files = require "support.files"
local render = require "pfm.render"
local answers = require "repl.lab.answers"
local catalog = require "repl.lab.catalog"
local grade = require "repl.lab.grade"
local judge = require "repl.lab.judge"
local progress = require "repl.lab.progress"
local session = require "repl.lab.session"
local sheet = require "repl.lab.sheet"
local text = require "repl.lab.text"
local validate = require "repl.lab.validate"

-- The figures of the specification, by lab.
local FIGURES = {
   bias = {
      "fixed period, iteration 1: IP2 IP4 IP6", -- figure 3.20
      "fixed period, iteration 2: IP2 IP4 IP6",
      "fixed period, samples of IP1 to the last: 0 2000 0 2000 0 2000",
      "random period, iteration 1: IP3 IP5",
      "random period, iteration 2: IP1 IP2 IP6",
   },
   multiplex = { -- 3.31, 3.32
      "sets: 3",
      "actual A: 25", "actual B: 75", "multiplexed A: 16", "multiplexed B: 40", "scaled A: 32", "scaled B: 80",
   },
   sets = {
      "active one after the other: 0 3 5 0", -- 3.33
      "from set 0: 0 3 5 0 3 5", "from set 8: 8 11 8 11", -- 3.34
      "effective timeout, ms: 20", "set 1 becomes active at, ms: 20", -- 3.35
      "timeout left when masked, ms: 12", "timeout left at the restart, ms: 12", -- 3.36
      "set 1 becomes active at, ms: 27",
      -- figure 3.37
      "timeout left when the thread blocks, ms: 8", "timeout left when the thread runs again, ms: 8",
      "set 1 becomes active at, ms: 50",
      -- figure 3.38
      "at the start, threshold: 2", "after the first overflow, threshold: 1", "PMD4 then: -1,000",
      "active set then: 0", "A when set 1 takes over: 2,000", "set 0 was left because of PMD: 4",
      "threshold of PMD4 in set 0: 2", "set 1 was left because of PMD: 5",
   },
   periods = {
      "instructions between samples, first buffer: 10000 100 100 100 100", -- 3.18, 3.19
      "instructions between samples, second buffer: 500 100 100 100 100",
      "executed while the tool worked, thread running: 300",
      "executed while the tool worked, thread blocked: 0",
      "overflowed: PMD4 PMD5", "time stamps: 6000 6000", -- 3.29
   },
   formats = {
      "sample starts at: 40", "body starts at: 80", "first value of the body, PMD5: 600", -- 3.28
      "second value of the body, PMD7: 1,200", "next sample starts at: 96",
      "first sample, ovfl_pmd: 4", "second sample, ovfl_pmd: 5", -- 3.29
      "first sample, time stamp: 6,000", "second sample, time stamp: 6,000",
      "samples when full: 3", "times full: 1", "wasted: 288", -- 3.30
   },
   skid = { "in the samples, without skid: I3", "in the samples, with skid: I5" }, -- 3.27

   width = {
      -- figure 3.3
      "after 1 event: 0xffffffff", "after 2 events, the hardware wrapped: 0x100000000", "overflow messages: 0",
      "pmd_value: 0xfffffffffffe7960", "lower part, in the hardware: 0xfffe7960", -- 3.17
      "events before the overflow: 100,000", "PMD after the overflow: 0x0",
   },
}

local scratch = require "labs.with_state"()

local function script(source)
   files.write(scratch .. "/script.lua", source)
   return scratch .. "/script.lua"
end

-- Returns lines as one text, without their breaks.
local function flat(lines)
   return (table.concat(lines, " "):gsub("%s+", " "))
end

local function explanation(s, template)
   return flat(render.wrap(text.fill(template, s.figures), 1000))
end

local function right_answer(s, page)
   return page.kind == "script" and script(page.solution) or validate.right(page, s.figures)
end

-- Opens a page of a session.
local function open(s, index)
   s.index, s.over = index, nil
   return s:enter()
end

-- Answers everything as `answer(s, page)` says, up to the end.
local function play(s, answer)
   s:enter()
   for _ = 1, 1000 do
      if s.over then return end
      local page = s:page()
      s:reply((s.phase == "ask" or s.phase == "task") and answer(s, page) or "")
   end
   error "the lab does not end"
end

for _, lab in ipairs(catalog.all()) do
   describe("lab " .. lab.name, function()
      local s
      before_each(function() s = s or session.new(lab) end)

      -- Adds a test, which is pending where a program that the lab needs is missing.
      local function lab_it(name, fn)
         it(name, function()
            local missing = c.missing(lab.needs)
            if missing then return pending(missing .. " is missing") end
            fn()
         end)
      end

      lab_it("is whole, with goals, reading and a teacher's page", function()
         assert.same({}, validate.lab(lab))
         assert.is_true(#lab.goals > 1 and #lab.read > 0 and #lab.teacher > 200)
         -- README.md: three minutes for a question, five for a task, twelve for a script
         local least, room = 0, 0
         for _, page in ipairs(lab.pages) do
            least = least + (page.ask and 3 or page.task and (page.kind == "script" and 12 or 5) or 0)
            if not (page.ask or page.task) then room = room + 5 end
         end
         assert.is_true(lab.minutes >= least and lab.minutes < least + room + 5, lab.minutes .. " minutes")
      end)

      if FIGURES[lab.name] then
         lab_it("prints the numbers of the specification's figures", function()
            local out = {}
            for _, line in ipairs(sheet.figures(lab)) do out[line] = true end
            for _, line in ipairs(FIGURES[lab.name]) do assert.is_true(out[line], line) end
         end)
      end

      lab_it("takes right answers, and says why they are right", function()
         play(s, right_answer)
         local done = 0
         for _, row in ipairs(grade.session(s)) do
            done = done + 1
            assert.equal("right", s.kept.answers[row.task].state, row.task)
            if row.kind == "prediction" then assert.equal("right", row.state, row.task) end
         end
         assert.is_true(done >= 4 and s.kept.done)
      end)

      lab_it("has for each wrong answer the explanation meant for it", function()
         for i, page in ipairs(lab.pages) do
            for _, entry in ipairs(page.wrong or {}) do
               open(s, i)
               local said = flat(s:reply(validate.example(entry, page, s.figures)))
               assert.truthy(said:find(explanation(s, "Not so. " .. entry.say:gsub("^%s+", "")), 1, true), said)
            end
            for k, choice in ipairs(page.choices or {}) do
               open(s, i)
               assert.truthy(flat(s:reply(string.char(96 + k))):find(explanation(s, choice.say), 1, true))
            end
            if page.kind == "script" then
               open(s, i)
               assert.truthy(flat(s:reply(script(page.mistake))):find("Not so.", 1, true))
               assert.equal("task", s.phase)
            end
         end
      end)

      lab_it("has hints in steps wherever there is something to answer", function()
         for i, page in ipairs(lab.pages) do
            if page.ask or page.task then
               open(s, i)
               for k, hint in ipairs(page.hints) do
                  local said = flat(s:reply("hint"))
                  assert.truthy(said:find(("Hint %d of %d: "):format(k, #page.hints), 1, true), said)
                  assert.truthy(said:find(explanation(s, hint), 1, true), said)
               end
               assert.same({ "There are no more hints." }, s:reply("hint"))
               assert.equal(#page.hints, s.kept.answers[page.id or page.task].hints)
            end
         end
      end)

      lab_it("sets up the names of its prompt that its texts speak of", function()
         local texts = {}
         for _, page in ipairs(lab.pages) do texts[#texts + 1] = (page.vary or "") .. (page.todo or "") end
         for i, page in ipairs(lab.pages) do
            if page.setup then
               open(s, i)
               local names = s:globals(function() end)
               local found = 0
               for name in pairs(page.setup(require "labs.kit", s.params, s.figures)) do
                  found = found + 1
                  assert.truthy(names[name])
                  assert.truthy(table.concat(texts):find("%f[%w]" .. name .. "%f[%W]"), name)
               end
               assert.is_true(found > 0)
            end
         end
      end)

      lab_it("breaks lines to the width of the terminal", function()
         local own = s.width
         for _, width in ipairs { 40, 80 } do
            s.width = width
            for i = 1, #s.lab.pages do
               for _, line in ipairs(open(s, i)) do
                  assert.truthy(render.width(line) <= width, line)
               end
            end
         end
         s.width = own
      end)

      lab_it("has figures that change with the model's parameters", function()
         s:run_up_to(#lab.pages)
         -- Returns true if a page shows another number when a parameter is twice as large.
         local function changes(name, value)
            local other = session.new(lab, { params = { [name] = value * 2 } })
            for i = 1, #lab.pages do
               other:run(i)
               for figure, number in pairs(other.figures) do
                  if type(number) == "number" and not lab.params[figure] and number ~= s.figures[figure] then
                     return true
                  end
               end
            end
         end
         local changed = false
         for name, value in pairs(lab.params) do
            if type(value) == "number" and not changed then changed = select(2, pcall(changes, name, value)) == true end
         end
         assert.is_true(changed)
      end)

      lab_it("can be printed, for students and for the teacher, and be a notebook", function()
         local page, copy = sheet.handout(lab), sheet.handout(lab, { teacher = true })
         assert.truthy(page:find("<h1>", 1, true) and copy:find("For the teacher", 1, true))
         assert.is_nil(page:find("{[%a_][%w_]*}"))
         assert.is_nil((copy:gsub("<pre>.-</pre>", ""):gsub("<code>.-</code>", "")):match("[^\n]*`[^\n]*`[^\n]*"))
         assert.is_true(#copy > #page)
         assert.truthy(page:find('class="line"', 1, true) and page:find("Name <span>", 1, true))
         assert.is_nil(copy:find('class="line"', 1, true) or copy:find("Name <span>", 1, true), "room to write")
         for i, page_of_lab in ipairs(lab.pages) do
            if page_of_lab.kind == "choice" then
               s:run_up_to(i)
               local right = answers.resolve(page_of_lab.answer, s.figures)
               assert.truthy(copy:find(("<h2>%d. .-<b>Answer:</b> %s<"):format(i, string.char(96 + right))), i)
            end
            for _, entry in ipairs(page_of_lab.wrong or {}) do
               s:run_up_to(i)
               local label = entry.more and "too large" or entry.less and "too small"
                  or text.value(answers.resolve(entry.is, s.figures))
               assert.truthy(copy:find(label .. ":</b>", 1, true), label)
            end
         end
         local json = sheet.notebook(lab)
         local notebook = assert(render.from_json(json))
         assert.equal(4, notebook.nbformat)
         assert.same({ name = "lpfm", display_name = "lpfm", language = "lua" }, notebook.metadata.kernelspec)
         assert.equal(('course = lab("%s")'):format(lab.name), notebook.cells[2].source)
         local code, cells = "", 0
         for _, cell in ipairs(notebook.cells) do -- nbformat: only code cells have these fields
            local is_code = cell.cell_type == "code"
            assert.equal(is_code, cell.execution_count ~= nil)
            assert.equal(is_code, cell.outputs ~= nil)
            code = code .. (is_code and cell.source .. "\n" or "")
            cells = cells + (is_code and 1 or 0)
         end
         assert.equal(cells, select(2, json:gsub('"outputs":%[%]', ""))) -- a list, not an object
         assert(loadstring(code))
         local asked = {}
         for id in code:gmatch 'course:answer%("(.-)"' do asked[#asked + 1] = id end
         local wanted = {}
         for _, page_of_lab in ipairs(lab.pages) do wanted[#wanted + 1] = page_of_lab.id or page_of_lab.task end
         assert.same(wanted, asked)
      end)
   end)
end

describe("a session", function()
   local lab = assert(catalog.find "counters")

   it("goes on where it was left, with what was answered", function()
      local s = session.new(lab, { kept = progress.load "interrupted" })
      s:enter()
      s:reply("")
      s:reply("hint")
      s:reply("1,000")
      s:reply("")
      assert.equal(3, s.index)
      assert(progress.save("interrupted", s.kept))
      local again = session.new(lab, { kept = progress.load "interrupted" })
      assert.truthy(flat(again:enter()):find("page 3 of", 1, true))
      local user = again.kept.answers.user
      assert.same({ "1,000", "wrong", 1, 1 }, { user.answer, user.state, user.attempts, user.hints })
   end)

   it("skips, goes back, helps, and says what can be typed", function()
      local s = session.new(lab)
      s:enter()
      assert.truthy(flat(s:reply("well")):find("Enter goes on", 1, true))
      s:reply("")
      assert.truthy(flat(s:reply("")):find("'skip' goes on without", 1, true))
      assert.truthy(flat(s:reply("many")):find("A number is expected", 1, true))
      assert.truthy(flat(s:reply("?")):find("prompt lpfm's prompt", 1, true))
      assert.truthy(flat(s:reply("skip")):find("instructions, user: 2,000", 1, true))
      assert.equal("skipped", s.kept.answers.user.state)
      assert.truthy(flat(s:reply("back")):find("page 1 of", 1, true))
      s:reply("quit")
      assert.is_true(s.over)
   end)

   it("takes lists of words with commas and bare numbers, numbers with units and separators", function()
      local bias = session.new(assert(catalog.find "bias"))
      for _, typed in ipairs { "IP2 IP4 IP6", "ip2,ip4, ip6", "2 4 6" } do
         assert.is_true(bias:judge(bias.lab.pages[2], typed), typed)
      end
      assert.is_false(bias:judge(bias.lab.pages[2], "2 4"))
      local s = session.new(lab)
      for _, typed in ipairs { "2000", "2,000", "2k", "0x7d0" } do
         assert.is_true(s:judge(lab.pages[2], typed), typed)
      end
   end)

   it("has a script's mistakes told, and goes on with the task", function()
      local s = session.new(lab)
      open(s, #lab.pages)
      assert.truthy(flat(s:reply(scratch .. "/nowhere.lua")):find("nowhere.lua", 1, true))
      assert.truthy(flat(s:reply(script "return {")):find("script.lua", 1, true))
      assert.truthy(flat(s:reply(script "local x = 1")):find("expected the script to return something", 1, true))
      assert.truthy(flat(s:reply(script "return function() error 'my own' end")):find("my own", 1, true))
      assert.equal("task", s.phase)
   end)

   it("grades by the machine, not by what the file of progress claims", function()
      local kept = { page = 1, answers = { user = { answer = "7", state = "right", attempts = 1, hints = 0 },
         all = { answer = "3000", state = "wrong", attempts = 2, hints = 1 },
         ["by-hand"] = { answer = "x.lua", state = "right", attempts = 1, hints = 0 } } }
      local rows = {}
      assert(progress.write(progress.path("counters-by-hand", "lua"), lab.pages[9].mistake))
      for _, row in ipairs(grade.session(session.new(lab, { kept = kept }))) do rows[row.task] = row end
      assert.equal("wrong", rows.user.state)
      assert.equal('{"lab":"counters","task":"all","kind":"prediction","state":"right","answer":"3000","attempts":2,'
         .. '"hints":1}', grade.line(rows.all))
      assert.equal("wrong", rows["by-hand"].state)
      assert.equal("open", rows.sleep.state)
   end)

   it("grades on whatever a student's script does: it is ended at the limit, and told of", function()
      local function graded(source, limit)
         assert(progress.write(progress.path("counters-by-hand", "lua"), source))
         local entry = { answer = "x", state = "right", attempts = 1, hints = 0 }
         local kept = { page = 1, answers = { ["by-hand"] = entry } }
         local rows = grade.session(session.new(lab, { kept = kept }), limit)
         return rows[#rows].state, rows[#rows].why
      end
      assert.same({ "wrong", "it did not end within 0.3 s" }, { graded("while true do end", 0.3) })
      assert.same({ "wrong", "it did not end within 0.3 s" }, { graded("os.execute('sleep 100')", 0.3) })
      assert.same({ "wrong", "it ended the program" }, { graded "os.exit(0)" })
      assert.equal("wrong", (graded "print = nil io.stdout:close() return io.read()"))
      assert.equal("right", (graded("os.execute('sleep 100 &') print(1) " .. lab.pages[9].solution)))
      assert.is_function(print)
   end)

   it("has its rows of grading as JSON with keys in one order", function()
      local row = { task = "t", state = "right", lab = "l", hints = 1, attempts = 2, kind = "task", answer = "x",
         why = "w" }
      assert.equal('{"lab":"l","task":"t","kind":"task","state":"right","answer":"x","attempts":2,"hints":1,"why":"w"}',
         grade.line(row))
   end)

   it("refuses values of parameters with which a run would have no end, and says how large they may be", function()
      local most = 100 * lab.params.rounds
      assert(session.new(lab, { params = { rounds = most } }))
      assert.has_error(function() session.new(lab, { params = { rounds = most + 1 } }) end,
         ("parameter rounds: expected at most %s, got '%d'"):format(render.number(most), most + 1))
      assert(session.new(assert(catalog.find "bias"), { params = { seed = 20261123 } }))
   end)

   it("ends a run with parameters that leave nothing to wait for", function()
      for name, param in pairs { sets = "threshold", threads = "element" } do
         local s = session.new(assert(catalog.find(name)), { params = { [param] = 0 } })
         local ok, err = pcall(s.run_up_to, s, #s.lab.pages)
         assert.is_false(ok)
         assert.truthy(err:find("does not run with " .. param .. "=0: ", 1, true), err)
      end
   end)

   it("refuses a parameter that the lab does not have", function()
      assert.has_error(function() session.new(lab, { params = { nosuch = 1 } }) end,
         "lab counters has no parameter 'nosuch'")
   end)

   it("continues code on lines of their own, with its indentation and a mark, and never within a word", function()
      local words = "return { value = -2, short_reset = -2, long_reset = -2, flags = { 'RANDOM' }, random_mask = 0 }"
      for width = 20, 110, 7 do
         local together, lines = {}, text.lines("Try:\n   if x then\n      " .. words .. "\n   end\nso.", width)
         assert.same({ "Try:", "", "   if x then" }, { unpack(lines, 1, 3) })
         assert.same({ "   end", "", "so." }, { unpack(lines, #lines - 2) })
         for i = 4, #lines - 3 do
            assert.is_true(render.width(lines[i]) <= width, lines[i])
            local part = lines[i]:match(i == 4 and "^      (%S.*)$" or "^      > (%S.*)$")
            together[#together + 1] = assert(part, lines[i])
         end
         assert.equal(words, table.concat(together, " "))
      end
      local long = text.lines("a\n   " .. ("x"):rep(15) .. ("y"):rep(15) .. "\nb", 20)[3]
      assert.truthy(long:find("^   x+%.%.y+$") and #long <= 20, long)
   end)

   it("keeps code behind a single line of prose, wherever that begins", function()
      local function shape(template, lead)
         local out = {}
         for i, p in ipairs(text.paragraphs(template, lead)) do
            out[i] = (p.code and "code " or "") .. p.text:gsub("^ *", ""):gsub("\n *", "|")
         end
         return out
      end
      local code = "code return 1|if x"
      for _, template in ipairs { "Write it:\n\n   return 1\n      if x",
         "Write it:\n\n              return 1\n                 if x\n",
         "\n   Write it:\n\n      return 1\n      if x\n", "\n   Write it:\n      return 1\n      if x" } do
         assert.same({ "Write it:", code }, shape(template))
         assert.same({ "Task: Write it:", code }, shape(template, "Task:"))
      end
      assert.same({ "Write it:", code, "Then run it." }, shape [[Write it:

            return 1
            if x

         Then run it.]])
      assert.same({ "A line.", "Another paragraph, behind brackets." }, shape [[A line.

         Another paragraph, behind brackets.]])
      local s = session.new({ name = "own", title = "T", params = {}, pages = { { task = "t", kind = "script",
         todo = "\n         Write a script:\n\n            return 1\n         " } } })
      assert.same({ "Task: Write a script:", "", "   return 1" }, { unpack(s:enter(), 5, 7) })
   end)

   it("underlines the whole heading", function()
      local s = session.new(assert(catalog.find "counters"), { width = 40 })
      local lines = s:enter()
      assert.truthy(lines[2]:find("^Counters") and lines[3]:find("^[^-]") and lines[4]:find("^%-+$"))
      assert.equal(math.max(#lines[2], #lines[3]), #lines[4])
   end)

   it("has choices of several lines on a narrow terminal, the second below the text of the first", function()
      local s = session.new(assert(catalog.find "counters"), { width = 40 })
      local choices = s:choices(s.lab.pages[4])
      assert.truthy(choices[1]:find("^   a%) %S"))
      assert.truthy(choices[2]:find("^      %S"))
   end)
end)

describe("the figures of the specification", function()
   it("are in the labs that the table of the README names", function()
      local named, all = {}, {}
      for line in io.lines("scripts/labs/README.md") do
         local figure, name, arguments = line:match("^| (%d%.%d+) | (%w+) | `lpfm lab (.-)` |$")
         if figure then
            named[figure] = name
            assert.equal(name .. " --sheet", arguments)
         end
      end
      for _, lab in ipairs(catalog.all()) do
         for _, figure in ipairs(lab.figures or {}) do
            all[figure] = true
            assert.truthy(named[figure], figure)
         end
      end
      for figure in pairs(named) do assert.is_true(all[figure], figure) end
   end)
end)

describe("a changed parameter", function()
   local function has(name, params, line)
      local lines = table.concat(sheet.figures(assert(catalog.find(name)), params), "\n") .. "\n"
      assert.truthy(lines:find(line .. "\n", 1, true), lines)
   end

   it("changes what the machine does, as it does on paper", function()
      has("bias", { period = 3 }, "fixed period, iteration 1: IP3 IP6") -- 3 divides 6, as 2 does
      has("bias", { period = 5 }, "fixed period, iteration 2: IP4") -- events 5, 10: IP5, then IP4
      -- The counters of k8 have 48 bits.
      has("width", { model = "k8" }, "after 2 events, the hardware wrapped: 0x1000000000000")
      has("caches", { l1d = "4096:4:128" }, "misses, elements side by side: 256") -- 4096 * 8 / 128
      has("counters", { rounds = 500 }, "instructions, user: 1,000")
      has("sets", { requested = 25 }, "effective timeout, ms: 30") -- rounded up to a tick of 10 ms
      has("periods", { short = 50 }, "instructions between samples, first buffer: 10000 50 50 50 50")
   end)
end)

describe("the check of a teacher's lab", function()
   local function complaints(source)
      local path = os.tmpname()
      files.write(path, source)
      local lab = assert(catalog.read(path))
      local out = table.concat(validate.lab(lab), "\n")
      os.remove(path)
      return out
   end

   local function lab_with(pages)
      return ([[return { title = "T", number = 1, goals = {}, read = {}, teacher = "", params = { n = 7 },
         pages = { %s } }]]):format(pages)
   end

   it("has nothing to say of the template", function()
      local labs, errors = catalog.folder("scripts/labs/template")
      assert.same({}, errors)
      assert.equal(1, #labs)
      assert.same({}, validate.lab(labs[1]))
   end)

   it("finds what is missing or unknown", function()
      assert.truthy(complaints "return { pages = {} }":find("field 'title': a string is expected", 1, true))
      local function finds(what, pages) assert.truthy(complaints(lab_with(pages)):find(what, 1, true),
         complaints(lab_with(pages))) end
      finds("unknown field 'txt'", "{ txt = [[x]] }")
      finds("needs an 'id'", "{ ask = 'x', answer = 1, right = 'r', otherwise = 'o' }")
      finds("field 'answer' is missing", "{ ask = 'x', id = 'i', right = 'r', otherwise = 'o' }")
      finds("a task needs 'hints'", "{ task = 't', todo = 'x', answer = 1, right = 'r', otherwise = 'o' }")
      finds("the id 'i' is there twice", ("{ ask = 'x', id = 'i', answer = 1, right = 'r', otherwise = 'o' },"):rep(2))
      finds("'solution', a script", "{ task = 't', todo = 'x', kind = 'script', hints = { 'h' }, check = print }")
   end)

   it("finds an answer that an earlier page shows", function()
      local page = "{ ask = 'x', id = '%s', answer = '%s', right = 'r', otherwise = 'o',"
         .. " run = function() return %s end, show = { { 'a figure', 'a' } } },"
      local own = page:format("i", "a", "{ a = 3, b = 4 }")
      assert.equal("", complaints(lab_with(own .. page:format("j", "b", "{}"))))
      local told = complaints(lab_with(own .. page:format("j", "a", "{}")))
      assert.truthy(told:find("page 2: its answer, figure 'a', is shown on page 1 already", 1, true), told)
   end)

   it("finds solutions and mistakes with lines that a page or terminal would break", function()
      local task = "{ task = 't', kind = 'script', todo = 'x', hints = { 'h' }, right = 'r', otherwise = 'o',"
         .. " solution = [[%s]], mistake = [[%s]], check = function(_, _, value) return value == 7 end }"
      local wide = ("-"):rep(81)
      assert.equal("", complaints(lab_with(task:format("return 7", "return 8"))))
      for _, sources in ipairs { { "return 7 " .. wide, "return 8" }, { "return 7", "return 8 " .. wide } } do
         local found = complaints(lab_with(task:format(unpack(sources))))
         assert.truthy(found:find("a line of code has 90 columns", 1, true), found)
      end
   end)

   it("counts the minutes of a lab, and finds those that are stated otherwise", function()
      local pages = "{ ask = 'x', id = 'i', answer = 'n', right = 'r', otherwise = 'o' }"
      assert.equal("", complaints(lab_with(pages)))
      local stated = lab_with(pages):gsub("number = 1,", "number = 1, minutes = %%d,")
      assert.equal("", complaints(stated:format(5)))
      assert.truthy(complaints(stated:format(90)):find("field 'minutes': 90, but its pages take 5", 1, true))
      local task = "{ task = 't', kind = 'script', todo = 'x', hints = { 'h' }, check = print, solution = ''," ..
         "mistake = '' }"
      local function minutes(list) return catalog.minutes(loadstring("return { " .. list .. " }")()) end
      assert.equal(15, minutes(task))
      assert.equal(30, minutes((pages .. ","):rep(10)))
      -- 12 + 3 + 2 + 2 minutes, rounded to a multiple of 5
      assert.equal(20, minutes(task .. "," .. pages .. ", { text = 'x' }, { text = 'y' }"))
      assert.equal(25, minutes(task .. "," .. pages .. ", { vary = 'x' }, { task = 't', todo = 'x' }"))
   end)

   it("finds texts with numbers of their own, and names that there are not", function()
      assert.truthy(complaints(lab_with "{ text = 'It misses 512 times.' }"):find("number of its own, 512", 1, true))
      assert.truthy(complaints(lab_with "{ text = '{nosuch} times' }"):find("{nosuch} is neither", 1, true))
      assert.equal("", complaints(lab_with [[{ text = '{n} times, see section 3.1 and figure 3.20, with 64 bits, 0 or 1'
         }]]))
   end)

   it("finds lines of code that a terminal of 80 columns would break", function()
      local page = "{ text = 'It is:\\n\\n%s' }"
      assert.equal("", complaints(lab_with(page:format((" "):rep(3) .. ("x"):rep(77)))))
      assert.truthy(complaints(lab_with(page:format((" "):rep(3) .. ("x"):rep(78)))):find("has 81 columns", 1, true))
      assert.equal("", complaints(lab_with(page:format(("word "):rep(30)))))
   end)

   it("finds wrong answers that are right, and runs and solutions that fail", function()
      local page = [[{ ask = 'x', id = 'i', answer = 'n', right = 'r', otherwise = 'o', wrong = { { is = 7, say = 's' }
         } }]]
      assert.truthy(complaints(lab_with(page)):find("wrong[1]: nobody would see it", 1, true))
      assert.truthy(complaints(lab_with "{ text = 'x', run = function() error('my own') end }"):find("my own", 1, true))
      local task = [[{ task = 't', todo = 'x', kind = 'script', hints = { 'h' }, right = 'r', otherwise = 'o',
         check = function(_, _, v) return v == 27 end, solution = 'return %d', mistake = 'return %d' }]]
      assert.equal("", complaints(lab_with(task:format(27, 3))))
      assert.truthy(complaints(lab_with(task:format(3, 3))):find("own solution does not solve", 1, true))
      assert.truthy(complaints(lab_with(task:format(27, 27))):find("its mistake is no mistake", 1, true))
   end)

   it("finds a check that does not end, or that gives no figure which its texts name, and goes on", function()
      local task = [[{ task = 't%d', todo = 'x', kind = 'script', hints = { 'h' }, right = '{got}', otherwise = 'o',
         check = function(_, _, v) %s return v == 27, nil, %s end, solution = 'return 27', mistake = 'return 26' }]]
      local pages = table.concat({ task:format(1, "while true do end", "{ got = v }"), task:format(2, "", "{}"),
         "{ text = '{nosuch}' }" }, ", ")
      judge.limit = 0.5
      local out = complaints(lab_with(pages))
      judge.limit = 600
      for _, expected in ipairs { "page 1: its check fails: it did not end within 0.5 s",
         "page 2: its check fails: {got} is neither", "page 3: {nosuch} is neither" } do
         assert.truthy(out:find(expected, 1, true), out)
      end
      assert.equal(3, select(2, out:gsub("page %d", "")), out)
   end)

   it("finds tasks that a script solves which does nothing, or what solves another task", function()
      local task = [[{ task = '%s', todo = 'x', kind = 'script', hints = { 'h' }, right = 'r', otherwise = 'o',
         check = function(_, _, v) %s end, solution = '%s', mistake = 'return "no"' }]]
      for found, case in pairs {
         ["`return {}`"] = { "return type(v) == 'table' and (v[1] or 0) < 9", "return { 5 }" },
         ["`return function(...) return ... end`"] = { "return type(v) == 'function' and v(27) == 27",
            "return function(n) return n end" },
         ["`return function() return 3 end`"] = { "return type(v) == 'function' and v(27) == 3",
            "return function() return 3 end" },
         ["`return 1`"] = { "return v == 1", "return 1" } } do
         local out = complaints(lab_with(task:format("t", case[1], case[2])))
         assert.truthy(out:find("a script that does nothing solves the task: " .. found, 1, true), out)
      end
      local two = task:format("a", "return v == 27", "return 27") .. ", "
         .. task:format("b", "return v == 27 or v == 28", "return 28")
      assert.truthy(complaints(lab_with(two)):find("page 2: a script that does nothing solves the task: `return 27`", 1,
         true))
   end)

   it("finds unknown names in what a check says, fields of another kind, and how near is right in words", function()
      local page = [[{ task = 't', todo = 'x', kind = 'script', hints = { 'h' }, right = '%s', otherwise = 'o',
         check = function(_, _, v) return v == 27 end, solution = 'return 27', mistake = 'return 26' }]]
      assert.truthy(complaints(lab_with(page:format "{nosuch}")):find("page 1: [^\n]*{nosuch} is neither"))
      local question = [[{ ask = '%s', id = 'i', answer = 'n', right = 'r', otherwise = 'o', %s }]]
      for _, ask in ipairs { "How many? (Within a tenth is right.)", "How many? (Half or twice is near enough.)" } do
         local out = complaints(lab_with(question:format(ask, "within = 0.1")))
         assert.truthy(out:find("says how near is right", 1, true), out)
      end
      assert.equal("", complaints(lab_with(question:format("How many?", "within = 0.1"))))
      assert.equal("", complaints(lab_with(question:format("How many?", "factor = 2"))))
      assert.truthy(complaints(lab_with(question:format("x", "hints = 'h'"))):find("field 'hints': a table is expected",
         1, true))
   end)

   it("tells files that are no labs", function()
      local path = os.tmpname()
      files.write(path, "return {")
      assert.is_nil(catalog.read(path))
      os.remove(path)
      files.write(scratch .. "/pagez.lua", "return { title = 'T', pagez = {} }")
      local _, errors = catalog.folder(scratch)
      assert.truthy(table.concat(errors, " "):find("pagez.lua: field 'pages' is missing", 1, true))
      os.remove(scratch .. "/pagez.lua")
      local _, err = catalog.find "nosuch"
      assert.truthy(err:find("there is no lab 'nosuch'", 1, true))
   end)
end)
