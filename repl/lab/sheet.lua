-- SPDX-License-Identifier: MIT
--- Labs on paper and in notebooks: the figures alone, a page to print, a notebook.
-- @module repl.lab.sheet

local answers = require "repl.lab.answers"
local catalog = require "repl.lab.catalog"
local grade = require "repl.lab.grade"
local render = require "pfm.render"
local session = require "repl.lab.session"
local text = require "repl.lab.text"
local tables = require "pfm.util.tables"

local sheet = {}

local PLAIN = { width = 80, colour = false } -- for pictures in text
local PICTURE = { width = 640 }              -- px

-- --- figures -------------------------------------------------------------------------------------

--- Returns the figures of all pages of a lab.
-- @tparam table lab
-- @tparam[opt] table params values of parameters
-- @treturn {string,...} `label: value` lines
function sheet.figures(lab, params)
   local s, out = session.new(lab, { params = params }), {}
   if next(s.set) then out[1] = "parameters: " .. session.list_parameters(s.set) end
   for i, page in ipairs(lab.pages) do
      s:run(i)
      for _, line in ipairs(text.figures(page.show, s.figures, PLAIN)) do out[#out + 1] = line:sub(4) end
   end
   return out
end

-- --- a page to print -----------------------------------------------------------------------------

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function html(plain)
   return (plain:gsub('[&<>"]', entities))
end

--- Escapes a text for HTML.
-- @string plain
-- @treturn string
sheet.html = html

local STYLE = [[
body { font: 11pt/1.45 serif; max-width: 42em; margin: 2em auto; padding: 0 1em; color: #000; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.1em; margin-top: 1.6em; break-after: avoid; }
pre { font: 8.75pt/1.45 monospace; white-space: pre-wrap; border-left: 2pt solid #999; padding-left: 1em;
   break-inside: avoid; tab-size: 3; }
p:has(+ pre) { break-after: avoid; }
.ask { border: 1pt solid #666; padding: .2em .8em .8em; }
.what, .ask:not(.long) { break-inside: avoid; }
.line { border-bottom: 1pt dotted #666; height: 1.8em; }
.before { break-after: avoid; }
.say { border-left: 2pt solid #999; padding-left: .8em; }
.say pre { border: 0; padding: 0; }
figure { margin: .8em 0; break-inside: avoid; } figure svg { max-width: 100%; height: auto; }
figcaption { font-size: 9.5pt; }
.who span { display: inline-block; width: 9em; border-bottom: 1pt dotted #666; }
@page { margin: 2cm; @bottom-right { content: counter(page); } }]]

-- Returns a text of lines without the indentation that all of them have.
local function flush_left(lines)
   local least = math.huge
   for line in lines:gmatch("[^\n]+") do least = math.min(least, #line:match("^ *")) end
   return least == math.huge and lines or (("\n" .. lines):gsub("\n" .. (" "):rep(least), "\n"):sub(2))
end

-- Returns text as HTML, in which words between ` are code.
local function marked(words)
   return (html(words):gsub("`([^`]*)`", "<code>%1</code>"))
end

local function paragraphs(block, figures)
   local out = {}
   for _, p in ipairs(block and text.paragraphs(text.fill(block, figures)) or {}) do
      out[#out + 1] = p.code and "<pre>" .. html(flush_left(p.text)) .. "</pre>" or "<p>" .. marked(p.text) .. "</p>"
   end
   return table.concat(out, "\n")
end

local function list(title, items)
   local out = tables.map(items, function(item) return "<li>" .. marked(item) .. "</li>" end)
   return ("<p><b>%s</b></p>\n<ul>\n%s\n</ul>"):format(title, table.concat(out, "\n"))
end

local function choices(page, figures)
   local out = {}
   for _, choice in ipairs(page.choices or {}) do
      out[#out + 1] = "<li>" .. marked(text.fill(choice[1], figures)) .. "</li>"
   end
   return #out > 0 and '<ol type="a">\n' .. table.concat(out, "\n") .. "\n</ol>" or ""
end

local function picture(label, figure)
   local svg = figure:svg(PICTURE)
   return ("<figure>%s<figcaption>%s</figcaption></figure>"):format(
      svg or "<pre>" .. html(figure:text { width = PLAIN.width, utf8 = true, colour = false }) .. "</pre>", html(label))
end

--- Returns the pictures among figures, as HTML.
-- @tparam ?table show rows `{ label, name of the figure }`
-- @tparam table figures
-- @treturn string "" without any
function sheet.pictures(show, figures)
   local out = tables.map(text.pictures(show, figures), function(found) return picture(found.label, found.figure) end)
   return table.concat(out, "\n")
end

local function shown(page, figures)
   local lines = text.figures(page.show, figures)
   local numbers = #lines > 0 and "<pre>" .. html(flush_left(table.concat(lines, "\n"))) .. "</pre>" or ""
   return numbers .. sheet.pictures(page.show, figures)
end

-- Returns an example of an answer that an entry of `wrong` explains.
local function wrong_answer(entry, figures)
   if entry.more then return "what is too large" end
   if entry.less then return "what is too small" end
   return text.value(answers.resolve(entry.is, figures))
end

local function labelled(label, block, figures)
   return (paragraphs(block, figures):gsub("<p>", "<p><b>" .. html(label):gsub("%%", "%%%%") .. ":</b> ", 1))
end

-- Returns the letter of the i-th choice.
local function letter(i)
   return string.char(96 + i)
end

-- Returns the lines that only the teacher's copy has: the answer, the reason, and the explanations
-- of wrong answers.
local function for_teacher(page, figures)
   local hints = {}
   for i, hint in ipairs(page.hints or {}) do hints[i] = labelled(("Hint %d"):format(i), hint, figures) end
   if page.kind == "script" then
      return ('<div class="say"><p>Right:</p><pre>%s</pre>\n<p>Not so:</p><pre>%s</pre>\n%s</div>'):format(
         html(page.solution), html(page.mistake), table.concat(hints, "\n"))
   end
   local answer = answers.resolve(page.answer, figures)
   local right = page.kind == "choice" and letter(answer) or text.value(answer)
   local out = { shown(page, figures), paragraphs(page.after, figures), paragraphs(page.right, figures),
      ("<p><b>Answer:</b> %s%s</p>"):format(html(right), page.unit and " " .. html(page.unit) or "") }
   for _, entry in ipairs(page.wrong or {}) do
      out[#out + 1] = labelled("To " .. wrong_answer(entry, figures), entry.say, figures)
   end
   if page.otherwise then out[#out + 1] = labelled("To all others", page.otherwise, figures) end
   for i, choice in ipairs(page.choices or {}) do
      out[#out + 1] = paragraphs(("%s) %s"):format(letter(i), (choice.say:gsub("^%s+", ""))), figures)
   end
   return '<div class="say">\n' .. table.concat(tables.append(out, hints), "\n") .. "\n</div>"
end

-- Returns the kind of a page, for its heading.
local function name_of(page)
   return page.ask and "Question" or page.task and "Task" or page.vary and "Try it" or "Read"
end

-- Returns the heading of a page: its number, kind and points and, in the teacher's copy, how long
-- it takes.
local function heading(page, i, teacher)
   local more = {}
   if page.id or page.task then more[1] = render.plural(grade.points(page), "point") end
   if teacher then more[#more + 1] = render.plural(catalog.minutes_of(page), "minute") end
   return ("<h2>%d. %s%s</h2>"):format(i, name_of(page), more[1] and (" (%s)"):format(table.concat(more, ", ")) or "")
end

-- Returns empty lines for the student to write on.
local function blanks(page)
   local n = page.kind == "script" and 8 or page.vary and 1 or 2
   return ('<div class="line"></div>'):rep(n)
end

local function page_of(page, i, figures, teacher)
   local question = answers.question(page)
   local out = { heading(page, i, teacher) }
   if page.text then
      out[2] = ('<div%s>%s</div>'):format(page.ask and ' class="before"' or "", paragraphs(page.text, figures))
   end
   if question then
      out[#out + 1] = ('<div class="ask%s"><div class="what">%s%s</div>%s</div>'):format(
         page.kind == "script" and " long" or "", paragraphs(question, figures), choices(page, figures),
         teacher and "" or blanks(page))
   end
   if teacher and (page.ask or page.task) then
      out[#out + 1] = for_teacher(page, figures)
   elseif page.run and not question then
      out[#out + 1] = shown(page, figures) .. paragraphs(page.after, figures)
   end
   return table.concat(out, "\n")
end

local function most_points(lab)
   local sum = 0
   for _, page in ipairs(lab.pages) do
      if page.id or page.task then sum = sum + grade.points(page) end
   end
   return sum
end

--- Returns a lab as a page of HTML to print, with room for answers or, for the teacher, with all
-- answers.
-- @tparam table lab
-- @tparam[opt] table options `params`, values of parameters; `teacher`
-- @treturn string
function sheet.handout(lab, options)
   options = options or {}
   local s = session.new(lab, { params = options.params })
   s:run_up_to(#lab.pages)
   local title = html(lab.title)
   local out = { ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>%s</title>'):format(title),
      "<style>" .. STYLE .. "</style></head><body>", "<h1>" .. title .. "</h1>",
      ("<p>%s, about %d minutes.%s</p>"):format(html("lpfm lab " .. lab.name), lab.minutes, next(s.set)
         and " Parameters: " .. html(session.list_parameters(s.set)) .. "." or ""),
      (options.teacher and "<p>At most %d points.</p>"
         or '<p class="who">Name <span></span> Date <span></span> Points <span></span> of %d</p>'):format(
         most_points(lab)),
      list("You will learn to", lab.goals), list("To read", lab.read) }
   if options.teacher then
      out[#out + 1] = '<h2>For the teacher</h2>\n<div class="say">' .. paragraphs(lab.teacher, s.figures) .. "</div>"
   end
   for i, page in ipairs(lab.pages) do out[#out + 1] = page_of(page, i, s.figures, options.teacher) end
   out[#out + 1] = "</body></html>\n"
   return table.concat(out, "\n")
end

-- --- a notebook ----------------------------------------------------------------------------------

local function markdown(block, figures, lead)
   local out = {}
   for _, p in ipairs(block and text.paragraphs(text.fill(block, figures), lead) or {}) do
      out[#out + 1] = p.code and "```\n" .. flush_left(p.text) .. "\n```" or p.text
   end
   return out
end

local function note(out, lines)
   if #lines == 0 then return end
   out[#out + 1] = { cell_type = "markdown", metadata = { tags = { "lab" } }, source = table.concat(lines, "\n\n") }
end

local function code(out, source)
   out[#out + 1] = { cell_type = "code", metadata = { tags = { "lab" } }, source = source,
      execution_count = render.null, outputs = {} }
end

local function cells_of(page, i, figures, out)
   local lines = markdown(page.text, figures)
   local question = answers.question(page)
   if question then
      tables.append(lines, markdown(question, figures, ("**%s.**"):format(name_of(page))))
   end
   for k, choice in ipairs(page.choices or {}) do
      lines[#lines + 1] = ("%s) %s"):format(letter(k), text.fill(choice[1], figures))
   end
   note(out, lines)
   if page.setup then code(out, ("course:open(%d)"):format(i)) end
   if page.ask or page.task then code(out, ('course:answer("%s", "")'):format(page.id or page.task)) end
   if page.run and not question then code(out, ("course:show(%d)"):format(i)) end
end

local NOTEBOOK = "Put each answer between the quotes of its cell, and run that: the machine answers. A script is "
   .. "answered by the name of its file. `course:hints` with the name of a question gives its hints. What the texts "
   .. "say of lpfm's prompt holds for cells: `course:open` sets up the names of a page."

-- Returns the call that opens a lab, with those parameters that differ from the lab's defaults.
local function opening(lab, params)
   local set = {}
   for name, value in pairs(params or {}) do
      set[#set + 1] = (type(value) == "number" and "%s = %.14g" or "%s = %q"):format(name, value)
   end
   table.sort(set)
   return ('course = lab("%s"%s)'):format(lab.name, set[1] and (", { %s }"):format(table.concat(set, ", ")) or "")
end

--- Returns a lab as a notebook for lpfm's Jupyter kernel.
-- @tparam table lab
-- @tparam[opt] table params values of parameters
-- @treturn string JSON
function sheet.notebook(lab, params)
   local s, cells = session.new(lab, { params = params }), {}
   s:run_up_to(#lab.pages)
   note(cells, { "# " .. lab.title, "Goals: " .. table.concat(lab.goals, "; ") .. "." })
   code(cells, opening(lab, params))
   note(cells, { NOTEBOOK })
   for i, page in ipairs(lab.pages) do cells_of(page, i, s.figures, cells) end
   return render.json { cells = cells, nbformat = 4, nbformat_minor = 4, metadata = {
      kernelspec = { name = "lpfm", display_name = "lpfm", language = "lua" }, language_info = { name = "lua" } } }
end

return sheet
