-- SPDX-License-Identifier: MIT
-- What students answer: read as people write it, kept with all that belongs to it, and graded,
-- alone and as a class. One interpreter: the subject is programs as processes, which the judge
-- starts.

local c = require "support.c"
local files = require "support.files"
local render = require "pfm.render"
local stdlib = require "posix.stdlib"
local answers = require "repl.lab.answers"
local catalog = require "repl.lab.catalog"
local grade = require "repl.lab.grade"
local progress = require "repl.lab.progress"
local session = require "repl.lab.session"
local sheet = require "repl.lab.sheet"
local bundle = require "repl.parts.notebook.bundle"
local validate = require "repl.lab.validate"

local program = c.program
local scratch = require "labs.with_state"()

local counters = assert(catalog.find "counters")

local function lab(arguments, input, home)
   files.write(scratch .. "/typed", input or "")
   local out, status = c.sh(("env -u LPFM_SCRIPTS XDG_STATE_HOME=%s %s lab %s <%s/typed 2>%s/err"):format(
      home or scratch, program, arguments, scratch, scratch))
   return out, status, files.read(scratch .. "/err")
end

local function flat(lines)
   return (table.concat(lines, " "):gsub("%s+", " "))
end

-- Opens a page of a session.
local function open(s, index)
   s.index, s.over = index, nil
   return s:enter()
end

describe("a number", function()
   it("is read as people write it", function()
      for text, value in pairs { ["2000"] = 2000, ["2,000"] = 2000, ["2 000"] = 2000, ["2_000"] = 2000, ["20k"] = 20000,
         ["4,29"] = 4.29, ["2.000.000"] = 2e6, ["1.234,5"] = 1234.5, ["1,234.5"] = 1234.5, ["1e3"] = 1000,
         ["2*1000"] = 2000, ["2^10"] = 1024, ["(1 + 2) * 3"] = 9, ["~2000"] = 2000, ["about 2000"] = 2000,
         ["2000 instructions"] = 2000, ["2 million"] = 2e6, ["0x7d0"] = 2000, ["-5"] = -5, ["50 %"] = 50,
         ["2 \195\151 3"] = 6 } do
         assert.equal(value, answers.number(text), text)
      end
   end)

   it("has its unit converted where one is asked for, and refused where it is another", function()
      local units = { { "20 us", "ms", 0.02 }, { "20us", "ns", 20000 }, { "4.3 s", "ms", 4300 }, { "4,3 s", "s", 4.3 },
         { "1 KiB", "bytes", 1024 }, { "64 bytes", "bytes", 64 }, { "5 %", "%", 5 }, { "5", "%", 5 } }
      for _, one in ipairs(units) do
         local got = answers.number(one[1], one[2])
         assert.is_true(got ~= nil and math.abs(got - one[3]) < 1e-9 * one[3], one[1])
      end
      for text, unit in pairs { ["20 us"] = false, ["3 KiB"] = "ms", ["5 s"] = "bytes", ["7 %"] = "ms" } do
         local got, err = answers.number(text, unit or nil)
         assert.is_nil(got, text)
         assert.truthy(err:find("not in", 1, true), err)
      end
   end)

   it("is none where it is not one, and nothing of it is run", function()
      for _, text in ipairs { "", "twice", "a thousand", "3 dozen", "1 2", "os.exit()", "1--2", "inf", "nan", "1e999",
         "x", "0x", "{}", "print", "('x'):rep(9)", "1;2", "2 = 2", "not 1" } do
         local got, err = answers.number(text)
         assert.is_nil(got, text)
         assert.truthy(err:find("number is expected", 1, true), err)
      end
      assert.truthy(select(2, answers.number "300m"):find("million", 1, true))
   end)

   it("is the value of any sum and product of numbers, however they are written", function()
      for _ = 1, 300 do
         local a, b = math.random(0, 10 ^ math.random(9)), math.random(1, 10 ^ math.random(6))
         assert.equal(a, answers.number(render.number(a)), "with separators")
         assert.equal(a * b, answers.number(("%d*%d"):format(a, b)))
         assert.equal(a + b, answers.number(("%s + %s"):format(render.number(a), render.number(b))))
         assert.equal(a, answers.number(("0x%x"):format(a)))
      end
   end)

   it("is echoed where it could have been meant otherwise", function()
      assert.equal("Read as 4.29.", answers.echo("4,29", {}))
      assert.equal("Read as 2.", answers.echo("2.000", {}))
      assert.equal("Read as 0.02 ms.", answers.echo("20 us", { unit = "ms" }))
      assert.is_nil(answers.echo("2,000", {}))
      assert.is_nil(answers.echo("2000", {}))
      assert.is_nil(answers.echo("twice", {}))
      local s = session.new(counters)
      open(s, 2)
      assert.truthy(flat(s:reply "2*1000"):find("Read as 2,000%. .*Right%."))
   end)

   it("is read as hexadecimal where that is asked for", function()
      local width = session.new(assert(catalog.find "width"))
      local pages = {}
      for _, page in ipairs(width.lab.pages) do pages[page.id or ""] = page end
      for _, typed in ipairs { "0xffffffff", "0xFFFFFFFF", "ffffffff", "4294967295", "0xffff_ffff" } do
         assert.is_true(width:judge(pages.one, typed), typed)
      end
      for _, typed in ipairs { "-100000", "0xfffffffffffe7960", "fffffffffffe7960", "18446744073709451616" } do
         assert.is_true(width:judge(pages.negative, typed), typed)
      end
      local right, say = width:judge(pages.negative, "100000")
      assert.is_false(right)
      assert.truthy(say:find("That is the period itself", 1, true))
      assert.is_nil(width:judge(pages.negative, "none"))
   end)

   it("is right from half to twice where that is near enough, and the question says so", function()
      local branches = session.new(assert(catalog.find "branches"))
      for i, page in ipairs(branches.lab.pages) do
         if page.id == "rare" then
            assert.truthy(flat(open(branches, i)):find("From 1/2 of the right number to 2 times as much is right.", 1,
               true))
            for typed, is_right in pairs { ["50"] = true, ["49"] = false, ["100"] = true, ["200"] = true,
               ["201"] = false } do
               assert.equal(is_right, (branches:judge(page, typed)), typed)
            end
         end
      end
   end)
end)

