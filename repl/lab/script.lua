-- SPDX-License-Identifier: MIT
-- The interpreter of a student's script. The judge tells it on the socket at descriptor 0 what to
-- run, then calls or takes the value that the script returns. The interpreter knows nothing of the
-- lab, the task or the verdict.

local fcntl = require "posix.fcntl"
local lpfm = require "lpfm"
local unistd = require "posix.unistd"
local wire = require "repl.lab.wire"

local fd = assert(fcntl.fcntl(0, fcntl.F_DUPFD, 3))
fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
assert(unistd.dup2(assert(fcntl.open("/dev/null", fcntl.O_RDWR)), 0))

-- The kit that the judge calls is loaded before scripts run and is hidden from their `require`, so
-- that they can replace only a copy of it; their changes to lpfm's own table are undone.
local kit = require "labs.kit"
package.loaded["labs.kit"] = nil
local functions = {}
for name, value in pairs(lpfm) do functions[name] = value end

-- Lets lpfm.create make contexts on the judge's computer, if the judge lends that, until the script
-- creates a computer of its own.
local function lend(create)
   local face = { create = create }
   function face.machine(...)
      if select("#", ...) > 0 then face.create = lpfm.create end
      return lpfm.machine(...)
   end
   package.loaded.lpfm = setmetatable(face, { __index = lpfm })
end

local orders = {}

-- Says that the interpreter has started.
function orders.ready() return true end

-- Runs the script and returns its value.
function orders.run(source, name, create)
   lend(create)
   local chunk, err = loadstring(source, "@" .. name)
   if not chunk then error(err, 0) end
   local value = chunk()
   if value == nil then error(name .. ": expected the script to return something", 0) end
   return value
end

-- Calls a function of the kit on a computer of this interpreter.
function orders.kit(name, ...)
   for key, value in pairs(functions) do lpfm[key] = value end
   return kit[name](...)
end

local judge = wire.new(fd, nil, function(order, ...) return orders[order](...) end)
pcall(judge.serve, judge) -- until the judge has gone
