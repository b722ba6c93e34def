-- SPDX-License-Identifier: MIT
-- The interpreter of a student's script. It is told what to run on the socket which is its descriptor 0, and knows
-- nothing of lab, task or verdict: the judge at the other end calls what the script returns, or takes its value.

local fcntl = require "posix.fcntl"
local lpfm = require "lpfm"
local unistd = require "posix.unistd"
local wire = require "repl.lab.wire"

local fd = assert(fcntl.fcntl(0, fcntl.F_DUPFD, 3))
fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
assert(unistd.dup2(assert(fcntl.open("/dev/null", fcntl.O_RDWR)), 0))

-- What the judge has called here is loaded before scripts are, and is not what they get by `require`: they can replace
-- theirs, and what they make of lpfm's own table is undone.
local kit = require "labs.kit"
package.loaded["labs.kit"] = nil
local functions = {}
for name, value in pairs(lpfm) do functions[name] = value end

-- Contexts are made on the judge's computer if it lends that, until the script makes one of its own.
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

-- Runs the script; what it returns.
function orders.run(source, name, create)
   lend(create)
   local chunk, err = loadstring(source, "@" .. name)
   if not chunk then error(err, 0) end
   local value = chunk()
   if value == nil then error(name .. ": expected the script to return something", 0) end
   return value
end

-- A function of the kit, on a computer of this interpreter.
function orders.kit(name, ...)
   for key, value in pairs(functions) do lpfm[key] = value end
   return kit[name](...)
end

local judge = wire.new(fd, nil, function(order, ...) return orders[order](...) end)
pcall(judge.serve, judge) -- until the judge has gone
