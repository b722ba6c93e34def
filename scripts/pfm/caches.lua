-- SPDX-License-Identifier: MIT
--- Where and when programs of the simulated computer miss its caches: misses by set over time, as
-- numbers and pictures.
-- @module pfm.caches

local plot = require "pfm.plot"
local expect = require "pfm.util.expect"

local caches = {}

local COLUMNS, ROWS = 64, 32 -- largest size of a picture
local STEP = 1000            -- ns of a step; halve() doubles it

-- Merges steps in pairs, so that a long run has no more of them than a short one.
local function halve(course)
   local half = {}
   for i = 1, #course, 2 do
      local sum, more = course[i], course[i + 1] or {}
      for set in ipairs(sum) do sum[set] = sum[set] + (more[set] or 0) end
      half[#half + 1] = sum
   end
   for i in ipairs(course) do course[i] = half[i] end
   course.step = course.step * 2
end

--- Runs a thread to its end and notes the misses of a cache by set, step by step.
-- @param m what `lpfm.machine` returned for a simulated computer
-- @tparam table spec
-- @int spec.tid the thread
-- @string[opt="L1D"] spec.cache its name in `m:caches()`
-- @int[opt=0] spec.cpu
-- @treturn table a list of steps, 64 at most, each with the misses of every set; `step`: ns that
-- each takes, `cache`: its name, `begun`: when the run began, ns of the machine's clock
-- @raise if there is no such cache or thread
-- @usage
-- local before, caches = lpfm.machine().name, require "pfm.caches"
-- local m = lpfm.machine("sim:k8", { l1d = "32768:8:64" })
-- local course = caches.course(m, { tid = m:spawn { program = { { loop = 100, { ip = 1, load = { 0, 64 } } } } } })
-- print(caches.sets(course), caches.misses(course))
-- lpfm.machine(before)
function caches.course(m, spec)
   local name, cpu = spec.cache or "L1D", spec.cpu or 0
   local course = { step = STEP, cache = name, begun = m:time() }
   local before = expect.value(m:cache_sets(name, cpu))
   local over, message
   repeat
      over, message = m:run { until_exit = spec.tid, ns = course.step }
      if not over and message ~= "timeout" then error(message, 0) end
      local now, row = m:cache_sets(name, cpu), {}
      for set, misses in ipairs(now) do row[set] = misses - before[set] end
      course[#course + 1], before = row, now
      if #course == 2 * COLUMNS then halve(course) end
   until over
   while #course > COLUMNS do halve(course) end
   return course
end

--- Makes a heat map: sets from top to bottom, time from left to right.
-- @tparam table course of `caches.course`
-- @treturn figure see `pfm.plot`
-- @usage
-- local course = { { 3, 0 }, { 1, 2 }, step = 1000, cache = "L1D", begun = 0 } -- of two sets
-- print(require("pfm.caches").sets(course))
function caches.sets(course)
   local num, rows = #course[1], {}
   local together = math.ceil(num / ROWS)
   for first = 0, num - 1, together do
      local last = math.min(first + together, num) - 1
      local row = { label = first == last and ("set %d"):format(first) or ("sets %d-%d"):format(first, last) }
      for i, step in ipairs(course) do
         row[i] = 0
         for set = first, last do row[i] = row[i] + step[set + 1] end
      end
      rows[#rows + 1] = row
   end
   return plot.heat(rows, { title = ("misses of the %s by set"):format(course.cache), xlabel = "us",
      x = { course.begun / 1000, (course.begun + #course * course.step) / 1000 } })
end

--- Makes a figure of the misses of all sets over time.
-- @tparam table course of `caches.course`
-- @treturn figure see `pfm.plot`
-- @usage
-- local course = { { 3, 0 }, { 1, 2 }, step = 1000, cache = "L1D", begun = 0 }
-- print(require("pfm.caches").misses(course))
function caches.misses(course)
   local line = { name = course.cache .. " misses" }
   for i, step in ipairs(course) do
      local sum = 0
      for _, misses in ipairs(step) do sum = sum + misses end
      line[i] = { (course.begun + (i - 0.5) * course.step) / 1000, sum }
   end
   return plot.lines({ line }, { title = ("misses of the %s"):format(course.cache), xlabel = "us",
      ylabel = ("in %g us"):format(course.step / 1000) })
end

expect.signatures("caches", caches, {
   course = "m: {time}; spec: {tid}",
   sets = "course: {cache,step,begun,1}",
   misses = "course: {cache,step,begun}",
})

return caches
