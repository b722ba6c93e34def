-- SPDX-License-Identifier: MIT
--- The global names that the prompt adds to Lua's, also for scripts that were saved there. The
-- commands are functions, and the library's modules have the last part of their names:
-- `record("ls")`, `record.run{...}`.
-- @module repl.prompt.globals

local command = require "repl.command.rows"
local namespace = require "repl.prompt.namespace"
local parts = require "repl.parts"

local globals = {}

-- Functions that are not commands: each is the function `call` of module repl.prompt.NAME.
local calls = { "help", "watch" }

--- The error value that `quit()` raises.
globals.quitting = {}

-- The metatable of pfm and of the globals, which loads the library's modules at first use.
local on_demand = {
   modules = true, -- tells `repl.prompt.namespace` that fields can be modules
   __index = function(self, name)
      local module = namespace.module(name)
      local missing = not module and self == _G and parts.missing(name)
      if missing then error(("%s: %s"):format(name, missing), 0) end
      if not module then return nil end
      rawset(self, name, require(module))
      return rawget(self, name)
   end,
}

-- Returns the function of a command. If the library has a module of that name, the function has the
-- module's fields, too.
local function function_of(row)
   local function call(...) return command.module(row.name).call(...) end
   local module = namespace.module(row.name)
   if module then
      return setmetatable({}, {
         __call = function(_, ...) return call(...) end,
         __index = function(_, key) return require(module)[key] end,
         __tostring = function() return ("%s: a function, and the module %s"):format(row.name, module) end,
         module = module,
      })
   end
   return call
end

-- Former names of functions, which still work.
local former = { session = "job", sessions = "jobs" }

-- Functions of the prompt that are not the `call` of a module.
local own = {
   job = function(...) return require("repl.prompt.jobs").start(...) end,
   jobs = function() return require("repl.prompt.jobs").list() end,
   show = function(...) require("repl.prompt.show").print(...) end,
   --- Leaves the prompt.
   -- @function quit
   -- @prompt quit
   quit = function() error(globals.quitting, 0) end,
}

--- Defines the global names, and makes tostring() of contexts describe how they are programmed.
function globals.provide()
   require("repl.prompt.counters").install()
   require("repl.prompt.pieces").install()
   for _, row in ipairs(command.rows) do
      if row.call then rawset(_G, row.name, function_of(row)) end
   end
   for _, name in ipairs(calls) do
      rawset(_G, name, function(...) return require("repl.prompt." .. name).call(...) end)
   end
   for name, fn in pairs(own) do rawset(_G, name, fn) end
   for name, now in pairs(former) do rawset(_G, name, own[now]) end
   rawset(_G, "lpfm", require "lpfm")
   rawset(_G, "pfm", setmetatable({}, on_demand))
   setmetatable(_G, on_demand)
end

--- The names of the functions, and of lpfm and pfm. `repl.prompt.namespace.modules` has those of
-- the library's modules.
-- @treturn table sorted
function globals.names()
   local out = { "lpfm", "pfm" }
   for _, row in ipairs(command.rows) do
      if row.call then out[#out + 1] = row.name end
   end
   for _, name in ipairs(calls) do out[#out + 1] = name end
   for name in pairs(own) do out[#out + 1] = name end
   table.sort(out)
   return out
end

--- The name of a function that the prompt provides.
-- @param value
-- @return string or nil
function globals.name_of(value)
   for _, name in ipairs(globals.names()) do
      if value ~= nil and rawget(_G, name) == value then return name end
   end
end

return globals
