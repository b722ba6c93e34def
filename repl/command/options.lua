-- SPDX-License-Identifier: MIT
--- Command lines: parses options with argparse, and separates them from the command that is
-- measured.
-- @module repl.command.options

local host = require "pfm.measure.host"
local launcher = require "pfm.util.launcher"
local need = require("pfm.util.expect").module
local text_file = require "pfm.util.text_file"
local name_list = require "pfm.util.name_list"
local render = require "pfm.render"
local stages = require "pfm.measure.stages"
local trigger = require "pfm.measure.trigger"

local options = {}

-- Options of perf and pfmon, and the option of lpfm for each.
local habits = {
   ["--attach-task"] = "--tid", ["--system-wide"] = "--all-cpus",
   ["--cpu-list"] = "--cpu", ["--outfile"] = "--output", ["--follow-all"] = "--threads",
   ["--follow-fork"] = "--threads", ["--follow-pthread"] = "--threads", ["--inherit"] = "--threads",
   ["--events"] = "--event", ["--field-separator"] = "-x", ["--count"] = "--period", ["--freq"] = "--frequency",
   ["--interval-print"] = "--interval", ["--print-interval"] = "--interval", ["--smpl-periods-random"] = "--random",
   ["--long-smpl-periods"] = "--period", ["--short-smpl-periods"] = "--period", ["--json-output"] = "--json",
   ["-A"] = "--per-cpu", ["--no-aggr"] = "--per-cpu", ["--trigger-start-delay"] = "--delay",
   ["--session-timeout"] = "--timeout", ["--repeats"] = "--repeat",
   ["--smpl-show-top"] = "--top", ["--sort-by"] = "--sort", ["--file"] = "--input", ["-f"] = "--input",
}

local typed = {} -- the option that the user typed, by the name of lpfm's option for it

local command = {}
command.__index = command

--- Creates the options of a sub-command.
-- @string name
-- @string summary what it does
-- @string usage the first line of the help
-- @treturn command `option`, `flag`, `parse`
function options.command(name, summary, usage)
   local argparse = need("argparse", "lua-argparse")
   local self = setmetatable({ parser = argparse("lpfm " .. name):add_help(false), takes = {}, bare = {}, known = {},
      rows = {}, meant = {}, needless = {}, advice = {}, summary = summary, usage = usage, examples = {} }, command)
   self:flag("-h --help", "Show this text.")
   return self
end

