-- SPDX-License-Identifier: MIT
--- Cascading measurements (3.7.6): "after n of A start counting B, after m of B sample C".
-- Each stage is an event set that is left, in the kernel, at the overflow of one of its triggers; the last one stays.
-- @module pfm.cascade

local follow = require "pfm.follow"
local format = require "pfm.format"
local options = require "pfm.options"
local setup = require "pfm.setup"
local stages = require "pfm.stages"

local cascade = { summary = "count or sample from the n-th event on, in stages" }

-- --- the measurement -----------------------------------------------------------------------------

local function read(what)
   if type(what) == "table" then return what end
   local list, err = stages.read(what)
   if not list then error(err, 0) end
   return list
end

-- Behind the last condition its events are counted on.
local function with_end(list)
   local last = list[#list]
   if #last.triggers == 0 then return list end
   local rest = { text = "the rest", triggers = {}, counts = {} }
   for i, its in ipairs(last.triggers) do rest.counts[i] = its.event end
   local out = { unpack(list) }
   out[#out + 1] = rest
   return out
end

-- Before a profile, which is its last stage.
local function sample(spec, list, record)
   local last, texts, copy = list[#list], {}, {}
   for i = 1, #list - 1 do texts[i] = list[i].text end
   for k, v in pairs(spec) do copy[k] = v end
   copy.from = #texts > 0 and table.concat(texts, " then ") or nil
   copy.events, copy.period = last.sample.event.name, last.sample.n
   local outcome = record(copy)
   outcome.stages = outcome.stages or {}
   local before, reached = outcome.stages[#outcome.stages], not stages.obstacle(outcome.stages)
   table.insert(outcome.stages, { text = last.text, reached = reached, samples = outcome.samples, counts = {},
      began = not before and 0 or reached and before.began + before.lasted / before.reached_by or nil,
      left_by = {}, subjects = outcome.subjects, lasted = 0 })
   return outcome
end

local function collect(spec)
   return require("pfm.profile").collect(spec)
end

--- Carries out a cascade.
-- @tparam table spec a target of `pfm.follow`, and `stages`, a text for `stages.read`
-- @tparam[opt] function record carries out a last stage that samples, by default `profile.collect`
-- @treturn table of `follow.run`, and `stages`: by stage `text`, `reached`, `began` (ns of measured time, the thread's
-- own; of several threads the first), `lasted`, `left_by`, `counts` (of `event`, `unit`, `value`), `subjects`,
-- `reached_by` (how many of them); a stage that samples has `samples` instead of counts
-- @usage
-- local stages = "page-faults:50 then cs:1 then page-faults"
-- print(require("pfm.cascade").run{command = {"true"}, stages = stages}.stages[2].began)
function cascade.run(spec, record)
   follow.check(spec)
   local list = read(spec.stages)
   if list[#list].sample then return sample(spec, list, record or collect) end
   list = with_end(list)
   stages.prepare(list)
   local program, progress = stages.program(list), {}
   local outcome = follow.run(spec, {
      attach = function(subject) return setup.start(subject, program) end,
      ended = function(subject)
         subject.ctx:stop()
         progress[#progress + 1] = stages.progress(list, subject.ctx)
      end,
   })
   outcome.stages = stages.merge(progress)
   return outcome
end

-- --- for people ----------------------------------------------------------------------------------

local function shown_count(count)
   if count.unit == "ns" then return format.number(count.value / 1e6, 2), "msec", count.event end
   return format.number(count.value), "", count.event
end

-- "1 of 3 threads" or CPUs, where there are several.
local function by_how_many(n, stage)
   return stage.subjects > 1 and (" (%d of %s)"):format(n, format.plural(stage.subjects, stage.noun)) or ""
end

local function ending(stage)
   local out = {}
   for i, text in ipairs(stage.left_by) do out[i] = text .. by_how_many(stage.left_by[text], stage) end
   if #out == 0 then return "it lasted to the end" end
   return "then " .. table.concat(out, " or ")
end

local function beginning(stage, before)
   if stage.reached then
      local late = stage.began and stage.began > 0
      local when = late and "began after " .. format.time(stage.began / 1e9) or "began at once"
      return when .. by_how_many(stage.reached_by or 1, stage)
   end
   return "not reached" .. (before and before.reached and ": stage " .. before.number .. " did not end" or "")
end

local function stage_lines(stage, before, lines)
   lines[#lines + 1] = ("  %d. %s: %s"):format(stage.number, stage.text, beginning(stage, before))
   if not stage.reached then return end
   if stage.samples then
      lines[#lines + 1] = "       " .. format.plural(stage.samples, "sample")
      return
   end
   local rows = {}
   for i, count in ipairs(stage.counts) do rows[i] = { shown_count(count) } end
   for _, line in ipairs(format.align({ { right = true }, {}, {} }, rows, "       ")) do lines[#lines + 1] = line end
   lines[#lines + 1] = ("       for %s, %s"):format(format.time(stage.lasted / 1e9), ending(stage))
end

--- The result as a person reads it.
-- @tparam table result of `cascade.run`
-- @tparam table target
-- @treturn {string,...} lines
-- @usage
-- local target = {command = {"true"}, stages = "page-faults:50 then cs"}
-- local cascade = require "pfm.cascade"
-- print(table.concat(cascade.text(cascade.run(target), target), "\n"))
function cascade.text(result, target)
   local lines = { "", (" Cascade in %s:"):format(options.describe(target)), "" }
   for i, stage in ipairs(result.stages) do
      stage.number, stage.noun = i, target.cpus and "CPU" or "thread"
      stage_lines(stage, result.stages[i - 1], lines)
   end
   lines[#lines + 1] = ""
   lines[#lines + 1] = ("  %s elapsed; the other times are those %s ran."):format(format.time(result.elapsed),
      target.cpus and "the CPU" or "the thread")
   lines[#lines + 1] = ""
   return lines
end

local function json_line(result, target)
   local out = {}
   for i, s in ipairs(result.stages) do
      out[i] = { stage = s.text, reached = s.reached, began = s.began, lasted = s.lasted, counts = s.counts,
         ["left-by"] = { unpack(s.left_by) }, subjects = s.subjects, ["reached-by"] = s.reached_by,
         samples = s.samples }
   end
   return format.json { command = target.command, tids = target.tids, cpus = target.cpus, stages = out,
      elapsed = result.elapsed, status = result.status, signal = result.signal }
end

-- --- the command ---------------------------------------------------------------------------------

--- The options.
-- @usage require("pfm.cascade").options():help()
function cascade.options()
   local c = options.command("cascade", "Counts or samples in stages: each begins when a condition of the one before "
      .. "is met.", "lpfm cascade [options] STAGE [then STAGE]... -- command [arguments]")
   c.mixed = true
   options.add_target(c, true)
   c:flag("--json", "Print JSON.")
   c:epilog("A STAGE is EVENT:N: it counts the event, and ends after N occurrences. EVENT:N or EVENT:N ends by\n"
      .. "whichever comes first; 'counting EVENTS' behind them counts others meanwhile. The last stage is EVENTS,\n"
      .. "which are counted to the end, or 'sample EVENT:N', a sample every N, into the file of -o (lpfm.data).\n"
      .. "N may be 1000, 10k, 1e6, of clocks 10ms. It is told when each stage began, if it did, and what it counted.\n"
      .. "Results go to stderr; the exit status is the command's.", {
      "lpfm cascade page-faults:1000 then cs:10 then cpu-clock -- ./prog",
      "lpfm cascade page-faults:1000 or task-clock:50ms counting cs then page-faults,cs -- ./prog",
      "lpfm cascade page-faults:1000 then sample cpu-clock:1ms -- ./prog && lpfm report",
      "lpfm cascade -p 1234 --timeout 10 cs:100 then page-faults",
   })
   return c
end

-- Before and behind "--".
local function apart(argv)
   for i, word in ipairs(argv) do
      if word == "--" then return { unpack(argv, 1, i - 1) }, { unpack(argv, i + 1) } end
   end
   return argv, {}
end

local function stages_of(words, command)
   local list, err = stages.read(table.concat(words, " "))
   if #words == 0 then options.fail("no stages: as in lpfm cascade page-faults:1000 then cs -- ./prog") end
   if list then return list end
   if #command == 0 then err = err .. "; the command goes behind --" end
   options.fail("%s", err)
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
-- @usage require("pfm.cascade").main{"page-faults:50", "then", "cs", "--", "true"}
function cascade.main(argv)
   local mine, command = apart(argv)
   local args, words = cascade.options():parse(mine)
   local list = stages_of(words, command)
   local target = options.target(args, command)
   local spec, samples = { stages = list }, list[#list].sample ~= nil
   for k, v in pairs(target) do spec[k] = v end
   local result = cascade.run(spec, function(s) return (require("pfm.record").run(s, args.output or "lpfm.data")) end)
   local lines = args.json and { json_line(result, target) } or cascade.text(result, target)
   options.write(lines, not samples and args.output or nil)
   return result.signal and 128 + result.signal or result.status or 0
end

--- A cascade from a script or the prompt.
-- @param what a shell command line, or a table as for `cascade.run`
-- @string[opt] list stages
-- @treturn table of `cascade.run`; prints itself
-- @usage cascade("ls / >/dev/null", "page-faults:50 then cs")
function cascade.call(what, list)
   local spec = type(what) == "string" and { command = { "/bin/sh", "-c", "exec " .. what } } or what
   local copy = {}
   for k, v in pairs(spec) do copy[k] = v end
   copy.stages = list or copy.stages
   return setmetatable(cascade.run(copy), {
      __tostring = function(self) return table.concat(cascade.text(self, spec), "\n") end,
   })
end

return cascade
