-- SPDX-License-Identifier: MIT
--- A student's session at a lab: pages, predictions, runs, explanations, tasks. It takes texts and
-- returns lines and does no I/O, so that terminals, notebooks and tests can use it.
-- @module repl.lab.session

local answers = require "repl.lab.answers"
local judge = require "repl.lab.judge"
local kit = require "labs.kit"
local lpfm = require "lpfm"
local render = require "pfm.render"
local text = require "repl.lab.text"
local text_file = require "pfm.util.text_file"
local tables = require "pfm.util.tables"

local session = {}
session.__index = session

-- --- figures -------------------------------------------------------------------------------------

local function merge(into, from)
   for k, v in pairs(from or {}) do into[k] = v end
   return into
end

-- a parameter's limit: TIMES its default, or AT_LEAST if that is more
local TIMES, AT_LEAST = 100, 1000

local function check_model(value)
   for _, machine in ipairs(lpfm.machines()) do
      if machine == "sim:" .. tostring(value) then return end
   end
   error(("parameter model: there is no model '%s'; lpfm.machines() lists them"):format(tostring(value)), 0)
end

-- Raises an error if a value does not suit a parameter. It must have the type of the default value.
-- A number must not be negative, must be an integer if the default is one, and has a limit, so that
-- each run ends.
local function check_parameter(lab, name, value)
   local own = lab.params[name]
   if own == nil then error(("lab %s has no parameter '%s'"):format(lab.name, tostring(name)), 0) end
   if type(own) ~= "number" then
      if type(value) == type(own) then return end
      error(("parameter %s: expected a %s, got '%s'"):format(name, type(own), tostring(value)), 0)
   end
   local whole = own % 1 == 0
   local fits = type(value) == "number" and value >= 0 and (not whole or value % 1 == 0)
   if not fits then
      error(("parameter %s: expected a %s, not negative, got '%s'"):format(name, whole and "whole number" or "number",
         tostring(value)), 0)
   end
   local most = (lab.most or {})[name] or math.max(TIMES * own, AT_LEAST)
   if value > most then
      error(("parameter %s: expected at most %s, got '%.14g'"):format(name, render.number(most), value), 0)
   end
end

-- Returns the lab's parameters, with the given values in place of its own; raises an error on
-- unknown names.
local function parameters(lab, set)
   local out = merge({}, lab.params)
   for name, value in pairs(set) do
      check_parameter(lab, name, value)
      out[name] = value
   end
   return out
end

