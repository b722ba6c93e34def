-- SPDX-License-Identifier: MIT
--- Gives the modules of the program and of the library an environment of their own, which has the
-- values that Lua's global names had at the beginning: what users assign to such a name at the
-- prompt (`type = 5`) must not stop the code that reads and runs the next line.
-- @module repl.environment

local own = setmetatable({}, { __index = _G, __newindex = _G })
for name, value in pairs(_G) do rawset(own, name, value) end
own.print = nil -- found in _G instead, where a replacement by users has an effect
setfenv(1, own)

-- The tables that the modules share with statements of the user, as methods are looked up in them.
-- A statement may change them: `string.find = nil`, `getmetatable("").__index = nil`.
local shared, values = { string, table, io, os, math, debug, coroutine, getmetatable(""), getmetatable(io.stdout) }, {}
for i, t in ipairs(shared) do
   values[i] = {}
   for k, v in next, t do values[i][k] = v end
end

local environment = {}

--- Gives Lua's libraries, and the methods of strings and files, the values that they had at the
-- beginning.
function environment.restore()
   debug.sethook()
   for i, t in ipairs(shared) do
      for k, v in next, values[i] do rawset(t, k, v) end
   end
end

local search = package.loaders[2]

package.loaders[2] = function(name)
   local chunk = search(name)
   if type(chunk) == "function" and (name:find("^repl%.") or name:find("^pfm%.")) then setfenv(chunk, own) end
   return chunk
end

return environment
