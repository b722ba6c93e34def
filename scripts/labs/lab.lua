-- SPDX-License-Identifier: MIT
--- What the labs share: the sheet that explains, results as `name: value` lines, and contexts that
-- stop the lab with the reason when a call fails.
-- @module labs.lab
local lpfm = require "lpfm"

local lab = {}

--- Prints the sheet: what the lab is about, without the indentation of the source.
-- @tparam string text
function lab.sheet(text)
   print((text:gsub("^ *", ""):gsub("\n *", "\n")))
end

--- Prints a result.
-- @tparam string name
-- @param value a list is printed with spaces between its elements
function lab.show(name, value)
   if type(value) == "table" then
      value = table.concat(value, " ")
   end
   print(("%s: %s"):format(name, tostring(value)))
end

--- A simulated computer.
-- @tparam string model "itanium2", "k8", ...: those of lpfm.machines()
-- @tparam[opt] table options
function lab.machine(model, options)
   return assert(lpfm.machine("sim:" .. model, options))
end

--- A context on which a call that fails raises.
-- @tparam[opt] table options of lpfm.create
-- @return an object with the context's methods; its field ctx is the context
function lab.context(options)
   local ctx = assert(lpfm.create(options or {}))
   return setmetatable({ ctx = ctx }, {
      __index = function(_, name)
         return function(_, ...)
            return assert(ctx[name](ctx, ...))
         end
      end,
   })
end

--- The value of one PMD.
-- @param ctx of `lab.context`
-- @tparam int num
-- @tparam[opt=0] int set
function lab.value(ctx, num, set)
   return ctx:read_pmds { { num = num, set = set or 0 } }[1].value
end

--- Addresses 1, 2, 3 as the figures name them.
-- @tparam {int,...} ips
function lab.names(ips)
   local out = {}
   for i, ip in ipairs(ips) do
      out[i] = "IP" .. ip
   end
   return out
end

return lab
