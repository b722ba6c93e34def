-- SPDX-License-Identifier: MIT
--- What is measured, and for how long: a command, threads, CPUs; with `threads`, everything that they
-- create. A target is a table:
--
--    command = {"prog", "arg"}   measured, or with tids or cpus: measure while it runs
--    tids = {123, ...}           these threads
--    cpus = {0, 1}               these CPUs, whoever runs there
--    threads = true              new threads and children too (of tids: all threads of the process)
--    seconds = 10                at most so long
--
-- A subject is one thing that gets a context: `{tid=, pid=}` or `{cpu=}`.
-- @module pfm.follow

local lpfm = require "lpfm"
local proc = require "lpfm.proc"

local follow = {}

local STEP = 0.01    -- s between looks at a child where the kernel has no descriptor for it
local PATIENCE = 2   -- s that an interrupted command gets to end by itself

local MAY_TRACE = "; --threads traces the process: do it as its owner where kernel.yama.ptrace_scope permits (0), "
   .. "or with CAP_SYS_PTRACE; no other tracer (gdb, strace) may be at it"

-- --- subjects ------------------------------------------------------------------------------------

local function add(self, subject)
   local ctx, err, errno = self.on.attach(subject)
   if not ctx then return nil, err, errno end
   subject.ctx = ctx
   self.by_ctx[ctx] = subject
   self.live = self.live + 1
   self.waiting = nil
   return true
end

local function remove(self, subject)
   if not self.by_ctx[subject.ctx] then return end
   self.by_ctx[subject.ctx] = nil
   self.live = self.live - 1
   self.waiting = nil
   self.on.ended(subject)
   subject.ctx:close()
end

local function process_of(tid)
   local file = io.open(("/proc/%d/status"):format(tid), "r")
   local text = file and file:read("*a") or ""
   if file then file:close() end
   return tonumber(text:match("\nTgid:%s*(%d+)"))
end

--- Nanoseconds a thread has run, by the scheduler's account.
-- @int tid
-- @int pid its process
-- @return number, or nil where there is no account of it
function follow.ran_ns(tid, pid)
   local file = io.open(("/proc/%d/task/%d/schedstat"):format(pid, tid), "r")
   local line = file and file:read("*l")
   if file then file:close() end
   return line and tonumber(line:match("^(%d+)"))
end

