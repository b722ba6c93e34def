-- SPDX-License-Identifier: MIT
--- Drops samples at the overflow, before they are made: the option `where` of `pfm.profile`.
-- @module pfm.measure.filtering

local program = require "pfm.program"

local filtering = {}
filtering.__index = filtering

--- Makes the filter of a profile.
-- @tparam table spec of `profile.prepare`: `where`
-- @treturn table
-- @usage print(require("pfm.measure.filtering").new({ where = "cpu == 0" }).judged) --> 0
function filtering.new(spec)
   local self = setmetatable({ expression = program.new { where = spec.where }, mine = {}, judged = 0 }, filtering)
   if self.expression:needs_process() and not spec.tids then
      error("where: objects have addresses once their process runs: expected tids", 0)
   end
   return self
end

--- Adds the events that the condition names to those recorded with each sample.
-- @tparam table with events
-- @treturn table events
-- @usage assert(#require("pfm.measure.filtering").new({ where = "pmd.page_faults > 1" }):join({}) == 1)
function filtering:join(with)
   local out, named = { unpack(with) }, self.expression:parse_events()
   for i, name in ipairs(self.expression.events) do
      for _, e in ipairs(with) do
         if e.base == named[i].base then
            error(("where: '%s' cannot also be one of 'with': the condition resets its count at each overflow"):format(
               e.name), 0)
         end
      end
      out[#out + 1], self.mine[name] = named[i], named[i]
   end
   return out
end

--- Notes the PMDs that were assigned to the condition's events.
-- @usage
-- local f = require("pfm.measure.filtering").new { where = "pmd.page_faults > 1" }
-- f:join {}
-- f:place()
-- assert(f.pmds[1] == 66)
function filtering:place()
   self.pmds, self.by_name = {}, {}
   for name, event in pairs(self.mine) do
      self.pmds[#self.pmds + 1], self.by_name[name] = event.pmd, event.pmd
   end
   table.sort(self.pmds)
end

--- Returns the program of a subject's context: the filter, around the format of its samples.
-- @tparam table made what `contexts.start` would take without the filter
-- @tparam {int,...} extra PMDs recorded with each sample
-- @tparam table subject
-- @treturn table for `contexts.start`
-- @usage
-- local f = require("pfm.measure.filtering").new { where = "cpu == 0" }
-- f:place()
-- print(f:program({ create = { format = "default" } }, {}, {}).create.format) --> program
function filtering:program(made, extra, subject)
   local options = { base = made.create.format, smpl_pmds = extra, pmds = self.by_name, pid = subject.pid }
   for k, v in pairs(made.create) do
      if k ~= "format" then options[k] = v end
   end
   return setmetatable({ create = self.expression:create(options) }, { __index = made })
end

--- Adds the overflows at which a subject's filter has run, when its measurement is over.
-- @tparam table subject
function filtering:ended(subject)
   self.judged = self.judged + assert(subject.ctx:verdicts()).runs
end

--- Returns at how many overflows filters have run so far.
-- @tparam table live the subjects that are still measured, as keys
-- @treturn int
-- @usage print(require("pfm.measure.filtering").new({ where = "cpu == 0" }):overflows({})) --> 0
function filtering:overflows(live)
   local n = self.judged
   for subject in pairs(live) do n = n + assert(subject.ctx:verdicts()).runs end
   return n
end

return filtering
