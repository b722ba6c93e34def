-- SPDX-License-Identifier: MIT
--- A student's progress: a JSON file for each lab, in $XDG_STATE_HOME/lpfm/labs.
-- @module repl.lab.progress

local namespace = require "repl.prompt.namespace"
local render = require "pfm.render"
local text_file = require "pfm.util.text_file"
local stat = require "posix.sys.stat"

local progress = {}

local MOST = 2 ^ 20 -- bytes of a file of progress that is read

-- for each progress: the text of its file when it was last read or written
local texts = setmetatable({}, { __mode = "k" })

local given -- a folder that is read instead of the user's own

local function folder()
   if given then return given end
   local dir, home = os.getenv("XDG_STATE_HOME"), os.getenv("HOME")
   if dir and dir ~= "" then return dir .. "/lpfm/labs" end
   return home and home ~= "" and home .. "/.local/state/lpfm/labs" or nil
end

--- The folder of progress.
-- @treturn ?string nil where there is no home
progress.folder = folder

--- Makes the following calls read the progress in another folder.
-- @string[opt] dir the folder; without it, the user's own again
function progress.read_from(dir)
   given = dir
end

--- Returns the path of the file that keeps the progress of a lab or a script.
-- @string name of the lab, or of a script that solves a task
-- @string[opt="json"] kind the end of the file's name
-- @treturn ?string nil where there is no home
function progress.path(name, kind)
   local dir = folder()
   return dir and ("%s/%s.%s"):format(dir, name, kind or "json")
end

local function whole(value, least)
   return type(value) == "number" and value >= least and value < 2 ^ 31 and value % 1 == 0 and value or least
end

local function plain(value)
   return (type(value) == "string" or type(value) == "number" or type(value) == "boolean") and value or nil
end

local function parameters(params)
   local out = {}
   for name, value in pairs(type(params) == "table" and params or {}) do
      if type(name) == "string" then out[name] = plain(value) end
   end
   return next(out) and out or nil
end

-- Returns the attempts in a log, in their order.
local function log(list)
   local out = {}
   for _, entry in ipairs(type(list) == "table" and list or {}) do
      if type(entry) == "table" then
         out[#out + 1] = { answer = plain(entry.answer), right = entry.right == true or nil,
            skipped = entry.skipped == true or nil, time = whole(entry.time, 0), hints = whole(entry.hints, 0),
            params = parameters(entry.params), seed = plain(entry.seed) }
      end
   end
   return out[1] and out or nil
end

-- Returns the answers in a file, which is untrusted input: entries and fields that no answer has
-- are left out.
local function answers(kept)
   local out = {}
   for id, entry in pairs(type(kept) == "table" and kept or {}) do
      if type(entry) == "table" then
         out[id] = { answer = plain(entry.answer), attempts = whole(entry.attempts, 0), hints = whole(entry.hints, 0),
            state = type(entry.state) == "string" and entry.state or "open", log = log(entry.log) }
      end
   end
   return out
end

local TYPES = { attempts = "number", hints = "number", state = "string", log = "table" }

-- Says what in the file cannot have been written by `lpfm lab`; returns nil if nothing is wrong.
local function oddity(kept)
   if kept.answers ~= nil and type(kept.answers) ~= "table" then return "its 'answers' are not an object" end
   for id, entry in pairs(kept.answers or {}) do
      if type(entry) ~= "table" then return ("its answer to '%s' is not an object"):format(tostring(id)) end
      local is_odd = type(entry.answer) == "table"
      for name, kind in pairs(TYPES) do is_odd = is_odd or (entry[name] ~= nil and type(entry[name]) ~= kind) end
      if is_odd then return ("its answer to '%s' has a field of the wrong type"):format(tostring(id)) end
   end
end