--- Draws values for the parameters in the lab's `draw`; equal seeds give equal values.
-- @tparam table lab
-- @string seed such as a student's name
-- @treturn table by name
function session.draw(lab, seed)
   local out = {}
   for name, values in pairs(not lab.machine and lab.draw or {}) do
      local hash = 7
      for _, byte in ipairs { (seed .. "\0" .. lab.name .. "\0" .. name):byte(1, -1) } do
         hash = (hash * 16807 + byte) % 2147483647
      end
      out[name] = values[math.floor(hash / 2147483647 * #values) + 1]
   end
   return out
end

--- Lists parameters: "ns=5, rounds=500".
-- @tparam ?table params by name
-- @treturn string "" if there are none
function session.list_parameters(params)
   local list = {}
   for name, value in pairs(params or {}) do list[#list + 1] = ("%s=%s"):format(name, tostring(value)) end
   table.sort(list)
   return table.concat(list, ", ")
end

local function close_all(ok, ...)
   kit.finish()
   if not ok then error((...), 0) end
   return ...
end

-- Calls a function of the lab, and closes contexts that it left open.
local function call(fn, ...)
   return close_all(pcall(fn, kit, ...))
end

-- Adds changed parameters to an error: the lab runs with its defaults, so the changes must have
-- caused it.
local function blame(self, err)
   if not next(self.set) or type(err) ~= "string" then return err end
   local reason = err:gsub("^%S+:%d+: ", "")
   return ("lab %s does not run with %s: %s"):format(self.lab.name, session.list_parameters(self.set), reason)
end

-- A figure must not have the name of a parameter or of another figure, which would change what
-- texts say.
local function check_name(self, name, value)
   if self.params[name] ~= nil then error(("figure '%s' has the name of a parameter"):format(name), 0) end
   local before = self.figures[name]
   if before ~= nil and before ~= value and type(value) ~= "table" then
      error(("figure '%s' is there already, with another value"):format(name), 0)
   end
end

local function add_figures(self, figures)
   for name, value in pairs(figures or {}) do
      check_name(self, name, value)
      self.figures[name] = value
   end
end

--- Runs a page, unless it has run already, and keeps the figures that the machine shows.
-- @int index the page
function session:run(index)
   local page = self.lab.pages[index]
   if not page.run or self.ran[index] then return end
   local ok, figures = pcall(call, page.run, self.params, self.figures)
   if not ok then error(blame(self, figures), 0) end
   add_figures(self, figures)
   self.ran[index] = true
end

--- Runs all pages up to one: its text may name the figures of any of them.
-- @int index
function session:run_up_to(index)
   for i = 1, index do self:run(i) end
end

-- --- a session -----------------------------------------------------------------------------------

--- Creates a session.
-- @tparam table lab of `catalog.read`
-- @tparam[opt] table options `params`, values for parameters by name; `kept`, of `progress.load`;
-- `width`, columns; `more`, where to continue after the end; `notebook`: pages do not list the
-- words that can be typed
-- @treturn session
function session.new(lab, options)
   options = options or {}
   local self = setmetatable({ lab = lab, kept = options.kept or { page = 1, answers = {} }, ran = {},
      width = math.min(options.width or 80, 100), phase = "read", more = options.more,
      is_notebook = options.notebook }, session)
   self.set = options.params or {}
   self.params = parameters(lab, self.set)
   self.tried = merge({}, self.params)
   self.figures = merge({}, self.params)
   self.index = math.max(1, math.min(self.kept.page, #lab.pages))
   return self
end

--- Returns the page that is open.
function session:page()
   return self.lab.pages[self.index]
end

-- Adds lines, after an empty one.
local function add_apart(out, lines)
   if out[#out] and out[#out] ~= "" and #lines > 0 then out[#out + 1] = "" end
   return tables.append(out, lines)
end

-- Returns a text with its figures filled in, wrapped, optionally with words in front of it.
function session:lines(template, lead)
   return template and text.lines(text.fill(template, self.figures), self.width, lead) or {}
end

function session:choices(page)
   local out = {}
   for i, choice in ipairs(page.choices or {}) do
      local lines = render.wrap(text.fill(choice[1], self.figures), self.width - 6, "")
      for j, line in ipairs(lines) do
         local label = j == 1 and string.char(96 + i) .. ")" or "  "
         out[#out + 1] = ("   %s %s"):format(label, line)
      end
   end
   return out
end

local function heading(self)
   local lab = self.lab
   return ("%s (page %d of %d)"):format(lab.title, self.index, #lab.pages)
end

-- Returns the parameters that differ from the lab's defaults: those of the pages, and those that
-- were set at the prompt.
local function changes(self)
   local out, tried = {}, {}
   if next(self.set) then
      out[1] = ("Parameters of these pages: %s."):format(session.list_parameters(self.set))
   end
   for name, value in pairs(self.tried) do
      if value ~= self.params[name] then tried[name] = value end
   end
   if next(tried) then
      out[#out + 1] = ("At the prompt: %s; 'reset' undoes that. The pages keep theirs."):format(
         session.list_parameters(tried))
   end
   return out
end

-- Returns the words that can be typed now.
local function request(self)
   if self.is_notebook then return "" end
   local page, phase = self:page(), self.phase
   local kind = page.kind or "number"
   local wanted = { number = "a number", hex = "a hexadecimal number", words = "words or numbers, with blanks between",
      choice = "a letter", script = "the name of your script's file" }
   local out
   if phase == "ask" or phase == "task" then
      out = ("Type %s%s; 'hint' helps, 'skip' goes on without."):format(phase == "ask" and "your prediction: " or "",
         wanted[kind])
   else
      out = self.index < #self.lab.pages and "Enter goes on." or "Enter ends the lab."
   end
   if page.setup and phase ~= "ask" then out = out .. " 'prompt' opens lpfm's prompt." end
   return out
end

local function widest(lines)
   local width = 0
   for _, line in ipairs(lines) do width = math.max(width, render.width(line)) end
   return width
end

--- Opens the page: its text and, if there is one, its question or task.
-- @treturn {string,...} lines
function session:enter()
   local page = self:page()
   self:run_up_to(self.index) -- even a question, before the prediction, may name figures
   self.phase = page.ask and "ask" or page.task and "task" or page.vary and "vary" or "read"
   self.shown_hints = 0
   local out = tables.append({ "" }, render.wrap(heading(self), self.width))
   tables.append(out, { ("-"):rep(widest(out)), "" })
   for _, change in ipairs(changes(self)) do
      tables.append(out, render.wrap(change, self.width))
      out[#out + 1] = ""
   end
   tables.append(out, self:lines(page.text))
   local question = answers.question(page)
   if question then
      add_apart(out, self:lines(question, page.ask and "Question:" or page.task and "Task:" or "Try it:"))
   end
   tables.append(out, self:choices(page))
   if self.phase == "read" and page.run then tables.append(out, self:results(page)) end
   return add_apart(out, render.wrap(request(self), self.width))
end

-- Returns how `text.figures` draws figures: narrower than a page, since their lines are indented.
function session:view()
   return { width = math.max(self.width - 3, 1), colour = false, breaks = true }
end

-- Returns the figures of the page's run, and the text that follows them after any answer, as lines.
function session:results(page)
   local out = { "" }
   if page.show then
      out[2] = "The machine says:"
      tables.append(out, text.figures(page.show, self.figures, not self.is_notebook and self:view() or nil))
   end
   return add_apart(out, self:lines(page.after))
end

-- --- answers -------------------------------------------------------------------------------------

local function id_of(page)
   return page.id or page.task
end

local function record(self, page)
   local id = id_of(page)
   local entry = self.kept.answers[id] or { attempts = 0, hints = 0, state = "open" }
   self.kept.answers[id] = entry
   return entry
end

-- Adds an attempt to the log, which keeps all of them in their order.
local function keep_log(self, entry, fields)
   entry.log = entry.log or {}
   fields.time, fields.hints = os.time(), entry.hints
   fields.params = next(self.set) and merge({}, self.set) or nil
   fields.seed = self.kept.seed
   entry.log[#entry.log + 1] = fields
end

-- Notes an answer. The first answer to a question remains the prediction; a solved task remains
-- solved.
local function note(self, page, reply, right)
   local entry = record(self, page)
   local is_first = entry.state == "open"
   keep_log(self, entry, { answer = reply, right = right })
   entry.attempts = entry.attempts + 1
   if page.ask and not is_first then return end
   if page.task and entry.state == "right" and not right then return end
   entry.answer, entry.state = reply, right and "right" or "wrong"
end

--- Judges an answer to a question, or to a task that asks for a value, with the figures of this
-- run.
-- @tparam table page
-- @string answer
-- @treturn[1] boolean right
-- @treturn[1] string explanation
-- @return[2] nil
-- @treturn[2] string why the answer cannot be read
function session:judge(page, answer)
   local given, err = answers.read(answer, page)
   if given == nil then return nil, err end
   for i, other in ipairs(self.lab.pages) do
      if other == page then self:run_up_to(i) end
   end
   return answers.judge(given, page, self.figures)
end

--- Judges a value that a script returned for a task.
-- @tparam table page
-- @param value that the script returned
-- @treturn boolean right
-- @treturn string explanation
-- @treturn table figures of the check
function session:judge_value(page, value)
   local ok, right, say, figures = pcall(call, page.check, self.params, value, self.figures)
   if not ok then return false, "It cannot be checked: " .. tostring(right):gsub("^%S+:%d+: ", ""), {} end
   for name, figure in pairs(figures or {}) do check_name(self, name, figure) end
   local shown = merge(merge({}, self.figures), figures)
   return right and true or false, text.fill(say or (right and page.right) or page.otherwise, shown), figures or {}
end

--- Judges a script that solves a task, in an interpreter of its own.
-- @tparam table page which has run
-- @string path
-- @treturn ?boolean nil if it cannot be run
-- @treturn string explanation
function session:judge_script(page, path)
   local source = text_file.all(path)
   if not source then return nil, "cannot read " .. path end
   return judge.script(self, page, source, { name = path })
end

-- Keeps a script; one that fails does not replace one that solved the task.
local function keep_script(self, page, path, right)
   local solved = record(self, page).state == "right"
   if solved and not right then return end
   self.scripts = self.scripts or {}
   self.scripts[id_of(page)] = text_file.all(path)
end

-- Returns a file's name as a shell reads it: perhaps quoted, or with ~ for the home folder.
local function file_of(reply)
   local bare = reply:match('^"(.*)"$') or reply:match("^'(.*)'$") or reply
   return (bare:gsub("^~/", (os.getenv("HOME") or "~") .. "/"))
end

local function verdict(right)
   return right and "Right." or "Not so."
end

local function is_script(page)
   return page.task ~= nil and page.kind == "script"
end

-- Handles an answer to the question or the task of the page.
local function answer(self, page, reply)
   local judge_one = is_script(page) and session.judge_script or session.judge
   local right, say = judge_one(self, page, is_script(page) and file_of(reply) or reply)
   if right == nil then return render.wrap(say .. ".", self.width) end
   if is_script(page) then keep_script(self, page, file_of(reply), right) end
   note(self, page, reply, right)
   local out = { answers.echo(reply, page) }
   if page.ask then tables.append(out, self:results(page)) end
   if is_script(page) then
      add_apart(out, render.wrap(verdict(right) .. " " .. say:gsub("^%l", string.upper), self.width))
   else
      add_apart(out, self:lines(say or "", verdict(right)))
   end
   if page.ask or right then self.phase = "read" end
   return add_apart(out, render.wrap(request(self), self.width))
end

--- Judges a value that was found at the prompt as the answer to the open task; `check` at the
-- prompt calls this. A task that wants a script accepts only a file.
-- @param value
-- @treturn {string,...} lines
function session:check(value)
   local page = self:page()
   if not page.task then return { "There is no task on this page." } end
   if not is_script(page) then return answer(self, page, tostring(value)) end
   local right, say = self:judge_value(page, value)
   local file = " Now the same in a file, so that it is kept: leave the prompt, and give the file's name."
   return render.wrap(verdict(right) .. " " .. say .. (right and file or ""), self.width)
end

-- --- words that are not answers ------------------------------------------------------------------

local function go(self, by)
   local index = self.index + by
   if index > #self.lab.pages then
      self.kept.done, self.kept.page, self.over = true, 1, true -- the next session begins on page 1
      local out = { "", ("That was lab %s. 'lpfm lab' shows what comes next."):format(self.lab.name) }
      return tables.append(out, self.more and render.wrap(self.more, self.width) or {})
   end
   self.index = math.max(1, index)
   self.kept.page = self.index
   return self:enter()
end

local words = {}

--- Shows the next hint.
function words.hint(self)
   local hints = self:page().hints or {}
   if self.shown_hints >= #hints then
      return { #hints == 0 and "There is no hint for this page." or "There are no more hints." }
   end
   self.shown_hints = self.shown_hints + 1
   local entry = record(self, self:page())
   entry.hints = math.max(entry.hints, self.shown_hints)
   return self:lines(hints[self.shown_hints], ("Hint %d of %d:"):format(self.shown_hints, #hints))
end

function words.skip(self)
   local page = self:page()
   if self.phase == "read" or self.phase == "vary" then return go(self, 1) end
   local entry = record(self, page)
   if entry.state == "open" then entry.state = "skipped" end
   keep_log(self, entry, { skipped = true })
   self.phase = "read"
   if not page.ask then return go(self, 1) end
   local choice = (page.choices or {})[answers.resolve(page.answer, self.figures)]
   local out = add_apart(self:results(page), self:lines(choice and choice.say or page.otherwise))
   return add_apart(out, render.wrap(request(self), self.width))
end

function words.next(self)
   if self.phase == "ask" or self.phase == "task" then return { "First an answer, or 'skip'." } end
   return go(self, 1)
end

function words.back(self)
   return go(self, -1)
end

function words.quit(self)
   self.over = true
   return { ("'lpfm lab %s' goes on from here."):format(self.lab.name) }
end

function words.prompt(self)
   self.wants_prompt = true
   return {}
end

--- Resets the prompt's parameters to those of the pages.
function words.reset(self)
   for name in pairs(self.tried) do self.tried[name] = self.params[name] end
   return { "The prompt has the lab's parameters again." }
end

function words.help()
   return {
      "   Enter    goes on, as 'next' does, where there is nothing to answer",
      "   hint     a hint, and another one each time",
      "   skip     goes on without an answer",
      "   back     the page before this one",
      "   prompt   lpfm's prompt, with the machine set up; Ctrl-D comes back",
      "   reset    undoes what was set in the prompt's `params`",
      "   quit     leaves; the next time the lab goes on where it was left",
   }
end

words["?"] = words.help

--- Handles a line that the student typed: an answer, or a word such as `hint`.
-- @string reply
-- @treturn {string,...} lines; then `over` is true if the session has ended, `wants_prompt` if the
-- prompt shall be opened
function session:reply(reply)
   reply = reply:gsub("^%s+", ""):gsub("%s+$", "")
   local word = words[reply:lower()]
   if word then return word(self) end
   local page = self:page()
   if self.phase == "ask" or self.phase == "task" then
      if reply ~= "" then return answer(self, page, reply) end
      return { "Type an answer; 'hint' helps, 'skip' goes on without, '?' lists all words." }
   end
   if reply == "" then return words.next(self) end
   return render.wrap("There is nothing to answer here: Enter goes on, 'prompt' opens lpfm's prompt, '?' lists what "
      .. "can be typed.", self.width)
end

-- Returns a value of a lab for the prompt. The errors of a function then name the function, and not
-- a line in the source of the lab.
local function for_prompt(name, value)
   if type(value) ~= "function" then return value end
   local function pass(ok, ...)
      if ok then return ... end
      local err = ...
      if type(err) ~= "string" then error(err, 0) end
      error(("%s: %s"):format(name, (err:gsub("^[^\n]-:%d+: ", ""))), 0)
   end
   return function(...) return pass(pcall(value, ...)) end
end

--- Returns the names for the prompt: those that the page sets up, `check`, `hint`, `kit`, `reset`,
-- and `params`, a copy of the parameters: changes to it reach only the names that the page sets up.
-- @tparam function say prints lines
-- @treturn table
function session:globals(say)
   local page, lab = self:page(), self.lab
   local out = { kit = kit, params = setmetatable({}, {
      __index = self.tried,
      __newindex = function(_, name, value)
         check_parameter(lab, name, value)
         if name == "model" then check_model(value) end
         self.tried[name] = value
      end,
      __tostring = function() return session.list_parameters(self.tried) end,
   }) }
   local setup = page.setup or lab.setup
   local ok, names = pcall(setup or function() end, kit, self.tried, self.figures)
   if not ok then -- the parameters that were tried last do not suit the lab
      say(render.wrap(("With %s the lab's names cannot be set up: %s"):format(session.list_parameters(self.tried),
         tostring(names):gsub("^%S+:%d+: ", "")), self.width))
      say(words.reset(self))
      names = setup(kit, self.tried, self.figures)
   end
   for name, value in pairs(names or {}) do out[name] = for_prompt(name, value) end
   out.reset = function() say(words.reset(self)) end
   out.check = function(value) say(self:check(value)) end
   out.hint = function() say(words.hint(self)) end
   return out
end

return session
