-- SPDX-License-Identifier: MIT
--- lpfm lab: a course on performance measurement.
-- @module repl.command.lab

local catalog = require "repl.lab.catalog"
local grade = require "repl.lab.grade"
local judge = require "repl.lab.judge"
local namespace = require "repl.prompt.namespace"
local options = require "repl.command.options"
local progress = require "repl.lab.progress"
local render = require "pfm.render"
local session = require "repl.lab.session"
local sheet = require "repl.lab.sheet"
local terminal = require "pfm.util.terminal"
local tables = require "pfm.util.tables"
local text = require "repl.lab.text"
local expect = require "pfm.util.expect"

local command = {}

--- Makes the parser of the command line.
-- @usage require("repl.command.lab").options():help()
function command.options()
   local c = options.command("lab", "A course on performance measurement: lists its labs and your progress, or opens a "
      .. "lab.", "lpfm lab [options] [NAME|NUMBER|FILE]")
   c.mixed = true
   c:option("--set", "NAME=VALUE", "Change a parameter of the lab's machine or program; repeatable. It is kept with "
      .. "the answers, which are graded with it."):count("*")
   c:option("--seed", "WORD", "Choose the lab's parameters by a word, such as one's name; with --grade, take answers "
      .. "with these parameters alone.")
   c:option("--at", "PAGE", "Open the lab at a page.")
   c:option("--machine", "NAME", "Where: sim, or on this computer perf or linux (default: LPFM_MACHINE if that can "
      .. "be, else sim).")
   c:flag("--restart", "Begin the lab again; its answers are forgotten.")
   c:flag("--sheet", "Print the lab's figures alone.")
   c:flag("--handout", "Print the lab as a page of HTML, with room for answers.")
   c:flag("--teacher", "Print that page with all answers, and what students get wrong.")
   c:flag("--notebook", "Print the lab as a notebook; 'lpfm jupyter install' makes lpfm its kernel.")
   c:flag("--grade", "Check all answers again, and print a line of JSON for each question and task.")
   c:option("--class", "DIR", "With --grade, grade a class: each folder in DIR is a student's.")
   c:flag("--seeded", "With --class, each student's seed is the name of the folder.")
   c:option("--as", "REPORT", ("With --grade, what to print: %s (default: json; of a class csv)."):format(
      table.concat(grade.reports, ", ")))
   c:option("--limit", "SECONDS", ("With --grade, how long a script may take (default: %g)."):format(judge.limit))
   c:option("--check", "DIR", "Check the labs of a folder: form, texts, answers, solutions.")
   c:option("-o --output", "FILE", "Write to FILE.")
   c:epilog([[
In a lab, Enter goes on, 'hint' helps and 'quit' leaves; the next time the lab goes on where it was left. Labs run on
the simulated computer: they need no root and no PMU. Those that the list marks with a * have a second part, which
measures real programs on this computer: --machine perf by perf_event, --machine linux by perfmon.ko.

A script that solves a task runs in an interpreter of its own, with limits of time, memory, processes and files, and
where the system has namespaces without network and without a view of your files. The verdict is formed outside of it.
scripts/labs/README.md says what that protects from, and how to write a lab.

--grade ends with status 3 where there is no progress, or a file of it is damaged; a class is graded to its end.]], {
      "lpfm lab",
      "lpfm lab counters",
      "lpfm lab bias --set period=3 --sheet",
      "lpfm lab bias --machine perf",
      "lpfm lab caches --handout -o caches.html",
      "lpfm lab --grade",
      "lpfm lab counters --grade --class submissions --as points",
   })
   return c
end

-- --- the list ------------------------------------------------------------------------------------

