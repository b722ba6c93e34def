-- SPDX-License-Identifier: MIT
--- Checks a lab, so that its teacher finds faults before students do: in the form of its table, in
-- names in braces, in explanations of wrong answers that no student would see, and in texts that
-- have numbers instead of names of figures.
-- @module repl.lab.validate

local answers = require "repl.lab.answers"
local catalog = require "repl.lab.catalog"
local judge = require "repl.lab.judge"
local render = require "pfm.render"
local session = require "repl.lab.session"
local text = require "repl.lab.text"

local validate = {}

local FIELDS = { title = "string", number = "number", goals = "table", read = "table",
   teacher = "string", pages = "table" }
local PAGE_FIELDS = { text = "string", ask = "string", id = "string", kind = "string", choices = "table",
   within = "number", factor = "number", unit = "string", points = "number", any_order = "boolean", run = "function",
   show = "table", after = "string",
   right = "string", wrong = "table", otherwise = "string", hints = "table", vary = "string", setup = "function",
   answer = "any", task = "string", todo = "string", check = "function", solution = "string", mistake = "string" }

-- --- the form ------------------------------------------------------------------------------------

-- The columns of a terminal. Wider lines of code are broken, and cannot be typed as they are shown.
local COLUMNS = 80

local function check_code(code, say)
   for line in code:gmatch("[^\n]+") do
      if render.width(line) > COLUMNS then
         say(("a line of code has %d columns, more than %d: %s"):format(render.width(line), COLUMNS, line))
      end
   end
end

local function check_fields(lab, say)
   for name, kind in pairs(FIELDS) do
      if type(lab[name]) ~= kind then say(("field '%s': a %s is expected"):format(name, kind)) end
   end
end

local function check_page_fields(page, say)
   for name, value in pairs(page) do
      local kind = PAGE_FIELDS[name]
      if not kind then
         say(("unknown field '%s'"):format(tostring(name)))
      elseif kind ~= "any" and type(value) ~= kind then
         say(("field '%s': a %s is expected, not a %s"):format(name, kind, type(value)))
      end
   end
   if not (page.text or page.ask or page.task or page.vary) then
      say("a text, a question, a task or a vary is expected")
   end
   if page.show and not page.run then say("field 'show' needs a 'run'") end
end

local function check_question(page, say)
   if not answers.kinds[page.kind or "number"] then
      return say(("kind '%s': number, hex, words, choice (or, of a task, script) is expected"):format(
         tostring(page.kind)))
   end
   if page.answer == nil then say("field 'answer' is missing") end
   if page.kind == "choice" then
      for i, choice in ipairs(page.choices or {}) do
         if not choice.say then say(("choice %d: its 'say', the explanation, is missing"):format(i)) end
      end
      if #(page.choices or {}) < 2 then say("field 'choices': at least two are expected") end
      return
   end
   if not page.right then say("field 'right', the explanation of the right answer, is missing") end
   if not page.otherwise then say("field 'otherwise', the explanation of other answers, is missing") end
end

local function check_task(page, say)
   if not page.todo then say("field 'todo', what the student is to do, is missing") end
   if #(page.hints or {}) == 0 then say("a task needs 'hints'") end
   if page.kind ~= "script" then return check_question(page, say) end
   if type(page.check) ~= "function" then say("field 'check': a function is expected") end
   if not page.solution then say("field 'solution', a script that solves the task, is missing") end
   if not page.mistake then say("field 'mistake', a script that does not, is missing") end
   for _, name in ipairs { "solution", "mistake" } do check_code(page[name] or "", say) end
end

local function check_form(page, say, seen)
   check_page_fields(page, say)
   local id = page.id or page.task
   if page.ask and not page.id then say("a question needs an 'id'") end
   if id and seen[id] then say(("the id '%s' is there twice"):format(id)) end
   if id then seen[id] = true end
   if page.ask then check_question(page, say) end
   if page.task then check_task(page, say) end
end

-- --- the texts -----------------------------------------------------------------------------------

