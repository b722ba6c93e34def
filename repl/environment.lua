-- SPDX-License-Identifier: MIT
--- Gives the modules of the program and of the library an environment of their own, which has the
-- values that Lua's global names had at the beginning: what users assign to such a name at the
-- prompt (`type = 5`) must not stop the code that reads and runs the next line.
-- @module repl.environment

local own = setmetatable({}, { __index = _G, __newindex = _G })
for name, value in pairs(_G) do rawset(own, name, value) end
own.print = nil -- found in _G instead, where a replacement by users has an effect
setfenv(1, own)

-- The values of the tables that the modules share with statements of the user, which may change
-- them: `string.find = nil`, `package.loaded = nil`, `require("pfm.render").clean = nil`.
local values = {}

-- Notes the values of a table; of its numbered elements only if the table is a list. (The registry
-- has references to values as elements, which come and go.)
local function note(t, is_list)
   values[t] = {}
   for k, v in next, t do values[t][k] = (is_list or type(k) == "string") and v or nil end
end

local sethook, set_metatable, strings = debug.sethook, debug.setmetatable, getmetatable("")
-- All booleans share one metatable, and so do all numbers, functions and coroutines: this is one
-- value of each of these types.
local plain = { true, 0, next, coroutine.create(function() end) }
local environment = {}

--- Gives Lua's libraries, the methods of strings and files, and the modules the values that they
-- had at the beginning.
function environment.restore()
   sethook()
   for _, value in next, plain do set_metatable(value, nil) end
   set_metatable(nil, nil)
   set_metatable("", strings)
   for t, fields in next, values do
      for k, v in next, fields do rawset(t, k, v) end
   end
end

local search, loaders = package.loaders[2], package.loaders

loaders[2] = function(name)
   local chunk = search(name)
   if type(chunk) ~= "function" or not (name:find("^repl%.") or name:find("^pfm%.")) then return chunk end
   setfenv(chunk, own)
   return function(...)
      local module = chunk(...)
      if type(module) == "table" then note(module) end
      return module
   end
end

for _, t in ipairs { string, table, io, os, math, debug, coroutine, package, package.loaded, package.preload, strings,
   getmetatable(io.stdout), debug.getregistry() } do note(t) end
note(loaders, true)
for name in pairs(package.preload) do
   if name:find("^repl%.") then note(require(name)) end
end
note(environment)
-- Until this file returns, package.loaded only has a mark of require() for it.
values[package.loaded]["repl.environment"] = environment

return environment
