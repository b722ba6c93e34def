-- SPDX-License-Identifier: MIT
--- Regions of Lua code: named pieces of a script, measured by lpfm stat with the option regions, or
-- by the script itself. Otherwise a region is just a call of its function.
--    local region = require "pfm.region"
--    region("sort", table.sort, list)
-- @module pfm.region

local expect = require "pfm.util.expect"
local files = require "lpfm.regions"

local region = {}

local mine -- the state of pfm.measure.regions, if this script measures itself

local function left(name, ok, ...)
   files.leave(name)
   if not ok then error((...), 0) end
   return ...
end

-- Raises an error at the line that called the caller.
local function check(name, fn)
   if type(name) ~= "string" then error("region: expected a name, got a " .. type(name), 3) end
   if name:find("%z") then error("region: a name has no zero bytes", 3) end
   if not expect.callable(fn) then error("region: expected a function, got a " .. type(fn), 3) end
end

local function run(name, fn, ...)
   if not files.on() then return fn(...) end
   files.enter(name)
   return left(name, pcall(fn, ...))
end

--- Calls a function as a region, which ends when the function returns or raises an error.
-- `region(name, fn, ...)` is the same.
-- @string name at most 127 bytes, the rest is ignored
-- @tparam function fn
-- @param ... its arguments
-- @return what it returns
-- @usage
-- local region = require "pfm.region"
-- print(region("square", function(x) return x * x end, 7))
function region.call(name, fn, ...)
   check(name, fn)
   return run(name, fn, ...)
end

-- Removes the file when the Lua state is closed.
local function remove_at_end(path)
   local guard = newproxy(true)
   getmetatable(guard).__gc = function() os.remove(path) end
   return guard
end

--- Begins to measure this process's regions, unless lpfm stat measures them already.
-- @tparam[opt] string names events (default: page-faults,task-clock)
-- @treturn[1] boolean true
-- @return[2] nil
-- @treturn[2] string message: regions are measured already, or the file cannot be used
-- @usage
-- local region = require "pfm.region"
-- region.begin "page-faults"
-- region("fill", function() return ("x"):rep(1e6) end)
-- region.finish()
function region.begin(names)
   if files.on() then return nil, "regions are being measured already" end
   local regions = require "pfm.measure.regions"
   local self = regions.prepare(names or "page-faults,task-clock")
   self.guard = remove_at_end(self.path)
   local ok, err = files.use(self.path)
   if not ok then return nil, err end
   mine = self
   return true
end

local function not_mine()
   return nil, files.on() and "the program that runs this script measures the regions, and reports them at its end"
      or "nothing is measured: region.begin comes first"
end

--- Returns what regions have counted since `region.begin`.
-- @treturn[1] table `regions` and `problems`, as of `pfm.measure.regions`:
-- `regions[1].events[1].value`
-- @return[2] nil
-- @treturn[2] string message: this script does not measure them
-- @usage
-- local region = require "pfm.region"
-- region.begin "page-faults"
-- region("fill", function() return ("x"):rep(1e6) end)
-- for _, r in ipairs((region.results() or { regions = {} }).regions) do print(r.name, r.calls) end
-- region.finish()
function region.results()
   if not mine then return not_mine() end
   return require("pfm.measure.regions").results(mine)
end

--- Ends what `region.begin` began.
-- @return as `region.results`
-- @usage
-- local region = require "pfm.region"
-- region.begin "page-faults"
-- region("fill", function() return ("x"):rep(1e6) end)
-- local t = region.finish()
-- print(t and t.regions[1].calls)
function region.finish()
   if not mine then return not_mine() end
   files.finish()
   local results = require("pfm.measure.regions").results(mine)
   os.remove(mine.path)
   mine = nil
   return results
end

return setmetatable(region, { __call = function(_, name, fn, ...)
   check(name, fn)
   return run(name, fn, ...)
end })
