-- SPDX-License-Identifier: MIT
--- A student's progress: a JSON file for each lab, in lpfm's folder of $XDG_STATE_HOME (~/.local/state).
-- @module repl.lab.progress

local render = require "pfm.render"
local text_file = require "pfm.util.text_file"
local stat = require "posix.sys.stat"

local progress = {}

local function folder()
   local dir, home = os.getenv("XDG_STATE_HOME"), os.getenv("HOME")
   if dir and dir ~= "" then return dir .. "/lpfm/labs" end
   return home and home ~= "" and home .. "/.local/state/lpfm/labs" or nil
end

--- The file that keeps something of a lab.
-- @string name the lab's, or of a script that solves a task
-- @string[opt="json"] kind the end of the file's name
-- @treturn ?string nil where there is no home
function progress.path(name, kind)
   local dir = folder()
   return dir and ("%s/%s.%s"):format(dir, name, kind or "json")
end

local function whole(value, least)
   return type(value) == "number" and value >= least and value < 2 ^ 31 and value % 1 == 0 and value or least
end

-- Anybody can write such a file: what is none of an answer's is left out.
local function answers(kept)
   local out = {}
   for id, entry in pairs(type(kept) == "table" and kept or {}) do
      if type(entry) == "table" then
         out[id] = { answer = type(entry.answer) ~= "table" and entry.answer or nil,
            attempts = whole(entry.attempts, 0), hints = whole(entry.hints, 0),
            state = type(entry.state) == "string" and entry.state or "open" }
      end
   end
   return out
end

--- What is kept of a lab.
-- @string name
-- @treturn table `{ page=number, answers={ [id]={ answer=, state=, attempts=, hints= } } }`, as new if there is nothing
function progress.load(name)
   local path = progress.path(name)
   local text = path and text_file.all(path)
   local kept = text and render.from_json(text)
   if type(kept) ~= "table" then kept = {} end
   return { page = whole(kept.page, 1), done = kept.done and true or nil, answers = answers(kept.answers) }
end

local function make_folders(path)
   for at in path:gmatch("()/") do
      if at > 1 then stat.mkdir(path:sub(1, at - 1)) end
   end
end

--- Keeps a text: all of it, or what was there before.
-- @string path
-- @string text
-- @return[1] true
-- @return[2] nil
-- @treturn[2] string why not
function progress.write(path, text)
   if not path then return nil, "neither XDG_STATE_HOME nor HOME is set" end
   make_folders(path)
   local file, err = io.open(path .. ".new", "w")
   if not file then return nil, err end
   local ok = file:write(text)
   ok = file:close() and ok
   if not ok then return nil, "cannot write " .. path end
   return os.rename(path .. ".new", path)
end

--- Keeps the progress of a lab.
-- @string name
-- @tparam table kept of `progress.load`
-- @return[1] true
-- @return[2] nil
-- @treturn[2] string why not
function progress.save(name, kept)
   return progress.write(progress.path(name), render.json(kept) .. "\n")
end

--- Forgets the progress of a lab.
-- @string name
function progress.forget(name)
   local path = progress.path(name)
   if path then os.remove(path) end
end

return progress
