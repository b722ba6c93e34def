-- SPDX-License-Identifier: MIT
--- Samples a command, threads or CPUs: where events happen.
-- The samples go to a sink as they come:
--
--    sink.begin()                    optional: the measurement begins; a command was found and runs
--    sink.block(block, count)        a sampling buffer up to its cur_offs (see lpfm.samples)
--    sink.stacks(bytes)              with call stacks: new ones, before samples that have them
--    sink.programs(records)          optional: what programs did (pfm.recording.programs)
--    sink.maps(pid, maps, time, before)
--                                    the executable mappings of a process, if they are new or have
--                                    changed, as they were at `time` (ns); at `before`, the ones
--                                    reported last were still there (nil: none were reported)
--    sink.comm(tid, pid, name, time) the name of a thread, when it is new
-- @module pfm.profile

local lpfm = require "lpfm"
local events = require "pfm.events"
local measure = require "pfm.measure"
local off_cpu = require "pfm.measure.off_cpu"
local proc = require "lpfm.proc"
local randomize = require "pfm.randomize"
local contexts = require "pfm.measure.contexts"
local dirent = require "posix.dirent"
local programs = require "pfm.recording.programs"
local sample_buffers = require "pfm.measure.sample_buffers"
local stages = require "pfm.measure.stages"
local stored = require "lpfm.samples"
local symbols = require "pfm.symbols"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"
local render = require "pfm.render"
local text_file = require "pfm.util.text_file"
local host = require "pfm.measure.host"

local profile = {}

local function ran_ns(tid, pid)
   return host.now().ran_ns(tid, pid)
end

local FLUSH = 0.25             -- s between reads of buffers; a crash loses what is unread
local SAMPLE, VALUE = stored.entry_size, 8 -- bytes, of the default format
local MAX_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
local REGIONS = 8              -- regions of a buffer that are drained at one time, at most
local FIRST_LOOK, LAST_LOOK = 0.001, 0.1 -- s between looks at the mappings, shorter at first
local SHORTEST = 10000          -- ns: the kernel's shortest timer; events: see staggered()
local USUAL = 1000              -- samples a second, if neither period nor frequency is given
local GUESS = 1000              -- software events a second, assumed until their rate is known
-- ns, longer than any record takes from its CPU into the kernel's buffer
local UNDER_WAY = 1e6

-- --- how contexts are programmed -----------------------------------------------------------------

local function is_clock(event)
   return event.unit == "ns"
end

--- Returns the period that gives a frequency, as far as it is known in advance.
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

-- Returns true if perf_event is to adapt event i's period to a frequency. Where threads and
-- children inherit events, it has to: a period that is written later does not reach the inherited
-- events.
function sampler:kernel_adapts(i)
   return self.inherits and self.rates[i] and not is_clock(self.events[i]) and not self.random[i]
      and host.machine().name == "perf"
end

-- Returns true if sampling begins with the command's exec.
function sampler:on_exec()
   return self.inherits ~= nil and self.inherits[2] == "ON_EXEC"
end

