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

--- What is kept of a lab.
-- @string name
-- @treturn table `{ page=number, answers={ [id]={ answer=, state=, attempts=, hints= } } }`, as new if there is nothing
function progress.load(name)
   local path = progress.path(name)
   local text = path and text_file.all(path)
   local kept = text and render.from_json(text)
   if type(kept) ~= "table" then kept = {} end
   kept.page = tonumber(kept.page) or 1
   kept.answers = type(kept.answers) == "table" and kept.answers or {}
   return kept
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
