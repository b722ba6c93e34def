-- SPDX-License-Identifier: MIT
--- Jobs: measurements in the background, while the user continues to type. The prompt, `watch` and
-- `wait` serve them. Counters count all the time; while a statement runs, only the attaching of
-- new threads (`threads = true`) and the emptying of full sampling buffers (`record`) have to
-- wait.
-- @module repl.prompt.jobs

local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local measure = require "pfm.measure"
local render = require "pfm.render"
local text_file = require "pfm.util.text_file"
local expect = require "pfm.util.expect"

local jobs = {}

local all = {}
local notices = {}

local job = {}
job.__index = job

-- --- one job -------------------------------------------------------------------------------------

-- Returns the number of seconds in which the job has measured: those in which it was paused do not
-- count.
local function active(self)
   local now = self.ended_at or proc.clock()
   return now - self.started - self.paused_for - (self.paused_at and now - self.paused_at or 0)
end

-- Makes the command of a target run apart from the terminal: without input, in a process group of
-- its own, and with its output kept in a file, which `output()` reads.
local function keep_output(self, target)
   local fcntl, unistd = require "posix.fcntl", require "posix.unistd"
   local path = os.tmpname()
   local fd, err = fcntl.open(path, fcntl.O_RDWR + fcntl.O_CREAT + fcntl.O_APPEND)
   if not fd then error(("cannot write %s: %s"):format(path, err), 0) end
   os.remove(path)
   fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
   self.fd, self.close_fd = fd, unistd.close
   target.spawn = { stdin = false, stdout = fd, stderr = fd, group = true }
end

local function drop_output(self)
   if self.fd then self.close_fd(self.fd) end
   self.fd = nil
end

--- Returns what the command has written to stdout and stderr so far.
-- @treturn string
function job:output()
   if not self.fd then return self.text or "" end
   return text_file.all(("/proc/self/fd/%d"):format(self.fd)) or ""
end

local function how_it_ended(self)
   local outcome = self.outcome
   if self.failure then return "failed: " .. self.failure end
   if outcome.signal then return ("ended by signal %d"):format(outcome.signal) end
   if outcome.status then return ("ended with status %d"):format(outcome.status) end
   return "ended"
end

