-- SPDX-License-Identifier: MIT
--- What a teacher gets: a line of JSON for each question and task, judged by runs of now.
-- @module repl.lab.grade

local progress = require "repl.lab.progress"
local render = require "pfm.render"

local grade = {}

local KEYS = { "lab", "task", "kind", "state", "answer", "attempts", "hints", "why" } -- in this order

-- Is an answer right; of a script also why it is not.
local function judge(s, page, row, limit)
   if page.task == nil or page.kind ~= "script" then return (s:judge(page, tostring(row.answer))) end
   local path = progress.path(s.lab.name .. "-" .. row.task, "lua")
   local right, why = s:judge_script(page, path or "", { limit = limit, quiet = true })
   return right, not right and why or nil
end

local function row_of(s, page, limit)
   local id = page.id or page.task
   local entry = s.kept.answers[id] or { state = "open", attempts = 0, hints = 0 }
   local row = { lab = s.lab.name, task = id, kind = page.ask and "prediction" or "task",
      state = entry.state, answer = entry.answer, attempts = entry.attempts, hints = entry.hints }
   if row.answer ~= nil then
      local right, why = judge(s, page, row, limit)
      row.state, row.why = right and "right" or "wrong", why
   end
   return row
end

--- Judges all answers of a session again, by runs of now: what a file of progress claims does not count. Scripts run
-- in interpreters of their own.
-- @tparam session s of `repl.lab.session`
-- @tparam[opt=20] number limit seconds that a script may take
-- @treturn {table,...} `{ lab=, task=, kind="prediction"|"task", state=, answer=, attempts=, hints=, why= }`;
-- `why`: why a script is not right
function grade.session(s, limit)
   local out = {}
   for i, page in ipairs(s.lab.pages) do
      if page.id or page.task then
         s:run_up_to(i) -- here, so that the time is the script's
         out[#out + 1] = row_of(s, page, limit)
      end
   end
   return out
end

--- A row as a line of JSON, its keys always in the same order.
-- @tparam table row
-- @treturn string
function grade.line(row)
   local out = {}
   for _, key in ipairs(KEYS) do
      if row[key] ~= nil then out[#out + 1] = ('"%s":%s'):format(key, render.json(row[key])) end
   end
   return "{" .. table.concat(out, ",") .. "}"
end

return grade
