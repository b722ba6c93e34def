-- SPDX-License-Identifier: MIT
--- lpfm record: samples a command, threads or CPUs into a file.
-- @module repl.command.record

local cuts = require "pfm.recording.cuts"
local expect = require "pfm.util.expect"
local extensions = require "repl.parts"
local launcher = require "pfm.util.launcher"
local measure = require "pfm.measure"
local options = require "repl.command.options"
local proc = require "lpfm.proc"
local profile = require "pfm.profile"
local randomize = require "pfm.randomize"
local record = require "pfm.record"
local render = require "pfm.render"
local stages = require "pfm.measure.stages"
local terminal = require "pfm.util.terminal"

local command = {}

local BLINK = 1    -- s between updates of the progress
local PREFIX = "lpfm record: "
local SHARE = 0.01 -- if nothing was observed in a larger share of the time, the report says so

-- Options of perf, and the option of lpfm for each.
local meant = { ["-K"] = "--all-user", ["-U"] = "--all-kernel" }
local needless = { "-v", "--verbose", "-T", "--timestamp", "-P", "-s", "--stat", "--sample-cpu", "-n", "--no-samples",
   "-N", "--no-buildid-cache", "-B", "--no-buildid", "--buildid-all", "--per-thread", "-R", "--raw-samples" }
local CPU_MODEL = "branch records and data addresses are the PMU's own: lpfm list --pmu shows a model's registers"
local advice = {
   ["-m"] = "--buffer takes the size in bytes, as 1M", ["--mmap-pages"] = "--buffer takes the size in bytes, as 1M",
   ["-b"] = CPU_MODEL, ["-j"] = CPU_MODEL, ["-d"] = CPU_MODEL, ["--data"] = CPU_MODEL,
   ["-G"] = "a cgroup is counted, by stat -a -G; record -p takes its processes",
   ["--switch-output-event"] = "--switch-output takes a signal, a size or a time",
   ["--timestamp-filename"] = "-o takes any name: -o prof.$(date +%s); --switch-output makes such names",
   ["-z"] = "recordings are small; gzip makes them smaller", ["-u"] = "-p takes processes: -p $(pgrep -d, -u USER)",
}

