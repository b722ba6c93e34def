-- SPDX-License-Identifier: MIT
--- What a teacher gets: a line of JSON for each question and task, judged by runs of now.
-- @module repl.lab.grade

local apart = require "repl.lab.apart"
local progress = require "repl.lab.progress"
local render = require "pfm.render"

local grade = {}

--- Seconds that a script may take.
grade.limit = 20

local KEYS = { "lab", "task", "kind", "state", "answer", "attempts", "hints", "why" } -- in this order

-- { right = boolean }, or nil and why it cannot be judged.
local function judge(s, page, row, limit)
   if page.task == nil or page.kind ~= "script" then
      local right = s:judge(page, tostring(row.answer))
      return { right = right or false }
   end
   local path = progress.path(s.lab.name .. "-" .. row.task, "lua")
   return apart.call(function()
      local right, why = s:judge_script(page, path or "")
      return { right = right or false, why = right == nil and why or nil }
   end, limit)
end

local function row_of(s, page, limit)
   local id = page.id or page.task
   local entry = s.kept.answers[id] or { state = "open", attempts = 0, hints = 0 }
   local row = { lab = s.lab.name, task = id, kind = page.ask and "prediction" or "task",
      state = entry.state, answer = entry.answer, attempts = entry.attempts, hints = entry.hints }
   if row.answer ~= nil then
      local verdict, why = judge(s, page, row, limit)
      row.state = verdict and verdict.right and "right" or "wrong"
      row.why = why or (verdict and verdict.why)
   end
   return row
end

--- Judges all answers of a session again, by runs of now: what a file of progress claims does not count. Scripts run
-- in processes of their own.
-- @tparam session s of `repl.lab.session`
-- @tparam[opt=20] number limit seconds that a script may take
-- @treturn {table,...} `{ lab=, task=, kind="prediction"|"task", state=, answer=, attempts=, hints=, why= }`;
-- `why`: why a script cannot be judged
function grade.session(s, limit)
   local out = {}
   for i, page in ipairs(s.lab.pages) do
      if page.id or page.task then
         s:run_up_to(i) -- here, so that the time is the script's
         out[#out + 1] = row_of(s, page, limit or grade.limit)
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
