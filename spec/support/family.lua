-- SPDX-License-Identifier: MIT
--- Predicts the samples of an inherited context from the programs of its threads, without the core:
-- a reference to compare the core's samples with.
--
-- Programs are made of instructions (`loop`, of one site, each counted once as it ends), `fork`,
-- `thread` and `exec`. Each thread has a CPU, so that none waits: a new thread begins at once. If
-- two events that influence each other happen at the same time, nothing can be predicted: World:run
-- raises an error.
local family = {}

local function xor(a, b) -- of 32-bit numbers
   local out, place = 0, 1
   while a > 0 or b > 0 do
      if a % 2 ~= b % 2 then out = out + place end
      a, b, place = math.floor(a / 2), math.floor(b / 2), place * 2
   end
   return out
end

-- Returns the next state of Carta's generator (3.4.2).
local function carta(state)
   if state % 0x7fffffff == 0 then state = 1 end
   return state * 16807 % 0x7fffffff
end

local function times(a, b) -- modulo 2^32
   local high, low = math.floor(a / 65536), a % 65536
   return (high * b % 65536 * 65536 + low * b) % 4294967296
end

-- Returns the seed of the n-th thread that was created, which depends on the root's seed.
local function seed_of(seed, n)
   local h = xor(seed, times(n, 0x9e3779b1))
   h = times(xor(h, math.floor(h / 32768)), 0x85ebca6b)
   return xor(h, math.floor(h / 8192))
end

local Thread = {}
Thread.__index = Thread

local function draw(self)
   if not self.world.mask then return 0 end
   local r = self.state
   self.state = carta(r)
   return r % (self.world.mask + 1)
end

function Thread:reset()
   self.left = self.world.period - draw(self)
   self.last_reset = -self.left
end

-- Goes on to the thread's next instruction, and notes when it ends; without one, ends the thread.
-- Creates the threads that the program creates in between.
function Thread:go_on()
   local step = self.program[self.at]
   if not step then
      self.ends_at, self.ended = self.now, true
      return
   end
   if step.loop and self.done < step.loop then
      self.ends_at = self.now + step[1].ns
      return
   end
   self.at, self.done = self.at + 1, 0
   if step.fork or step.thread then
      self.world:born(step.fork or step.thread, self, step.fork)
   elseif step.exec then
      self.world:end_others(self)
      self.program, self.at = step.exec, 1
   end
   return self:go_on()
end

local World = {}
World.__index = World

function World:born(program, parent, is_process)
   local tid = self.next_tid
   self.next_tid = tid + 1
   local t = setmetatable({ world = self, tid = tid, now = parent and parent.now or 0, program = program, at = 1,
      done = 0, counted = 0 }, Thread)
   t.pid = parent and not is_process and parent.pid or tid
   t.state = self.seed
   if parent then
      self.births = self.births + 1
      t.state = seed_of(self.seed, self.births)
      t:reset()
      local rest = table.remove(self.rests)
      if rest then t.left, t.last_reset = rest.left, rest.last_reset end
      self:at_one_moment(t.now, parent.tid, "birth")
   else
      t.left, t.last_reset = self.first, -self.first
      self.root = t
   end
   self.threads[#self.threads + 1] = t
   t:go_on()
end

-- Ends all other threads of the process, as an exec does.
function World:end_others(t)
   for i = #self.threads, 1, -1 do
      local other = self.threads[i]
      if other ~= t and other.pid == t.pid and not other.ended then
         other.ends_at, other.ended = t.now, true
         other.now, other.ended_by = t.now, t.tid
      end
   end
end

-- Raises an error if different threads fork, end or use a buffer at the same time, and the result
-- depends on the order.
function World:at_one_moment(time, tid, what)
   local last = self.last
   if last and last.time == time and last.tid ~= tid and (what ~= "sample" or last.what ~= "sample" or self.fills) then
      error("a tie", 0)
   end
   self.last = { time = time, tid = tid, what = what }
end

function World:overflow(t)
   self:at_one_moment(t.now, t.tid, "sample")
   local sample = { tid = t.tid, pid = t.pid, ip = t.program[t.at][1].ip, tstamp = t.now, last_reset = t.last_reset,
      counted = t.counted }
   if self.buffer:overflow(sample) then
      t.masked = true
      self.told = self.told or not self.full and sample
      self.full = true
   else
      t:reset()
   end
end

function World:executed(t)
   t.done = t.done + 1
   self.total = self.total + (t.masked and 0 or 1)
   if t.masked then return end
   t.counted, t.left = t.counted + 1, t.left - 1
   if t.left == 0 then self:overflow(t) end
end

local function first(threads)
   local found
   for i, t in ipairs(threads) do
      if not found or t.ends_at < threads[found].ends_at then found = i end
   end
   return found
end

-- Does all that happens up to a time, including it. Returns false if all threads have ended.
function World:run(to)
   local i = first(self.threads)
   while i and self.threads[i].ends_at <= to do
      local t = self.threads[i]
      if t.ended then
         table.remove(self.threads, i)
         if t ~= self.root then
            self:at_one_moment(t.now, t.ended_by or t.tid, "end")
            if t.masked then t:reset() end
            self.rests[#self.rests + 1] = { left = t.left, last_reset = t.last_reset }
         end
      else
         t.now = t.ends_at
         self:executed(t)
         t:go_on()
      end
      i = first(self.threads)
   end
   return i ~= nil
end

function World:restart()
   for _, t in ipairs(self.threads) do
      if t.masked then
         t.masked = false
         t:reset()
      end
   end
   self.full = false
   self.buffer:restart()
end

-- Creates a family that begins with the thread tid, which runs the program.
-- spec: period; mask and seed of its randomization; first: events until the first overflow; buffer:
-- takes samples (overflow(sample), which returns true to mask the thread) and restarts (restart());
-- fills: the buffer can become full, so that the order of samples matters.
function family.new(tid, program, spec)
   local w = setmetatable({ next_tid = tid, births = 0, rests = {}, threads = {}, total = 0,
      seed = 0, first = spec.period }, World)
   for k, v in pairs(spec) do w[k] = v end
   w:born(program)
   return w
end

return family
