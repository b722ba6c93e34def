-- SPDX-License-Identifier: MIT
--- Samples a command, threads or CPUs: where events happen.
-- The samples go to a sink as they come:
--
--    sink.begin()                    optional: the command was found and runs
--    sink.block(block, count)        a sampling buffer up to its cur_offs (see lpfm.blocks)
--    sink.stacks(bytes)              new call stacks, before samples that have them (lpfm.blocks)
--    sink.programs(records)          optional: what programs did (pfm.recording.programs)
--    sink.maps(pid, maps, time, before)  executable mappings of a process, when they are new; ns;
--                                    until when they were those told before
--    sink.comm(tid, pid, name, time) the name of a thread, when it is new
-- @module pfm.profile

local lpfm = require "lpfm"
local events = require "pfm.events"
local measure = require "pfm.measure"
local proc = require "lpfm.proc"
local filtering = require "pfm.measure.filtering"
local randomize = require "pfm.randomize"
local contexts = require "pfm.measure.contexts"
local dirent = require "posix.dirent"
local programs = require "pfm.recording.programs"
local sample_buffers = require "pfm.measure.sample_buffers"
local stages = require "pfm.measure.stages"
local stored = require "lpfm.blocks"
local symbols = require "pfm.symbols"
local fields = require "pfm.util.fields"
local text_file = require "pfm.util.text_file"
local host = require "pfm.measure.host"

local profile = {}

local function ran_ns(tid, pid)
   return host.now().ran_ns(tid, pid)
end

local FLUSH = 0.25             -- s between visits to buffers that are not full: what a crash may cost, with LAST_LOOK
local SAMPLE, VALUE = stored.entry_size, 8 -- bytes, of the default format
local MAX_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
local REGIONS = 8              -- of a buffer, at most
local FIRST_LOOK, LAST_LOOK = 0.001, 0.1 -- s between looks at the mappings: dense at first
local SHORTEST = 10000          -- events, a first period that every machine takes
local GUESS = 1000              -- events between samples before a rate is known

-- --- programming ---------------------------------------------------------------------------------

local function is_clock(event)
   return event.unit == "ns"
end

--- The period that gives a frequency, as far as it is known in advance.
-- @tparam table event
-- @tparam number frequency samples per second
-- @treturn number events
-- @usage
-- print(profile.period_for(assert(events.read "cpu-clock")[1], 1000)) -- ns: 1000000
function profile.period_for(event, frequency)
   if is_clock(event) then return math.max(1, math.floor(1e9 / frequency + 0.5)) end
   return event.kind == "software" and math.max(1, math.floor(GUESS / frequency)) or 1e6
end

local sampler = {}
sampler.__index = sampler

-- perf_event gives children no other periods: it aims at a frequency itself.
function sampler:kernel_adapts()
   return self.inherits and not self.fixed and host.machine().name == "perf"
end

local function sampling_pmd(self, i, period)
   local event, spec, random = self.events[i], self.spec, self.random[i]
   if self:kernel_adapts() and not random then
      return { num = event.pmd, value = -period, long_reset = self.frequency, short_reset = self.frequency,
         flags = { "OVFL_NOTIFY", "FREQUENCY" } }
   end
   local pmd = {
      num = event.pmd, set = spec.set, value = -period, long_reset = -period, short_reset = -period,
      smpl_pmds = self.extra, reset_pmds = self.filter and self.filter.pmds, flags = { "OVFL_NOTIFY" },
   }
   if random and random.by == "interface" then
      pmd.flags[2] = "RANDOM"
      pmd.random_mask, pmd.random_seed = random.mask, random.seed
   end
   return pmd
end