local function sampling_pmd(self, i, period)
   local event, spec, random = self.events[i], self.spec, self.random[i]
   if self:kernel_adapts(i) then
      local rate = math.max(1, math.floor(self.rates[i] + 0.5))
      return { num = event.pmd, value = -period, long_reset = rate, short_reset = rate,
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

-- Returns how event i's periods vary (of `randomize.resolve`), or nil if they do not. The mean of a
-- distribution is the event's period, unless the distribution has a mean of its own.
local function make_random(self, i)
   local its, event = self.spec.random, self.events[i]
   if not its then return nil end
   -- the simulated computer's timers have no shortest period
   local timer = is_clock(event) and not host.now().sim
   local copy = { mean = self.periods[i], min = timer and SHORTEST or nil }
   for k, v in pairs(its) do copy[k] = v end
   local adapts = self.rates[i] and not is_clock(event)
   if adapts and not copy.mask then
      error(("random: '%s' needs a period around which to vary"):format(event.name), 0)
   end
   local mask = adapts and expect.whole("random: mask", copy.mask, 0)
   if mask then copy.mean = math.max(self.periods[i], mask + 1) end -- lpfm chose the period
   local out = randomize.resolve(copy)
   self.periods[i] = out.base or self.periods[i]
   if out.by == "tool" then self.by_tool = true end
   return out
end

-- If the tool draws each period, it needs a notification for each sample. perfmon.ko (the machine
-- linux) then blocks the thread until the restart, so that nothing runs unobserved. On the machine
-- perf, ptrace(2) would have to stop the thread, which would change what is measured.
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
   self.sizes = {}
   for _, e in ipairs(self.events) do self.sizes[e.pmd] = #extra + (self.spec.g and 1 or 0) end
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

-- Makes the program of a context that samples a thread and all that it creates, if the machine can
-- inherit such a context. Else each given thread gets a context of its own, and `self.alone` says
-- why the threads and children that these create are left out.
local function make_inheriting(self)
   local spec = self.spec
   if not spec.inherit then return end
   for _, flags in ipairs(self.by_tool and {} or contexts.inheriting(spec)) do
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

-- Returns the time now, in ns of the clock that samples have.
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
   return table.concat(tables.map(maps, function(m) return ("%x-%x %x %s"):format(m[1], m[2], m[3], m[4]) end), "\n")
end

-- Passes a process's mappings to the sink if they have changed since the last call. Their time is
-- taken before they are read: if a mapping is made in between and has a record, the record is
-- later.
local function note_maps(self, pid)
   local known, time = self.maps[pid] or {}, time_ns()
   local maps = symbols.read_maps(pid)
   if not maps or #maps == 0 then return end
   local sign = signature(maps)
   self.maps[pid] = { sign = sign, time = time }
   if known.sign == sign then return end
   if self.sampler then self.sampler:maps(pid, maps, time) end
   self.sink.maps(pid, maps, time, known.time)
end

-- Notes the mappings and the name of a thread's process from /proc, which does not know simulated
-- processes.
local function note_process(self, tid, pid)
   if not pid or host.now().sim then return end
   note_maps(self, pid)
   note_comm(self, tid, pid)
end

-- Notes the processes in the samples of a CPU. A process with a FORK or EXEC record is left out.
local function note_sampled(self, buffer)
   for tid, by_pid in pairs(buffer:count_by("tid", "pid")) do
      for pid in pairs(by_pid) do
         if tid > 0 and pid > 0 and not self.comms[tid] and not self.recorded[pid] then note_process(self, tid, pid) end
      end
   end
end

-- Notes the processes that exist before contexts of CPUs start. Later ones have records.
local function note_all(self)
   if not (self.spec.cpus and self.sampler and self.sampler.records) or host.now().sim then return end
   local zero = host.number_zero()
   if zero ~= "idle" then self.sink.comm(0, 0, "(" .. zero .. ")", time_ns()) end
   for entry in dirent.files("/proc") do
      local pid = tonumber(entry)
      if pid then note_process(self, pid, pid) end
   end
end

-- Reads the names of threads from /proc, and their mappings, unless records have the mappings from
-- a thread's start on.
local function look(self)
   if self.inherits then return end
   local recorded = self.sampler and self.sampler.records and not self.spec.tids
   local note = recorded and note_comm or note_process
   for subject in pairs(self.live) do
      if subject.pid and not host.now().sim then note(self, subject.tid, subject.pid) end
      for _, part in ipairs(subject.cpu and not recorded and subject.parts or {}) do note_sampled(self, part.buffer) end
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

-- Returns how many samples came since the last drain. The kernel may be adding to the buffer.
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

-- Passes the records of what programs did since the last call to the sink.
local function drain_records(self, part, ahead)
   if not self.sampler.records then return end
   local rows, region = {}, part.region + (ahead or 0)
   for r, to in part.buffer:records(part.taken_records[region], ahead) do
      part.taken_records[region] = to
      if self.off_cpu then self.off_cpu:record(r) end
      if r.kind ~= "SWITCH" then rows[#rows + 1] = programs.row(r) end
      self.sampler:record(r)
      if r.kind == "FORK" or r.kind == "EXEC" then self.recorded[r.pid] = true end
      if r.kind == "LOST" and r.why == "records" then self.untold = self.untold + r.count end
   end
   if #rows > 0 and self.sink.programs then self.sink.programs(rows) end
end

-- Passes samples to the sink, except those of context switches for off-CPU time: `self.off_cpu`
-- keeps them until their threads run again.
local function hand_on(self, samples, n)
   if self.off_cpu then samples, n = self.off_cpu:take(samples, n) end
   if n == 0 then return end
   local block = stored.head(n, #samples) .. samples
   if self.by_event then self.by_event:add(block, self.sizes) end
   self.sink.block(block, n)
   self.samples = self.samples + n
end

-- Passes new call stacks to the sink, which needs them before the samples that have them.
local function hand_on_stacks(self)
   local fresh = self.stacks and self.stacks.table:fresh()
   if fresh then self.sink.stacks(fresh) end
end

-- Passes on the off-CPU samples of threads that ran again by a time (ns; nil: all, at the end).
local function hand_on_waits(self, time)
   if not self.off_cpu then return end
   local samples, n = self.off_cpu:finished(time)
   if n == 0 then return end
   hand_on_stacks(self)
   self.sink.block(stored.head(n, #samples) .. samples, n)
   self.samples = self.samples + n
end

local function begin_region(part)
   part.taken, part.taken_samples, part.taken_records[part.region] = nil, nil, nil
   part.region = part.region + 1
end

-- With several buffers, the records of what programs did in all regions are read before samples: a
-- process that began on one CPU runs on another, where its stacks are to be unwound.
local function drain_all_records(self)
   if not (self.stacks and self.sampler.records) then return end
   for subject in pairs(self.live) do
      local several = self.spec.cpus or #subject.parts > 1
      if several then set_info(subject.ctx) end -- drains the kernel's rings into the buffer
      for _, part in ipairs(several and subject.parts or {}) do
         local ahead = 0
         while part.buffer:header(ahead) do
            drain_records(self, part, ahead)
            ahead = ahead + 1
         end
      end
   end
end

-- Passes on what has come, since the last call, into the region that is `ahead` regions after the
-- one that is read now. `header` is that of the region, before records were read: samples that have
-- come since then are left for the next call, because the records that they need may have come too.
local function drain_region(self, subject, part, header, ahead)
   drain_records(self, part, ahead)
   if header.cur_offs <= (part.taken or header.first) then return end
   if subject.cpu and header.count > 0 then note_sampled(self, part.buffer) end
   local samples, n, to = self.sampler:samples(part.buffer, part.taken, self.spec.set, ahead, header.cur_offs)
   part.taken, part.taken_samples = to, header.count
   hand_on_stacks(self)
   hand_on(self, samples, n)
end

-- Passes on what came into a part's buffer since the last call, and gives full regions back.
local function drain_part(self, subject, part)
   for _ = 1, REGIONS do
      local header = part.buffer:header()
      drain_all_records(self)
      drain_region(self, subject, part, header)
      if not header.full or not subject.ctx:restart() then return end
      begin_region(part)
   end
end

-- Drains all parts of a subject's buffer. If there are several, a restart gives back the full
-- region of the part that the last message read belongs to.
local function drain(self, subject, msg)
   if self.by_tool then return drain_tool(self, subject) end
   if #subject.parts == 1 then return drain_part(self, subject, subject.parts[1]) end
   local reported = msg and subject.parts[msg.cpu % #subject.parts + 1]
   local headers = tables.map(subject.parts, function(part) return part.buffer:header() end)
   drain_all_records(self)
   for i, part in ipairs(subject.parts) do
      drain_region(self, subject, part, headers[i])
      if headers[i].full and part == reported and subject.ctx:restart() then begin_region(part) end
   end
end

-- Drains all parts after the context has stopped: no region is given back then.
local function drain_rest(self, subject)
   if self.by_tool then return drain_tool(self, subject) end
   drain_all_records(self)
   for _, part in ipairs(subject.parts) do
      local ahead, header = 0, part.buffer:header()
      while header do
         drain_region(self, subject, part, header, ahead)
         part.taken, part.taken_samples = nil, nil
         ahead = ahead + 1
         header = part.buffer:header(ahead)
      end
   end
end

-- Gives a thread with random first periods (see staggered()) the usual ones, after its first
-- samples. While a first period differs from the reset value, each sample wakes the machine perf,
-- which slows the program.
local function settle_period(self, subject)
   subject.staggered = nil
   for i in ipairs(self.events) do change_period(self, subject, i, self.periods[i]) end
end

local function drain_now(self, elapsed)
   self.drained = elapsed
   local began = time_ns()
   for subject in pairs(self.live) do
      set_info(subject.ctx) -- any call drains the kernel's rings into the buffer
      local before = self.samples
      drain(self, subject)
      if subject.staggered and self.samples > before then settle_period(self, subject) end
   end
   hand_on_waits(self, began - UNDER_WAY)
end

local function drain_all(self, elapsed)
   local soon = self.by_event or self.sampler and self.sampler.copies
   if elapsed - self.drained >= (soon and LAST_LOOK or FLUSH) then drain_now(self, elapsed) end
end

-- Adds the losses in a context's info; returns the info.
local function add_losses(self, subject, sum)
   local info = set_info(subject.ctx, self.spec.set)
   local late = info.late or 0
   sum.lost, sum.late = sum.lost + (info.lost or 0) - late, sum.late + late
   sum.throttled = sum.throttled + (info.throttled or 0)
   for _, part in ipairs(subject.parts) do
      local header = part.buffer:header()
      sum.full, sum.crowded = sum.full + header.overflows, sum.crowded + header.lost
   end
   return info
end

-- Adds, when a context has stopped, what it lost, and how long its thread ran unobserved.
local function settle(self, subject)
   if self.stages then self.progress[#self.progress + 1] = stages.progress(self.stages, subject.ctx) end
   local info = add_losses(self, subject, self)
   self.active, self.blind = self.active + (info.act_duration or 0), self.blind + (info.blind or 0)
   if self.inherits then
      self.ran = self.ran + (info.act_duration or 0)
      return
   end
   if (self.full > 0 or self.by_tool) and subject.tid then
      local ran = ran_ns(subject.tid, subject.pid) or subject.ran_at_full
      local held = ran and info.act_duration and ran - subject.ran_before - info.act_duration or 0
      if held > 0 then self.held = self.held + held end
   end
   local ran = subject.tid and ran_ns(subject.tid, subject.pid)
   self.ran = self.ran + (ran and ran - subject.ran_before or 0)
end

local sampling = {}

-- Returns the program for threads that come later: the first period of each is random, from
-- SHORTEST to the usual period (if that is shorter, the usual one). Otherwise, threads that live
-- for less than a period would never be sampled.
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

-- Starts a context with the largest buffer that the system allows.
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
      subject.parts[part] = { buffer = expect.value(ctx:buffer { part = part - 1 }), region = 0, taken_records = {} }
   end
   if self.sampler then self.sampler:note(size, 1) end
   subject.ran_before = subject.tid and ran_ns(subject.tid, subject.pid) or 0
   if self.spec.process then
      note_maps(self, subject.pid)
      for _, tid in ipairs(proc.threads(subject.pid) or {}) do note_comm(self, tid, subject.pid) end
   elseif subject.pid and not self.inherits then -- an inheriting context records the command from its exec on
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

-- Draws an event's next period, which the restart loads.
local function draw_period(self, subject, i)
   local period = self.random[i].next and self.random[i].next() or self.periods[i]
   change_period(self, subject, i, period)
end

-- Takes a sample at user level (3.4.2). Monitoring is masked until the restart at its end.
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
   if self.off_cpu then self.off_cpu:stopped(time_ns()) end
   settle(self, subject)
   drain_rest(self, subject)
   if self.sampler then self.sampler:note(subject.size, -1) end
   if self.filter then self.filter:ended(subject) end
   self.live[subject] = nil
end

-- --- adapting periods to a frequency -------------------------------------------------------------

-- Counts the samples (with a filter: overflows) of all events so far, also those still in buffers.
local function samples_so_far(self)
   if self.filter then return self.filter:overflows(self.live) end
   local got = self.samples
   for subject in pairs(self.live) do got = got + pending(self, subject) end
   return got
end

-- Changes event i's period, so that it has `wanted` samples a second instead of `rate`.
local function adapt_period(self, i, rate, wanted)
   local factor = rate / wanted
   if factor == 0 or (factor > 0.75 and factor < 1.33) then return end
   local least = self.random[i] and self.random[i].mask + 1 or 1
   local period = math.max(least, math.floor(self.periods[i] * math.min(math.max(factor, 0.1), 10) + 0.5))
   if period == self.periods[i] then return end
   self.periods[i] = period
   for subject in pairs(self.live) do change_period(self, subject, i, period) end
end

-- Returns each event's rate since the last call, or nil if no samples were passed on since then.
local function rates_by_event(self, elapsed)
   if self.drained == self.adapt_time then return nil end
   local now, rates, seconds = {}, {}, math.max(elapsed - (self.adapt_time or 0), 1e-6)
   for pmd, n in self.by_event:rows() do now[pmd] = n end
   for i, event in ipairs(self.events) do
      rates[i] = ((now[event.pmd] or 0) - (self.adapt_samples[event.pmd] or 0)) / seconds
   end
   self.adapt_samples, self.adapt_time = now, self.drained
   return rates
end

-- Returns a rate for each event since the last call: that of all samples together is divided among
-- the events in proportion to their wanted rates.
local function rates_together(self, elapsed)
   local got, rates, wanted = samples_so_far(self), {}, 0
   local rate = (got - (self.adapt_samples or 0)) / math.max(elapsed - (self.adapt_time or 0), 1e-6)
   self.adapt_samples, self.adapt_time = got, elapsed
   for i in ipairs(self.events) do wanted = wanted + self.rates[i] end
   for i in ipairs(self.events) do rates[i] = rate * self.rates[i] / wanted end
   return rates
end

-- Adapts the periods to the rates since the last call, where perf_event does not do it by itself.
local function adapt(self, elapsed)
   if not self.adapts then return end
   local rates = (self.by_event and rates_by_event or rates_together)(self, elapsed)
   for i, event in ipairs(rates and self.events or {}) do
      if self.rates[i] and not is_clock(event) then adapt_period(self, i, rates[i], self.rates[i]) end
   end
end

-- --- the measurement -----------------------------------------------------------------------------

local function prepare_events(list, what, sampled)
   local parsed = expect.value(events.parse(list, sampled))
   for _, e in ipairs(parsed) do
      if e.reason then error(("%s '%s': %s"):format(what, e.name, e.reason), 0) end
   end
   return parsed
end

local function check_usable(self)
   local all = { unpack(self.events) }
   for _, e in ipairs(self.with) do all[#all + 1] = e end
   expect.value(events.assign(all))
   contexts.usable(all)
   for _, e in ipairs(all) do
      if e.reason then error(("cannot sample '%s': %s"):format(e.name, e.reason), 0) end
   end
end

--- The names of a profile's fields.
profile.fields = tables.join(measure.fields, { "events", "period", "frequency", "from", "random", "with",
   "buffer", "g", "records", "where", "off_cpu" })

-- Raises an error if a clock's period is shorter than SHORTEST: the kernel would silently use
-- SHORTEST.
local function check_clock(event, period, rate)
   if not is_clock(event) or host.now().sim or (period or profile.period_for(event, rate)) >= SHORTEST then return end
   error(("'%s' cannot be sampled %s: its timer fires every %s ns at most, %s times a second"):format(event.name,
      rate and render.number(rate) .. " times a second" or ("every %s ns"):format(render.number(period)),
      render.number(SHORTEST), render.number(1e9 / SHORTEST)), 0)
end

--- Returns the period or frequency of an event: its own, or else that of the profile.
-- @tparam table event
-- @tparam table spec of `profile.prepare`
-- @treturn ?number events
-- @treturn ?number samples a second
-- @raise where the kernel's timers are too slow for it
-- @usage print(profile.rate(assert(events.read("cs/period=100/", true, true))[1], {})) --> 100
function profile.rate(event, spec)
   local period = event.period or not event.frequency and spec.period or nil
   local rate = not period and (event.frequency or spec.frequency or USUAL) or nil
   if rate == "max" then
      rate = tonumber(text_file.line(MAX_RATE)) or error("frequency: the kernel's maximum cannot be read", 0)
   end
   period, rate = expect.whole("period", period), expect.number("frequency", rate)
   if rate == 0 then error('frequency: expected a number above 0, or "max", got 0', 0) end
   check_clock(event, period, rate)
   return period, rate
end

local function set_rates(self)
   for i, event in ipairs(self.events) do
      local period, rate = profile.rate(event, self.spec)
      self.rates[i], self.periods[i] = rate, period or profile.period_for(event, rate)
      self.fixed = self.fixed and (not rate or is_clock(event))
      self.random[i] = make_random(self, i)
   end
end

-- Sets `self.adapts` if this tool is to adapt periods. If it adapts those of some events only,
-- their samples have to be counted by event.
local function prepare_adapting(self)
   local some, all = false, true
   for i, event in ipairs(self.events) do
      local adapts = self.rates[i] and not is_clock(event) and not self:kernel_adapts(i)
      some, all = some or adapts, all and (adapts or is_clock(event) and self.rates[i])
   end
   self.adapts = some
   if some and not all then self.by_event, self.adapt_samples = stored.counter("ovfl_pmd"), {} end
end

local SWITCHES = "context-switches"

-- Raises an error if an option could drop samples: off-CPU time is the time from the sample at a
-- context switch to the record of the thread's return, so that no sample may be missing.
local function check_off_cpu(spec)
   for _, name in ipairs { "random", "where", "from", "call" } do
      if spec[name] then error(("off-CPU time and '%s' exclude each other"):format(name), 0) end
   end
end

local function prepare_off_cpu(self)
   if not (self.sampler and self.sampler.switches) then
      error(("off-CPU time: the machine %s does not report when threads leave a CPU and come back; "
         .. "LPFM_MACHINE=perf does"):format(host.machine().name), 0)
   end
   for _, event in ipairs(self.events) do
      if event.base == SWITCHES then self.off_cpu = off_cpu.new(event.pmd, self.sizes, self:on_exec()) end
   end
end

-- Returns the events to sample; for off-CPU time, context switches are added.
local function sampled_events(spec)
   local out = prepare_events(spec.events or "cpu-clock", "cannot sample", true)
   if not spec.off_cpu then return out end
   for _, event in ipairs(out) do
      if event.base == SWITCHES then
         error(("off-CPU time has the samples of '%s' already: leave it out of the events"):format(event.name), 0)
      end
   end
   return { unpack(out), prepare_events(off_cpu.SAMPLED, "cannot sample", true)[1] }
end

--- Lists the events of a profile's samples, in the form of the list in a recording's head.
-- @tparam table self of `profile.prepare`
-- @treturn table list of `name`, `pmd`, `unit`, `period`, `frequency`
-- @usage print(profile.recorded_events(profile.prepare { command = { "true" } })[1].name) --> cpu-clock
function profile.recorded_events(self)
   local out = {}
   for i, e in ipairs(self.events) do
      if not (self.off_cpu and e.base == SWITCHES) then
         out[#out + 1] = { name = e.name, pmd = e.pmd, unit = e.unit, period = self.periods[i],
            frequency = self.rates[i] }
      end
   end
   return tables.append(out, self.off_cpu and off_cpu.events or {})
end

local RANDOM = { "mask", "seed", "distribution", "mean", "min", "max", "text" }

local function check_fields(spec)
   expect.kind("profile.run", spec, "table")
   expect.fields("profile.run", spec, profile.fields)
   expect.fields("profile.run: random", spec.random, RANDOM)
end

--- Makes `inherit` and `threads`, which mean the same, into what `measure.run` takes.
-- @tparam table spec a target, as for `measure.run`
-- @treturn table a copy: `inherit` is true if one context for each target can measure all that it
-- creates (a command, or `tids` that are all processes); `whole` lists the processes among `tids`;
-- there is no `threads`
-- @usage print(profile.whole({ command = { "true" }, threads = true }).inherit) --> true
function profile.whole(spec)
   local out = tables.copy(spec)
   local wanted = spec.inherit or spec.threads
   out.whole = spec.whole or wanted and spec.tids or nil
   out.inherit = wanted and not (spec.cpus or spec.call) and #(out.whole or {}) == #(spec.tids or {}) or nil
   out.threads = nil
   return out
end

--- Prepares a profile; `profile.run` carries it out.
-- @tparam table spec a target, as for `measure.run`, and:
-- @bool[opt] spec.inherit a command's threads and children, too, or all threads of processes
-- (`tids`), and what these create; where the machine cannot sample that, the result says what was
-- left out
-- @param[opt="cpu-clock"] spec.events names, or a list of them, or what `events.read` returns
-- @int[opt] spec.period events (clocks: ns) between samples, of events that have no period or
-- frequency of their own (see `events.read`)
-- @int[opt=1000] spec.frequency samples a second, if there is no period; "max": as many as the
-- kernel allows
-- @bool[opt] spec.off_cpu where threads wait, too, on the machine perf: samples of the events
-- "off-cpu" (the thread waited for something), "preempted" (it was ready to run) and
-- "still-off-cpu" (it was not back when the recording ended), which stand for the time (ns) that it
-- was away; with call stacks as `g` says, by default true
-- @string[opt] spec.from what has to happen first, as "page-faults:1000 then cs:10"
-- @tparam[opt] table spec.random randomized periods: `{mask=, seed=}` or `{distribution=, seed=}`,
-- for `randomize.resolve`
-- @string[opt] spec.with events recorded with each sample
-- @string[opt] spec.where a condition, see `pfm.program`: other samples are dropped at the
-- overflow; the events that it names count from overflow to overflow, and are recorded with each
-- sample
-- @int[opt] spec.buffer bytes of the sampling buffer
-- @param[opt] spec.g call stacks with each sample: "fp", by frame pointers; "dwarf", by unwinding
-- copies of the stack ("dwarf,BYTES": so long ones); true: what suits the program
-- @bool[opt=true] spec.records with call stacks, and on CPUs: record what programs do, too, so that
-- programs that have ended are known
-- @treturn table with `events`, `periods`, `rates` (samples a second, of those without a period),
-- `with`, `fixed` (every sample stands for one period), for a recording's head
-- @usage
-- local p = profile.prepare { command = { "true" }, events = "page-faults", period = 10 }
-- print(p.periods[1])
function profile.prepare(spec)
   check_fields(spec)
   measure.check(spec)
   host.now().check()
   spec = profile.whole(spec)
   if spec.off_cpu then
      check_off_cpu(spec)
      spec.g = spec.g or true
   end
   local self = setmetatable({ spec = spec, live = {}, comms = {}, maps = {}, periods = {}, samples = 0, lost = 0,
      late = 0, throttled = 0, full = 0, crowded = 0, rates = {}, active = 0, blind = 0,
      held = 0, ran = 0, drained = 0, subjects = 0, progress = {}, random = {}, recorded = {}, untold = 0 }, sampler)
   self.stages = stages.leading(spec.from)
   if self.stages then
      self.spec = setmetatable({ set = #self.stages }, { __index = spec })
   end
   self.events = sampled_events(spec)
   self.with = prepare_events(spec.with or {}, "cannot record")
   if spec.where then
      self.filter = require("pfm.measure.filtering").new(spec)
      self.with = self.filter:join(self.with)
   end
   self.fixed = not spec.random
   check_usable(self)
   set_rates(self)
   if spec.g and self.by_tool then
      error("random: periods that lpfm draws after each sample do not go with call stacks", 0)
   end
   make_inheriting(self)
   if not self.inherits then make_program(self) end
   self.stacks = spec.g and self.sampler or nil
   if spec.off_cpu then prepare_off_cpu(self) end
   prepare_adapting(self)
   return self
end

local function handlers(self, on_tick)
   local step = FIRST_LOOK
   return {
      attach = function(subject) return sampling.attach(self, subject) end,
      message = function(subject, msg) sampling.message(self, subject, msg) end,
      ended = function(subject) sampling.ended(self, subject) end,
      prepare = function() note_all(self) end,
      begin = self.sink.begin,
      tick = function(elapsed)
         look(self)
         drain_all(self, elapsed)
         if elapsed > 0 then adapt(self, elapsed) end
         local enough = on_tick and on_tick(self, elapsed)
         step = math.min(step * 2, LAST_LOOK)
         return step, enough
      end,
   }
end

local LOSSES = { "lost", "late", "throttled", "full", "crowded", "untold" }

--- Returns the losses so far, by the names that `profile.run` has for them.
-- @tparam table self of `profile.prepare`, while it is carried out or after
-- @treturn table `lost`, `late`, `throttled`, `full`, `crowded`, `untold`: numbers
-- @usage print(profile.losses(profile.prepare { command = { "true" } }).lost) --> 0
function profile.losses(self)
   local out = {}
   for _, name in ipairs(LOSSES) do out[name] = self[name] end
   for subject in pairs(self.live) do add_losses(self, subject, out) end
   return out
end

--- Hands on all samples that were taken so far; call stacks that come from now on are numbered from
-- 1 again.
-- @tparam table self of `profile.prepare`, while it is carried out
-- @number elapsed s since it began
-- @treturn table samples, by where their stacks were cut, since the last call; nil where there are
-- no stacks
-- @treturn int samples with stacks, since the last call
-- @usage
-- local p = profile.prepare { command = { "true" }, events = "page-faults", period = 1 }
-- local sink = { block = function() end, maps = function() end, comm = function() end }
-- profile.run(p, sink, function(self, elapsed) profile.divide(self, elapsed) end)
function profile.divide(self, elapsed)
   drain_now(self, elapsed)
   if not self.stacks then return nil end
   local cuts, total, renumber = self.stacks:divide()
   if self.off_cpu then self.off_cpu:renumber(renumber) end
   return cuts, total
end

-- Returns about how many samples were missed while a full buffer waited to be read. Returns nil if
-- an event is not a clock, since its rate is not known; and where threads are inherited, since it
-- is not known which of them would have run.
local function missed(self)
   if self.inherits then return nil end
   local n = 0
   for i, event in ipairs(self.events) do
      if not is_clock(event) then return nil end
      n = n + math.floor(self.held / self.periods[i])
   end
   return n
end

-- Returns the share of the command's CPU time that was not sampled, or nil if it is small or not
-- known. The command spent it in threads or children that are not measured, or, where these are
-- measured, in programs from which the kernel took the counters.
local function unsampled(self, outcome)
   if self.spec.tids or self.spec.cpus or self.inherits and (self.full > 0 or self.spec.delay) then return nil end
   -- the context may have ended after the thread's CPU time was read
   local own = self.inherits and self.ran or math.max(self.ran, outcome.own_ns or 0)
   if own == 0 and not self.inherits then return nil end
   return measure.left_out { rusage = outcome.rusage, partial = outcome.partial, own_ns = own }
end

--- Returns the handlers that `pfm.measure` calls for a profile.
-- @tparam table self of `profile.prepare`
-- @tparam table sink functions that take the samples, see `pfm.profile`
-- @tparam[opt] function on_tick `(self, seconds)`, now and then; `self.samples` so far; "enough"
-- ends it
-- @treturn table
-- @usage
-- local p = profile.prepare { command = { "true" }, events = "page-faults" }
-- local sink = { block = function() end, maps = function() end, comm = function() end }
-- print(profile.handlers(p, sink).attach)
function profile.handlers(self, sink, on_tick)
   for _, name in ipairs { "block", "maps", "comm", self.stacks and "stacks" or nil } do
      expect.kind("profile.run: sink." .. name, sink[name], "function")
   end
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
   hand_on_waits(self)
   outcome.samples, outcome.lost, outcome.full = self.samples, self.lost, self.full
   outcome.off_cpu = self.off_cpu
   outcome.not_begun = outcome.late
   outcome.late, outcome.throttled, outcome.untold = self.late, self.throttled, self.untold
   outcome.crowded = self.crowded
   outcome.sample_rate = self.throttled > 0 and tonumber(text_file.line(MAX_RATE)) or nil
   outcome.missed, outcome.subjects = missed(self), self.subjects
   outcome.unsampled = not self.stages and unsampled(self, outcome) or nil
   outcome.alone, outcome.inherited = self.alone, self.inherits
   outcome.taken = self.active > 0 and self.blind / self.active or 0
   outcome.stages = self.stages and stages.merge(self.progress)
   outcome.randomized = self.random[1] and self.random[1].text
   outcome.stacks = self.stacks and self.stacks:outcome()
   outcome.overflows = self.filter and self.filter:overflows {}
   outcome.masked = self.by_tool and not self.stages and self.ran > 0 and self.held / self.ran or nil
   return outcome
end

--- Carries out a profile.
-- @tparam table self of `profile.prepare`
-- @tparam table sink functions that take the samples, see `pfm.profile`
-- @tparam[opt] function on_tick `(self, seconds)`, now and then; `self.samples` so far; "enough"
-- ends it
-- @treturn table of `pfm.measure.run`, its `late` as `not_begun`, and `samples`, `lost` (samples
-- that the kernel's ring had no room for), `throttled` (times that the kernel held sampling back:
-- it allows `sample_rate` a second), `crowded` (samples lost because another sample of the same
-- overflow filled the buffer), `untold` (records of what programs did that had no room), `late`
-- (periods over which a timer came too late for a sample), `full` (times a buffer was full),
-- `missed` (about how many samples were not taken while one was full), `unsampled` (a share of the
-- CPU time), `taken` (the share of the time in which other users of the PMU had a counter, see
-- `measure.OTHERS`), `alone` (why threads and children were left out), `stages` (of
-- `pfm.measure.stages.merge`) that led to it, `randomized` (how, in words), `masked` (where the
-- tool draws the periods: the share of the time in which it did so and nothing was observed),
-- `stacks` (`how` the call stacks were taken, `why` so, `cuts`: samples by where their stacks were
-- cut, of `total`, with `copied` bytes of the stack), `overflows` (with `where`: those that it
-- tested), `off_cpu` (of `pfm.measure.off_cpu`: how many samples)
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
-- @treturn table of `profile.run`, and `sizes` (how many values a sample has, by PMD), `maps` (by
-- pid, a list); for `recording.of` also `blocks`, `comms`, `records`, `mapped` (its `maps`) and,
-- with call stacks, `stack_table`
-- @usage local p = profile.collect{command = {"sh", "-c", "ls -lR /etc >/dev/null"}, frequency = 1000}
function profile.collect(spec)
   local self = profile.prepare(spec)
   local blocks, maps, mapped, comms, sizes, records = {}, {}, {}, {}, {}, {}
   local outcome = profile.run(self, {
      block = function(block) blocks[#blocks + 1] = block end,
      stacks = function() end, -- the result's stack_table has them
      programs = function(rows)
         for _, row in ipairs(rows) do records[#records + 1] = row end
      end,
      maps = function(pid, m, time, before)
         maps[pid] = maps[pid] or {}
         table.insert(maps[pid], m)
         mapped[#mapped + 1] = { pid = pid, maps = m, time = time, before = before }
      end,
      comm = function(tid, _, name) comms[tid] = name end,
   })
   for _, e in ipairs(profile.recorded_events(self)) do sizes[e.pmd] = #self.with + (self.stacks and 1 or 0) end
   outcome.stack_table, outcome.records, outcome.mapped = self.stacks and self.stacks.table, records, mapped
   outcome.blocks, outcome.maps, outcome.comms, outcome.sizes = blocks, maps, comms, sizes
   return outcome
end

expect.signatures("profile", profile, {
   period_for = "event: table; frequency: number",
   rate = "event: table; spec: table",
   recorded_events = "self: {events,live}",
   whole = "spec: table",
   losses = "self: {events,live}",
   divide = "self: {events,live}; elapsed: number",
   handlers = "self: {events,live}; sink: {block,maps,comm}; on_tick: function?",
   complete = "self: {events,live}; outcome: {elapsed}",
   run = "self: {events,live}; sink: {block,maps,comm}; on_tick: function?",
})

return profile
