-- SPDX-License-Identifier: MIT
--- The names that the prompt has, beside Lua's: for the prompt itself, and for scripts that were saved there.
-- @module repl.prompt.globals

local command = require "repl.command"

local globals = {}

-- Names of functions beside the commands: module repl.prompt.NAME, its function `call`.
local calls = { "help", "watch" }

--- What `quit()` raises.
globals.quitting = {}

-- pfm.NAME loads the module at first use.
local function lazy_modules()
   return setmetatable({}, {
      __index = function(self, name)
         local module = require("pfm." .. name)
         rawset(self, name, module)
         return module
      end,
   })
end

-- Functions of the prompt that are no module's `call`.
local own = {
   session = function(...) return require("repl.prompt.jobs").start(...) end,
   sessions = function() return require("repl.prompt.jobs").list() end,
   show = function(...) require("repl.prompt.show").print(...) end,
   --- Leaves the prompt.
   -- @function quit
   -- @prompt quit
   quit = function() error(globals.quitting, 0) end,
}

--- Makes the names global, and lets the journal listen.
function globals.provide()
   require("repl.prompt.journal").install()
   for _, row in ipairs(command.rows) do
      local name = row.name
      if row.call then rawset(_G, name, function(...) return command.module(name).call(...) end) end
   end
   for _, name in ipairs(calls) do
      rawset(_G, name, function(...) return require("repl.prompt." .. name).call(...) end)
   end
   for name, fn in pairs(own) do rawset(_G, name, fn) end
   rawset(_G, "lpfm", require "lpfm")
   rawset(_G, "events", require "pfm.events")
   rawset(_G, "pfm", lazy_modules())
end

--- The names, sorted.
-- @treturn table
function globals.names()
   local out = { "lpfm", "events", "pfm" }
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