local function note(self, flags, value, text, bare)
   local list = {}
   for flag in flags:gmatch("%S+") do
      list[#list + 1] = flag
      self.known[flag] = true
      self.takes[flag] = value and not bare or nil
      self.bare[flag] = bare
   end
   local label = table.concat(list, ", ") .. (bare and ("[=%s]"):format(value) or value and " " .. value or "")
   self.rows[#self.rows + 1] = { label:find("^%-%-") and "    " .. label or label, text, flags = list,
      value = not bare and value or nil }
end

--- Defines an option with a value.
-- @string flags "-e --event"
-- @string value its name in the help, from which `repl.command.kinds` knows its kind for
-- completion
-- @string text
-- @string[opt] bare value of the option if none is given; a given value must then follow "="
-- @return argparse's object
function command:option(flags, value, text, bare)
   note(self, flags, value, text, bare)
   return self.parser:option(flags)
end

--- Defines an option without a value.
function command:flag(flags, text)
   note(self, flags, nil, text)
   return self.parser:flag(flags)
end

--- Appends text and example command lines to the help.
-- @string notes
-- @tparam table examples
function command:epilog(notes, examples)
   self.parts_of_notes, self.examples = { notes }, examples
end

--- Appends further text and examples, behind the existing ones.
-- @tparam string|function notes the text, or a function that returns it
-- @tparam table examples
function command:append(notes, examples)
   table.insert(self.parts_of_notes, notes)
   for _, example in ipairs(examples) do self.examples[#self.examples + 1] = example end
end

--- Accepts options that other tools have for this command.
-- @tparam table meant lpfm's option for each
-- @tparam table needless list of options that ask for the default behaviour
-- @tparam table advice for each, a text that says what to do instead
function command:habits(meant, needless, advice)
   self.meant, self.advice = meant, advice
   for _, flag in ipairs(needless) do self.needless[flag] = true end
end

--- Returns the text between the options and the examples.
-- @treturn ?string
function command:notes()
   local out = {}
   for i, part in ipairs(self.parts_of_notes or {}) do out[i] = type(part) == "function" and part() or part end
   return out[1] and table.concat(out, "\n")
end

--- Returns the text of the option help.
-- @treturn string
function command:help()
   local lines = { "Usage: " .. self.usage, "", self.summary, "", "Options:" }
   for _, line in ipairs(render.align({ {}, {} }, self.rows, "  ")) do lines[#lines + 1] = line end
   local notes = self:notes()
   if notes then lines[#lines + 1] = "\n" .. notes end
   lines[#lines + 1] = "\nExamples:"
   for _, example in ipairs(self.examples) do lines[#lines + 1] = "  " .. example end
   return table.concat(lines, "\n") .. "\n"
end

local function translate(self, word)
   local flag, rest = word:match("^(%-%-[^=]+)(=?.*)$")
   if not flag then flag, rest = word:match("^(%-.)(.*)$") end
   if self.known[flag] then return rest == "" and self.bare[flag] and flag .. "=" .. self.bare[flag] or word end
   if self.advice[flag] then options.fail("%s: %s", flag, self.advice[flag]) end
   if self.needless[flag] and (rest == "" or rest:find("^=") or flag .. rest == "-" .. flag:sub(2):rep(#rest + 1)) then
      return nil -- the flag may also be repeated, as in "-vvv"
   end
   local ours = self.meant[flag] or habits[flag]
   if not self.known[ours] then return word end
   if flag:find("^%-%-") then typed[ours] = flag end
   local value = flag:find("^%-%-") and rest:sub(2) or rest -- "-x,": no "=" precedes the value
   return ours .. (rest ~= "" and ours:find("^%-%-") and "=" or "") .. value
end

local function wants_value(self, word)
   if word:find("^%-%-") then return self.takes[word] end -- nil for "--option=value"
   return #word == 2 and self.takes[word]
end

-- Takes the option at index i, with its value; returns the index after them.
local function take_option(self, argv, i, mine)
   local word = translate(self, argv[i])
   if not word then return i + 1 end
   mine[#mine + 1] = word
   -- The value may be a negative number, which argparse would take for an option.
   if wants_value(self, word) and argv[i + 1] and argv[i + 1]:find("^%-%d") then
      mine[#mine] = word .. (word:find("^%-%-") and "=" or "") .. argv[i + 1]
      i = i + 1
   elseif wants_value(self, word) and argv[i + 1] then
      mine[#mine + 1] = argv[i + 1]
      i = i + 1
   end
   return i + 1
end

local function is_option(word)
   return word:sub(1, 1) == "-" and word ~= "-" and word ~= "--"
end

-- Splits the words into options and the command, which begins at the first word that is not an
-- option, or behind "--". If `self.mixed` is true, options may also stand between the other words.
local function split(self, argv)
   local mine, rest, i = {}, {}, 1
   while i <= #argv and (is_option(argv[i]) or (self.mixed and argv[i] ~= "--")) do
      if is_option(argv[i]) then
         i = take_option(self, argv, i, mine)
      else
         rest[#rest + 1] = argv[i]
         i = i + 1
      end
   end
   if argv[i] == "--" then i = i + 1 end
   for k = i, #argv do rest[#rest + 1] = argv[k] end
   return mine, rest
end

--- Reads a command line.
-- @tparam table argv
-- @treturn table the options by name
-- @treturn table the words after them
function command:parse(argv)
   typed = {}
   local mine, rest = split(self, argv)
   local ok, args = self.parser:pparse(mine)
   if not ok then
      -- The hint is of no use, as all options of one letter are similar.
      args = args:gsub("\nDid you mean one of these: .*$", "")
      error({ message = args:gsub("\n", "; "):gsub("; Did", "; did"), usage = true }, 0)
   end
   if args.mistake then options.fail("%s", args.mistake) end
   if args.help then error({ help = self:help() }, 0) end
   if args.x == "" then options.fail("-x: expected a separator, as in -x,") end
   if args.x and args.json then options.fail("-x and --json exclude each other") end
   if args.x == "\\t" then args.x = "\t" end -- as perf's users write it
   return args, rest
end

--- Raises an error in the command line; its message names options as the user typed them.
-- @string message for string.format
-- @param ... its arguments
function options.fail(message, ...)
   message = message:format(...):gsub("%-%-?%a[%w-]*", typed)
   error({ message = message, usage = true }, 0)
end

--- Raises an error if options are given that another option makes meaningless.
-- @tparam table args
-- @string option the other option: "--ranks"
-- @tparam {string,...} heeded names in args of options that can be used with it, and its own name
function options.heed(args, option, heeded)
   local is_heeded, rest = {}, {}
   for _, name in ipairs(heeded) do is_heeded[name] = true end
   for name, value in pairs(args) do
      local given = value and (type(value) ~= "table" or #value > 0)
      if given and not is_heeded[name] then rest[#rest + 1] = name end
   end
   table.sort(rest)
   if rest[1] then
      options.fail("%s and %s exclude each other", option, #rest[1] == 1 and "-" .. rest[1]
         or "--" .. rest[1]:gsub("_", "-"))
   end
end

--- Says whether an error is a bug in lpfm: the message of such an error begins with a file
-- position, which messages for users do not have.
-- @param err
-- @treturn boolean
function options.is_own_mistake(err)
   return type(err) == "string" and err:find("^[^\n]-%.lua:%d+: ") ~= nil
end

local function blame_command_line(err)
   if type(err) ~= "string" or err:find("interrupted$") then return err end
   if options.is_own_mistake(err) then return { message = debug.traceback(err, 2) } end
   return { message = err, usage = true }
end

--- Returns how call stacks are to be recorded, as the option -g says.
-- @tparam table args
-- @return for `g` of `profile.prepare`
function options.call_graph(args)
   if not args.call_graph then return args.g end
   local how, err = require("pfm.measure.sample_buffers").parse(args.call_graph)
   if not how then options.fail("--call-graph: %s", err) end
   return args.call_graph
end

--- Calls a function of the library. An error that it raises becomes an error in the command line,
-- unless it is a bug in lpfm.
-- @tparam function fn
-- @param ... its arguments
-- @return what it returns
function options.checked(fn, ...)
   local args = { n = select("#", ...), ... }
   local function call() return fn(unpack(args, 1, args.n)) end
   local function pass(ok, ...)
      if not ok then error((...), 0) end
      return ...
   end
   return pass(xpcall(call, blame_command_line))
end

--- Returns the result of a call; if that is nil, raises the message as an error in the command
-- line.
-- @param result
-- @string[opt] err
-- @return result
function options.expect(result, err)
   if not result then options.fail("%s", err) end
   return result
end

--- Checks expressions about overflows, and raises their faults as errors in the command line.
-- @tparam table expressions of `program.new`
-- @tparam table target
function options.check_program(expressions, target)
   local program = options.checked(require("pfm.program").new, expressions)
   if program:needs_process() and not target.tids then
      options.fail("objects have addresses once their process runs: expected -p PID for what is in one")
   end
end

--- Returns the only word of a command line, or nil; raises an error on more words.
-- @tparam table words
-- @string what the meaning of the word, for the message
-- @treturn string
function options.only_word(words, what)
   if #words > 1 then options.fail("unexpected argument '%s': expected one %s", words[2], what) end
   return words[1]
end

local MOST = 2 ^ 53 -- up to here, a Lua number holds all whole numbers exactly

--- Returns the value of an option as a positive number.
-- @string text
-- @string what the option, for the message
-- @tparam[opt] boolean whole
-- @number[opt=2^53] most the largest value
-- @treturn number or nil if text is nil
function options.number(text, what, whole, most)
   if text == nil then return nil end
   local n = tonumber(text)
   if not n or n <= 0 or n ~= n or n == math.huge or (whole and n ~= math.floor(n)) then
      options.fail("%s: '%s' is not a positive %snumber", what, text, whole and "whole " or "")
   end
   most = most or MOST
   if n > most then options.fail("%s: %s is too much: at most %.0f", what, text, most) end
   return n
end

--- Returns the value of an option as a size.
-- @string[opt] text
-- @string[opt="--buffer"] what the option, for the message
-- @treturn ?number bytes; nil if text is nil
function options.size(text, what)
   if text == nil then return nil end
   local n, err = render.parse_size(text)
   if not n then options.fail("%s: %s", what or "--buffer", err) end
   return n
end

-- Parses a list of CPUs such as "0-3,5"; raises an error at the first CPU that is not online.
local function cpu_list(text, online)
   local list, why = name_list.ranges(text, "CPUs")
   if not list then options.fail("--cpu: %s", why) end
   local out, seen, is = {}, {}, {}
   for _, cpu in ipairs(online) do is[cpu] = true end
   for _, range in ipairs(list) do
      for cpu = range[1], range[2] do
         if not is[cpu] then
            options.fail("--cpu: CPU %.0f is not online; CPUs %d to %d are", cpu, online[1], online[#online])
         end
         if not seen[cpu] then out[#out + 1] = cpu end
         seen[cpu] = true
      end
   end
   return out
end

local MOST_IDS = 2 ^ 31 - 1 -- the largest pid_t

local function id_list(flag, what, parts)
   local out, seen, text = {}, {}, table.concat(parts, ",")
   if #parts == 0 then return out end
   for part in (text .. ","):gmatch("([^,]*),") do
      local tid = part:match("^%d+$") and tonumber(part)
      if not tid then options.fail("%s: '%s' is not a list of %s", flag, text, what) end
      if tid < 1 or tid > MOST_IDS then options.fail("%s: %s is out of the range of %s", flag, part, what) end
      if not seen[tid] then out[#out + 1] = tid end
      seen[tid] = true
   end
   return out
end

-- Returns the last -e in `args.event`, or nil if there is none yet. It becomes a table `{ words,
-- filter = text, ... }`, which takes the options that belong to this -e.
local function last_event(args)
   local n = #args.event
   if n > 0 and type(args.event[n]) == "string" then args.event[n] = { args.event[n] } end
   return args.event[n]
end

-- Notes an error, which `command:parse` raises later: argparse lets no error pass out of an action.
local function note_mistake(args, message, ...)
   args.mistake = args.mistake or message:format(...)
end

local function add_events(c)
   local text = "Events to measure, separated by commas; repeatable. 'lpfm list' shows them."
   c:option("-e --event", "EVENTS", text):count("*"):init({}):action(function(args, name, value)
      table.insert(args[name], value)
   end)
   text = "Count only those occurrences of the preceding -e's tracepoints for which this holds: 'prev_prio < 100'."
   c:option("--filter", "FILTER", text)
      :count("*"):action(function(args, _, value)
         local last = last_event(args)
         if not last then return note_mistake(args, "--filter '%s': expected after the -e that it is for", value) end
         last.filter = last.filter and ("(%s) && (%s)"):format(last.filter, value) or value
      end)
end

-- --- how often events are sampled ----------------------------------------------------------------

local LONGEST = 2 ^ 53 -- the longest period in events, which a Lua number holds exactly
local SELDOM = 1e-6    -- Hz, the lowest frequency

local function rate_of(its)
   local flag = its.period and "-c" or its.frequency and "-F"
   return flag and ("%s %s"):format(flag, its.period or its.frequency)
end

-- Returns the events of an earlier -e that has no -c or -F, or nil if there is none. The user may
-- have meant the rate behind the last -e for it, too.
local function left_without(args)
   for i = 1, #args.event - 1 do
      local its = args.event[i]
      if type(its) == "string" or not rate_of(its) then return type(its) == "string" and its or its[1] end
   end
end

local function note_rate(args, name, flag, value)
   local last = last_event(args)
   local its = last or args.rate
   local other, without = rate_of(its), last and not rate_of(args.rate) and left_without(args)
   if other and other:sub(1, 2) ~= flag then
      note_mistake(args, "-c and -F exclude each other%s", last and ": -e " .. last[1] or "")
   elseif other then
      note_mistake(args, "%s %s: %s has '%s' already", flag, value, last and "-e " .. last[1] or "the command", other)
   elseif without then
      note_mistake(args, "%s %s: for '%s' alone, or for '%s', too? Write -e %s,%s %s %s, or a -c or -F behind each -e",
         flag, value, last[1], without, without, last[1], flag, value)
   end
   its[name] = value
end

--- Adds the options -c and -F. Each applies to the -e before it; in front of the first -e, to all
-- events that have no rate of their own. `options.rates` reads them.
-- @tparam command c with the options of `options.add_target`
function options.add_rates(c)
   c:option("-c --period", "N", "Sample every N events (clocks: nanoseconds) of the preceding -e.")
      :count("*"):target("rate"):init({}):action(function(args, _, value) note_rate(args, "period", "-c", value) end)
   c:option("-F --frequency", "HZ", "Sample them HZ times per second of CPU time (default: 1000), or 'max'.")
      :count("*"):target("rate"):action(function(args, _, value) note_rate(args, "frequency", "-F", value) end)
end

-- Converts period and frequency from text to numbers.
local function check_rate(its)
   its.period = options.number(its.period, "--period", true)
   if its.frequency ~= "max" then its.frequency = options.number(its.frequency, "--frequency") end
   if its.period and its.period > LONGEST then
      options.fail("--period: %g events are too many: the maximum is %s", its.period, render.number(LONGEST))
   end
   if its.frequency and its.frequency ~= "max" and its.frequency < SELDOM then
      options.fail("--frequency: %g Hz is too low: the minimum is %g Hz", its.frequency, SELDOM)
   end
end

--- Returns the period and frequency of events that have none of their own. Those of a single -e are
-- converted to numbers in `args.event`.
-- @tparam table args
-- @treturn ?number period
-- @return frequency: a number, "max", or nil
function options.rates(args)
   check_rate(args.rate)
   for _, its in ipairs(args.event) do
      if type(its) == "table" then check_rate(its) end
   end
   return args.rate.period, args.rate.frequency
end

--- Adds the options that say what is measured; `options.target` reads them.
-- @tparam command c
-- @tparam[opt] boolean no_events leave out -e, --threads and the options for privilege levels
function options.add_target(c, no_events)
   if not no_events then add_events(c) end
   c:option("-p --pid", "PIDS", "Measure these processes, all their threads."):count("*")
   c:option("-t --tid", "TIDS", "Measure these threads."):count("*")
   c:flag("-a --all-cpus", "Measure all CPUs, whatever runs on them.")
   c:option("-C --cpu", "CPUS", "Measure these CPUs, e.g. 0-3,5."):count("*")
   if not no_events then c:flag("--threads", "Include threads and children, which is the default.") end
   c:flag("-i --no-inherit", "Measure the first thread alone, not threads and children.")
   if not no_events then
      c:flag("--all-user", "Count events that name no level (as page-faults:k does) at the user level alone.")
      c:flag("--all-kernel", "The same at the kernel level.")
   end
   c:flag("--outlive", "If lpfm is killed, let the command go on; without, it gets SIGTERM.")
   c:option("-D --delay", "MS", "Start measuring after MS milliseconds.")
   c:option("--timeout", "SECONDS", "Stop measuring after SECONDS; the command keeps running.")
end

--- Adds the option -o, which `options.output` reads.
-- @tparam command c
function options.add_output(c)
   c:option("-o --output", "FILE", "Write the results to FILE; in its name %h is the host, %r the rank, %j the job.")
end

local function pids_of(args)
   return id_list("--pid", "process IDs", args.pid)
end

-- Returns the ids of the processes and threads.
local function tids_of(args)
   local out, seen = pids_of(args), {}
   for _, pid in ipairs(out) do seen[pid] = true end
   for _, tid in ipairs(id_list("--tid", "thread IDs", args.tid)) do
      if not seen[tid] then out[#out + 1] = tid end
   end
   return #out > 0 and out or nil
end

--- Sets the privilege level of the events that name none, as the options for that say.
-- @tparam table args
-- @tparam table list of `events.read`; changed in place
-- @treturn table the list
function options.at_level(args, list)
   if args.all_user and args.all_kernel then options.fail("--all-user and --all-kernel exclude each other") end
   local plm = args.all_user and "u" or args.all_kernel and "k"
   return plm and require("pfm.events").at_level(list, plm) or list
end

--- Reads the events of -e to sample, at the options' privilege level, and assigns them registers.
-- @tparam table args
-- @tparam {string,...} names of -e
-- @tparam[opt] {string,...} default used if `names` is empty; if nil, the events of `names` are
-- not sampled but recorded with each sample, and there may be none
-- @treturn table of `events.parse`
function options.sampled_events(args, names, default)
   local events = require "pfm.events"
   local list = options.expect(events.read(#names > 0 and names or default or {}, true, default ~= nil))
   return options.expect(events.assign(options.at_level(args, list)))
end

--- Returns the target that the options describe.
-- @tparam table args
-- @tparam table words the command
-- @treturn table a target of `pfm.measure`; its `inherit` is false with --no-inherit, for CPUs, and
-- for --tid without --pid
function options.target(args, words)
   if args.no_inherit and args.threads then options.fail("--threads and --no-inherit exclude each other") end
   local online = require("lpfm.proc").cpus()
   local target = { outlive = args.outlive,
      seconds = options.number(args.timeout, "--timeout") }
   local delay = options.number(args.delay, "--delay")
   target.delay = delay and delay / 1000
   if #words > 0 then
      target.command = words
      options.spare_program(args.output, words)
   end
   target.tids = tids_of(args)
   if args.all_cpus then target.cpus = online end
   if #args.cpu > 0 then target.cpus = cpu_list(table.concat(args.cpu, ","), online) end
   if target.tids and target.cpus then options.fail("--pid, --tid and --all-cpus exclude each other") end
   if not target.command and not target.tids and not target.cpus then
      options.fail("nothing to measure: expected a command, -p PIDS or -a")
   end
   target.inherit = not (args.no_inherit or target.cpus) and (#args.pid > 0 or not target.tids)
   target.whole = target.inherit and #args.pid > 0 and pids_of(args) or nil
   if target.command and not target.cpus and not args.quiet then options.warn_of_rights(words) end
   return target
end

--- Says on standard error if the kernel does not let the command be measured.
-- @tparam {string,...} words the command
function options.warn_of_rights(words)
   local obstacle = host.obstacle(words)
   if obstacle then io.stderr:write("lpfm: ", render.clean(obstacle), "\n") end
end

--- Expands %h, %r and others of `launcher.file_name` in the name of an output file.
-- @string[opt] text
-- @treturn ?string nil if text is nil
function options.file_name(text)
   return text and options.expect(launcher.file_name(text))
end

--- Refuses to write results over the program that is measured.
-- @string[opt] path as for `options.output`
-- @tparam {string,...} words the command
-- @raise if the path is that of the program, under whatever name
function options.spare_program(path, words)
   if path then text_file.spare(options.file_name(path), { host.find(words[1]) }) end
end

--- Opens the file for results, -o.
-- @string[opt] path "-" is stdout; without it, stderr as in perf
-- @tparam[opt] boolean append
-- @return a file
function options.output(path, append)
   if not path then return io.stderr end
   if path == "-" then return io.stdout end
   local file, err = io.open(options.file_name(path), append and "a" or "w")
   if not file then error("cannot write " .. err, 0) end
   return file
end

--- Prints results. All commands print by this function, which replaces control characters by
-- question marks.
-- @tparam {string,...} lines
function options.print(lines)
   io.stdout:write(render.clean(table.concat(lines, "\n")), "\n")
end

--- Writes results, as `options.print` does. If the file cannot be written, the results go to
-- standard error before the error is raised.
-- @tparam {string,...} lines
-- @string[opt] path as for `options.output`
function options.write(lines, path)
   local text = render.clean(table.concat(lines, "\n"))
   local opened, file = pcall(options.output, path)
   local ok, err = opened, file
   if opened then ok, err = text_file.write(file, text, "\n") end
   if ok then return end
   if file ~= io.stderr then io.stderr:write(text, "\n") end
   error(opened and ("cannot write %s: %s"):format(path or "the results", err) or err, 0)
end

--- Writes warnings to standard error, after what was printed so far.
-- @string name the command, which begins the lines
-- @tparam {string,...} warnings
function options.warn(name, warnings)
   io.stdout:flush()
   for _, warning in ipairs(warnings) do io.stderr:write(name, ": ", render.clean(warning), "\n") end
end

--- Returns the exit status of a command that has measured another: that of the measured one.
-- @tparam table result `status` or `signal`
-- @treturn number
function options.status(result)
   return result.signal and 128 + result.signal or result.status or 0
end

--- Says where a recording is that could not be written to its file.
-- @tparam table file of `record.run`, with `moved`
-- @treturn string
function options.moved(file)
   return ("cannot write %s: %s; the recording is in %s: lpfm report %s"):format(render.printable(file.moved.from),
      file.moved.why, file.path, file.path)
end

--- Says that a measurement ended during its delay.
-- @tparam table outcome with `status` or `signal`, if a command has ended
-- @treturn string
function options.never_began(outcome)
   return ("the %s ended before --delay had passed"):format((outcome.status or outcome.signal) and "command"
      or "measurement")
end

--- Checks the conditions of when to count (`from`, `until`, `switch_after`), and raises an error if
-- one is malformed.
-- @tparam table args
function options.check_conditions(args)
   for flag, reader in pairs { from = stages, ["until"] = trigger, switch_after = trigger } do
      local ok, err = true, nil
      if args[flag] then ok, err = reader.read(args[flag]) end
      if not ok then options.fail("--%s: %s", (flag:gsub("_", "-")), err) end
   end
end

-- --- at the prompt -------------------------------------------------------------------------------

-- Returns true if a value is of one of the kinds: "string?" permits nil, "string|table" either
-- type.
local function fits(value, kinds)
   if value == nil and kinds:find("?", 1, true) then return true end
   for kind in kinds:gmatch("%a+") do
      if type(value) == kind then return true end
   end
   return false
end

--- Checks the arguments of a function of the prompt; raises an error unless each has its kind.
-- @string call the function's name
-- @string example a correct call
-- @param ... for each argument, {value, kinds, what it means}
function options.arguments(call, example, ...)
   for i, argument in ipairs { ... } do
      local value, kinds, what = argument[1], argument[2], argument[3]
      if not fits(value, kinds) then
         error(("%s: argument %d: expected %s, got %s: %s"):format(call, i, what,
            value == nil and "nothing" or "a " .. type(value), example), 0)
      end
   end
end

--- Makes a result a value that the prompt shows as text.
-- @tparam table result
-- @func lines `(result)` returns its lines
-- @treturn table the result
function options.shown(result, lines)
   return setmetatable(result, { __tostring = function(self) return table.concat(lines(self), "\n") end })
end

-- Words that begin the shell's own constructs and commands: `exec` cannot be put before them.
local constructs = {}
for word in ("! { ( [[ case cd do eval exec exit export for function if set time trap ulimit umask until wait while")
   :gmatch("%S+") do
   constructs[word] = true
end

--- Converts a shell command line to a command. The shell runs a simple one by exec, so that the
-- program itself is in the thread that is measured.
-- @string line
-- @treturn table argv
function options.shell(line)
   local first = line:match("^%s*(%S+)") or ""
   local simple = not line:find("[;&|\n]") and not constructs[first] and not first:find("^[({]") and not first:find("=")
   return { "/bin/sh", "-c", simple and "exec " .. line or line }
end

return options
