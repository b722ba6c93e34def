-- SPDX-License-Identifier: MIT
--- lpfm record: samples a command, threads or CPUs into a file.
-- @module repl.command.record

local arguments = require "repl.command.arguments"
local events = require "pfm.events"
local options = require "repl.command.options"
local profile = require "pfm.profile"
local randomize = require "pfm.randomize"
local record = require "pfm.record"
local render = require "pfm.render"
local stages = require "pfm.measure.stages"

local command = {}

local BLINK = 1        -- s between updates of the progress
local LONGEST = 2 ^ 53 -- events, a period that a Lua number holds exactly
local SHARE = 0.01     -- of the time, that is worth mentioning
local SELDOM = 1e-6    -- Hz

--- The options.
function command.options()
   local c = options.command("record", "Samples a command, running threads or CPUs into a file for 'lpfm report'.",
      "lpfm record [options] [--] command [arguments]")
   options.add_target(c)
   c:option("--from", "STAGES", "Start sampling after these stages, e.g. \"page-faults:1000 then cs:10\".")
   c:option("-c --period", "N", "Sample every N events (clocks: nanoseconds).")
   c:option("-F --frequency", "HZ", "Sample HZ times per second of the program's CPU time (default: 1000).")
   c:option("--random", "HOW[:SEED]", "Vary the period: a mask (0xff:42), MIN-MAX, uniform, exponential or prime.")
   c:option("--with", "EVENTS", "Record the counts of these events with every sample; repeatable."):count("*")
   c:option("--buffer", "SIZE", "Size of the sampling buffer, e.g. 256K or 1M.")
   c:flag("-q --quiet", "Print no progress and no summary.")
   c:epilog("The default event is cpu-clock, the default file lpfm.data.\n"
      .. "--random: the bits of a mask shorten the period, in the kernel; the other forms vary around it. Those that\n"
      .. "cannot be a mask (exponential, prime, most MIN-MAX) are drawn by lpfm after each sample, which is too slow\n"
      .. "for short periods.\n"
      .. "Ctrl-C stops the recording and keeps the file.\nThe exit status is that of the command.", {
      "lpfm record -- ./prog",
      "lpfm record -e page-faults -c 1 -- ./prog",
      "lpfm record -p 1234 --timeout 10 --threads",
      "lpfm record -c 1000000 --random 0xffff -o prog.data -- ./prog",
   })
   return c
end

-- --- options -------------------------------------------------------------------------------------

local function parse_random(text)
   if not text then return nil end
   local random, err = randomize.read(text)
   if not random then options.fail("--random: %s", err) end
   return random
end

local function parse_events(names, default)
   if #names == 0 then names = default end
   return options.expect(events.parse(names))
end

-- Known beforehand for clocks, and for the others if it was given.
local function first_period(spec)
   if spec.period then return spec.period end
   for _, event in ipairs(spec.events) do
      if event.unit == "ns" then return profile.period_for(event, spec.frequency) end
   end
end

local function check_rate(spec)
   if spec.period and spec.period > LONGEST then
      options.fail("--period: %g events are too many: the maximum is %s", spec.period, render.number(LONGEST))
   end
   if spec.frequency and spec.frequency < SELDOM then
      options.fail("--frequency: %g Hz is too low: the minimum is %g Hz", spec.frequency, SELDOM)
   end
   local period = first_period(spec)
   if spec.random and spec.random.mask and period and spec.random.mask >= period then
      options.fail("--random: the mask %s is not smaller than the period %s", render.number(spec.random.mask),
         render.number(period))
   end
end

local function spec_of(args, target)
   options.check_conditions(args)
   local spec = {
      events = parse_events(args.event, { "cpu-clock" }),
      with = parse_events(args.with, {}),
      period = options.number(args.period, "--period", true),
      frequency = options.number(args.frequency, "--frequency"),
      random = parse_random(args.random),
      buffer = options.size(args.buffer), from = args.from,
   }
   if spec.period and spec.frequency then options.fail("-c and -F exclude each other") end
   if not spec.period then spec.frequency = spec.frequency or 1000 end
   check_rate(spec)
   for k, v in pairs(target) do spec[k] = v end
   return spec
end

-- --- progress ------------------------------------------------------------------------------------

-- Beside the output of the command it would be in the way.
local function progress(args, target)
   local ok, unistd = pcall(require, "posix.unistd")
   local visible = ok and unistd.isatty(2) == 1 and not (target.command and unistd.isatty(1) == 1)
   if args.quiet or not visible then return nil, function() end end
   local last, shown = 0, false
   local function show(self, seconds)
      if seconds - last < BLINK then return end
      last, shown = seconds, true
      io.stderr:write(("\rlpfm record: %.0f s, %s samples "):format(seconds, render.number(self.samples)))
   end
   return show, function()
      if shown then io.stderr:write("\r", (" "):rep(60), "\r") end
   end