--- Makes the parser of the command line.
function command.options()
   local c = options.command("record", "Samples a command, running threads or CPUs into a file for 'lpfm report'.",
      "lpfm record [options] [--] command [arguments]")
   options.add_target(c)
   options.add_output(c)
   c:option("--from", "STAGES", "Start sampling after these stages, e.g. \"page-faults:1000 then cs:10\".")
   options.add_rates(c)
   c:option("--random", "HOW[:SEED]", "Vary the period: a mask (0xff:42), MIN-MAX, uniform, exponential or prime.")
   c:option("--with", "EVENTS", "Record the counts of these events with every sample; repeatable."):count("*")
   c:option("--where", "EXPR", "Record only samples that meet this condition, e.g. 'pmd.page_faults > 2'.")
   c:flag("-g", "Record the call stacks of the samples, as suits the program; -g fp, -g dwarf: see below.")
   c:option("--call-graph", "HOW", "The same: fp (frame pointers), dwarf or dwarf,SIZE (copies of the stack).")
   c:flag("--off-cpu", "Record where threads wait, too, with call stacks: see below.")
   c:option("--buffer", "SIZE", "Size of the sampling buffer, e.g. 256K or 1M.")
   c:option("--max-size", "SIZE", "Stop recording when the samples have grown to SIZE, e.g. 100M: see below.")
   c:option("--switch-output", "HOW", "Go on in another file at SIGUSR2, or after a SIZE (100M) or TIME (30s).",
      "signal")
   c:option("--switch-max-files", "N", "With --switch-output, keep the latest N files.")
   c:flag("-q --quiet", "Print no progress and no summary.")
   c:habits(meant, needless, advice)
   c:epilog("The default event is cpu-clock, the default file lpfm.data; among the ranks of a job lpfm.%r.data.\n"
      .. "-c and -F are for the -e before them, or, before the first -e, for all events that have none. An event may\n"
      .. "have its own: cs/period=100/, cpu-clock/freq=99/.\n"
      .. "--random: the bits of a mask shorten the period, in the kernel; the other forms vary around it. Those that\n"
      .. "cannot be a mask (exponential, prime, most MIN-MAX) are drawn by lpfm after each sample, which is too slow\n"
      .. "for short periods.\n"
      .. "-g takes fp where the program and its libraries have frame pointers (gcc -fno-omit-frame-pointer) and it\n"
      .. "starts no others, else dwarf: 8 KiB of the stack, or SIZE bytes (to 65528), come with every sample then,\n"
      .. "and are unwound by call frame information. With fp it is the top 256 bytes, to find what called a leaf.\n"
      .. "--off-cpu: each time a thread leaves its CPU is a sample that stands for the time until it is back, of the\n"
      .. "event off-cpu where it waits for something, preempted where it is ready to run, still-off-cpu where it was\n"
      .. "not back when the recording ended. It needs no PMU, but perf_event_paranoid of 1 or less, or root.\n"
      .. "A command's threads and children are sampled with it, and so are those that a running process creates;\n"
      .. "with --random, --where on other events, --with and --from only where the machine can do that for children.\n"
      .. "-e cycles:pp: the PMU names the very instruction, where it can: :p, :pp and :ppp are perf's, for generic\n"
      .. "and raw events (rHEX) and those of cpu/.../.\n"
      .. "--where: an expression as 'lpfm histogram --help' describes it; what does not meet it costs no sample.\n"
      .. "--switch-output: each file can be reported alone, and its name is that of -o with the time behind it, as\n"
      .. "lpfm.data.2026112609301542; what is being recorded is in the file of -o. Without the option, SIGUSR2\n"
      .. "changes nothing. Its sizes have a unit, B, K, M or G, and so have its times: s, m, h or d.\n"
      .. "--max-size is that of all files together. It is looked at when the buffer is read, four times a second and\n"
      .. "when a part of it is full: what came until then is in the file, too, and so are the names of functions,\n"
      .. "which are written at the end.\n"
      .. "Ctrl-C, SIGTERM or SIGHUP stops the recording and keeps the file.\n"
      .. "The exit status is that of the command.", {
      "lpfm record -- ./prog",
      "lpfm record -e page-faults -c 1 -- ./prog",
      "lpfm record -e page-faults -c 10 -e cpu-clock -F 500 -- ./prog",
      "lpfm record -p 1234 --timeout 10",
      "lpfm record -g -- ./prog && lpfm report -g callee",
      "lpfm record --off-cpu -- ./prog && lpfm export -e off-cpu -o waits.svg",
      "lpfm record -c 10000 --where 'pmd.page_faults > 0' -- ./prog",
      "lpfm record -c 1000000 --random 0xffff -o prog.data -- ./prog",
      "lpfm record -a --switch-output=1m --switch-max-files=10",
   })
   extensions.add_options("record", c)
   return c
end

-- --- options -------------------------------------------------------------------------------------

local function parse_random(text)
   if not text then return nil end
   local random, err = randomize.read(text)
   if not random then options.fail("--random: %s", err) end
   return random
end

-- Checks -c, -F and --random: the mask must be smaller than the period. The period of a clock is
-- always known, that of another event only if it was given.
local function check_rates(spec)
   local mask = spec.random and spec.random.mask
   for _, event in ipairs(spec.events) do
      local given = event.period or spec.period
      local ok, period, rate = pcall(profile.rate, event, spec)
      if ok and not period and event.unit == "ns" then given = profile.period_for(event, rate) end
      if mask and given and mask >= given then
         options.fail("--random: the mask %s is not smaller than the period %s", render.number(mask),
            render.number(given))
      end
      if not ok then options.fail("%s: %s", given and "-c" or "-F", period) end
   end
end

local SIZES = { B = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30 }
local TIMES = { s = 1, m = 60, h = 3600, d = 86400 }

local function parse_switch(text)
   if text == "signal" then return { signal = "USR2" } end
   local digits, unit = text:match("^(%d*%.?%d+)(%a)$")
   local n = tonumber(digits)
   if not (n and (SIZES[unit] or TIMES[unit])) then
      options.fail("--switch-output: '%s' is neither 'signal' nor a size (100K, 100M, 1G) nor a time (30s, 5m, 1h, 1d)",
         text)
   end
   if n == 0 then
      options.fail("--switch-output: '%s' is no %s in which anything can be recorded", text,
         SIZES[unit] and "size" or "time")
   end
   return { size = SIZES[unit] and n * SIZES[unit], seconds = TIMES[unit] and n * TIMES[unit] }
