-- SPDX-License-Identifier: MIT
--- lpfm record: samples a command, threads or CPUs into a file.
-- @module pfm.record

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local events = require "pfm.events"
local format = require "pfm.format"
local options = require "pfm.options"
local profile = require "pfm.profile"
local randomize = require "pfm.randomize"
local session = require "pfm.session"
local stages = require "pfm.stages"
local store = require "pfm.store"
local symbols = require "pfm.symbols"

local record = { summary = "sample a command into a file" }

local BLINK = 1        -- s between lines of progress
local LONGEST = 2 ^ 53 -- events, a period that a Lua number holds exactly
local SHARE = 0.01     -- of the time, that is worth a word
local SELDOM = 1e-6    -- Hz

--- The options.
function record.options()
   local c = options.command("record", "Samples a command, running threads or CPUs into a file for 'lpfm report'.",
      "lpfm record [options] [--] command [arguments]")
   options.add_target(c)
   c:option("--from", "STAGES", "Begin when this has happened, as in \"page-faults:1000 then cs:10\".")
   c:option("-c --period", "N", "A sample every N events (clocks: nanoseconds).")
   c:option("-F --frequency", "HZ", "Samples per second of the program's time (default: 1000).")
   c:option("--random", "HOW[:SEED]", "Vary periods: a mask (0xff:42), MIN-MAX, uniform, exponential or prime.")
   c:option("--with", "LIST", "Events whose counts are recorded with every sample."):count("*")
   c:option("--buffer", "SIZE", "Size of a sampling buffer, as in 256K or 1M.")
   c:flag("-q --quiet", "No progress, no summary.")
   c:epilog("The default event is cpu-clock, the default file lpfm.data.\n"
      .. "--random: the bits of a mask shorten the period, in the kernel; the others vary around it. Those that no\n"
      .. "mask expresses (exponential, prime, most MIN-MAX) lpfm draws after each sample: not for short periods.\n"
      .. "Ctrl-C ends the recording and keeps the file.\nThe exit status is the command's.", {
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
   local list, err = events.parse(names)
   if not list then options.fail("%s", err) end
   return list
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
      options.fail("--period: %g is too many events: up to %s can be", spec.period, format.number(LONGEST))
   end
   if spec.frequency and spec.frequency < SELDOM then
      options.fail("--frequency: %g Hz is too seldom: down to %g Hz can be", spec.frequency, SELDOM)
   end
   local period = first_period(spec)
   if spec.random and spec.random.mask and period and spec.random.mask >= period then
      options.fail("--random: the mask %s is not smaller than the period %s", format.number(spec.random.mask),
         format.number(period))
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

-- --- the file's head -----------------------------------------------------------------------------

local function first_line(path)
   local file = io.open(path, "r")
   local line = file and file:read("*l")
   if file then file:close() end
   return line
end

local function machine_of()
   local info = lpfm.machine()
   return {
      name = info.name, pmu = info.pmu, notes = info.notes, limits = info.limits, hw_counters = info.hw_counters,
      host = first_line("/proc/sys/kernel/hostname"), kernel = first_line("/proc/sys/kernel/osrelease"),
      boot = first_line("/proc/sys/kernel/random/boot_id"), arch = first_line("/proc/sys/kernel/arch"),
      cpus = #proc.cpus(),
   }
end

local function head_of(self, spec)
   local sampled, with = {}, {}
   for i, e in ipairs(self.events) do
      sampled[i] = { name = e.name, pmd = e.pmd, unit = e.unit, period = self.periods[i] }
   end
   for i, pmd in ipairs(self.extra) do
      for _, e in ipairs(self.with) do
         if e.pmd == pmd then with[i] = { name = e.name, pmd = pmd, unit = e.unit } end
      end
   end
   local random = self.random[1]
   return {
      what = options.describe(spec), command = spec.command, tids = spec.tids, cpus = spec.cpus,
      threads = spec.threads or false, events = sampled, with = #with > 0 and with or nil,
      frequency = self.frequency, fixed = self.fixed,
      random = random and { mask = random.mask, seed = random.seed, text = random.text },
      time = os.time(), machine = machine_of(), format = "default", program = self.program,
   }
end

-- --- what the samples lie in ---------------------------------------------------------------------

local function note_objects(paths)
   local out = {}
   for path in pairs(paths) do
      if path:find("^/") and not path:find(" %(deleted%)$") then
         out[#out + 1] = { path = path, build_id = symbols.build_id(path) }
      end
   end
   return out
end

local function sink_of(file, paths, collector)
   return {
      begin = function() file:begin() end,
      block = function(block, count)
         file:block(block, count)
         collector:block(block)
      end,
      maps = function(pid, maps)
         for _, m in ipairs(maps) do paths[m[4]] = true end
         file:json("MAPS", { pid = pid, maps = maps })
         collector:maps(pid, maps)
      end,
      comm = function(tid, pid, name) file:json("COMM", { { tid = tid, pid = pid, comm = name } }) end,
   }
end

-- --- progress ------------------------------------------------------------------------------------

local function progress(args)
   local ok, unistd = pcall(require, "posix.unistd")
   local terminal = ok and unistd.isatty(2)
   if args.quiet or not terminal then return nil, function() end end
   local last, shown = 0, false
   local function show(self, seconds)
      if seconds - last < BLINK then return end
      last, shown = seconds, true
      io.stderr:write(("\rlpfm record: %.0f s, %s samples "):format(seconds, format.number(self.samples)))
   end
   return show, function()
      if shown then io.stderr:write("\r", (" "):rep(60), "\r") end
   end
end

local function losses(outcome)
   local out = {}
   if outcome.lost > 0 then out[#out + 1] = format.plural(outcome.lost, "sample") .. " lost" end
   if outcome.full > 0 then
      local missed = outcome.missed and ("about %s missed; "):format(format.plural(outcome.missed, "sample")) or ""
      out[#out + 1] = ("the buffer was full %s (%s--buffer makes it larger)"):format(
         format.plural(outcome.full, "time"), missed)
   end
   return #out > 0 and table.concat(out, "; ") or "none lost"
end

local function summary(file, outcome)
   local line = ("%s in %s (%s), %s"):format(format.plural(outcome.samples, "sample"), file.path,
      format.bytes(file.bytes), losses(outcome))
   if outcome.randomized then line = line .. "; randomized " .. outcome.randomized end
   if (outcome.masked or 0) > SHARE then
      line = line .. ("; meanwhile, %.0f%% of the time, nothing was observed"):format(outcome.masked * 100)
   end
   local obstacle = stages.obstacle(outcome.stages or {})
   if obstacle then
      line = line .. "; sampling never began: " .. obstacle
   elseif outcome.samples == 0 then
      line = line .. "; the events were too few for a sample: try a smaller -c or a larger -F"
   end
   if outcome.unsampled then
      line = line .. ("\n%.0f%% of the CPU time was not sampled: it was spent in threads or children (--threads "
         .. "includes them), or while the program was loaded or torn down"):format(outcome.unsampled * 100)
   end
   if outcome.unmeasured > 0 then
      line = line .. ("\n%s could not be sampled: %s"):format(format.plural(outcome.unmeasured, "thread"), outcome.why)
   end
   return line
end

-- --- the command ---------------------------------------------------------------------------------

local function totals(outcome)
   local rusage = outcome.rusage or {}
   return {
      lost = outcome.lost, full = outcome.full, missed = outcome.missed, elapsed = outcome.elapsed,
      user = rusage.utime, system = rusage.stime, status = outcome.status, signal = outcome.signal,
      interrupted = outcome.interrupted, subjects = outcome.subjects, unsampled = outcome.unsampled,
      unmeasured = outcome.unmeasured,
   }
end

-- A recording that has begun: the profile, its file, where its samples lie.
local function open_recording(spec, path)
   if path == "-" then error("a recording cannot go to a pipe or the screen: -o FILE names a file", 0) end
   local self = profile.prepare(spec)
   local head = head_of(self, spec)
   local file, err = session.create(path, head, true)
   if not file then error(err, 0) end
   local paths, collector = {}, store.collector(session.of({ head = head }):sizes())
   return { profile = self, file = file, paths = paths, collector = collector,
      sink = sink_of(file, paths, collector) }
end

local function close_recording(recording, outcome)
   for _, object in ipairs(recording.collector:objects()) do recording.file:json("SYMS", object) end
   recording.file:json("OBJS", note_objects(recording.paths))
   recording.file:close(totals(outcome))
   return outcome, recording.file
end

--- Records into a file.
-- @tparam table spec as of `profile.prepare`
-- @string path
-- @tparam[opt] function on_tick
-- @treturn table of `profile.run`
-- @treturn table the file, closed, with `path` and `bytes`
function record.run(spec, path, on_tick)
   local r = open_recording(spec, path)
   local ok, outcome = pcall(profile.run, r.profile, r.sink, on_tick)
   if not ok then
      r.file:discard()
      error(outcome, 0)
   end
   return close_recording(r, outcome)
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function record.main(argv)
   local args, words = record.options():parse(argv)
   local spec = spec_of(args, options.target(args, words))
   local show, clear = progress(args)
   local outcome, file = record.run(spec, args.output or "lpfm.data", show)
   clear()
   if not args.quiet then
      io.stderr:write("lpfm record: ", (summary(file, outcome):gsub("\n", "\nlpfm record: ")), "\n")
   end
   if outcome.signal then return 128 + outcome.signal end
   return outcome.status or 0
end

-- What a script or the prompt may give: a shell command line, or a target.
local function spec_for(what)
   if type(what) ~= "string" and type(what) ~= "table" then
      error(("record: a command line or a table is wanted, not a %s: record(\"./prog\")"):format(type(what)), 0)
   end
   return type(what) == "string" and { command = options.shell(what) } or what
end

local function printable(outcome, file)
   return setmetatable(outcome, { __tostring = function() return summary(file, outcome) end })
end

--- Records from a script or the prompt.
-- @param what a shell command line, or a table as for `profile.prepare`, `output` being the file
-- @string[opt] path by default lpfm.data
-- @treturn table of `profile.run`; prints itself
-- @usage record("ls -lR /etc >/dev/null"); report()
function record.call(what, path)
   local spec = spec_for(what)
   return printable(record.run(spec, path or spec.output or "lpfm.data"))
end

--- Begins a recording that `pfm.background` carries on.
-- @param what as for `record.call`
-- @string[opt] path by default lpfm.data
-- @treturn table `target`, `on`, `so_far()` and `complete(outcome)` (printable results), `discard()`
function record.job(what, path)
   local spec = spec_for(what)
   local r = open_recording(spec, path or spec.output or "lpfm.data")
   return {
      target = spec, on = profile.handlers(r.profile, r.sink),
      so_far = function()
         return setmetatable({ samples = r.profile.samples }, { __tostring = function(self)
            return format.plural(self.samples, "sample") .. " so far in " .. r.file.path
         end })
      end,
      complete = function(outcome) return printable(close_recording(r, profile.complete(r.profile, outcome))) end,
      discard = function() r.file:discard() end,
   }
end

return record