local function first_subjects(target, child)
   local out = {}
   for _, tid in ipairs(target.tids or {}) do
      local pid = process_of(tid)
      if not pid then error(("there is no thread or process %d"):format(tid), 0) end
      local tids = target.threads and proc.threads(pid) or { tid }
      for _, t in ipairs(tids) do out[#out + 1] = { tid = t, pid = pid } end
   end
   for _, cpu in ipairs(target.cpus or {}) do out[#out + 1] = { cpu = cpu } end
   if #out == 0 then out[1] = { tid = child.pid, pid = child.pid } end
   return out
end

local function attach_first(self)
   for _, subject in ipairs(first_subjects(self.target, self.child)) do
      local ok, err = add(self, subject)
      if not ok then error(err, 0) end
   end
end

-- A context of a CPU is loaded on that CPU.
local function with_affinity(subject, attach)
   if not subject.cpu then return attach() end
   local before = proc.getaffinity()
   local ok, err, errno = proc.setaffinity(subject.cpu)
   if not ok then return nil, err, errno end
   ok, err, errno = attach()
   proc.setaffinity(before)
   return ok, err, errno
end

--- Loads a context on a subject.
-- @param ctx
-- @tparam table subject
-- @return true, or nil, message, errno
function follow.load(ctx, subject)
   return with_affinity(subject, function() return ctx:load(subject.tid) end)
end

-- --- events of the outside world -----------------------------------------------------------------

local function read_messages(self, subject)
   while true do
      local msg = subject.ctx:read(0)
      if not msg then return end
      if msg.type == "END" then
         remove(self, subject)
         return
      end
      if self.on.message then self.on.message(subject, msg) end
   end
end

local handle = {}

-- A new thread or process, held until it is released. One that is gone already has nothing to count.
local function newcomer(self, event)
   if self.on.born then self.on.born(event.tid, event.pid, event.parent) end
   local ok, err, errno = add(self, { tid = event.tid, pid = event.pid })
   if not ok and errno ~= lpfm.errno.ESRCH then
      self.unmeasured, self.why = self.unmeasured + 1, self.why or err
   end
   self.followed = self.followed + 1
end
handle.thread, handle.fork = newcomer, newcomer

function handle.exec(self, event)
   if self.on.exec then self.on.exec(event.tid, event.pid) end
end

function handle.exit() end

local function trace(self)
   local event, why = self.tracer:next(0)
   while event do
      handle[event.kind](self, event)
      if event.held then self.tracer:release(event.tid) end
      event, why = self.tracer:next(0)
   end
   if why == "ended" then self.nobody, self.waiting = true, nil end
end

-- --- the loop ------------------------------------------------------------------------------------

local function child_ended(self)
   if not self.child or self.status then return self.status ~= nil end
   -- it stays to be asked until it is waited for
   self.own_ns = follow.ran_ns(self.child.pid, self.child.pid) or self.own_ns
   self.status = self.child:wait(0)
   return self.status ~= nil
end

local function finished(self, now)
   if proc.interrupted() then
      self.interrupted = true
      return true
   end
   if self.target.seconds and now - self.started >= self.target.seconds then return true end
   if self.child then return child_ended(self) and (self.live == 0 or self.clock or self.tracer ~= nil) end
   return self.live == 0
end

local function next_tick(self, now)
   if not self.on.tick then return math.huge end
   if now >= self.tick_at then
      local step = self.on.tick(now - self.started)
      self.tick_at = self.tick_at + step
      if self.tick_at <= now then self.tick_at = now + step end
   end
   return self.tick_at - now
end

-- Everything that can wake us.
local function wake_list(self)
   local list = {}
   for ctx in pairs(self.by_ctx) do list[#list + 1] = ctx end
   if self.tracer and not self.nobody then list[#list + 1] = self.tracer end
   local child_has_fd = self.child and pcall(self.child.fd, self.child)
   if child_has_fd and not self.tracer then list[#list + 1] = self.child end
   self.blind = self.child and not child_has_fd
   return list
end

local function patience(self, now, until_tick)
   local seconds = until_tick
   if self.target.seconds then seconds = math.min(seconds, self.started + self.target.seconds - now) end
   if self.blind or self.nobody then seconds = math.min(seconds, STEP) end
   return math.max(seconds, 0)
end

local function wait(self, now, until_tick)
   self.waiting = self.waiting or wake_list(self)
   local seconds = patience(self, now, until_tick)
   local ready = lpfm.poll(self.waiting, seconds < math.huge and seconds or nil)
   for _, who in ipairs(ready or {}) do
      local subject = self.by_ctx[who]
      if subject then
         read_messages(self, subject)
      elseif who == self.tracer then
         trace(self)
      end
   end
end

local function loop(self)
   while true do
      local now = proc.clock()
      if finished(self, now) then return end
      wait(self, now, next_tick(self, now))
   end
end

local function start_tracer(self)
   local target = self.target
   if not target.threads or target.cpus then return end
   local who = target.tids and process_of(target.tids[1]) or self.child
   local tracer, err, errno = proc.trace(who, { hold_exec = self.on.exec ~= nil })
   if not tracer then error(err .. (errno == lpfm.errno.EPERM and MAY_TRACE or ""), 0) end
   self.tracer = tracer
end

local function spawn(self)
   local target = self.target
   if not target.command then return end
   local child, err = proc.spawn(target.command)
   if not child then error(err, 0) end
   self.child = child
   self.clock = target.tids ~= nil or target.cpus ~= nil
end

local function let_go(self)
   if not self.child then return end
   local ok, err, errno = self.child:go()
   self.gone = true
   if not ok then error({ message = err, status = errno == lpfm.errno.ENOENT and 127 or 126 }, 0) end
end

local function end_all(self)
   local subjects = {}
   for _, subject in pairs(self.by_ctx) do subjects[#subjects + 1] = subject end
   for _, subject in ipairs(subjects) do
      read_messages(self, subject)
      remove(self, subject)
   end
end

-- The terminal sends Ctrl-C to the command, too; one that takes no notice is asked to end.
local function end_interrupted(self)
   local deadline = proc.clock() + PATIENCE
   while not self.status and proc.clock() < deadline do self.status = self.child:wait(deadline - proc.clock()) end
   if not self.status then self.child:kill("TERM") end
end

-- A command that a time limit leaves running is waited for.
local function reap(self)
   if self.tracer then self.tracer:close() end
   if not self.child then return end
   if not self.gone then
      self.child:close()
      return
   end
   if self.interrupted then end_interrupted(self) end
   while not self.status do
      self.status = self.child:wait()
      if not self.status and proc.interrupted() then self.child:kill("TERM") end
   end
end

--- Raises an error where real programs cannot be measured.
function follow.check_machine()
   local machine, err = lpfm.machine()
   if not machine then error(err, 0) end
   if machine.name:find("^sim") then
      error(machine.name .. " is a simulated machine and runs no real programs; LPFM_MACHINE=perf does", 0)
   end
end

local function carry_out(self)
   follow.check_machine()
   spawn(self)
   start_tracer(self)
   attach_first(self)
   self.started = proc.clock()
   self.tick_at = self.started
   let_go(self)
   if self.on.begin then self.on.begin(self.child) end
   loop(self)
   self.elapsed = proc.clock() - self.started
   end_all(self)
end

local function result(self)
   local status = self.status or {}
   return {
      status = status.status, signal = status.signal, rusage = status.rusage,
      elapsed = self.elapsed, interrupted = self.interrupted or false, followed = self.followed,
      unmeasured = self.unmeasured, why = self.why, own_ns = self.own_ns,
   }
end

--- Measures a target.
-- @tparam table target
-- @tparam table on `attach(subject)` returns a loaded and started context, or nil and a message;
-- `ended(subject)`: its context ends, read it now; optional `begin(child)`, `message(subject, msg)`,
-- `tick(seconds since the start)` returns seconds to the next, `born(tid, pid, parent)`, `exec(tid, pid)`
-- (it is held meanwhile)
-- @treturn table `status`, `signal`, `rusage` of the command; `elapsed` (s), `interrupted`, `followed` (threads
-- that came), `unmeasured` (of them, without a context) and `why`; `own_ns`, how long the command's first thread
-- ran
function follow.run(target, on)
   local self = { target = target, on = on, by_ctx = {}, live = 0, followed = 0, unmeasured = 0 }
   proc.on_interrupt(true)
   if target.threads then proc.raise_nofile() end
   local ok, err = pcall(carry_out, self)
   if not ok then
      for ctx in pairs(self.by_ctx) do ctx:close() end
   end
   pcall(reap, self)
   proc.on_interrupt(false)
   if not ok then error(err, 0) end
   return result(self)
end

return follow