local function state_of(lab)
   local kept, err = progress.load(lab.name)
   if not kept then return err end
   local asked, right = 0, 0
   for _, page in ipairs(lab.pages) do
      local id = page.id or page.task
      if id then asked = asked + 1 end
      if id and kept.answers[id] and kept.answers[id].state == "right" then right = right + 1 end
   end
   if kept.done then return ("done, %d of %d right"):format(right, asked) end
   if kept.page == 1 and not next(kept.answers) then return "" end
   return ("page %d of %d, %d of %d right"):format(math.min(kept.page, #lab.pages), #lab.pages, right, asked)
end

-- Returns the student's progress in a lab on the real machines.
local function states_here(lab)
   local out = {}
   for _, machine in ipairs(catalog.is_real(lab) and catalog.real or {}) do
      local real = catalog.on(lab, machine)
      local state = real and state_of(real) or ""
      if state ~= "" then out[#out + 1] = ("%s: %s"):format(machine, state) end
   end
   return out
end

--- Lists the labs and the student's progress.
-- @int[opt=math.huge] width columns; longer titles are cut
-- @treturn {string,...} lines
function command.list(width)
   width = width or math.huge
   local rows = {}
   for i, lab in ipairs(catalog.all()) do
      local states = states_here(lab)
      table.insert(states, 1, state_of(lab))
      rows[i] = { tostring(lab.number), lab.name .. (catalog.is_real(lab) and "*" or ""), lab.minutes .. " min",
         table.concat(states, "; "):gsub("^; ", ""), lab.title }
   end
   local columns = { { title = "", right = true }, { title = "lab" }, { title = "", right = true },
      { title = "progress" }, { title = "" } }
   local lines = render.align(columns, rows)
   for i, line in ipairs(lines) do lines[i] = render.cut(line, width) end
   lines[#lines + 1] = ""
   for _, line in ipairs {
      "* has a second part on this computer: 'lpfm lab NAME --machine perf', or linux with perfmon.ko",
      ("'lpfm lab NAME' opens a lab; begin with 'lpfm lab %s'."):format(catalog.all()[1].name) } do
      for _, part in ipairs(render.wrap(line, width)) do lines[#lines + 1] = part end
   end
   return lines
end

-- --- what is printed -----------------------------------------------------------------------------

-- Parses parameters such as "period=3"; values that are numbers in text become numbers.
local function parameters(list)
   local out = {}
   for _, word in ipairs(list) do
      local name, value = word:match("^([%a_][%w_]*)=(.*)$")
      if not name then options.fail("--set: expected NAME=VALUE, got '%s'", word) end
      out[name] = tonumber(value) or value
   end
   return out
end

-- Returns the machine that --machine names; nil without the option.
local function machine_of(args)
   local name = args.machine
   if name == nil or name == "sim" or tables.find(catalog.real, name) then return name end
   options.fail("--machine: expected sim, %s, got '%s'", table.concat(catalog.real, " or "), name)
end

-- Returns the lab as it is on the machine that was asked for, or on that of LPFM_MACHINE if the lab
-- can run there.
local function placed(lab, machine)
   if machine then return options.expect(catalog.on(lab, machine)) end
   local _, real = tables.find(catalog.real, os.getenv("LPFM_MACHINE"))
   return real and catalog.on(lab, real) or lab
end

-- Returns the chosen lab, or all labs; on a real machine, those that have pages for it.
local function chosen(lab, labs, machine)
   if lab then return { placed(lab, machine) } end
   local out = {}
   for _, one in ipairs(labs) do
      local there, err, is_damaged = catalog.on(one, machine or "sim")
      if is_damaged then options.fail("%s", err) end
      out[#out + 1] = there
   end
   return out
end

local DAMAGED = 3 -- exit status

-- Returns the report that --as names.
local function report_of(args)
   local name = args.as or (args.class and "csv" or "json")
   if tables.find(grade.reports, name) then return name end
   options.fail("--as: expected %s, got '%s'", table.concat(grade.reports, ", "), name)
end

-- Says that a folder has none of what was looked for there, or cannot be read.
local function none_in(dir, what)
   return (namespace.entries(dir) and "there is no " .. what .. " in %s" or "cannot read the folder %s"):format(dir)
end

-- Returns the students of a class with their rows; without --class, a single student without a
-- name, or nil if its progress is damaged. The second value says whether anything is damaged.
local function students(args, labs)
   local given = { limit = options.number(args.limit, "--limit"), seed = args.seed, seeded = args.seeded }
   if not args.class then
      local rows, err = options.checked(grade.folder, labs, given)
      if not rows then
         io.stderr:write("lpfm lab: ", err, "\n")
         return nil, true
      end
      return { { rows = rows } }
   end
   local class = options.checked(grade.class, args.class, labs, given)
   local is_damaged = #class == 0
   if is_damaged then io.stderr:write("lpfm lab: --class: ", none_in(args.class, "folder"), "\n") end
   for _, student in ipairs(class) do
      if student.err then io.stderr:write(("lpfm lab: %s: %s\n"):format(student.name, student.err)) end
      is_damaged = is_damaged or student.err ~= nil
   end
   return class, is_damaged
end

local function grades(args, labs, output)
   if #args.set > 0 then options.fail("--set: answers are graded with the parameters that they were given with") end
   if args.seeded and not args.class then options.fail("--seeded: expected --class") end
   local report, weakness = report_of(args), judge.weakness()
   if weakness then io.stderr:write("lpfm lab: ", weakness, "\n") end
   local class, is_damaged = students(args, labs)
   local status = class and options.write(grade.report(report, class), output)
   return status or (is_damaged and DAMAGED) or 0
end

local function check(dir, machine)
   local labs, errors = catalog.folder(dir)
   labs = chosen(nil, labs, machine)
   if #labs == 0 and #errors == 0 then options.fail("--check: %s", none_in(dir, "lab")) end
   local validate = require "repl.lab.validate"
   for _, lab in ipairs(labs) do tables.append(errors, validate.lab(lab)) end
   for _, complaint in ipairs(errors) do io.stderr:write(complaint, "\n") end
   if #errors > 0 then return 1 end
   io.stdout:write(("%s in %s: nothing to complain of\n"):format(render.plural(#labs, "lab"), dir))
   return 0
end

-- Options, and the function that makes what each prints. --teacher comes before --handout, so that
-- both together print the teacher's copy.
local printers = {
   { "sheet", function(lab, params) return sheet.figures(lab, params) end },
   { "teacher", function(lab, params) return { sheet.handout(lab, { params = params, teacher = true }) } end },
   { "handout", function(lab, params) return { sheet.handout(lab, { params = params }) } end },
   { "notebook", function(lab, params) return { sheet.notebook(lab, params) } end },
}

-- --- a lab at a terminal -------------------------------------------------------------------------

-- A lab at a terminal, or on any two streams of text, prints each page as lines and reads each
-- answer as a line. It never moves the cursor, so that it works with screen readers and dumb
-- terminals.

local INTERRUPTED = 130
local COMES_BACK = "lpfm's prompt. check(value) checks an answer, hint() helps, Ctrl-D goes back."

local function say(lines)
   for _, line in ipairs(lines) do io.stdout:write(line, "\n") end
   io.stdout:flush()
end

-- Saves the session's progress; the first failure is reported, later ones are not.
local function keep(s)
   local ok, err = progress.keep(s)
   if not ok and not s.complained then
      s.complained = true
      say { "(Your progress is not kept: " .. tostring(err) .. ".)" }
   end
end

-- Runs the prompt with the session's names, which remain defined after it; the next page sets up
-- its own.
local function open_prompt(s)
   s.wants_prompt = false
   local given = s:globals(say)
   require("repl.prompt.loop").main { no_init = true, names = given,
      banner = COMES_BACK .. "\nNames: " .. table.concat(tables.keys(given), ", ") }
   require("labs.kit").finish()
   require("repl.line").on {}
   say { "", ("Back in lab %s."):format(s.lab.name) }
   keep(s)
end

-- Reads and handles one line; returns true if it ended the session.
local function turn(s)
   local reply, why = require("repl.line").read("lab> ")
   if not reply then
      if why == "interrupted" then return "interrupted" end
      reply = "quit"
      io.stdout:write("\n")
   end
   say(s:reply(reply))
   keep(s)
   if s.wants_prompt then open_prompt(s) end
   return s.over
end

-- Holds a session until it ends; returns the exit status.
local function hold(s)
   keep(s)
   say(s:enter())
   repeat
      local over = turn(s)
      if over == "interrupted" then
         keep(s)
         return INTERRUPTED
      end
   until over
   return 0
end

local function open(lab, params, args)
   if args.restart then progress.forget(lab.name) end
   local kept, err = progress.load(lab.name)
   if not kept then
      io.stderr:write(("lpfm lab: %s; it is put aside as %s, and the lab begins anew\n"):format(err,
         progress.put_aside(lab.name)))
      kept = progress.load(lab.name)
   end
   kept.seed = args.seed or kept.seed
   for name, value in pairs(kept.params or {}) do params[name] = params[name] or value end
   kept.params = next(params) and params or nil
   kept.page = options.number(args.at, "--at", true) or kept.page
   if args.at and kept.page > #lab.pages then
      options.fail("--at: there is no page %d: lab %s has %d pages", kept.page, lab.name, #lab.pages)
   end
   local s = options.checked(session.new, lab, { kept = kept, params = params,
      width = terminal.is_terminal() and (terminal.size()) or 80, more = catalog.more_of(lab) })
   return options.checked(hold, s)
end

-- Raises an error if an option that concerns one lab is used without a lab's name.
local function need_lab(args)
   for _, name in ipairs { "at", "machine", "restart", "seed", "set" } do
      local given = args[name]
      if given and (type(given) ~= "table" or #given > 0) then
         options.fail("--%s: expected the name of a lab", name)
      end
   end
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
-- @usage require("repl.command.lab").main { "bias", "--sheet", "-o", os.tmpname() }
function command.main(argv)
   local args, words = command.options():parse(argv)
   local machine = machine_of(args)
   if args.check then
      options.heed(args, "--check", { "check", "machine" })
      if words[1] then options.fail("unexpected argument '%s': --check takes all labs of its folder", words[1]) end
      return check(args.check, machine)
   end
   local name = options.only_word(words, "lab")
   local found = name and options.expect(catalog.find(name))
   local lab = found and placed(found, machine)
   local params = options.checked(parameters, args.set)
   local output = args.output or "-"
   if args.grade then
      options.heed(args, "--grade", { "grade", "class", "seeded", "as", "limit", "seed", "machine", "output", "set" })
      return grades(args, chosen(lab, catalog.all(), machine), output)
   end
   for _, option in ipairs { "limit", "class", "as", "seeded" } do
      if args[option] then options.fail("--%s: expected --grade", option) end
   end
   if lab and args.seed then
      for k, v in pairs(session.draw(lab, args.seed)) do params[k] = params[k] or v end
   end
   for _, printer in ipairs(printers) do
      if args[printer[1]] then
         if not lab then options.fail("--%s: expected the name of a lab", printer[1]) end
         options.heed(args, "--" .. printer[1], { printer[1], printer[1] == "teacher" and "handout", "set", "seed",
            "machine", "output" })
         return options.write(options.checked(printer[2], lab, params), output) or 0
      end
   end
   if not lab then
      need_lab(args)
      return options.write(command.list(output == "-" and terminal.is_terminal() and terminal.size() or nil),
         output) or 0
   end
   if args.output then options.fail("--output: expected --sheet, --handout, --teacher, --notebook or --grade") end
   return open(lab, params, args)
end

-- --- at the prompt -------------------------------------------------------------------------------

local course = {}
course.__index = course

-- Returns an object that shows lines and the pictures of the session's page. The prompt shows the
-- pictures as text, a notebook as HTML.
local function text_of(lines, s)
   local show = s and s.phase == "read" and s:page().show or nil
   local pictures = text.pictures(show, s and s.figures)
   local function html()
      return "<pre>" .. sheet.html(table.concat(lines, "\n")) .. "</pre>" .. sheet.pictures(show, s.figures)
   end
   return setmetatable({}, { html = pictures[1] and html, __tostring = function()
      local out = { table.concat(lines, "\n") }
      for i, picture in ipairs(pictures) do out[i + 1] = picture.label .. ":\n" .. picture.figure:text(s:view()) end
      return table.concat(out, "\n")
   end })
end

local function page_with(self, id)
   for i, page in ipairs(self.session.lab.pages) do
      if page.id == id or page.task == id then return i end
   end
   error(("the lab has no question '%s'"):format(tostring(id)), 0)
end

-- Answers a question or a task. Returns an object that shows the verdict, the explanation and the
-- figures.
function course:answer(id, reply)
   local s = self.session
   s.index = page_with(self, id)
   if not tostring(reply):find("%S") then
      return text_of { "Write your answer between the quotes, and run the cell." }
   end
   s:enter()
   local lines = s:reply(tostring(reply))
   local ok, err = progress.keep(s)
   if not ok then lines[#lines + 1] = ("(Your progress is not kept: %s.)"):format(tostring(err)) end
   return text_of(lines, s)
end

-- Returns the hints of a question.
function course:hints(id)
   local s = self.session
   return text_of(s:lines(table.concat(s.lab.pages[page_with(self, id)].hints or { "There is no hint." }, "\n\n")))
end

-- Opens a page: runs the pages before it, and makes the names that it sets up global variables.
function course:open(index)
   self.session.index = index
   self.session:run_up_to(index - 1)
   for name, value in pairs(self.session:globals(function(lines) print(table.concat(lines, "\n")) end)) do
      rawset(_G, name, value)
   end
end

-- Shows the figures of a page; its text is in the notebook.
function course:show(index)
   local s = self.session
   s.index = index
   s:enter()
   local lines = s:results(s:page())
   table.remove(lines, 1)
   return text_of(lines, s)
end

--- Opens a lab of the course, in a notebook or at the prompt. Answers are kept as `lpfm lab` keeps
-- them.
-- @string[opt] name of a lab; without it, returns the list of labs
-- @tparam[opt] table params values of parameters
-- @treturn table `answer(id, text)`, `hints(id)`, `open(page)` and `show(page)`
-- @usage lab("bias"):hints("fixed")
function command.call(name, params)
   if name == nil then return text_of(command.list()) end
   options.arguments("lab", 'lab("bias")', { name, "string", "the name of a lab" })
   local lab = expect.value(catalog.find(name))
   local kept = assert(progress.load(lab.name))
   kept.params = params or kept.params
   return setmetatable({ session = session.new(lab, { kept = kept, params = kept.params, notebook = true }) }, course)
end

return command