end

-- Returns the limits that end a recording file.
local function limits_of(args)
   local out = { max_size = options.size(args.max_size, "--max-size"),
      max_files = options.number(args.switch_max_files, "--switch-max-files", true),
      switch = args.switch_output and parse_switch(args.switch_output) }
   if out.max_size == 0 then options.fail("--max-size: nothing fits into 0 bytes") end
   if out.max_files and not out.switch then options.fail("--switch-max-files goes with --switch-output") end
   return out
end

local function spec_of(args, target)
   options.check_conditions(args)
   local period, frequency = options.rates(args)
   local spec = {
      events = options.sampled_events(args, args.event, { "cpu-clock" }),
      with = options.sampled_events(args, args.with),
      period = period, frequency = frequency,
      random = parse_random(args.random),
      buffer = options.size(args.buffer), from = args.from, g = options.call_graph(args),
      where = args.where, off_cpu = args.off_cpu,
   }
   if spec.where then options.check_program({ where = spec.where }, target) end
   check_rates(spec)
   for k, v in pairs(target) do spec[k] = v end
   return spec
end

-- --- progress ------------------------------------------------------------------------------------

-- Returns a function that shows progress, or nil with --quiet and where it would mix with the
-- output of the command; and a function that clears what was shown.
local function progress(args, target)
   local visible = terminal.shows(2) and not (target.command and terminal.shows(1))
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

