-- SPDX-License-Identifier: MIT
--- Runs chunks of Lua as scripts.
-- @module repl.chunk

local environment = require "repl.environment"

local chunk = {}

local FAILURE, INTERRUPTED = 1, 130

-- Former names of modules. Scripts that older versions saved at the prompt require them.
local former = { ["pfm.prompt"] = "repl.prompt.globals", ["pfm.saved"] = "repl.prompt.transcript" }

--- Defines the names that scripts and the prompt use without a require.
function chunk.preload()
   require "pfm.former"
   for name, now in pairs(former) do package.preload[name] = function() return require(now) end end
   local lpfm = require "lpfm"
   rawset(_G, "lpfm", lpfm)
   if os.getenv("LPFM_JITMAP") then require("pfm.jitmap").start() end
end

local MOST = 7000 -- arguments of a script; Lua cannot call a function with 8000 values

local function set_arguments(name, argv, from)
   if #argv - from > MOST then error(("%s: a script takes at most %d arguments"):format(name, MOST), 0) end
   local arguments = { [0] = name, [-1] = "lpfm" }
   for i = from, #argv do arguments[#arguments + 1] = argv[i] end
   rawset(_G, "arg", arguments)
   return unpack(arguments)
end

-- Makes the message of an error; the script may have taken away what that needs.
local function traceback(err)
   environment.restore()
   if type(err) == "table" then return err end
   return debug.traceback(tostring(err), 2)
end

-- Removes the program's own frames from a traceback: they say nothing about the script.
local function shorten(trace)
   local cut = trace:find("\n[^\n]*%[C%]: in function 'xpcall'")
   return cut and trace:sub(1, cut - 1) or trace
end

local function status_of(result)
   if type(result) == "number" then return result end
   return result == false and FAILURE or 0
end

--- Runs a chunk as a script.
-- @tparam function f
-- @string name for `arg[0]`
-- @tparam table argv
-- @number from the index in argv at which the script's arguments begin
-- @treturn number exit status
function chunk.run(f, name, argv, from)
   chunk.preload()
   local args = { set_arguments(name, argv, from) }
   local ok, result = xpcall(function() return f(unpack(args)) end, traceback)
   if ok then return status_of(result) end
   if type(result) == "table" then error(result, 0) end
   error({ message = shorten(result), status = result:find("^[^\n]*interrupted\n") and INTERRUPTED or FAILURE }, 0)
end

return chunk
