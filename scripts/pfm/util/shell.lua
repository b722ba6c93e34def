-- SPDX-License-Identifier: MIT
--- Programs of the system that do a part of the work.
-- @module pfm.util.shell

local text_file = require "pfm.util.text_file"

local shell = {}

--- Makes a path a word for the shell, never an option.
-- @string path
-- @treturn string
function shell.quote(path)
   if path:sub(1, 1) == "-" then path = "./" .. path end
   return "'" .. path:gsub("'", "'\\''") .. "'"
end

--- Returns true if there is a program.
-- @string name as a word for the shell
-- @treturn boolean
function shell.has(name)
   local pipe = io.popen("command -v " .. name .. " 2>/dev/null")
   local found = pipe:read("*l")
   pipe:close()
   return found ~= nil
end

--- Raises an error where a program is missing.
-- @string name
-- @string[opt] package the Debian package, if its name differs
function shell.need(name, package)
   if not shell.has(name) then
      error(("this needs the program %s (Debian: apt install %s)"):format(name, package or name), 0)
   end
end

-- Raises an error if a program printed errors: a pipe does not tell whether its program failed.
local function check(program, said)
   local text = said:gsub("%s+$", "")
   if text ~= "" then error(("%s: %s"):format(program, text), 0) end
end

--- Starts a command that reads what is written.
-- @string command
-- @return a file
-- @treturn function to be called at the end; raises what the command said
function shell.writer(command)
   local errors, said = text_file.unnamed()
   -- cat reads on if the command fails, so that no SIGPIPE comes.
   local pipe = io.popen(("{ %s; } 2>%s; cat >/dev/null"):format(command, errors), "w")
   return pipe, function()
      pipe:close()
      check(command:match("^%S+"), said())
   end
end

--- Runs a command.
-- @string command
-- @treturn string what it printed; raises an error where it printed nothing but errors
function shell.read(command)
   local errors, said = text_file.unnamed()
   local pipe = io.popen(("{ %s; } 2>%s"):format(command, errors), "r")
   local text = pipe:read("*a")
   pipe:close()
   local complaints = said()
   if text == "" then check(command:match("^%S+"), complaints) end
   return text
end

return shell