end

local function losses(outcome)
   local out = {}
   if outcome.lost > 0 then out[#out + 1] = render.plural(outcome.lost, "sample") .. " lost" end
   if outcome.full > 0 then
      local missed = outcome.missed and ("about %s missed; "):format(render.plural(outcome.missed, "sample")) or ""
      out[#out + 1] = ("the buffer was full %s (%suse a larger --buffer)"):format(
         render.plural(outcome.full, "time"), missed)
   end
   return #out > 0 and table.concat(out, "; ") or "none lost"
end

local function moved(file)
   return ("cannot write %s: %s; the recording is in %s: lpfm report %s"):format(file.moved.from, file.moved.why,
      file.path, file.path)
end

local function summary(file, outcome)
   local line = ("%s in %s (%s), %s"):format(render.plural(outcome.samples, "sample"), file.path,
      render.bytes(file.bytes), losses(outcome))
   if outcome.randomized then line = line .. "; randomized " .. outcome.randomized end
   if (outcome.masked or 0) > SHARE then
      line = line .. ("; nothing was observed for %.0f%% of the time meanwhile"):format(outcome.masked * 100)
   end
   local obstacle = stages.obstacle(outcome.stages or {})
   if obstacle then
      line = line .. "; sampling never began: " .. obstacle
   elseif outcome.samples == 0 then
      line = line .. "; too few events for a sample: try a smaller -c or a larger -F"
   end
   if outcome.unsampled then
      line = line .. ("\n%.0f%% of the CPU time was not sampled: it was spent in threads or children (--threads "
         .. "includes them), or while the program was loaded or exited"):format(outcome.unsampled * 100)
   end
   if outcome.unmeasured > 0 then
      line = line .. ("\n%s could not be sampled: %s"):format(render.plural(outcome.unmeasured, "thread"), outcome.why)
   end
   return file.moved and line .. "\n" .. moved(file) or line
end

local function exit_status(file, outcome)
   if outcome.signal then return 128 + outcome.signal end
   if file.moved and (outcome.status or 0) == 0 then return 1 end
   return outcome.status or 0
end

local function tell(text)
   io.stderr:write("lpfm record: ", (text:gsub("\n", "\nlpfm record: ")), "\n")
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function command.main(argv)
   local args, words = command.options():parse(argv)
   if args.output == "-" then options.fail("a recording cannot go to a pipe or the screen: expected -o FILE") end
   local spec = spec_of(args, options.target(args, words))
   local show, clear = progress(args, spec)
   local outcome, file = record.run(spec, args.output or "lpfm.data", show)
   clear()
   if not args.quiet then
      tell(summary(file, outcome))
   elseif file.moved then
      tell(moved(file))
   end
   return exit_status(file, outcome)
end

-- What a script or the prompt may give: a shell command line, or a target.
local function spec_for(what)
   arguments.check("record", 'record("./prog")', { what, "string|table", "a command line or a table" })
   return type(what) == "string" and { command = options.shell(what) } or what
end

local function printable(outcome, file)
   return setmetatable(outcome, { __tostring = function() return summary(file, outcome) end })
end

--- Samples a command into a file.
-- @param what a shell command line, or a table as for `profile.prepare`, and:
-- @string[opt="lpfm.data"] what.output the file
-- @string[opt="lpfm.data"] path the file, if the table does not name it
-- @treturn table of `profile.run`; prints itself
-- @usage record("ls -lR /etc >/dev/null"); report()
function command.call(what, path)
   local spec = spec_for(what)
   return printable(record.run(spec, path or spec.output or "lpfm.data"))
end

--- Begins a recording that `repl.prompt.jobs` carries on.
-- @param what as for `command.call`
-- @string[opt] path by default lpfm.data
-- @treturn table `target`, `on`, `so_far()` and `complete(outcome)` (printable results), `discard()`
function command.job(what, path)
   local spec = spec_for(what)
   local r = record.begin(spec, path or spec.output or "lpfm.data")
   return {
      target = spec, on = profile.handlers(r.profile, r.sink),
      so_far = function()
         return setmetatable({ samples = r.profile.samples }, { __tostring = function(self)
            return render.plural(self.samples, "sample") .. " so far in " .. r.file.path
         end })
      end,
      complete = function(outcome) return printable(record.finish(r, profile.complete(r.profile, outcome))) end,
      discard = function() r.file:discard() end,
   }
end

return command