-- Says how many samples were lost, and why. Periods that passed because a timer came late are not
-- losses; `lateness` reports them.
local function losses_of(outcome)
   local out = {}
   if outcome.lost > 0 then
      out[#out + 1] = render.plural(outcome.lost, "sample")
         .. " lost (lpfm emptied the kernel's buffer too slowly; use a larger --buffer or a longer period)"
   end
   if (outcome.crowded or 0) > 0 then
      out[#out + 1] = render.plural(outcome.crowded, "sample")
         .. " lost (they came together with one that filled the buffer)"
   end
   if outcome.throttled > 0 then
      local rate = outcome.sample_rate and (", %s a second and CPU"):format(render.number(outcome.sample_rate)) or ""
      out[#out + 1] = ("sampling held back %s by the kernel's limit%s (use a longer period or raise "
         .. "kernel.perf_event_max_sample_rate)"):format(render.plural(outcome.throttled, "time"), rate)
   end
   if outcome.full > 0 and outcome.missed ~= 0 then
      local missed = outcome.missed and ("about %s missed; "):format(render.plural(outcome.missed, "sample")) or ""
      out[#out + 1] = ("lpfm emptied its buffer too slowly: full %s, nothing was sampled meanwhile (%suse a larger "
         .. "--buffer)"):format(render.plural(outcome.full, "time"), missed)
   end
   return #out > 0 and table.concat(out, "; ") or "none lost"
end

local function unnamed(outcome)
   if (outcome.untold or 0) == 0 then return "" end
   return ("; %s of what programs did found the buffer full: samples of short ones may have no name (use a larger "
      .. "--buffer)"):format(render.plural(outcome.untold, "record"))
end

local function lateness(outcome)
   if outcome.late == 0 then return "" end
   return ("; timers came late over %s, which have no sample"):format(render.plural(outcome.late, "period"))
end

--- Says which samples are missing, and why.
-- @tparam table outcome of `profile.run`
-- @treturn string
function command.losses(outcome)
   return losses_of(outcome) .. unnamed(outcome) .. lateness(outcome)
end

-- Says how often threads left the CPU, and which of their waits are not recorded.
local function off_cpu_of(its)
   local out = { ("%s off the CPU, %s preempted"):format(render.plural(its.waited, "time"),
      render.number(its.preempted)) }
   if its.still > 0 then
      out[#out + 1] = render.plural(its.still, "thread") .. " not back when the recording ended (still-off-cpu)"
   end
   if its.earlier > 0 then
      out[#out + 1] = ("%s came back, without a sample, from a wait that had begun before the recording"):format(
         render.plural(its.earlier, "thread"))
   end
   if its.unknown > 0 then
      out[#out + 1] = ("%s left out, as a record of the return may be lost"):format(render.plural(its.unknown, "time"))
   end
   if its.unseen > 0 then
      out[#out + 1] = render.plural(its.unseen, "time") .. " off the CPU without a sample of where"
   end
   return table.concat(out, "; ")
end

local function why_alone(outcome)
   return outcome.alone and (" (%s)"):format(outcome.alone) or " (without --no-inherit they are included)"
end

-- Says where the samples were written to.
local function place(file, outcome)
   local files, bytes = outcome.files or {}, 0
   for _, its in ipairs(files) do bytes = bytes + its.bytes end
   if #files < 2 then return ("in %s (%s)"):format(file.path, render.bytes(file.bytes)) end
   local what = render.plural(#files, "file")
   if outcome.removed > 0 then what = ("%s files, of which the latest %d are kept"):format(
      render.number(#files + outcome.removed), #files) end
   return ("in %s: %s to %s (%s)"):format(what, files[1].path, file.path, render.bytes(bytes))
end

local function summary(file, outcome)
   local line = ("%s%s %s, %s"):format(render.plural(outcome.samples, "sample"),
      render.where(outcome.simulated), place(file, outcome), command.losses(outcome))
   if outcome.overflows then line = ("%s; of %s"):format(line, render.plural(outcome.overflows, "overflow")) end
   if outcome.full_file then
      line = line .. ("; it ended when the file%s had grown to --max-size, which is looked at when the buffer is read; "
         .. "names of functions came on top"):format(#(outcome.files or {}) > 1 and "s" or "")
   end
   if outcome.stacks then
      local why = outcome.stacks.why
      line = ("%s; call stacks by %s%s"):format(line, outcome.stacks.how, why and ": " .. why or "")
   end
   if outcome.off_cpu then line = line .. "; " .. off_cpu_of(outcome.off_cpu) end
   if outcome.randomized then line = line .. "; randomized " .. outcome.randomized end
   if (outcome.masked or 0) > SHARE then
      line = line .. ("; nothing was observed for %.0f%% of the time"):format(outcome.masked * 100)
   end
   local taken = outcome.taken > SHARE
   if taken then line = line .. ("; for %.0f%% of the time %s"):format(outcome.taken * 100, measure.OTHERS) end
   local obstacle = stages.obstacle(outcome.stages or {})
   if obstacle then
      line = line .. "; sampling never began: " .. obstacle
   elseif stages.delay(outcome.stages or {}) then
      line = line .. "; sampling " .. stages.delay(outcome.stages)
   elseif outcome.not_begun then
      line = line .. "; " .. options.never_began(outcome)
   elseif outcome.samples == 0 and (outcome.overflows or 0) > 0 then
      line = line .. ", none of which met the condition"
   elseif outcome.samples == 0 and outcome.off_cpu then
      line = line .. "; no thread left its CPU, or ran for long enough to be sampled"
   elseif outcome.samples == 0 and not outcome.unsampled and not taken then
      line = line .. "; too few events for a sample: try a smaller -c or a larger -F"
   end
   local cut = (outcome.stacks or {}).cuts
   if cut then line = ("%s\n%s"):format(line, cuts.text(cut, outcome.stacks.total, outcome.stacks.copied)) end
   if outcome.unsampled then
      line = line .. ("\n%.0f%% of the CPU time was not sampled: "):format(outcome.unsampled * 100)
         .. (outcome.inherited and measure.TAKEN or ("it was spent in threads or children%s, or while the program was "
         .. "loaded or exited"):format(why_alone(outcome)))
   end
   if outcome.partial and not outcome.signal then line = line .. "\nthe recording ended before the command did" end
   if outcome.unmeasured > 0 then
      line = line .. ("\n%s could not be sampled: %s"):format(render.plural(outcome.unmeasured, "thread"), outcome.why)
   end
   if file.taken then line = ("%s\nanother recording is in %s now"):format(line, file.taken) end
   return file.moved and line .. "\n" .. options.moved(file) or line
end

local function exit_status(file, outcome)
   local status = options.status(outcome)
   for _, its in ipairs(outcome.files or { file }) do
      if its.moved and status == 0 then return 1 end
   end
   return status
end

-- Prints a message; on a terminal its lines are broken between words.
local function notify(message)
   local width = terminal.shows(2) and terminal.size() - #PREFIX - 1 or math.huge
   for paragraph in (render.clean(message) .. "\n"):gmatch("([^\n]*)\n") do
      for i, line in ipairs(render.width(paragraph) > width and render.wrap(paragraph, width) or { paragraph }) do
         io.stderr:write(i == 1 and PREFIX or (" "):rep(#PREFIX), line, "\n")
      end
   end
end

-- Joins "-g dwarf" into one word.
local function join_how(argv)
   local out, i = {}, 1
   while i <= #argv and argv[i] ~= "--" do
      local word = argv[i] == "-g" and argv[i + 1] or ""
      local how = (word == "fp" or word:find("^dwarf,") or word == "dwarf") and word
      out[#out + 1] = how and "--call-graph=" .. how or argv[i]
      i = i + (how and 2 or 1)
   end
   for k = i, #argv do out[#out + 1] = argv[k] end
   return out
end

-- Returns the default name of the file; each rank of a parallel job has its own.
local function default_name()
   local here = launcher.here()
   return here and (here.ranks or 2) > 1 and "lpfm.%r.data" or "lpfm.data"
end

--- Runs the command line.
-- @tparam table argv
-- @treturn number exit status
function command.main(argv)
   local args, words = command.options():parse(join_how(argv))
   expect.value(proc.catch "USR2") -- SIGUSR2 must not end a recording
   if args.output == "-" then options.fail("a recording cannot go to a pipe or the screen: expected -o FILE") end
   local function prepared() return spec_of(args, options.target(args, words)) end
   local done = extensions.run("record", args, prepared)
   if done then return done end
   local spec, limits = prepared(), limits_of(args)
   local show, clear = progress(args, spec)
   function limits.written(its)
      clear()
      if its.moved then
         notify(options.moved(its))
      elseif not args.quiet then
         notify(("%s in %s (%s)"):format(render.plural(its.samples, "sample"), its.path, render.bytes(its.bytes)))
      end
   end
   local outcome, file = record.run(spec, options.file_name(args.output or default_name()), show, limits)
   clear()
   if not args.quiet then
      notify(summary(file, outcome))
   elseif file.moved then
      notify(options.moved(file))
   end
   return exit_status(file, outcome)
end

-- Returns the spec of a recording and the name of its file, for the arguments that a script or the
-- prompt has passed: a shell command line or a table, and the file or a table of options.
local function spec_for(what, more)
   options.arguments("record", 'record("./prog")', { what, "string|table", "a command line or a table" },
      { more, "string|table?", "a file or a table" })
   local spec = type(what) == "string" and { command = options.shell(what) } or what
   local copy, path = {}, type(more) ~= "table" and more or nil
   for _, t in ipairs { spec, type(more) == "table" and more or nil } do
      for k, v in pairs(t) do copy[k] = v end
   end
   path, copy.output = path or copy.output or "lpfm.data", nil
   if copy.inherit == nil then copy.inherit = true end
   expect.fields("record", copy, profile.fields)
   return copy, path
end

local function printable(outcome, file)
   return options.shown(outcome, function() return { summary(file, outcome) } end)
end

--- Samples a command into a file.
-- @param what a shell command line, or a table as for `profile.prepare`, and:
-- @string[opt="lpfm.data"] what.output the file
-- @param[opt="lpfm.data"] path the file, if the table does not name it; or a table of options, as
-- in `{ g = true }`
-- @treturn table of `profile.run`; the prompt shows it as text
-- @usage record("ls -lR /etc >/dev/null", { g = true }); report { g = "callee" }
function command.call(what, path)
   local spec
   spec, path = spec_for(what, path)
   return printable(record.run(spec, path))
end

--- Begins a recording in the background, for `repl.prompt.jobs`.
-- @param what as for `command.call`
-- @param[opt] path by default lpfm.data
-- @treturn table `target`, `callbacks`, `so_far()` and `complete(outcome)` (printable results),
-- `discard()`
function command.job(what, path)
   local spec
   spec, path = spec_for(what, path)
   local r = record.begin(spec, path)
   return {
      target = spec, callbacks = profile.handlers(r.profile, r.sink),
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
