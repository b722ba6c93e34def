-- SPDX-License-Identifier: MIT
--- What is measured, and for how long: a command, threads, CPUs; with `inherit`, everything that
-- they create. `measure.run` describes a target's table.
-- On a simulated computer there are no commands; its threads and CPUs are measured while it runs,
-- and all seconds are those of the simulated time.
-- A subject is one thing that gets a context: `{tid=, pid=}` or `{cpu=}`, `{}` for the calling
-- thread. While its field `held` is set, the context is not to be started yet.
-- @module pfm.measure

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local expect = require "pfm.util.expect"
local host = require "pfm.measure.host"
local render = require "pfm.render"
local text_file = require "pfm.util.text_file"
local tables = require "pfm.util.tables"

local measure = {}

local TICK = 100     -- of /proc's CPU times, Hz
-- s between looks for new threads in /proc, which, unlike tracing, does not disturb a process
local LOOKS = 0.1
local STEP = 0.01    -- s between looks at a child for which the kernel gives no descriptor (pidfd)
local LEFT_SHARE, LEFT_NS = 0.05, 5e6 -- unmeasured CPU time is reported if it is more than both
local PATIENCE, SAVING = 2, 60 -- s from Ctrl-C to SIGTERM; SAVING if the command handles SIGINT

-- --- running processes ---------------------------------------------------------------------------