--- Returns the texts of a page that students see.
-- @tparam table page
-- @treturn {string,...}
function validate.texts(page)
   local out = { page.text, page.ask, page.todo, page.vary, page.after, page.right, page.otherwise }
   local all = {}
   for i = 1, 7 do all[#all + 1] = out[i] end
   for _, hint in ipairs(page.hints or {}) do all[#all + 1] = hint end
   for _, entry in ipairs(page.wrong or {}) do all[#all + 1] = entry.say end
   for _, choice in ipairs(page.choices or {}) do
      all[#all + 1] = choice[1]
      all[#all + 1] = choice.say
   end
   return all
end

-- Words that stand in front of a number that is not a result, such as "section 3". Widths in bits,
-- 0, 1 and numbers in code are not taken for results either.
local NAMES_A_NUMBER = { section = true, sections = true, figure = true, figures = true, lab = true, labs = true,
   chapter = true, level = true, set = true, ["and"] = true, to = true }

-- Returns the first number that is literally in a paragraph and may be a result, or nil.
local function own_number(paragraph)
   local before = ""
   paragraph = paragraph:gsub("`[^`]*`", "code"):gsub("%d+ bits?%f[%W]", "width")
   for word in paragraph:gmatch("%S+") do
      local bare = word:gsub("^[('\"]+", ""):gsub("[)'\".,;:?!%%]+$", "")
      local reference = NAMES_A_NUMBER[before:lower()]
      if bare:find("^%-?%d[%d.,]*$") and bare ~= "0" and bare ~= "1" and not reference then return bare end
      if not (bare:find("^%d") and reference) then before = bare end
   end
end

local function check_texts(page, say, figures)
   for _, template in ipairs(validate.texts(page)) do
      local ok, err = pcall(text.fill, template, figures)
      if not ok then say(err) end
      for _, paragraph in ipairs(text.paragraphs(template)) do
         local number = not paragraph.code and own_number(paragraph.text)
         if number then say(("the text has a number of its own, %s: name a parameter or a figure"):format(number)) end
         if paragraph.code then check_code(paragraph.text, say) end
      end
   end
end

-- --- the answers ---------------------------------------------------------------------------------

--- Returns an answer for which an entry of `wrong` gives the explanation.
-- @tparam table entry
-- @tparam table page
-- @tparam table figures
-- @treturn string
function validate.example(entry, page, figures)
   local right = answers.resolve(page.answer, figures)
   if entry.more then return tostring(math.abs(right) * 1000 + 1000) end
   if entry.less then return tostring(-math.abs(right) * 1000 - 1) end
   local value = answers.resolve(entry.is, figures)
   return type(value) == "table" and table.concat(value, " ") or tostring(value)
end

--- Returns the right answer as a student would type it.
-- @tparam table page
-- @tparam table figures
-- @treturn string
function validate.right(page, figures)
   local value = answers.resolve(page.answer, figures)
   if page.kind == "choice" then return string.char(96 + value) end
   return type(value) == "table" and table.concat(value, " ") or tostring(value)
end

-- Complains if an earlier page has shown the figure that is asked for; `shown` has the page of each
-- figure.
local function check_not_shown(page, say, shown)
   local at = type(page.answer) == "string" and shown[page.answer]
   if at then say(("its answer, figure '%s', is shown on page %d already"):format(page.answer, at)) end
end

-- Complains if a text states the tolerance, which the fields `within` and `factor` set; or if an
-- answer at the limit of this tolerance, or just beyond it, is judged wrongly.
local function check_bounds(page, say, s)
   for _, block in ipairs { page.ask or "", page.todo or "" } do
      local words = block:match("[Ww]ithin an? %a+ is right") or block:match("near enough")
      if words then say(("the text says how near is right, '%s': fields 'within' and 'factor' do"):format(words)) end
   end
   if not (page.within or page.factor) then return end
   local wanted = tonumber(tostring(answers.resolve(page.answer, s.figures))) or 0
   local times = page.factor or 1 + page.within
   for by, expected in pairs { [times] = true, [times * 1.01] = false, [1 / times] = page.factor ~= nil or nil } do
      local given = ("%.15g"):format(wanted * by)
      if wanted ~= 0 and s:judge(page, given) ~= expected then
         say(("%s is %sright, against field '%s'"):format(given, expected and "not " or "",
            page.factor and "factor" or "within"))
      end
   end
end

local function check_answers(page, say, s)
   local ok, right = pcall(s.judge, s, page, validate.right(page, s.figures))
   if not (ok and right) then say("the right answer is not taken: " .. tostring(right)) end
   check_bounds(page, say, s)
   for i, entry in ipairs(page.wrong or {}) do
      local fine, is_right, explanation = pcall(s.judge, s, page, validate.example(entry, page, s.figures))
      if not fine or is_right ~= false or explanation ~= entry.say then
         say(("wrong[%d]: nobody would see it, for its answer is right, is another one's, or cannot be read"):format(i))
      end
   end
end

-- Trivial scripts, which must solve no task.
local VACUOUS = { "return {}", "return 0", "return 1", "return 2", "return -1", "return true", "return ''",
   "return { 0 }", "return function() end", "return function(...) return ... end", "return function() return {} end" }
for i = 0, 3 do VACUOUS[#VACUOUS + 1] = ("return function() return %d end"):format(i) end

-- Functions that never return or that end the interpreter: the check must survive them.
local RUNAWAYS = { "return function() while true do end end", "return function() os.exit(0) end" }
local A_MOMENT = 0.05 -- s

-- Returns the solutions of the lab's other tasks, which must not solve this one.
local function neighbours(lab, page)
   local out = {}
   for _, other in ipairs(lab.pages) do
      if other ~= page and other.solution then out[#out + 1] = other.solution end
   end
   return out
end

local function one_line(source)
   return (source:gsub("%s+", " "):sub(1, 60))
end

-- Checks a task with its solution, its example of a mistake and scripts that must not solve it.
-- Returns the figures that the page's texts may name, or nil if the solution fails.
local function check_script(page, say, s)
   local sources = { page.solution, page.mistake, unpack(neighbours(s.lab, page)) }
   for _, source in ipairs(VACUOUS) do sources[#sources + 1] = source end
   local verdicts, err = judge.scripts(s, page, sources)
   if not verdicts then return say("its check fails: " .. tostring(err)) end
   local good, bad = verdicts[1], verdicts[2]
   if not good.right then say("its own solution does not solve the task: " .. tostring(good.say)) end
   if bad.right ~= false then say("its mistake is no mistake: " .. tostring(bad.say)) end
   for i = 3, #sources do
      if verdicts[i].right then
         say(("a script that does nothing solves the task: `%s`"):format(one_line(sources[i])))
      end
   end
   for _, source in ipairs(RUNAWAYS) do
      local right = judge.script(s, page, source, { limit = A_MOMENT, quiet = true })
      if right then say(("`%s` solves the task"):format(one_line(source))) end
   end
   local out = {}
   for _, figures in ipairs { s.figures, good.figures or {}, bad.figures or {} } do
      for name, value in pairs(figures) do out[name] = value end
   end
   return out
end

-- Runs the lab up to page i. Returns false if the run fails, as nothing that follows can be judged
-- then.
local function check_runs(page, say, s, i)
   local ok, err = pcall(s.run, s, i)
   if not ok then
      say("its run fails: " .. tostring(err))
      return false
   end
   local shown, why = pcall(text.figures, page.show, s.figures, { width = 80 })
   if not shown then say("show: " .. why) end
   local figures = s.figures
   if page.task and page.kind == "script" then
      figures = check_script(page, say, s)
   elseif page.ask or page.task then
      check_answers(page, say, s)
   end
   if figures then check_texts(page, say, figures) end
   return true
end

--- Checks a lab and lists its faults.
-- @tparam table lab of `catalog.read`
-- @tparam[opt] table params values of parameters
-- @treturn {string,...} complaints; empty if the lab has no fault
function validate.lab(lab, params)
   local out, seen = {}, {}
   local function say(complaint) out[#out + 1] = ("%s: %s"):format(lab.path, complaint) end
   check_fields(lab, say)
   if #out > 0 then return out end
   for i, page in ipairs(lab.pages) do
      check_form(page, function(complaint) say(("page %d: %s"):format(i, complaint)) end, seen)
   end
   if #out > 0 then return out end
   local minutes = catalog.minutes(lab.pages)
   if (lab.minutes or minutes) ~= minutes then
      say(("field 'minutes': %s, but its pages take %d; without the field they are counted"):format(
         tostring(lab.minutes), minutes))
   end
   local s, shown = session.new(lab, { params = params }), {}
   for i, page in ipairs(lab.pages) do
      s.index = i
      check_not_shown(page, function(complaint) say(("page %d: %s"):format(i, complaint)) end, shown)
      for _, row in ipairs(page.show or {}) do shown[row[2]] = shown[row[2]] or i end
      if not check_runs(page, function(complaint) say(("page %d: %s"):format(i, complaint)) end, s, i) then break end
   end
   return out
end

return validate
