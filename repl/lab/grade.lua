-- SPDX-License-Identifier: MIT
--- Grades for teachers: a row for each question and task of a student or a class, judged by running
-- the lab again.
-- @module repl.lab.grade

local judge = require "repl.lab.judge"
local namespace = require "repl.prompt.namespace"
local progress = require "repl.lab.progress"
local render = require "pfm.render"
local session = require "repl.lab.session"
local stdlib = require "posix.stdlib"
local tables = require "pfm.util.tables"

local grade = {}

local POINTS = { prediction = 1, task = 2, script = 5 } -- where a page has no `points`
local KEYS = { "student", "lab", "task", "kind", "state", "answer", "attempts", "hints", "params", "seed", "why" }

-- --- one student ---------------------------------------------------------------------------------

local function kind_of(page)
   return page.ask and "prediction" or "task"
end

--- Returns the number of points for a right answer.
-- @tparam table page of a question or a task
-- @treturn number points
function grade.points(page)
   return page.points or POINTS[page.kind == "script" and "script" or kind_of(page)]
end

-- Returns whether an answer is right; if a script is wrong, the reason; and if another answer is
-- wrong, the explanation, unless that is the page's general one.
local function is_right(s, page, row, limit)
   if page.task == nil or page.kind ~= "script" then
      local right, say = s:judge(page, tostring(row.answer))
      return right, nil, right == false and say ~= page.otherwise and say or nil
   end
   local source, err = progress.script(s.lab.name, row.task)
   if not source then return false, err end
   local right, why = judge.script(s, page, source, { name = row.task .. ".lua", limit = limit, quiet = true })
   return right, not right and why or nil
end

-- Returns the attempt that counts: for a question the first; for a task the last that solved it, or
-- else the last that was not skipped.
local function attempt_of(page, entry)
   local found
   for _, attempt in ipairs(entry.log or {}) do
      if page.ask then return attempt end
      if not attempt.skipped and (attempt.right or not (found and found.right)) then found = attempt end
   end
   return found
end

-- Returns a session that has the parameters of an attempt and has run up to the page. `others`
-- keeps these sessions by their parameters.
local function session_of(s, params, index, others)
   local key = session.list_parameters(params)
   others[key] = others[key] or (key == session.list_parameters(s.set) and s)
      or session.new(s.lab, { kept = s.kept, params = params })
   others[key]:run_up_to(index)
   return others[key]
end

local function row_of(s, index, options, others)
   local page = s.lab.pages[index]
   local id = page.id or page.task
   local entry = s.kept.answers[id] or { state = "open", attempts = 0, hints = 0 }
   local row = { lab = s.lab.name, task = id, kind = kind_of(page), state = entry.state, answer = entry.answer,
      attempts = entry.attempts, hints = entry.hints, log = entry.log }
   row.max, row.points = grade.points(page), 0
   local attempt = attempt_of(page, entry) or {}
   row.params, row.seed, row.time = session.list_parameters(attempt.params or s.set), attempt.seed, attempt.time
   if attempt.skipped or row.answer == nil then
      row.state = row.state == "skipped" and "skipped" or attempt.skipped and "skipped" or "open"
      return row
   end
   local wanted = options.seed and session.list_parameters(session.draw(s.lab, options.seed))
   local right, why, say
   if wanted and row.params ~= wanted then -- the answer is wrong whatever a run shows
      right, why = false, ("it was not answered with the parameters of the seed '%s'"):format(options.seed)
   else
      -- This raises errors of the lab.
      if row.params == session.list_parameters(s.set) then s:run_up_to(index) end
      local ok
      ok, right, why, say = pcall(function()
         return is_right(session_of(s, attempt.params or s.set, index, others), page, row, options.limit)
      end)
      if not ok then right, why = false, tostring(right) end
   end
   row.state, row.why, row.points = right and "right" or "wrong", why, right and row.max or 0
   row.say = not right and not why and say or nil
   return row
end