-- Returns the threads of the watched processes that were not noted yet.
local function fresh_threads(self)
   local out = {}
   for _, pid in ipairs(self.watched) do
      for _, tid in ipairs(proc.threads(pid) or {}) do
         if not self.known[tid] then out[#out + 1] = { tid = tid, pid = pid } end
      end
   end
   return out
end

-- --- subjects ------------------------------------------------------------------------------------

local function add(self, subject)
   subject.held = self.waits_until and true or nil
   local ctx, err, errno = self.callbacks.attach(subject)
   if not ctx then return nil, err, errno end
   subject.ctx = ctx
   self.by_ctx[ctx] = subject
   self.live = self.live + 1
   self.waiting = nil
   return true
end

local function remove(self, subject)
   local ctx = subject.ctx
   if not self.by_ctx[ctx] then return end
   self.live = self.live - 1
   self.waiting = nil
   self.callbacks.ended(subject)
   self.by_ctx[ctx] = nil
   ctx:close()
   if self.watched and subject.tid then self.known[subject.tid] = nil end -- the id may be reused
end

-- Returns the numbers in a list that are process ids, not the ids of other threads.
local function pids_in(self, list)
   return tables.filter(not self.env.sim and list or {}, function(tid) return self.env.process_of(tid) == tid end)
end

-- Returns the threads that get contexts of their own for an id of `tids`, and true if the process
-- has others that are unknown.
local function threads_of(self, tid, pid)
   -- All threads of a watched process get contexts, unless one context is for the whole process.
   if self.target.process or not tables.find(self.watched or {}, tid) then return { tid } end
   local threads, _, errno = proc.threads(pid)
   return threads or { tid }, not threads and errno ~= lpfm.errno.ESRCH
end

-- Measures threads, of which any but one may have ended.
local function attach(self, threads)
   local living, gone = false, nil
   for _, subject in ipairs(threads) do
      local ok, err, errno = add(self, subject)
      if not ok and errno ~= lpfm.errno.ESRCH then error(err, 0) end
      living, gone = living or ok, gone or err
   end
   if gone and not living then error(gone, 0) end
end

-- Measures the threads that an id of `tids` stands for, unless they are measured already.
local function attach_id(self, tid)
   local pid, threads = self.env.process_of(tid), {}
   if not pid then error(("there is no thread or process %d"):format(tid), 0) end
   local list, incomplete = threads_of(self, tid, pid)
   for _, t in ipairs(list) do
      if not self.known[t] then threads[#threads + 1] = { tid = t, pid = self.env.pid_of(t) } end
      self.known[t] = true
   end
   attach(self, threads) -- an error says more than that threads are unknown
   if incomplete then
      error(("the threads of process %d are unknown: /proc hides them, or is not mounted"):format(pid), 0)
   end
end

local function attach_first(self)
   local target = self.target
   if target.itself then return end
   local whole = pids_in(self, target.whole)
   self.watched = #whole > 0 and whole or nil
   for _, tid in ipairs(target.tids or {}) do attach_id(self, tid) end
   for _, cpu in ipairs(target.cpus or {}) do attach(self, { { cpu = cpu } }) end
   if self.live == 0 then attach(self, { self.child and { tid = self.child.pid, pid = self.child.pid } or {} }) end
end

--- Loads a context on a subject; one of a CPU is loaded on that CPU.
-- @param ctx
-- @tparam table subject
-- @return true, or nil, message, errno
-- @usage
-- local ctx = assert(lpfm.create {})
-- assert(measure.load(ctx, { tid = proc.gettid() }))
-- ctx:close()
function measure.load(ctx, subject)
   if not subject.cpu then return ctx:load(subject.tid) end
   return host.now().load_cpu(ctx, subject.cpu)
end

-- Returns the CPU time of the command and of the children that it waited for, in s; nil if it is
-- unknown.
local function cpu_times(self)
   local fields, stat = {}, ("/proc/%d/stat"):format(self.child.pid)
   local rest = (self.env.owns_proc() and text_file.all(stat) or ""):match(".*%) (.*)") or ""
   for field in rest:gmatch("%S+") do fields[#fields + 1] = tonumber(field) or 0 end
   if not fields[15] then return nil end
   return { utime = (fields[12] + fields[14]) / TICK, stime = (fields[13] + fields[15]) / TICK }
end

local function minus(times, before)
   if not times or not before then return times end
   local out = tables.copy(times)
   for k, v in pairs(before) do out[k] = math.max(times[k] - v, 0) end
   return out
end

-- Starts the held contexts: at the end of the delay; those of CPUs when all have been loaded.
local function begin_counting(self)
   self.used_before = self.gone and not self.status and cpu_times(self) or nil
   for _, subject in pairs(self.by_ctx) do
      subject.held = nil
      subject.ctx:start() -- fails if the thread has ended; its END message follows
   end
   self.waits_until, self.waiting = nil, nil
   self.started = self.env.clock()
end

-- --- new threads and messages --------------------------------------------------------------------

-- Reads a message of a subject; returns false if there is none, or it was the last. A CPU that goes
-- offline ends its subject without END (EPIPE).
local function read_message(self, subject)
   local msg, _, errno = subject.ctx:read(0)
   if not msg and errno ~= lpfm.errno.EPIPE then return false end
   if not msg or msg.type == "END" then
      remove(self, subject)
      return false
   end
   if self.callbacks.message and self.callbacks.message(subject, msg) == "enough" then self.enough = true end
   return true
end

-- Adds a new thread. If it has ended already (ESRCH), there is nothing to count, and that is no
-- error.
local function newcomer(self, thread)
   local ok, err, errno = add(self, { tid = thread.tid, pid = thread.pid })
   if not ok and errno ~= lpfm.errno.ESRCH then
      self.unmeasured, self.why = self.unmeasured + 1, self.why or err
   end
   self.followed = self.followed + 1
end

-- Adds threads that processes have created since the last look, unless contexts are inherited.
local function look_for_threads(self, now)
   if not self.watched or self.target.inherit then return end
   self.look_at = now + LOOKS
   for _, thread in ipairs(fresh_threads(self)) do
      self.known[thread.tid] = true
      newcomer(self, thread)
   end
end

-- --- the loop of a measurement -------------------------------------------------------------------

-- Returns true if the end of the command ends the measurement. Otherwise this is the end of its
-- context, before which the command is not waited for: a simulated computer that follows it may
-- find only in /proc what it did last.
local function waits_for_child(self)
   return self.child and (self.live == 0 or self.clock or self.waits_until ~= nil or self.target.inherit ~= nil)
end

-- Waits for the end of the command; sets its status if it has ended.
local function await(self, seconds)
   local status, err, errno = self.child:wait(seconds)
   if errno and errno ~= lpfm.errno.EINTR then error(err, 0) end
   self.status = status
end

local function child_ended(self)
   if self.status then return true end
   self.own_ns = self.env.ran_ns(self.child.pid, self.child.pid) or self.own_ns -- gone after wait()
   await(self, 0)
   return self.status ~= nil
end

local function finished(self, now)
   if not self.target.background and proc.interrupted() then
      self.interrupted = true
      return true
   end
   if self.enough then return true end
   if self.target.seconds and host.is_due(now, self.started + self.target.seconds) then return true end
   if self.child then return waits_for_child(self) and child_ended(self) end
   if self.live == 0 then look_for_threads(self, now) end
   return self.live == 0
end

local function next_tick(self, now)
   if not self.callbacks.tick then return math.huge end
   if host.is_due(now, self.tick_at) then
      local step, enough = self.callbacks.tick(now - self.started)
      self.enough = self.enough or enough == "enough"
      self.tick_at = self.tick_at + step
      if host.is_due(now, self.tick_at) then self.tick_at = now + step end
   end
   return self.tick_at - now
end

-- Returns what a wait polls: the contexts, and the child if its end is waited for and the kernel
-- has a descriptor for it.
local function wake_list(self)
   local list = {}
   for ctx in pairs(self.by_ctx) do list[#list + 1] = ctx end
   local awaited = waits_for_child(self)
   local child_has_fd = awaited and pcall(self.child.fd, self.child)
   if child_has_fd then list[#list + 1] = self.child end
   self.blind = awaited and not child_has_fd
   return list
end

local function patience(self, now, until_tick)
   local seconds = until_tick
   if self.waits_until then seconds = self.waits_until - now end
   if self.target.seconds then seconds = math.min(seconds, self.started + self.target.seconds - now) end
   if self.look_at then seconds = math.min(seconds, self.look_at - now) end
   if self.blind then seconds = math.min(seconds, STEP) end
   return math.max(seconds, 0)
end

local function wait(self, seconds)
   self.waiting = self.waiting or wake_list(self)
   local ready = self.env.poll(self.waiting, seconds < math.huge and seconds or nil)
   for _, ctx in ipairs(ready) do
      local subject = self.by_ctx[ctx]
      -- only one: a subject may make them faster than they are read, and the end is looked for
      -- between them
      if subject then read_message(self, subject) end
   end
end

-- Looks for new threads and calls `tick`, if it is time; returns the seconds until the next tick.
local function step(self, now)
   if not self.look_at or host.is_due(now, self.look_at) then look_for_threads(self, now) end
   return self.waits_until and math.huge or next_tick(self, now)
end

local function over(self, now)
   if self.waits_until and host.is_due(now, self.waits_until) then begin_counting(self) end
   return finished(self, now)
end

local function loop(self)
   while true do
      local now = self.env.clock()
      if over(self, now) then return end
      wait(self, patience(self, now, step(self, now)))
   end
end

-- Calls the function in this thread. Messages are read after it has returned, and there are no
-- ticks.
local function call(self)
   local results = { pcall(self.target.call) }
   if not results[1] then error(results[2], 0) end
   self.results = { unpack(results, 2, table.maxn(results)) }
end

local function spawn(self)
   local target = self.target
   if not target.command then return end
   local how = { bound = not target.outlive }
   for k, v in pairs(target.spawn or {}) do how[k] = v end
   local ok, child, err = pcall(proc.spawn, target.command, how)
   if not ok or not child then error(err or child, 0) end
   self.child = child
   self.clock = target.tids ~= nil or target.cpus ~= nil
end

local function let_go(self)
   if not self.child then return end
   local ok, err, errno = self.child:go()
   self.gone = true
   if not ok then expect.fail_with_status(errno == lpfm.errno.ENOENT and 127 or 126, err) end
end

local function end_all(self)
   local subjects = {}
   for _, subject in pairs(self.by_ctx) do
      subjects[#subjects + 1] = subject
      -- All stop before the first is read and unloaded: a CPU has the records of processes that
      -- begin there, and other CPUs the samples; and no message comes while the last ones are read.
      subject.ctx:stop()
   end
   for _, subject in ipairs(subjects) do
      while read_message(self, subject) do end
      remove(self, subject)
   end
end

-- Returns true if the command handles SIGINT: it may need time to save what it has.
local function handles_interrupt(self)
   local status = ("/proc/%d/status"):format(self.child.pid)
   local text = self.env.owns_proc() and text_file.all(status) or ""
   return tonumber(text:match("SigCgt:%s*%x-(%x)\n") or 0, 16) % 4 >= 2
end

-- At Ctrl-C, the terminal sends SIGINT to the command, too. A command that has not ended after a
-- while, or at the next Ctrl-C, gets SIGTERM, unless it may outlive this process. Whether it
-- handles SIGINT is checked each time, as a shell that does may exec a program that does not.
local function end_interrupted(self)
   local began = proc.clock()
   local function left()
      return began + (handles_interrupt(self) and SAVING or PATIENCE) - proc.clock()
   end
   while not self.status and left() > 0 and not proc.interrupted() do
      await(self, math.min(left(), 0.5))
   end
   if not self.status and not self.target.outlive then self.child:kill("TERM") end
end

-- Waits until the command has ended, also if a time limit ended the measurement before; Ctrl-C ends
-- the command. A command in the background is left running, and so is one that may outlive this
-- process and does not end at Ctrl-C or with the terminal.
local function reap(self)
   if not self.child then return end
   if not self.gone then
      self.child:close()
      return
   end
   if self.interrupted then end_interrupted(self) end
   if (self.target.background or self.interrupted and self.target.outlive) and not self.status then
      self.child:close()
      return
   end
   while not self.status do
      await(self)
      if not self.status and proc.interrupted() then
         if self.target.outlive then break end
         self.child:kill(self.interrupted and "KILL" or "TERM")
      end
   end
   self.child:close()
end

---- The names of a target's fields, for modules that add their own to them.
measure.fields = { "command", "tids", "whole", "cpus", "call", "threads", "inherit", "itself", "outlive", "delay",
   "seconds", "spawn", "background", "words" }

-- The lists in a target, and what checks an element of each.
local LISTS = {
   { "command", function(what, word) expect.kind(what, word, "string") end },
   { "tids", function(what, tid) expect.whole(what, tid, 1, 2 ^ 31 - 1) end },
   { "cpus", function(what, cpu) expect.whole(what, cpu, 0, 1023) end },
}

local function check_list(field, list, check)
   if type(list) ~= "table" or #list == 0 then
      error(("%s: expected a list that is not empty, got %s"):format(field,
         type(list) == "table" and "an empty one" or "a " .. type(list)), 0)
   end
   for i, element in ipairs(list) do check(("%s: element %d"):format(field, i), element) end
end

--- Raises an error where a target cannot be measured: it names nothing, or a simulated computer
-- runs no commands.
-- @tparam table target
-- @usage
-- measure.check { command = { "true" } }
function measure.check(target)
   expect.kind("target", target, "table")
   for _, its in ipairs(LISTS) do
      local field, check = unpack(its)
      if target[field] ~= nil then check_list(field, target[field], check) end
   end
   if target.call ~= nil then expect.kind("call", target.call, "function") end
   expect.number("seconds", target.seconds)
   expect.number("delay", target.delay)
   if not (target.command or target.tids or target.cpus or target.call or target.seconds) then
      error("nothing to measure: expected command, tids, cpus or call", 0)
   end
   local sim = host.now().sim
   if not sim then return end
   if target.command then
      error(("%s is a simulated machine and runs no real programs; %s,live does, and LPFM_MACHINE=perf"):format(
         sim.name, sim.name), 0)
   end
   if not target.tids and not target.cpus then error(sim.name .. ": tids or cpus say what to measure there", 0) end
end

-- A command that measures itself gets no contexts, which could be attached or end.
local function check_callbacks(callbacks, itself)
   expect.kind("callbacks", callbacks, itself and "table" or "{attach,ended}")
   for _, name in ipairs { "attach", "ended", "prepare", "begin", "message", "tick" } do
      if callbacks[name] ~= nil then expect.kind("callbacks." .. name, callbacks[name], "function") end
   end
end

-- Returns true if threads, names or CPU times are to be read from /proc. The counts of CPUs, and of
-- a command with all that it starts, need nothing from there.
local function needs_proc(target)
   return target.tids or target.names or target.command and (target.delay or not target.inherit)
end

local function begin(self)
   local target = self.target
   measure.check(target)
   check_callbacks(self.callbacks, target.itself)
   if target.tids then proc.raise_nofile() end
   self.env = host.now()
   if needs_proc(target) then self.env.check() end
   spawn(self)
   -- all CPUs' contexts are loaded, and have records of new processes, before `prepare` lists the
   -- others and the first context starts
   self.waits_until = (target.delay or target.cpus) and math.huge
   attach_first(self)
   if self.callbacks.prepare then self.callbacks.prepare() end
   if target.cpus and not target.delay then begin_counting(self) end
   self.started = self.env.clock() + (target.delay or 0)
   self.waits_until = target.delay and self.started
   let_go(self)
   if self.callbacks.begin then self.callbacks.begin(self.child) end
   self.tick_at = self.started
end

local function complete(self)
   self.partial = self.child and self.gone and not self.status
   self.used = self.partial and cpu_times(self)
   self.elapsed = math.max(self.env.clock() - self.started, 0)
   end_all(self)
   -- a message "enough" may be read after the command's end
   self.partial = self.partial or self.child and self.enough
end

local function carry_out(self)
   begin(self)
   if self.target.call then call(self) else loop(self) end
   complete(self)
end

local function close_all(self)
   for ctx in pairs(self.by_ctx) do ctx:close() end
end

local function result(self)
   local status = self.status or {}
   return {
      status = status.status, signal = status.signal, partial = self.partial or false,
      signal_name = status.signal_name, elapsed = self.elapsed, interrupted = self.interrupted or false,
      rusage = minus(self.partial and self.used or status.rusage, self.used_before), followed = self.followed,
      unmeasured = self.unmeasured, why = self.why, own_ns = self.own_ns, results = self.results,
      late = self.waits_until ~= nil, enough = self.enough or false, simulated = host.simulated(),
   }
end

local function new(target, callbacks)
   return { target = target, callbacks = callbacks, by_ctx = {}, known = {}, live = 0, followed = 0, unmeasured = 0 }
end

--- Measures a target.
-- @tparam table target
-- @tparam[opt] {string,...} target.command the program and its arguments: it is measured; with
-- `tids` or `cpus` these are measured instead, while it runs
-- @tparam[opt] {int,...} target.tids these threads
-- @tparam[opt] {int,...} target.cpus these CPUs, whichever threads run there
-- @func[opt] target.call a function: while it runs, this thread is measured, or `tids` or `cpus`
-- @tparam[opt] {int,...} target.whole those of `tids` that are processes, measured with all
-- threads; new threads are looked for ten times a second
-- @bool[opt] target.inherit threads and children inherit the contexts; the measurement ends with
-- the command's first process
-- @bool[opt] target.process a context on a process measures all its threads
-- @bool[opt] target.itself the command measures itself: it gets no context
-- @bool[opt] target.outlive the command goes on if this program is killed; else it gets SIGTERM
-- @number[opt] target.delay seconds before the measurement starts
-- @number[opt] target.seconds how long it lasts at most
-- @tparam table callbacks `attach(subject)` returns a loaded and started context, or nil and a
-- message; `ended(subject)`: its context ends, read it now; optional `prepare()`, before contexts
-- of CPUs start, `begin(child)`, `message(subject, msg)`, which returns "enough" to end the
-- measurement, `tick(seconds since the start)`, which returns the seconds to the next, and "enough"
-- as a second result to end it
-- @treturn table `status`, `signal`, `rusage` of the command, of the time in which it was measured;
-- `partial`: it was not measured to its end; `simulated`, the name of the simulated machine, if it
-- was one; `elapsed` (s), `interrupted`, `followed` (threads that came), `unmeasured` (of them,
-- without a context) and `why`; `own_ns`, how long the command's first thread ran; `results`, what
-- the called function returned; `late`: the command ended during the delay
-- @usage
-- local outcome = measure.run({ command = { "true" } }, {
--    attach = function(subject)
--       local ctx = assert(lpfm.create {})
--       ctx:write_pmcs { { num = 66, value = 9 } }
--       assert(measure.load(ctx, subject) and ctx:start())
--       return ctx
--    end,
--    ended = function(subject) print(subject.ctx:read_pmds { 66 }[1].value) end,
-- })
-- assert(outcome.status == 0)
function measure.run(target, callbacks)
   local self = new(target, callbacks)
   proc.on_interrupt(true)
   local ok, err = pcall(carry_out, self)
   if not ok then
      close_all(self)
      -- a call failed because of the signal, which is also to end the command
      if proc.interrupted() then err, self.interrupted = "interrupted", true end
   end
   pcall(reap, self)
   proc.on_interrupt(false)
   if not ok then error(err, 0) end
   return result(self)
end

-- --- measuring in the background -----------------------------------------------------------------

--- Begins to measure a target and returns; call `measure.turn` now and then.
-- @tparam table target as for `measure.run`; `background = true`
-- @tparam table callbacks as for `measure.run`
-- @treturn table for the functions below
-- @usage
-- local c = count.prepare { command = { "true" }, events = "page-faults" }
-- local f = measure.begin({ command = { "true" }, background = true }, c.callbacks)
-- while not measure.turn(f) do lpfm.poll({}, 0.001) end
-- print(count.complete(c, measure.finish(f)).events[1].value)
function measure.begin(target, callbacks)
   local self = new(target, callbacks)
   local ok, err = pcall(begin, self)
   if ok then return self end
   close_all(self)
   pcall(reap, self)
   error(err, 0)
end

--- Handles what is due, without waiting.
-- @tparam table self of `measure.begin`
-- @treturn boolean whether the measurement is over
-- @usage
-- local c = count.prepare { command = { "true" }, events = "page-faults" }
-- local f = measure.begin({ command = { "true" }, background = true }, c.callbacks)
-- while not measure.turn(f) do lpfm.poll({}, 0.001) end
-- measure.finish(f)
function measure.turn(self)
   local now = self.env.clock()
   if over(self, now) then return true end
   self.until_tick = step(self, now)
   wait(self, 0)
   return finished(self, self.env.clock())
end

--- Returns what a measurement waits for after `measure.turn`.
-- @tparam table self
-- @treturn table descriptors
-- @treturn number seconds to wait at most, or math.huge
-- @usage
-- local c = count.prepare { command = { "true" }, events = "page-faults" }
-- local f = measure.begin({ command = { "true" }, background = true }, c.callbacks)
-- measure.turn(f)
-- local fds, seconds = measure.awaits(f)
-- print(#fds, seconds)
-- measure.finish(f)
function measure.awaits(self)
   local fds = tables.map(self.waiting or wake_list(self), function(ctx) return ctx:fd() end)
   return fds, patience(self, self.env.clock(), self.until_tick or math.huge)
end

--- Ends a measurement, over or not; a command that still runs keeps running.
-- @tparam table self
-- @treturn table as of `measure.run`
-- @usage
-- local c = count.prepare { command = { "true" }, events = "page-faults" }
-- local f = measure.begin({ command = { "true" }, background = true }, c.callbacks)
-- print(measure.finish(f).elapsed)
function measure.finish(self)
   local ok, err = pcall(complete, self)
   if not ok then close_all(self) end
   pcall(reap, self)
   if not ok then error(err, 0) end
   return result(self)
end

--- Why an event can have no counter for a time, in words.
measure.OTHERS = "other users of the PMU had its counter: another profiler, a measurement of whole CPUs, the NMI "
   .. "watchdog"

--- Why CPU time can be missing where threads and children are measured, in words.
measure.TAKEN = "programs spend it while they are loaded and exit; and the kernel takes the counters from one that "
   .. "gets other rights as it starts (set-user-ID), or has a file that may not be read"

--- Returns the share of a command's CPU time that was not measured; nil if it is small or unknown.
-- @tparam table outcome of `measure.run`: `rusage`, `partial`, and `own_ns`, the CPU time in ns
-- that was measured
-- @treturn ?number
-- @usage print(measure.left_out { own_ns = 1e9, rusage = { utime = 3, stime = 1 } }) --> 0.75
function measure.left_out(outcome)
   local own = outcome.own_ns
   if outcome.partial or not outcome.rusage or not own then return nil end
   local all = (outcome.rusage.utime + outcome.rusage.stime) * 1e9
   local share = all > 0 and (all - own) / all or 0
   return share > LEFT_SHARE and share * all > LEFT_NS and share or nil
end

--- Lists the contexts of a measurement, with the thread or CPU of each.
-- @tparam table self
-- @treturn table of `{ctx=, tid=, pid=, cpu=}`
-- @usage
-- local c = count.prepare { command = { "true" }, events = "page-faults" }
-- local f = measure.begin({ command = { "true" }, background = true }, c.callbacks)
-- print(#measure.contexts(f))
-- measure.finish(f)
function measure.contexts(self)
   local out = {}
   for _, subject in pairs(self.by_ctx) do out[#out + 1] = subject end
   return out
end

--- Says what is measured.
-- @tparam table target
-- @treturn string
-- @usage print(measure.describe { command = { "ls", "-l" } })
function measure.describe(target)
   if target.words then return target.words end
   if target.tids then
      local list = table.concat(target.tids, ", ")
      if #(target.whole or {}) == #target.tids then
         return (#target.tids > 1 and "processes " or "process ") .. list
      end
      return (#target.tids > 1 and "threads " or "thread ") .. list
   end
   if target.cpus then
      return #target.cpus == 1 and "CPU " .. target.cpus[1] or render.plural(#target.cpus, "CPU")
   end
   return "'" .. render.command(target.command) .. "'"
end

expect.signatures("measure", measure, {
   load = "ctx: {load}; subject: table",
   turn = "self: {by_ctx}",
   awaits = "self: {by_ctx}",
   finish = "self: {by_ctx}",
   contexts = "self: {by_ctx}",
   left_out = "outcome: table",
   describe = "target: table",
})

return measure
