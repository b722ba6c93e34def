-- SPDX-License-Identifier: MIT
--- The names that the prompt has, beside Lua's: for the prompt itself, and for scripts that were saved there.
-- @module pfm.prompt

local prompt = {}

-- Module pfm.NAME, its function `call`.
local calls = { "stat", "record", "cascade", "bias", "report", "annotate", "diff", "export", "plot", "list", "help",
   "watch" }

--- What `quit()` raises.
prompt.quitting = {}

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
   session = function(...) return require("pfm.background").start(...) end,
   sessions = function() return require("pfm.background").list() end,
   show = function(...) require("pfm.show").print(...) end,
   quit = function() error(prompt.quitting, 0) end,
}

--- Makes the names global, and lets the journal listen.
function prompt.provide()
   require("pfm.journal").install()
   for _, name in ipairs(calls) do
      rawset(_G, name, function(...) return require("pfm." .. name).call(...) end)
   end
   for name, fn in pairs(own) do rawset(_G, name, fn) end
   rawset(_G, "lpfm", require "lpfm")
   rawset(_G, "events", require "pfm.events")
   rawset(_G, "pfm", lazy_modules())
end

--- The names, sorted.
-- @treturn table
function prompt.names()
   local out = { "lpfm", "events", "pfm" }
   for _, name in ipairs(calls) do out[#out + 1] = name end
   for name in pairs(own) do out[#out + 1] = name end
   table.sort(out)
   return out
end

--- The name of a function that the prompt provides.
-- @param value
-- @return string or nil
function prompt.name_of(value)
   for _, name in ipairs(prompt.names()) do
      if value ~= nil and rawget(_G, name) == value then return name end
   end
end

return prompt
