-- SPDX-License-Identifier: MIT
--- perfctr's perfex: the counts of a command's first thread, and apart from them those of its children.
-- One context with INHERIT and OWN counts both; nothing is followed, and nothing takes turns.
-- @module pfm.measure.perfex

local fields = require "pfm.util.fields"
local contexts = require "pfm.measure.contexts"
local events = require "pfm.events"
local measure = require "pfm.measure"

local perfex = {}

local TSC = "task-clock" -- the CPU time, in ns

local function fail(message, ...)
   error(message:format(...), 0)
end

-- The events, and the TSC's in front.
local function wanted(names)
   local list, err = events.read(names or {})
   if not list then error(err, 0) end
   local clock = assert(events.read(TSC))[1]
   local out = { clock }
   for _, e in ipairs(list) do
      if e.base ~= TSC then out[#out + 1] = e end
   end
   return out
end

-- All of them at once: counters are not shared out in turns.
local function spec_of(list)
   local ok, err = events.assign(list)
   if not ok then error(err, 0) end
   contexts.usable(list)
   for _, e in ipairs(list) do
      if e.reason then fail("'%s': %s", e.name, e.reason) end
   end
   local spec = { create = { flags = { "INHERIT" } }, pmcs = events.pmcs(list), pmds = {} }
   for i, e in ipairs(list) do spec.pmds[i] = { num = e.pmd, value = 0, flags = { "OWN" } } end
   return spec
end

local function values(ctx, list, flag)
   local vector = {}
   for i, e in ipairs(list) do vector[i] = { num = e.pmd, flags = flag and { flag } or nil } end
   return ctx:read_pmds(vector)
end

-- Where the kernel tells the sum alone, the children's part of it.
local function counts_of(ctx, list)
   local own, ended = assert(values(ctx, list, "OWN")), values(ctx, list, "ENDED")
   local sum = not ended and assert(values(ctx, list))
   local rows = {}
   for i, e in ipairs(list) do
      rows[i] = { event = e.base == TSC and "tsc" or e.name, unit = e.base == TSC and "ns" or "", value = own[i].value,
         children = ended and ended[i].value or sum[i].value - own[i].value }
   end
   return rows
end

--- Runs a command with virtual counters.
-- @tparam table spec `command`: its words; optional `events`: names, as for `pfm.events.read`
-- @treturn table `events`: rows of `event`, `unit`, `value` (of the first thread) and `children` (of all that it
-- created, threads too), that of the TSC in front, in ns of CPU time; `status` or `signal`, which ended the command
-- @usage
-- local result = require("pfm.measure.perfex").run { command = { "sh", "-c", "true; true" }, events = "page-faults" }
-- print(result.events[2].value, result.events[2].children)
function perfex.run(spec)
   fields.check("perfex.run", spec, { "command", "events" })
   local list = wanted(spec.events)
   local how, rows = spec_of(list), nil
   local outcome = measure.run({ command = spec.command }, {
      attach = function(subject) return contexts.start(subject, how) end,
      ended = function(subject) rows = counts_of(subject.ctx, list) end,
   })
   return { events = rows or {}, status = outcome.status, signal = outcome.signal, simulated = outcome.simulated }
end

return perfex