local function finish(self)
   if self.outcome or self.failure then return end
   self.ended_at = proc.clock()
   local seconds = active(self)
   local ok, outcome = pcall(measure.finish, self.run)
   if ok then
      outcome.elapsed = seconds
      ok, outcome = pcall(self.work.complete, outcome)
   end
   if ok then
      self.outcome = outcome
   else
      self.failure = type(outcome) == "table" and tostring(outcome.message) or tostring(outcome)
      if self.work.discard then self.work.discard() end
   end
   self.text = self:output()
   drop_output(self)
   self.run, self.work = nil, nil
   notices[#notices + 1] = ("[%d] %s %s after %s"):format(self.id, self.what, how_it_ended(self), render.time(seconds))
end

local function is_over(self)
   return self.outcome ~= nil or self.failure ~= nil
end

--- Returns the state of the job: "counting" (or "sampling"), "paused", "ended" or "failed".
-- @treturn string
function job:state()
   if self.failure then return "failed" end
   if self.outcome then return "ended" end
   return self.paused_at and "paused" or self.doing
end

local function each_context(self, call)
   for _, subject in ipairs(measure.contexts(self.run)) do
      local ok, err, errno = subject.ctx[call](subject.ctx)
      if not ok and errno ~= lpfm.errno.ESRCH then error(err, 0) end
   end
end

--- Pauses the counters. The command and the threads that it creates go on uncounted.
-- @treturn job
function job:pause()
   if is_over(self) or self.paused_at then return self end
   each_context(self, "stop")
   self.paused_at = proc.clock()
   return self
end

--- Lets the counters count again.
-- @treturn job
function job:resume()
   if is_over(self) or not self.paused_at then return self end
   self.paused_for = self.paused_for + proc.clock() - self.paused_at
   self.paused_at = nil
   each_context(self, "start")
   return self
end

--- Ends the measurement; a running command goes on uncounted.
-- @treturn table the result
function job:stop()
   if not is_over(self) then finish(self) end
   return self:result()
end

--- Sends the command a signal.
-- @param[opt="TERM"] signal a name or a number
-- @treturn job
function job:kill(signal)
   local child = not is_over(self) and self.run.child
   if child then
      expect.value(child:kill(signal))
   end
   return self
end

--- Returns the final counts, or those so far.
-- @treturn table as of `stat` or `record`; the prompt shows it as text
function job:result()
   if self.failure then error(self.failure, 0) end
   return self.outcome or self.work.so_far(active(self))
end

--- Waits for the end of the job.
-- @tparam[opt] number seconds at most
-- @return the result; or nil, "timeout"
function job:wait(seconds)
   local deadline = seconds and proc.clock() + seconds or math.huge
   while not is_over(self) do
      local fds, patience = jobs.turn()
      patience = math.min(patience or math.huge, deadline - proc.clock())
      if is_over(self) then break end
      if patience <= 0 and proc.clock() >= deadline then return nil, "timeout" end
      local ok, err, errno = lpfm.poll(fds, patience < math.huge and math.max(patience, 0) or nil)
      if not ok and errno then error(err, 0) end
   end
   return self:result()
end

--- Returns the contexts of the job, for `watch`.
-- @treturn table of contexts
function job:contexts()
   local out = {}
   if is_over(self) then return out end
   for i, subject in ipairs(measure.contexts(self.run)) do out[i] = subject.ctx end
   return out
end

function job:__tostring()
   local head = ("job %d, %s: %s, %s"):format(self.id, self.what, self:state(), render.time(active(self)))
   if self.failure then return head .. ": " .. self.failure end
   return head .. "\n" .. tostring(self:result())
end

-- --- all jobs ------------------------------------------------------------------------------------

-- Stops the context of each thread that is attached while the job is paused, so that new threads do
-- not count then.
local function attach_paused(self, on)
   local attach = on.attach
   on.attach = function(subject)
      local ctx, err, errno = attach(subject)
      if ctx and self.paused_at then ctx:stop() end
      return ctx, err, errno
   end
end

local function work_for(what, list, more)
   if type(what) == "table" and what.record then
      local spec = {}
      for k, v in pairs(what) do spec[k] = v end
      spec.record, spec.output = nil, type(what.record) == "string" and what.record or what.output
      return require("repl.command.record").job(spec), "sampling"
   end
   if type(what) == "function" then
      error("job: a function runs in this thread, as the prompt does; stat(function) counts it", 0)
   end
   return require("repl.command.stat").job(what, list, more), "counting"
end

--- Counts or samples in the background, while the prompt accepts further input.
-- @prompt job
-- @param what a shell command line, or a table as for `count.run`, which may also have:
-- @string[opt] what.record a file that samples are recorded to
-- @int[opt] what.period events between samples
-- @int[opt] what.frequency samples a second
-- @tparam[opt] string list events
-- @tparam[opt] string groups metric groups
-- @treturn job
-- @usage j = job("sleep 100", "page-faults"); j:pause(); j:resume(); j:kill(); j:wait()
function jobs.start(what, list, groups)
   local work, doing = work_for(what, list, groups)
   measure.check(work.target)
   local words = type(what) == "string" and "'" .. what .. "'" or measure.describe(work.target)
   local self = setmetatable({ id = #all + 1, work = work, doing = doing, started = proc.clock(), paused_for = 0,
      what = render.what(words) }, job)
   work.target.background = true
   if work.target.command then keep_output(self, work.target) end
   attach_paused(self, work.callbacks)
   local ok, run = pcall(measure.begin, work.target, work.callbacks)
   if not ok then
      drop_output(self)
      if work.discard then work.discard() end
      error(run, 0)
   end
   self.run = run
   all[self.id] = self
   return self
end

local function turn_one(self)
   local ok, over = pcall(measure.turn, self.run)
   if not ok and tostring(over):find("interrupted") then error(over, 0) end
   if over then finish(self) end -- an error ends the job, too
end

local function take_notices()
   local text = #notices > 0 and table.concat(notices, "\n") or nil
   notices = {}
   return text
end

--- Serves all jobs without waiting.
-- @treturn table descriptors that a job waits for
-- @return number seconds to wait at most, or nil
function jobs.turn()
   local fds, seconds = {}, math.huge
   for _, self in ipairs(all) do
      if not is_over(self) then turn_one(self) end
      if not is_over(self) then
         local more, patience = measure.awaits(self.run)
         for _, fd in ipairs(more) do fds[#fds + 1] = fd end
         seconds = math.min(seconds, patience)
      end
   end
   return fds, seconds < math.huge and seconds or nil
end

--- Serves the jobs while the prompt waits for a line.
-- @treturn table descriptors
-- @return number seconds, or nil
-- @return string notices of jobs that ended, or nil
function jobs.idle()
   local fds, seconds = jobs.turn()
   return fds, seconds, take_notices()
end

--- Finds a job by its number.
-- @int id
-- @treturn job
-- @raise if no job has this number
function jobs.find(id)
   local self = all[tonumber(id)]
   if not self then error(("there is no job %s; jobs() lists them"):format(tostring(id)), 0) end
   return self
end

local function list_text(list)
   if #list == 0 then return "no jobs; job(\"make\") begins one" end
   local rows = {}
   for i, self in ipairs(list) do
      rows[i] = { tostring(self.id), self:state(), render.time(active(self)), self.what }
   end
   return table.concat(render.align({ { title = "id", right = true }, { title = "state" },
      { title = "time", right = true }, { title = "what" } }, rows), "\n")
end

--- Returns all jobs of this prompt.
-- @prompt jobs
-- @treturn table of jobs; the prompt shows it as text
function jobs.list()
   jobs.turn()
   return setmetatable({ unpack(all) }, { __tostring = list_text })
end

--- Ends all jobs; their commands go on uncounted.
-- @treturn table the jobs that were still running, in words
function jobs.stop_all()
   local left = {}
   for _, self in ipairs(all) do
      if not is_over(self) then
         left[#left + 1] = ("job %d, %s"):format(self.id, self.what)
         pcall(finish, self)
      end
   end
   return left
end

return jobs