-- Reads a student's file. Returns nil if there is none, and nil and a message if it is not a
-- regular file or too long: a link could lead to another student's file, and a device has no end.
local function handed_in(path)
   local info = stat.lstat(path)
   if not info then return nil end
   if stat.S_ISREG(info.st_mode) == 0 then return nil, path .. " is damaged: it is a link, or no file" end
   if info.st_size > MOST then return nil, ("%s is damaged: it has more than %d bytes"):format(path, MOST) end
   return text_file.all(path)
end

--- Reads the script that was kept for a task.
-- @string name of the lab
-- @string id of the task
-- @treturn[1] string
-- @return[2] nil
-- @treturn[2] string why there is none
function progress.script(name, id)
   local path = progress.path(name .. "-" .. id, "lua")
   if not path then return nil, "there is no folder of progress" end
   local source, err = handed_in(path)
   return source, err or "cannot read " .. path
end

--- Reads the progress of a lab.
-- @string name
-- @tparam[opt] boolean is_strict entries that would be left out are errors
-- @treturn[1] table `{ page=number, params=, seed=, answers={ [id]={ answer=, state=, attempts=,
-- hints=, log={ { answer= or skipped=, right=, time=, hints=, params=, seed= }, ... } } } }`; if
-- there is no file, without answers and with page 1
-- @return[2] nil
-- @treturn[2] string what is wrong with its file
function progress.load(name, is_strict)
   local path = progress.path(name)
   local written, err
   if path then written, err = (is_strict and handed_in or text_file.all)(path) end
   if err then return nil, err end
   local kept = {}
   if written then kept = render.from_json(written) end
   if type(kept) ~= "table" or (written and not written:find("^%s*{")) then
      return nil, path .. " is damaged: it is no JSON object"
   end
   local odd = is_strict and oddity(kept)
   if odd then return nil, ("%s is damaged: %s"):format(path, odd) end
   kept = { page = whole(kept.page, 1), done = kept.done and true or nil, params = parameters(kept.params),
      seed = plain(kept.seed), answers = answers(kept.answers) }
   texts[kept] = written or ""
   return kept
end

--- Returns the names of the labs that have progress.
-- @treturn {string,...}
function progress.names()
   local out, dir = {}, folder()
   for _, file in ipairs(dir and namespace.entries(dir) or {}) do out[#out + 1] = file:match("^(.+)%.json$") end
   return out
end

--- Renames a file of progress that cannot be read, so that it is not overwritten.
-- @string name
-- @treturn string its new name
function progress.put_aside(name)
   local path = progress.path(name)
   assert(os.rename(path, path .. ".damaged"))
   return path .. ".damaged"
end

local function make_folders(path)
   for at in path:gmatch("()/") do
      if at > 1 then stat.mkdir(path:sub(1, at - 1)) end
   end
end

--- Writes a file atomically: on failure it keeps its former content.
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

--- Saves the progress of a lab.
-- @string name
-- @tparam table kept of `progress.load`
-- @return[1] true
-- @return[2] nil
-- @treturn[2] string why not
function progress.save(name, kept)
   return progress.write(progress.path(name), render.json(kept) .. "\n")
end

--- Saves the progress of a session, and the scripts that solve its tasks. If another session has
-- changed the file since this one read or wrote it, nothing is saved, as that would overwrite the
-- answers of the other session.
-- @tparam session session
-- @return[1] true
-- @return[2] nil
-- @treturn[2] string why not
function progress.keep(session)
   local name = session.lab.name
   local path = progress.path(name)
   local there, last = path and text_file.all(path), texts[session.kept]
   if there and last and there ~= last then return nil, "another session of this lab has answered since" end
   local ok, err = progress.save(name, session.kept)
   texts[session.kept] = path and text_file.all(path)
   for id, source in pairs(session.scripts or {}) do
      local is_kept, why = progress.write(progress.path(name .. "-" .. id, "lua"), source)
      ok, err = ok and is_kept, err or why
   end
   return ok, err
end

--- Deletes the progress of a lab.
-- @string name
function progress.forget(name)
   local path = progress.path(name)
   if path then os.remove(path) end
end

return progress