describe("what labs say", function()
   local function figures(name, params)
      local out = {}
      for _, line in ipairs(sheet.figures(assert(catalog.find(name)), params)) do
         out[line:match("^(.-): ")] = line:match(": (.*)$")
      end
      return out
   end

   it("is what their machines do: a hidden parameter, a line of 32 bytes, shares and patterns", function()
      local handout = sheet.handout(assert(catalog.find "threads"))
      assert.truthy(handout:find("4 processors count", 1, true))
      assert.equal("2", figures("threads", { model = "p6" })["stores that miss, a line apart"])
      local threads = session.new(assert(catalog.find "threads"))
      threads:run_up_to(#threads.lab.pages)
      assert.equal(32, threads.figures.p6_distance)
      local stacks = session.new(assert(catalog.find "stacks"))
      stacks:run_up_to(#stacks.lab.pages)
      -- copies: 120 of 276 steps
      assert.is_true(math.abs(stacks.figures.share - 100 * 1200 / 2760) < 1e-9)
      assert.is_true(math.abs(stacks.figures.gain - 100 * 1100 / 2760) < 1e-9)
      assert.equal(math.floor(552000 / 97), stacks.figures.samples)
      assert.is_true(math.abs(stacks.figures.copy_percent - 100 * 1500 / 2760) < 0.5)
      local branches = session.new(assert(catalog.find "branches"))
      branches:run_up_to(#branches.lab.pages)
      assert.is_true(branches.figures.long_trapped > 0.98 * 10000)
   end)

   it("has a figure refused that takes the name of a parameter, or of another figure", function()
      local path = scratch .. "/own.lua"
      local text = [[return { title = "T", number = 1, goals = {}, read = {}, teacher = "",
         params = { n = 7 }, pages = { { text = "x", run = function() return { %s } end },
         { text = "y", run = function() return { %s } end } } }]]
      for _, case in ipairs { { "a = 1", "a = 1" }, { "n = 3", "a = 1", "figure 'n' has the name of a parameter" },
         { "a = 1", "a = 2", "figure 'a' is there already" } } do
         files.write(path, text:format(case[1], case[2]))
         local own = assert(loadfile(path))()
         own.name, own.path = "own", path
         local found = table.concat(validate.lab(own), "\n")
         if case[3] then assert.truthy(found:find(case[3], 1, true), found) else assert.equal("", found) end
      end
   end)
end)

describe("a picture among the figures", function()
   local path = scratch .. "/drawn.lua"
   local function drawn(shown)
      files.write(path, ([[return { title = "T", number = 1, goals = { "g" }, read = { "r" }, teacher = "", params = { n
         = 7 }, pages = { { text = "x", run = function(kit, p) return { half = p.n / 2,
            bars = kit.plot.bars { { "<all>", p.n }, { "half", p.n / 2 } } } end,
            show = { { "half of it", "half" }, { "both of {n}", "%s" } } },
            { ask = "How many?", id = "all", answer = "n", right = "So it is.", otherwise = "{n}.",
            run = function() return {} end, show = { { "again", "bars" } } } } }]]):format(shown))
      return assert(loadfile(path))()
   end

   local function read_lab()
      local own = drawn "bars"
      own.name, own.path, own.minutes = "drawn", path, 5
      return own
   end

   it("is drawn in the terminal, behind the numbers, and after the prediction", function()
      assert.same({}, validate.lab(read_lab()))
      local s = session.new(read_lab())
      local page = flat(s:enter())
      assert.truthy(page:find("half of it: 3.5 both of 7: <all> ", 1, true), page)
      assert.is_nil(flat(s:reply ""):find("<all>", 1, true))
      assert.truthy(flat(s:reply "7"):find("again: <all>", 1, true))
      for _, line in ipairs(session.new(read_lab(), { width = 40 }):enter()) do
         assert.is_true(render.width(line) <= 40, line)
      end
   end)

   it("is SVG in handouts, that of the answer in the teacher's alone", function()
      local _, copies = sheet.handout(read_lab()):gsub("<figure><svg.-</svg>%s*<figcaption>", "")
      assert.equal(1, copies)
      local teacher = sheet.handout(read_lab(), { teacher = true })
      assert.equal(2, select(2, teacher:gsub("<figure><svg.-</svg>%s*<figcaption>", "")))
      assert.truthy(teacher:find("<figcaption>both of 7</figcaption>", 1, true))
   end)

   it("is text and SVG in a notebook", function()
      drawn "bars"
      local course = require("repl.command.lab").call(path)
      local cell = course:show(1)
      assert.truthy(tostring(cell):find("^The machine says:\n   half of it: 3.5\nboth of 7:\n"), tostring(cell))
      local html = bundle.of({ n = 1, cell })["text/html"]
      assert.truthy(html:find("half of it: 3.5", 1, true) and html:find("<svg", 1, true), html)
      assert.is_nil(bundle.of({ n = 1, course:answer("all", "") })["text/html"])
      assert.truthy(bundle.of({ n = 1, course:answer("all", "7") })["text/html"]:find("<svg", 1, true))
   end)

   it("is missed by name where there is none", function()
      local own = drawn "nosuch"
      own.name, own.path = "drawn", path
      assert.truthy(table.concat(validate.lab(own), "\n"):find("{nosuch} is neither", 1, true))
   end)
end)

describe("parameters", function()
   it("that are set at the prompt are a copy: pages keep theirs, and say so", function()
      local bias = session.new(assert(catalog.find "bias"))
      open(bias, 5)
      local names = bias:globals(function() end)
      names.params.sites = 7
      assert.equal(7, names.params.sites)
      assert.equal(7, #(function()
         local list = {}
         for n in names.shares(2):gmatch "%d+" do list[#list + 1] = n end
         return list
      end)())
      assert.equal(6, bias.params.sites)
      local head = flat(open(bias, 6))
      assert.truthy(head:find("At the prompt: sites=7; 'reset' undoes that", 1, true), head)
      assert.equal("1000", validate.right(bias:page(), bias.figures))
      assert.truthy(flat(bias:reply "reset"):find("the lab's parameters again", 1, true))
      assert.is_nil(flat(open(bias, 6)):find("At the prompt", 1, true))
      assert.equal(6, bias:globals(function() end).params.sites)
   end)

   it("are checked there: a bad value is a message, in every lab, and changes nothing", function()
      for _, each in ipairs(catalog.all()) do
         local s = session.new(each)
         local params = s:globals(function() end).params
         for name, own in pairs(each.params) do
            for _, bad in ipairs { -1, "i7", {}, 1e18, 0 / 0 } do
               local fine = type(bad) == "string" and type(own) == "string" and name ~= "model"
               local ok, err = pcall(function() params[name] = bad end)
               assert.equal(fine, ok, name)
               if not ok then assert.truthy(err:find("^parameter " .. name), err) end
               if fine then params[name] = own end
               assert.equal(own, params[name])
            end
         end
         assert.has_error(function() params.nosuch = 1 end, ("lab %s has no parameter 'nosuch'"):format(each.name))
      end
   end)

   it("with which a lab's names cannot be set up are told and reset, and the lab goes on", function()
      local input = "prompt\nparams.model = 'i7'\nparams.l1d = 'nonsense'\n\nnext\n50\nquit\n"
      local out, status, err = lab("caches --at 8", input)
      assert.equal(0, status, out .. err)
      assert.truthy((out .. err):find("there is no model 'i7'", 1, true), out .. err)
      assert.is_nil((out .. err):find("traceback", 1, true), out .. err)
   end)

   it("of --set are kept with the answers, and used when these are graded", function()
      lab("counters --restart", "\n1000\nquit\n")
      assert.equal("wrong", render.from_json((lab "counters --grade"):match "^[^\n]+").state)
      lab("counters --restart --set rounds=500", "\n1000\nquit\n")
      local row = render.from_json((lab "counters --grade"):match "^[^\n]+")
      assert.same({ "right", "rounds=500" }, { row.state, row.params })
      assert.truthy((lab("counters", "quit\n")):find("Parameters of these pages: rounds=500.", 1, true))
      local _, status, err = lab "counters --grade --set rounds=500"
      assert.equal(2, status)
      assert.truthy(err:find("--set: answers are graded with the parameters", 1, true), err)
      assert.equal("parameters: rounds=500", sheet.figures(counters, { rounds = 500 })[1])
   end)

   it("of --set go with a notebook, whose texts have them", function()
      local json = sheet.notebook(assert(catalog.find "caches"), { n = 2048, l1d = "4096:2:64" })
      local cells = render.from_json(json).cells
      assert.equal('course = lab("caches", { l1d = "4096:2:64", n = 2048 })', cells[2].source)
      local course = setfenv(loadstring("return " .. cells[2].source:match("= (.*)$")),
         { lab = require("repl.command.lab").call })()
      assert.equal(2048, course.session.params.n)
   end)

   it("are chosen by a seed, the same for the same one", function()
      local seen = {}
      for i = 1, 40 do
         local drawn = session.list_parameters(session.draw(counters, "student" .. i))
         seen[drawn] = true
         assert.equal(drawn, session.list_parameters(session.draw(counters, "student" .. i)))
      end
      local n = 0
      for _ in pairs(seen) do n = n + 1 end
      assert.is_true(n > 8, n .. " of 16")
   end)
end)

describe("what is kept of answers", function()
   it("is every attempt; the first is the prediction, and a skipped one stays skipped", function()
      local s = session.new(counters)
      open(s, 2)
      s:reply "hint"
      s:reply "3000"
      open(s, 2)
      s:reply "2000"
      open(s, 3)
      s:reply "skip"
      open(s, 3)
      s:reply "3000"
      assert(progress.save("counters", s.kept))
      local kept = assert(progress.load("counters", true)).answers
      assert.same({ "3000", "wrong", 2, 1 }, { kept.user.answer, kept.user.state, kept.user.attempts, kept.user.hints })
      assert.same({ "3000", "2000" }, { kept.user.log[1].answer, kept.user.log[2].answer })
      assert.is_true(kept.user.log[2].right and kept.user.log[1].right == nil)
      assert.is_true(math.abs(kept.user.log[1].time - os.time()) < 1e6)
      assert.same({ "skipped", true }, { kept.all.state, kept.all.log[1].skipped })
      local rows = {}
      for _, row in ipairs(grade.session(session.new(counters, { kept = assert(progress.load "counters") }))) do
         rows[row.task] = row
      end
      assert.same({ "wrong", "3000", 0 }, { rows.user.state, rows.user.answer, rows.user.points })
      assert.same({ "skipped", 0 }, { rows.all.state, rows.all.points })
   end)

   it("is not lost to another session of the lab that is open, too", function()
      local one, other = session.new(counters), session.new(counters)
      assert(progress.keep(one))
      assert(progress.keep(other))
      open(one, 2)
      one:reply "2000"
      assert(progress.keep(one))
      open(other, 2)
      other:reply "3000"
      local ok, err = progress.keep(other)
      assert.same({ "another session of this lab has answered since" }, { ok or err })
      assert.equal("2000", assert(progress.load "counters").answers.user.answer)
      assert(progress.keep(one), "the session that answered goes on")
   end)

   it("is not lost to a session that was open before, and has not answered until then", function()
      for _, seed in ipairs { "none yet", "there" } do
         local one = session.new(counters, { kept = assert(progress.load "counters") })
         local other = session.new(counters, { kept = assert(progress.load "counters") })
         one.kept.seed = seed
         assert(progress.keep(one))
         assert.is_nil((progress.keep(other)))
         assert.equal(seed, assert(progress.load "counters").seed)
      end
   end)

   it("is the script that solved a task, whatever is tried after it", function()
      local s = session.new(counters)
      open(s, #counters.pages)
      local right, wrong = scratch .. "/right.lua", scratch .. "/wrong.lua"
      files.write(right, s:page().solution)
      files.write(wrong, s:page().mistake)
      s:reply('"' .. right .. '"')
      open(s, #counters.pages)
      s:reply(wrong)
      assert(progress.keep(s))
      assert.equal(files.read(right), files.read(progress.path("counters-by-hand", "lua")))
      local rows = grade.session(session.new(counters, { kept = assert(progress.load "counters") }))
      assert.equal("right", rows[#rows].state, rows[#rows].why)
      assert.equal(5, rows[#rows].points)
   end)

   it("is a script by its name as a shell takes it: quoted, or from home", function()
      local home = os.getenv "HOME"
      stdlib.setenv("HOME", scratch)
      files.write(scratch .. "/my script.lua", counters.pages[#counters.pages].solution)
      for _, typed in ipairs { "~/my script.lua", "'~/my script.lua'", '"' .. scratch .. '/my script.lua"',
         " " .. scratch .. "/my script.lua " } do
         local s = session.new(counters)
         open(s, #counters.pages)
         assert.truthy(flat(s:reply(typed)):find("Right.", 1, true), typed)
      end
      stdlib.setenv("HOME", home)
   end)

   it("is not Lua, and who types that is told of the prompt", function()
      local s = session.new(counters)
      open(s, 1)
      assert.truthy(flat(s:reply "x = 1 + 1"):find("'prompt' opens lpfm's prompt", 1, true))
   end)

   it("is shown when it was skipped, with the explanation", function()
      local s = session.new(counters)
      open(s, 2)
      assert.truthy(flat(s:reply "skip"):find("two instructions at the user's level: 2,000", 1, true))
   end)

   it("is not taken from an empty cell of a notebook", function()
      local course = require("repl.command.lab").call("tlb")
      assert.truthy(tostring(course:answer("side", "")):find("between the quotes", 1, true))
      assert.is_nil(progress.load("tlb").answers.side)
      assert.is_nil(tostring(course:answer("side", "16")):find("Enter goes on", 1, true))
      assert.equal("right", progress.load("tlb").answers.side.state)
   end)
end)

describe("grading", function()
   it("has an error and a status of its own where progress is missing or damaged", function()
      local home = scratch .. "/nobody"
      local _, status, err = lab("--grade counters", "", home)
      assert.same({ 3, true }, { status, err:find("there is no progress in " .. home, 1, true) ~= nil })
      c.sh(("mkdir -p %s/lpfm/labs"):format(home))
      for text in pairs { ['{"page":3,"answers":{"us'] = true, [""] = true, ["[1]"] = true, ["7"] = true,
         ['{"answers":{"user":3}}'] = true, ['{"answers":{"user":{"attempts":"x"}}}'] = true,
         ['{"page":1,"params":{"nosuch":1}}'] = true } do
         files.write(home .. "/lpfm/labs/counters.json", text)
         local out
         out, status, err = lab("--grade counters", "", home)
         assert.same({ 3, "" }, { status, out }, text)
         assert.truthy(err:find("counters.json", 1, true), err)
      end
   end)

   it("does not write over a damaged file of progress, but puts it aside and says so", function()
      local home = scratch .. "/damaged"
      c.sh(("mkdir -p %s/lpfm/labs"):format(home))
      files.write(home .. "/lpfm/labs/counters.json", '{"page":3,"ans')
      local _, status, err = lab("counters", "quit\n", home)
      assert.equal(0, status, err)
      assert.truthy(err:find("counters.json.damaged, and the lab begins anew", 1, true), err)
      assert.equal('{"page":3,"ans', files.read(home .. "/lpfm/labs/counters.json.damaged"))
   end)
end)

-- Thirty students with parameters of their own, each with wrong answers; and broken folders.
describe("a class", function()
   local class = scratch .. "/class"
   local expected = {} -- points by name
   local ERRS = { "123457", "7" }

   local function student(i)
      local name = ("student%02d"):format(i)
      local s = session.new(counters, { params = session.draw(counters, name), kept = { page = 1, answers = {},
         seed = name } })
      s.kept.params, expected[name] = s.set, 0
      for index, page in ipairs(counters.pages) do
         if (page.ask or page.task) and page.kind ~= "script" then
            open(s, index)
            local knows, right = (i + index) % 3 ~= 0, validate.right(page, s.figures)
            s:reply(knows and right or page.kind == "choice" and (right == "a" and "b" or "a") or ERRS[1 + i % 2])
            assert.equal(knows, s.kept.answers[page.id or page.task].state == "right", page.id or page.task)
            expected[name] = expected[name] + (knows and (page.ask and 1 or 2) or 0)
         end
      end
      progress.read_from(("%s/%s/lpfm/labs"):format(class, name))
      assert(progress.keep(s))
      progress.read_from(nil)
      return name
   end

   setup(function()
      for i = 1, 30 do student(i) end
      c.sh(("mkdir -p %s/empty %s/broken/lpfm/labs"):format(class, class))
      files.write(class .. "/broken/lpfm/labs/counters.json", '{"page":')
      c.sh(("mv %s/student30 %s/copied"):format(class, class))
   end)

   local function report(name, more)
      return lab(("counters --grade --class %s --as %s %s"):format(class, name, more or ""))
   end

   it("is graded in one command: a line for each answer, points, and who is broken", function()
      local out, status, err = report "csv"
      assert.equal(3, status)
      assert.truthy(err:find("broken: ", 1, true) and err:find("empty: there is no progress", 1, true), err)
      assert.equal("student,lab,task,kind,state,points,max,answer,attempts,hints,params,seed,time,why",
         out:match "^[^\n]+")
      local n = 0
      for _ in out:gmatch "\nstudent%d%d,counters,[%w-]+,%w+,%w+," do n = n + 1 end
      assert.equal(29 * 7, n)
      assert.truthy(out:find("\nbroken,,,,error,0,", 1, true), out)
      local lines = report "json"
      assert.equal(29 * 7, select(2, lines:gsub('{"student":"student%d%d","lab":"counters","task":', "")), lines)
      assert.truthy(lines:find('{"student":"broken","state":"error","why":"', 1, true), lines)
      local points = {}
      for name, got in report("points"):gmatch "(student%d%d),(%d+),%d+," do points[name] = tonumber(got) end
      for name, wanted in pairs(expected) do
         if name ~= "student30" then assert.equal(wanted, points[name], name) end
      end
   end)

   it("has nothing taken from another student by a link, and nothing that is no file read", function()
      local cases = scratch .. "/links"
      local function make(name, commands)
         c.sh(("mkdir -p %s/%s/lpfm/labs && cd %s/%s/lpfm && %s"):format(cases, name, cases, name, commands))
      end
      make("answers", ("ln -s %s/student01/lpfm/labs/counters.json labs/counters.json"):format(class))
      make("folder", ("rmdir labs && ln -s %s/student01/lpfm/labs labs"):format(class))
      make("fifo", "mkfifo labs/counters.json")
      make("endless", "ln -s /dev/zero labs/counters.json")
      make("dir", "mkdir labs/counters.json")
      make("large", "head -c 1048577 /dev/zero >labs/counters.json")
      local out, status, err = lab(("counters --grade --class %s --as points"):format(cases))
      assert.equal(3, status)
      for _, name in ipairs { "answers", "folder", "fifo", "endless", "dir", "large" } do
         assert.truthy(out:find(("\n%s,0,0,,[^\n]*is damaged: "):format(name)), out)
         assert.truthy(err:find("lab: " .. name .. ": ", 1, true), err)
      end
   end)

   it("has a script that is a link to another student's refused", function()
      local page = counters.pages[#counters.pages]
      local mine, theirs = class .. "/student01/lpfm/labs/", class .. "/student02/lpfm/labs/"
      for _, dir in ipairs { mine, theirs } do
         local path = dir .. "counters.json"
         files.write(path, (files.read(path):gsub('"answers":{', '%0"by-hand":{"state":"right","answer":"x.lua"},')))
      end
      files.write(theirs .. "counters-by-hand.lua", page.solution)
      c.sh(("ln -s ../../../student02/lpfm/labs/counters-by-hand.lua %scounters-by-hand.lua"):format(mine))
      local out = report "csv"
      assert.truthy(out:find("\nstudent02,counters,by%-hand,task,right,5,"), out)
      assert.truthy(out:find("\nstudent01,counters,by%-hand,task,wrong,0,[^\n]*it is a link"), out)
      for _, dir in ipairs { mine, theirs } do
         os.remove(dir .. "counters-by-hand.lua")
         local path = dir .. "counters.json"
         files.write(path, (files.read(path):gsub('"by%-hand":{.-},', "", 1)))
      end
   end)

   it("has answers with the parameters of another seed refused", function()
      local out = report("csv", "--seeded")
      assert.truthy(out:find("\ncopied,counters,user,prediction,wrong,0,[^\n]*not answered with the parameters"), out)
      assert.is_nil(out:find("\nstudent%d%d,[^\n]*not answered with the parameters"))
   end)

   it("has the wrong answers counted, the most frequent first", function()
      local last, total = math.huge, 0
      for n in report("wrong"):gmatch "counters,[%w-]+,[^\n]-,(%d+),[^\n]*\n" do
         assert.is_true(tonumber(n) <= last)
         last, total = tonumber(n), total + n
      end
      local _, wrong = report("csv"):gsub(",wrong,", "")
      assert.equal(wrong, total)
      assert.is_true(total > 30)
   end)

   it("has one mistake counted once, whatever numbers the students' parameters make of it", function()
      local rows = {}
      for i, rounds in ipairs { 600, 800, 1200 } do
         local s = session.new(counters, { params = { rounds = rounds } })
         s.kept.answers = { user = { answer = tostring(3 * rounds), state = "wrong", attempts = 1, hints = 0 },
            all = { answer = "5", state = "wrong", attempts = 1, hints = 0 } }
         rows[i] = { name = "s" .. i, rows = grade.session(s) }
      end
      local out = grade.report("wrong", rows)
      assert.same({ 3, "counters,all,5,3," }, { #out, out[2] })
      assert.truthy(out[3]:find("^counters,user,1800,3,\"?That is all three of each round"), out[3])
   end)

   it("has Gradescope's results for each student, and every attempt", function()
      local all = assert(render.from_json((report "gradescope")))
      local one = all.student07
      assert.same({ expected.student07, 12, 7 }, { one.score, one.max_score, #one.tests })
      local sum = 0
      for _, test in ipairs(one.tests) do
         sum = sum + test.score
         assert.equal(test.score > 0 and "passed" or "failed", test.status)
      end
      assert.equal(one.score, sum)
      assert.truthy(all.broken.output:find("is damaged", 1, true))
      local _, attempts = report("attempts"):gsub("\nstudent%d%d,counters,", "")
      assert.equal(29 * 6, attempts)
   end)

   it("has no cell that a spreadsheet would run", function()
      local row = { lab = "l", task = "t", kind = "task", state = "wrong", points = 0, max = 1, answer = "=1+1",
         attempts = 1, hints = 0, why = 'a, "b"' }
      local line = grade.report("csv", { { name = "@x", rows = { row } } })[2]
      assert.equal([['@x,l,t,task,wrong,0,1,'=1+1,1,0,,,,"a, ""b"""]], line)
   end)

   it("is not taken for one without students where its folder cannot be read", function()
      for folder, text in pairs { ["/nonexistent"] = "cannot read the folder /nonexistent",
         [class .. "/empty"] = "there is no folder in " .. class .. "/empty" } do
         local _, status, err = lab("--grade --class " .. folder)
         assert.equal(3, status, err)
         assert.truthy(err:find("--class: " .. text, 1, true), err)
      end
   end)

   it("is refused with options that belong to something else", function()
      for arguments, text in pairs { ["--class /x"] = "--class: expected --grade",
         ["--as csv"] = "--as: expected --grade",
         ["--grade --as nosuch"] = "--as: expected json, csv", ["--grade --seeded"] = "--seeded: expected --class",
         ["--seed x"] = "--seed: expected the name of a lab" } do
         local _, status, err = lab(arguments)
         assert.equal(2, status, err)
         assert.truthy(err:find(text, 1, true), err)
      end
   end)
end)