--- Judges all answers of a session again: it runs the lab with the parameters that each was given
-- with, and does not trust the states in a file of progress. Scripts run in interpreters of their
-- own.
-- @tparam session s of `repl.lab.session`
-- @tparam[opt] table options `limit`, seconds that a script may take; `seed`: an answer is wrong
-- unless the parameters that it was given with are those that this seed draws
-- @treturn {table,...} `{ lab=, task=, kind="prediction"|"task", state=, answer=, attempts=,
-- hints=, params=, seed=, time=, points=, max=, why=, say=, log= }`; `why`: the reason if it is
-- not right; `say`: if there is no `why`, what the lab says of a wrong answer
function grade.session(s, options)
   local out, others = {}, {}
   options = type(options) == "table" and options or { limit = options }
   for i, page in ipairs(s.lab.pages) do
      if s.lab.machine then s:run_up_to(i) end -- pcall below would hide that the machine is missing
      if page.id or page.task then out[#out + 1] = row_of(s, i, options, others) end
   end
   return out
end

--- Judges the sessions that have their progress in the folder of `progress.read_from`.
-- @tparam {table,...} labs
-- @tparam[opt] table options of `grade.session`
-- @treturn[1] {table,...} rows
-- @return[2] nil
-- @treturn[2] string which file is damaged, or that there is none
function grade.folder(labs, options)
   local out, is_there = {}, {}
   for _, name in ipairs(progress.names()) do is_there[name] = true end
   for _, lab in ipairs(labs) do
      local kept, err = progress.load(lab.name, true)
      if not kept then return nil, err end
      local ok, s = pcall(session.new, lab, { kept = kept, params = kept.params })
      if not ok then return nil, ("%s: %s"):format(progress.path(lab.name), s) end
      for _, row in ipairs(grade.session(s, options)) do out[#out + 1] = row end
   end
   if not next(is_there) then return nil, ("there is no progress in %s"):format(progress.folder() or "no folder") end
   return out
end

--- Returns a row as a line of JSON, its keys always in the same order.
-- @tparam table row
-- @treturn string
function grade.line(row)
   local out = {}
   for _, key in ipairs(KEYS) do
      if row[key] ~= nil and row[key] ~= "" then out[#out + 1] = ('"%s":%s'):format(key, render.json(row[key])) end
   end
   return "{" .. table.concat(out, ",") .. "}"
end

-- --- a class -------------------------------------------------------------------------------------

local PLACES = { "/lpfm/labs", "/.local/state/lpfm/labs", "/labs", "" } -- in a student's folder

-- Returns the folder with the progress in a student's folder, or nil. Raises an error if a symbolic
-- link leads to it, which could lead to the progress of another student.
local function place_of(dir)
   local own = stdlib.realpath(dir)
   for _, place in ipairs(PLACES) do
      for _, file in ipairs(namespace.entries(dir .. place) or {}) do
         if file:find("%.json$") and file ~= "results.json" then
            if stdlib.realpath(dir .. place) ~= own .. place then
               error(("%s is damaged: it leads out of %s"):format(dir .. place, dir), 0)
            end
            return dir .. place
         end
      end
   end
end

--- Judges a class: each folder in a folder is a student's, and has its name.
-- @string dir
-- @tparam {table,...} labs
-- @tparam[opt] table options of `grade.session`; `seeded`: each student's seed is its name
-- @treturn {table,...} `{ name=, rows= }` or `{ name=, err=, rows={} }` of each student, by name
function grade.class(dir, labs, options)
   local out, given = {}, options or {}
   local students = namespace.entries(dir) or {}
   table.sort(students)
   for _, name in ipairs(students) do
      local path = dir .. "/" .. name
      if name:sub(1, 1) ~= "." and namespace.entries(path) then
         local one = { limit = given.limit, seed = given.seeded and name or given.seed }
         local ok, rows, err = pcall(function()
            progress.read_from(place_of(path) or path .. PLACES[1])
            return grade.folder(labs, one)
         end)
         out[#out + 1] = { name = name, rows = ok and rows or {}, err = ok and err or not ok and rows or nil }
      end
   end
   progress.read_from(nil)
   return out
end

-- --- reports -------------------------------------------------------------------------------------

local reports = {}

local function cell(value)
   if value == nil then return "" end
   local text = tostring(value)
   -- A spreadsheet must not take the text for a formula.
   if text:find("^[=+@\t\r]") or text:find("^%-[^%d.]") then text = "'" .. text end
   return text:find('[",\r\n]') and '"' .. text:gsub('"', '""') .. '"' or text
end

local function csv(out, ...)
   local cells = {}
   for i = 1, select("#", ...) do cells[i] = cell((select(i, ...))) end
   out[#out + 1] = table.concat(cells, ",")
end

local function date(time)
   return time and time > 0 and os.date("!%Y-%m-%dT%H:%M:%SZ", time) or nil
end

local function sum(student)
   local points, max = 0, 0
   for _, row in ipairs(student.rows) do points, max = points + row.points, max + row.max end
   return points, max
end

--- Returns a line for each student and each question or task.
function reports.csv(class)
   local out = { "student,lab,task,kind,state,points,max,answer,attempts,hints,params,seed,time,why" }
   for _, student in ipairs(class) do
      for _, r in ipairs(student.rows) do
         csv(out, student.name, r.lab, r.task, r.kind, r.state, r.points, r.max, r.answer, r.attempts, r.hints,
            r.params, r.seed, date(r.time), r.why)
      end
      if student.err then
         csv(out, student.name, nil, nil, nil, "error", 0, nil, nil, nil, nil, nil, nil, nil, student.err)
      end
   end
   return out
end

--- Returns a line for each student.
function reports.points(class)
   local out = { "student,points,max,percent,error" }
   for _, student in ipairs(class) do
      local points, max = sum(student)
      csv(out, student.name, points, max, max > 0 and ("%.1f"):format(100 * points / max) or "", student.err)
   end
   return out
end

--- Returns a line for each attempt.
function reports.attempts(class)
   local out = { "student,lab,task,attempt,answer,right,skipped,hints,time,params,seed" }
   for _, student in ipairs(class) do
      for _, r in ipairs(student.rows) do
         for i, a in ipairs(r.log or {}) do
            csv(out, student.name, r.lab, r.task, i, a.answer, a.right and "yes" or a.answer ~= nil and "no" or nil,
               a.skipped and "yes" or nil, a.hints, date(a.time), session.list_parameters(a.params), a.seed)
         end
      end
   end
   return out
end

-- Returns what equal mistakes have in common: the reason without its numbers, the explanation of
-- the wrong answer, or the answer. With different parameters students give different numbers for
-- the same mistake.
local function mistake_of(row)
   return row.why and row.why:gsub("%d[%d,.]*", "0") or row.say or tostring(row.answer):lower()
end

--- Returns the number of students who made each mistake, the most frequent first, with one of their
-- answers.
function reports.wrong(class)
   local by, list, out = {}, {}, { "lab,task,answer,students,explanation" }
   for _, student in ipairs(class) do
      for _, r in ipairs(student.rows) do
         local key = r.lab .. "\0" .. r.task .. "\0" .. mistake_of(r)
         if r.state == "wrong" then
            local its = by[key] or tables.enter(by, key,
               { lab = r.lab, task = r.task, answer = r.why or tostring(r.answer), n = 0, say = r.say }, list)
            its.n = its.n + 1
         end
      end
   end
   table.sort(list, function(a, b)
      if a.n ~= b.n then return a.n > b.n end
      return a.lab .. "\0" .. a.task .. "\0" .. a.answer < b.lab .. "\0" .. b.task .. "\0" .. b.answer
   end)
   for _, entry in ipairs(list) do
      csv(out, entry.lab, entry.task, entry.answer, entry.n, entry.say and entry.say:gsub("%s+", " ") or nil)
   end
   return out
end

--- Returns a line for each question and task; without a class, there is no student's name in it.
function reports.json(class)
   local out = {}
   for _, student in ipairs(class) do
      for _, row in ipairs(student.rows) do
         row.student = student.name
         out[#out + 1] = grade.line(row)
      end
      if student.err then out[#out + 1] = grade.line { student = student.name, state = "error", why = student.err } end
   end
   return out
end

local function results(student)
   local points, max = sum(student)
   local tests = {}
   for i, r in ipairs(student.rows) do
      tests[i] = { name = r.lab .. ": " .. r.task, score = r.points, max_score = r.max,
         status = r.state == "right" and "passed" or "failed", output = r.why or r.state }
   end
   local output = student.err or ("%g of %g points"):format(points, max)
   return render.json { score = points, max_score = max, output = output, tests = #tests > 0 and tests or nil }
end

--- Returns a line for each student in the format of Gradescope's results.json.
function reports.gradescope(class)
   local out = {}
   for i, student in ipairs(class) do
      out[i] = student.name and ("%s:%s"):format(render.json(student.name), results(student)) or results(student)
   end
   if class[1] and not class[1].name then return out end
   return { "{" .. table.concat(out, ",\n") .. "}" }
end

--- The names of reports.
grade.reports = { "json", "csv", "points", "attempts", "wrong", "gradescope" }

--- Makes a report.
-- @string name one of `grade.reports`
-- @tparam {table,...} class of `grade.class`, or one student without a name
-- @treturn {string,...} lines
function grade.report(name, class)
   return reports[name](class)
end

return grade