-- How each event's periods vary; the mean of those that have a name is the period.
local function make_random(self, i)
   local its, event = self.spec.random, self.events[i]
   if not its then return nil end
   local copy = { mean = self.periods[i], min = event.unit == "ns" and SHORTEST or nil }
   for k, v in pairs(its) do copy[k] = v end
   if self.frequency and not is_clock(event) and not copy.mask then
      error(("random: '%s' needs a period around which to vary"):format(event.name), 0)
   end
   local out = randomize.resolve(copy)
   self.periods[i] = out.base or self.periods[i]
   if out.by == "tool" then self.by_tool = true end
   return out
end

-- A tool that draws the periods itself stops the thread meanwhile where the kernel does it well, so that nothing runs
-- unobserved. On the perf machine that would be ptrace(2), which changes what is measured.
local function create_args(self)
   if self.sampler then
      local args = self.sampler:create_args()
      args.flags = self.inherits
      return args
   end
   return { flags = host.machine().name == "linux" and not self.spec.call and { "NOTIFY_BLOCK" } or nil }
end

local function make_program(self)
   local extra, all = {}, { unpack(self.events) }
   for i, e in ipairs(self.with) do
      extra[i] = e.pmd
      all[#all + 1] = e
   end
   table.sort(extra)
   self.extra, self.with_regs = extra, {}
   self.sampler = not self.by_tool and sample_buffers.new(self.spec, #lpfm.pmds()) or nil
   if self.filter then self.filter:place() end
   local pmds = {}
   for i in ipairs(self.events) do
      local random = self.random[i]
      pmds[i] = sampling_pmd(self, i, random and random.next and random.next() or self.periods[i])
   end
   for _, e in ipairs(self.with) do pmds[#pmds + 1] = { num = e.pmd, set = self.spec.set, value = 0 } end
   for i, num in ipairs(extra) do self.with_regs[i] = { num = num, set = self.spec.set } end
   self.program = {
      pmcs = events.pmcs(all), pmds = pmds, sets = self.stages and { { id = #self.stages } },
      create = create_args(self),
   }
   if not self.stages then return end
   for _, pmc in ipairs(self.program.pmcs) do pmc.set = self.spec.set end
   self.program = stages.before(self.stages, self.program)
end

-- --- names and mappings --------------------------------------------------------------------------

-- Of an inheriting context: a command from its exec on, or a process with the threads that it has, where the machine
-- knows these flags. Else a command is sampled from where it waits to be executed, and each thread of a process has a
-- context.
local function inheriting_flags(spec)
   return { { "INHERIT", spec.tids and "PROCESS" or "ON_EXEC" }, { "INHERIT" } }
end

-- One context takes the samples of all that a thread creates, where the machine can do that with this program. Else
-- each thread that is given has a context, and the others are left out, which the result says.
local function make_inheriting(self)
   local spec = self.spec
   if not spec.inherit then return end
   for _, flags in ipairs(self.by_tool and {} or inheriting_flags(spec)) do
      self.inherits = flags
      make_program(self)
      local made = self.filter and self.filter:program(self.program, self.extra, {}) or self.program
      local ok, why = contexts.inherit({ pmcs = made.pmcs, pmds = made.pmds, sets = made.sets, create = made.create },
         flags)
      spec.process = ok and flags[2] == "PROCESS"
      if ok then return end
      self.alone = why
   end
   self.alone = self.alone or "the periods are drawn for one thread at a time"
   self.inherits, spec.inherit = nil, nil
end

-- As samples have it.
local function time_ns()
   return math.floor(proc.clock() * 1e9)
end

local function note_comm(self, tid, pid)
   local name = text_file.line(("/proc/%d/task/%d/comm"):format(pid, tid))
   if name and self.comms[tid] ~= name then
      self.comms[tid] = name
      self.sink.comm(tid, pid, name, time_ns())
   end
end

local function signature(maps)
   local out = {}
   for i, m in ipairs(maps) do out[i] = ("%x-%x %x %s"):format(m[1], m[2], m[3], m[4]) end
   return table.concat(out, "\n")
end

-- Mappings are known to have been so from before they are read; what comes later, records tell.
local function note_maps(self, pid)
   local known, time = self.maps[pid] or {}, time_ns()
   local maps = symbols.read_maps(pid)
   if not maps or #maps == 0 then return end
   local sign = signature(maps)
   self.maps[pid] = { sign = sign, time = time }
   if known.sign == sign then return end
   if self.sampler then self.sampler:maps(pid, maps) end
   self.sink.maps(pid, maps, time, known.time)
end

-- Not of a simulated thread, whose process /proc does not know.
local function note_process(self, tid, pid)
   if not pid or host.now().sim then return end
   note_maps(self, pid)
   note_comm(self, tid, pid)
end

-- Processes seen in the samples of a CPU, but those whose records say all.
local function note_sampled(self, buffer)
   for tid, by_pid in pairs(buffer:count_by("tid", "pid")) do
      for pid in pairs(by_pid) do
         if tid > 0 and pid > 0 and not self.comms[tid] and not self.told[pid] then note_process(self, tid, pid) end
      end
   end
end

-- Processes that were there before: records tell of the others.
local function note_all(self)
   if not (self.spec.cpus and self.sampler and self.sampler.records) or host.now().sim then return end
   for name in dirent.files("/proc") do
      local pid = tonumber(name)
      if pid then note_process(self, pid, pid) end
   end
end

-- Where records tell of mappings, of names alone; but in what runs already a thread is found a while after it began.
local function look(self)
   if self.inherits then return end
   local told = self.sampler and self.sampler.records and not self.spec.tids
   local note = told and note_comm or note_process
   for subject in pairs(self.live) do
      if subject.pid and not host.now().sim then note(self, subject.tid, subject.pid) end
      for _, part in ipairs(subject.cpu and not told and subject.parts or {}) do note_sampled(self, part.buffer) end
   end
end

local function change_period(self, subject, i, period)
   subject.ctx:write_pmds { sampling_pmd(self, i, period) }
end

-- --- draining ------------------------------------------------------------------------------------

local function set_info(ctx, set)
   local infos = ctx:getinfo_evtsets { set or 0 }
   return infos and infos[1] or {}
end

-- How many samples came since the last time. The buffer may be filling meanwhile.
local function pending(self, subject)
   if self.by_tool then return #subject.samples end
   local n = 0
   for _, part in ipairs(subject.parts) do
      local ahead, header = 0, part.buffer:header()
      n = n - (part.taken_samples or 0)
      while header do
         n, ahead = n + header.count, ahead + 1
         header = part.buffer:header(ahead)
      end
   end
   return n
end

local function drain_tool(self, subject)
   local n = #subject.samples
   if n == 0 then return end
   self.sink.block(stored.head(n, n * (SAMPLE + VALUE * #self.extra)) .. table.concat(subject.samples), n)
   self.samples, subject.samples = self.samples + n, {}
end

-- What programs did since the last time.
local function drain_records(self, part, ahead)
   if not self.sampler.records then return end
   local rows = {}
   for r, to in part.buffer:records(part.taken_records, ahead) do
      part.taken_records = to
      rows[#rows + 1] = programs.row(r)
      self.sampler:record(r)
      if r.kind == "FORK" or r.kind == "EXEC" then self.told[r.pid] = true end
      if r.kind == "LOST" and r.why == "records" then self.untold = self.untold + r.count end
   end
   if #rows > 0 and self.sink.programs then self.sink.programs(rows) end
end

-- What came since the last time to the region to be read after so many others.
local function drain_region(self, subject, part, ahead)
   drain_records(self, part, ahead)
   local header = part.buffer:header(ahead)
   if header.cur_offs <= (part.taken or header.first) then return end
   if subject.cpu and header.count > 0 then note_sampled(self, part.buffer) end
   local samples, n, to = self.sampler:samples(part.buffer, part.taken, self.spec.set, ahead)
   part.taken, part.taken_samples = to, header.count
   local fresh = self.stacks and self.stacks.table:fresh()
   if fresh then self.sink.stacks(fresh) end
   if n > 0 then self.sink.block(stored.head(n, #samples) .. samples, n) end
   self.samples = self.samples + n
end

local function begin_region(part)
   part.taken, part.taken_samples, part.taken_records = nil, nil, nil
end

-- Hands on what came to a part since the last time, and gives full regions back.
local function drain_part(self, subject, part)
   for _ = 1, REGIONS do
      local full = part.buffer:header().full
      drain_region(self, subject, part)
      if not full or not subject.ctx:restart() then return end
      begin_region(part)
   end
end

-- The same for all parts. Of several parts the restart gives back the region that the last message read was about.
local function drain(self, subject, msg)
   if self.by_tool then return drain_tool(self, subject) end
   if #subject.parts == 1 then return drain_part(self, subject, subject.parts[1]) end
   for _, part in ipairs(subject.parts) do drain_region(self, subject, part) end
   local told = msg and subject.parts[msg.cpu % #subject.parts + 1]
   if told and told.buffer:header().full and subject.ctx:restart() then begin_region(told) end
end

-- The same once the context counts no more: nothing is given back then.
local function drain_rest(self, subject)
   if self.by_tool then return drain_tool(self, subject) end
   for _, part in ipairs(subject.parts) do
      local ahead = 0
      repeat
         drain_region(self, subject, part, ahead)
         begin_region(part)
         ahead = ahead + 1
      until not part.buffer:header(ahead)
   end
end

-- A first period that differs has each sample wake the perf machine, which the program pays for as well, until it is
-- programmed as all others are: once the thread has lived for a while.
local function settle_period(self, subject)
   subject.staggered = nil
   for i in ipairs(self.events) do change_period(self, subject, i, self.periods[i]) end
end

local function drain_all(self, elapsed)
   if elapsed - self.drained < (self.sampler and self.sampler.copies and LAST_LOOK or FLUSH) then return end
   self.drained = elapsed
   for subject in pairs(self.live) do
      set_info(subject.ctx) -- a call brings in what waits in the kernel's buffer
      local before = self.samples
      drain(self, subject)
      if subject.staggered and self.samples > before then settle_period(self, subject) end
   end
end

-- What the context's own account says was lost, and how long its thread ran unobserved.
local function settle(self, subject)
   local info = set_info(subject.ctx, self.spec.set)
   if self.stages then self.progress[#self.progress + 1] = stages.progress(self.stages, subject.ctx) end
   local late = info.late or 0
   self.lost, self.late = self.lost + (info.lost or 0) - late, self.late + late
   self.throttled = self.throttled + (info.throttled or 0)
   for _, part in ipairs(subject.parts) do
      local header = part.buffer:header()
      self.full, self.crowded = self.full + header.overflows, self.crowded + header.lost
   end
   if self.inherits then return end
   if (self.full > 0 or self.by_tool) and subject.tid then
      local ran = ran_ns(subject.tid, subject.pid) or subject.ran_at_full
      local held = ran and info.act_duration and ran - subject.ran_before - info.act_duration or 0
      if held > 0 then self.held = self.held + held end
   end
   local ran = subject.tid and ran_ns(subject.tid, subject.pid)
   self.ran = self.ran + (ran and ran - subject.ran_before or 0)
end

local sampling = {}

-- Threads that come later begin anywhere in their first period, or those that live for less than one
-- would never be seen.
local function staggered(self)
   local program, pmds = {}, {}
   for k, v in pairs(self.program) do program[k] = v end
   for i, pmd in ipairs(self.program.pmds) do
      pmds[i] = {}
      for k, v in pairs(pmd) do pmds[i][k] = v end
      local period = pmd.long_reset and -pmd.long_reset
      if period and period < 2 ^ 31 then pmds[i].value = -math.random(math.min(period, SHORTEST), period) end
   end
   program.pmds = pmds
   return program
end

-- With a buffer as large as can be had.
local function start(self, subject)
   local later = self.subjects > 0 and self.fixed and not (subject.cpu or self.inherits)
   local made = setmetatable({ create = create_args(self) }, { __index = later and staggered(self) or self.program })
   local spec = self.filter and self.filter:program(made, self.extra, subject) or made
   local ctx, err, errno = contexts.start(subject, spec)
   if not ctx and errno == lpfm.errno.ENOMEM and self.sampler and self.sampler:shrink() then
      return start(self, subject)
   end
   subject.staggered = later and host.machine().name == "perf"
   return ctx, err, errno, made.create.buf_size
end

function sampling.attach(self, subject)
   local ctx, err, errno, size = start(self, subject)
   if not ctx then return nil, err, errno end
   subject.parts, subject.size, subject.samples = {}, size, {}
   for part = 1, self.sampler and ctx:buf_parts() or 0 do
      subject.parts[part] = { buffer = ctx:buffer { part = part - 1 } }
   end
   if self.sampler then self.sampler:note(size, 1) end
   subject.ran_before = subject.tid and ran_ns(subject.tid, subject.pid) or 0
   if self.spec.process then
      note_maps(self, subject.pid)
      for _, tid in ipairs(proc.threads(subject.pid) or {}) do note_comm(self, tid, subject.pid) end
   elseif subject.pid and not self.inherits then -- a command is told by its records, from its exec on
      note_process(self, subject.tid, subject.pid)
   end
   self.live[subject] = true
   self.subjects = self.subjects + 1
   return ctx
end

local function sample_of(self, subject, msg, num, last_reset)
   local values = {}
   if #self.extra > 0 then
      for i, reg in ipairs(subject.ctx:read_pmds(self.with_regs) or {}) do values[i] = reg.value end
   end
   return stored.sample({ ip = msg.ip, tid = msg.tid, pid = msg.pid, cpu = msg.cpu, set = msg.set, ovfl_pmd = num,
      last_reset = last_reset, tstamp = math.floor(proc.clock() * 1e9) }, values)
end

-- An event's next period, which the restart loads.
local function draw_period(self, subject, i)
   local period = self.random[i].next and self.random[i].next() or self.periods[i]
   change_period(self, subject, i, period)
end

-- 3.4.2, at the user level: monitoring is masked meanwhile.
local function take_sample(self, subject, msg)
   subject.ran_at_full = subject.tid and ran_ns(subject.tid, subject.pid)
   for _, num in ipairs(msg.pmds) do
      for i, event in ipairs(self.events) do
         if event.pmd == num and msg.set == (self.spec.set or 0) then
            local reg = (subject.ctx:read_pmds { { num = num, set = self.spec.set } } or {})[1]
            subject.samples[#subject.samples + 1] = sample_of(self, subject, msg, num, reg and reg.last_reset or 0)
            draw_period(self, subject, i)
         end
      end
   end
   subject.ctx:restart()
end

function sampling.message(self, subject, msg)
   if self.by_tool then return take_sample(self, subject, msg) end
   if subject.tid and not self.inherits then
      subject.ran_at_full = ran_ns(subject.tid, subject.pid)
      if not self.sampler.records then note_process(self, subject.tid, subject.pid) end
   end
   drain(self, subject, msg)
end

function sampling.ended(self, subject)
   if subject.pid and not self.inherits then note_process(self, subject.tid, subject.pid) end
   subject.ctx:stop()
   settle(self, subject)
   drain_rest(self, subject)
   if self.sampler then self.sampler:note(subject.size, -1) end
   if self.filter then self.filter:ended(subject) end
   self.live[subject] = nil
end

-- --- frequency -----------------------------------------------------------------------------------

-- Events that are not clocks: the period follows the rate seen since the last look.
local function adapt(self, elapsed)
   if not self.frequency or self:kernel_adapts() then return end
   local got = self.samples
   for subject in pairs(self.live) do got = got + pending(self, subject) end
   if self.filter then got = self.filter:overflows(self.live) end
   local rate = (got - (self.adapt_samples or 0)) / math.max(elapsed - (self.adapt_time or 0), 1e-6)
   self.adapt_samples, self.adapt_time = got, elapsed
   local factor = rate / (self.frequency * #self.events)
   if factor == 0 or (factor > 0.75 and factor < 1.33) then return end
   for i, event in ipairs(self.events) do
      local period = math.max(1, math.floor(self.periods[i] * math.min(math.max(factor, 0.1), 10) + 0.5))
      if not is_clock(event) and period ~= self.periods[i] then
         self.periods[i] = period
         for subject in pairs(self.live) do change_period(self, subject, i, period) end
      end
   end
end

-- --- the measurement -----------------------------------------------------------------------------

local function prepare_events(list, what)
   if type(list) == "string" then
      local parsed, err = events.parse(list)
      if not parsed then error(err, 0) end
      list = parsed
   end
   for _, e in ipairs(list) do
      if e.reason then error(("%s '%s': %s"):format(what, e.name, e.reason), 0) end
   end
   return list
end

local function check_usable(self)
   local all = { unpack(self.events) }
   for _, e in ipairs(self.with) do all[#all + 1] = e end
   local ok, err = events.assign(all)
   if not ok then error(err, 0) end
   contexts.usable(all)
   for _, e in ipairs(all) do
      if e.reason then error(("cannot sample '%s': %s"):format(e.name, e.reason), 0) end
   end
end

--- The names of a profile's fields.
profile.fields = fields.join(measure.fields, { "events", "period", "frequency", "from", "random", "with", "buffer",
   "g", "records", "where" })

local RANDOM = { "mask", "seed", "distribution", "mean", "min", "max", "text" }

local function check_fields(spec)
   fields.check("profile.run", spec, profile.fields)
   fields.check("profile.run: random", spec.random, RANDOM)
end

--- What `inherit` and `threads` ask for, as far as one context for each target can give it.
-- @tparam table spec a target, as for `measure.run`
-- @treturn table the same with `inherit` for what is measured whole, and `whole`
-- @usage print(profile.whole({ command = { "true" }, threads = true }).inherit) --> true
function profile.whole(spec)
   local out = {}
   for k, v in pairs(spec) do out[k] = v end
   local wanted = spec.inherit or spec.threads
   out.whole = wanted and (spec.whole or spec.tids) or nil
   out.inherit = wanted and not (spec.cpus or spec.call) and #(out.whole or {}) == #(spec.tids or {}) or nil
   out.threads = nil
   return out
end

--- Prepares a profile; `profile.run` carries it out.
-- @tparam table spec a target, as for `measure.run`, and:
-- @bool[opt] spec.inherit a command's threads and children, too, or all threads of processes (`tids`), and what these
-- create; where the machine cannot sample that, the result says what was left out
-- @string[opt="cpu-clock"] spec.events names of events
-- @int[opt] spec.period events (clocks: ns) between samples
-- @int[opt=1000] spec.frequency samples a second, if there is no period
-- @string[opt] spec.from what has to happen first, as "page-faults:1000 then cs:10"
-- @tparam[opt] table spec.random randomized periods: `{mask=, seed=}` or `{distribution=, seed=}`, for
-- `randomize.resolve`
-- @string[opt] spec.with events recorded with each sample
-- @string[opt] spec.where a condition, see `pfm.program`: other samples are dropped at the overflow; the events that it
-- names count from overflow to overflow, and are recorded with each sample
-- @int[opt] spec.buffer bytes of the sampling buffer
-- @param[opt] spec.g call stacks with each sample: "fp", by frame pointers; "dwarf", by unwinding copies of the stack;
-- true: what suits the program
-- @bool[opt=true] spec.records with call stacks, and of CPUs: what programs do, too, by which those that are over are
-- known
-- @treturn table with `events`, `periods`, `with`, `fixed` (every sample stands for one period), for a
-- recording's head
-- @usage
-- local p = profile.prepare { command = { "true" }, events = "page-faults", period = 10 }
-- print(p.periods[1])
function profile.prepare(spec)
   check_fields(spec)
   measure.check(spec)
   spec = profile.whole(spec)
   local self = setmetatable({ spec = spec, live = {}, comms = {}, maps = {}, periods = {}, samples = 0, lost = 0,
      late = 0, throttled = 0, full = 0, crowded = 0,
      held = 0, ran = 0, drained = 0, subjects = 0, progress = {}, random = {}, told = {}, untold = 0 }, sampler)
   self.stages = stages.leading(spec.from)
   if self.stages then
      self.spec = setmetatable({ set = #self.stages }, { __index = spec })
   end
   self.events = prepare_events(spec.events or "cpu-clock", "cannot sample")
   self.with = prepare_events(spec.with or {}, "cannot record")
   if spec.where then
      self.filter = filtering.new(spec)
      self.with = self.filter:join(self.with)
   end
   self.frequency = not spec.period and (spec.frequency or 1000) or nil
   self.fixed = not spec.random
   check_usable(self)
   for i, event in ipairs(self.events) do
      self.periods[i] = spec.period or profile.period_for(event, self.frequency)
      self.fixed = self.fixed and (spec.period ~= nil or is_clock(event))
      self.random[i] = make_random(self, i)
   end
   if spec.g and self.by_tool then
      error("random: periods that lpfm draws after each sample do not go with call stacks", 0)
   end
   make_inheriting(self)
   if not self.inherits then make_program(self) end
   self.stacks = spec.g and self.sampler or nil
   return self
end

local function handlers(self, on_tick)
   local step = FIRST_LOOK
   return {
      attach = function(subject) return sampling.attach(self, subject) end,
      message = function(subject, msg) sampling.message(self, subject, msg) end,
      ended = function(subject) sampling.ended(self, subject) end,
      begin = function(child)
         if self.sink.begin then self.sink.begin(child) end
         note_all(self)
      end,
      tick = function(elapsed)
         look(self)
         drain_all(self, elapsed)
         if elapsed > 0 then adapt(self, elapsed) end
         if on_tick then on_tick(self, elapsed) end
         step = math.min(step * 2, LAST_LOOK)
         return step
      end,
   }
end

-- Samples that were not taken while a full buffer waited: for clocks; another event's rate is not known, nor which
-- threads would have run.
local function missed(self)
   if self.inherits then return nil end
   local n = 0
   for i, event in ipairs(self.events) do
      if not is_clock(event) then return nil end
      n = n + math.floor(self.held / self.periods[i])
   end
   return n
end

-- CPU time of the command that was spent in threads or children which were not sampled, as a share, or nil.
local function unsampled(self, outcome)
   if self.inherits or self.spec.tids or self.spec.cpus then return nil end
   -- the context may have ended after its thread's account
   return measure.left_out { rusage = outcome.rusage, partial = outcome.partial,
      own_ns = math.max(self.ran, outcome.own_ns or 0) }
end

--- The handlers that `pfm.measure` calls for a profile.
-- @tparam table self of `profile.prepare`
-- @tparam table sink see above
-- @tparam[opt] function on_tick `(self, seconds)`, now and then; `self.samples` so far
-- @treturn table
-- @usage
-- local p = profile.prepare { command = { "true" }, events = "page-faults" }
-- local sink = { block = function() end, maps = function() end, comm = function() end }
-- print(profile.handlers(p, sink).attach)
function profile.handlers(self, sink, on_tick)
   self.sink = sink
   return handlers(self, on_tick)
end

--- Makes the profile's result from that of `pfm.measure`.
-- @tparam table self of `profile.prepare`
-- @tparam table outcome of `measure.run`
-- @treturn table the outcome, completed as `profile.run` says
-- @usage
-- local p = profile.prepare { command = { "true" }, events = "page-faults", period = 1 }
-- local sink = { block = function() end, maps = function() end, comm = function() end }
-- print(profile.complete(p, measure.run(p.spec, profile.handlers(p, sink))).samples)
function profile.complete(self, outcome)
   outcome.samples, outcome.lost, outcome.full = self.samples, self.lost, self.full
   outcome.late, outcome.throttled, outcome.untold = self.late, self.throttled, self.untold
   outcome.crowded = self.crowded
   outcome.sample_rate = self.throttled > 0 and tonumber(text_file.line(MAX_RATE)) or nil
   outcome.missed, outcome.subjects = missed(self), self.subjects
   outcome.unsampled = not self.stages and unsampled(self, outcome) or nil
   outcome.alone = self.alone
   outcome.stages = self.stages and stages.merge(self.progress)
   outcome.randomized = self.random[1] and self.random[1].text
   outcome.stacks = self.stacks and { how = self.stacks.how, why = self.stacks.why }
   outcome.overflows = self.filter and self.filter:overflows {}
   outcome.masked = self.by_tool and not self.stages and self.ran > 0 and self.held / self.ran or nil
   return outcome
end

--- Samples.
-- @tparam table self of `profile.prepare`
-- @tparam table sink see above
-- @tparam[opt] function on_tick `(self, seconds)`, now and then; `self.samples` so far
-- @treturn table of `pfm.measure.run`, and `samples`, `lost` (their records, in the kernel's buffer), `throttled`
-- (held back by the kernel, which allows `sample_rate` a second), `crowded` (came together with one that filled the
-- buffer), `untold` (records of what programs did that had no room), `late` (periods over which a
-- timer came too late for a sample), `full` (times a buffer was full), `missed` (about how many samples, then),
-- `unsampled` (a share of the CPU time), `alone` (why threads and children were left out), `stages` (of
-- `pfm.measure.stages.merge`) that led to it, `randomized` (how, in words), `masked` (where the tool draws the periods:
-- the share of the time in which it was at that and nothing was observed), `stacks` (`how` call stacks were got, `why`
-- so), `overflows` (with `where`: those that were judged)
-- @usage
-- local p, bytes = profile.prepare { command = { "ls", "/proc/self/fd" }, events = "page-faults", period = 1 }, 0
-- p.spec.command = { "true" }
-- local outcome = profile.run(p, { block = function(block) bytes = bytes + #block end, maps = function() end,
--    comm = function() end })
-- print(outcome.samples, bytes)
function profile.run(self, sink, on_tick)
   return profile.complete(self, measure.run(self.spec, profile.handlers(self, sink, on_tick)))
end

--- Samples into memory.
-- @tparam table spec as for `profile.prepare`
-- @treturn table of `profile.run`, and `blocks`, `maps` (by pid, a list), `comms` (by tid), `sizes`, `records`; with
-- call stacks also `stack_table`, for `recording.of`
-- @usage local p = profile.collect{command = {"sh", "-c", "ls -lR /etc >/dev/null"}, frequency = 1000}
function profile.collect(spec)
   local self = profile.prepare(spec)
   local blocks, maps, comms, sizes, records = {}, {}, {}, {}, {}
   local outcome = profile.run(self, {
      block = function(block) blocks[#blocks + 1] = block end,
      stacks = function() end, -- the table has them
      programs = function(rows)
         for _, row in ipairs(rows) do records[#records + 1] = row end
      end,
      maps = function(pid, m)
         maps[pid] = maps[pid] or {}
         table.insert(maps[pid], m)
      end,
      comm = function(tid, _, name) comms[tid] = name end,
   })
   for _, e in ipairs(self.events) do sizes[e.pmd] = #self.with + (self.stacks and 1 or 0) end
   outcome.stack_table, outcome.records = self.stacks and self.stacks.table, records
   outcome.blocks, outcome.maps, outcome.comms, outcome.sizes = blocks, maps, comms, sizes
   return outcome
end

return profile
