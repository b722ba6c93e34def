-- SPDX-License-Identifier: MIT
--- A small event loop over many contexts: messages by kind, descriptors, timers.
--
--    local loop = require("pfm.loop").new()
--    loop:add(ctx, {
--       OVFL = function(msg, ctx) print(("%#x"):format(msg.ip)) ctx:restart() end,
--       END = function(msg, ctx) loop:stop() end,
--    })
--    loop:every(1, function() print(ctx:read_pmds { 64 }[1].value) end)
--    loop:run()
--
-- Callbacks may add and remove whatever they like, close contexts, and stop the loop. In your own
-- loop, poll(2) the descriptors of `Loop:fds` for at most `Loop:timeout` seconds, then call
-- `loop:step(0)`. A single context needs no loop: ctx:fd() and ctx:read(0) are enough.
-- @module pfm.loop

local expect = require "pfm.util.expect"
local lpfm = require "lpfm"
local proc = require "lpfm.proc"
local tables = require "pfm.util.tables"

local loop = {}

local Loop = {}
Loop.__index = Loop

--- Makes a loop.
-- @tparam[opt] table options
-- @func[opt] options.on_error called as on_error(message, source) with the message and traceback of
-- an error in a callback, and its context, descriptor or timer; without on_error, run and step
-- raise the error
-- @func[opt] options.advance called when nothing is ready, to let the simulator's time pass;
-- returns false when nothing more will come
-- @treturn Loop
-- @usage local loop = require("pfm.loop").new { advance = function() return machine:run { ms = 1 } end }
function loop.new(options)
   options = options or {}
   if type(options) ~= "table" then error("loop: table of options expected, got " .. type(options), 2) end
   for key, value in pairs(options) do
      if key ~= "on_error" and key ~= "advance" then
         error("loop: unknown option '" .. tostring(key) .. "' (known: on_error, advance)", 2)
      elseif type(value) ~= "function" then
         error("loop: " .. key .. ": function expected, got " .. type(value), 2)
      end
   end
   return setmetatable({
      on_error = options.on_error,
      advance = options.advance,
      sources = {}, -- in the order they were added: { object =, context =, on = }
      by_object = {},
      timers = {},  -- { at =, period =, fn = }
   }, Loop)
end

-- --- what there is to wait for -------------------------------------------------------------------

-- Raises an error at the line that called the method, if it has no loop.
local function check_loop(self, call)
   if getmetatable(self) ~= Loop then error(expect.misuse(self, "loop", call), 3) end
end

-- Raises an error at the line that called the method. A method that calls these functions must not
-- do so as a tail call, which leaves its own level out.
local function check_function(fn, call)
   if type(fn) ~= "function" then
      error("loop:" .. call .. ": function expected, got " .. type(fn), 3)
   end
end

local function check_seconds(seconds, call)
   if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
      error("loop:" .. call .. ": number of seconds expected, got " .. tostring(seconds), 3)
   end
end

local function add_source(self, source, call)
   if source.object == nil then
      error("loop:" .. call .. ": what shall be waited for? Got nil", 3)
   elseif self.by_object[source.object] then
      error("loop:" .. call .. ": this is in the loop already", 3)
   end
   self.by_object[source.object] = source
   self.sources[#self.sources + 1] = source
   return source.object
end

local KINDS = { OVFL = true, END = true, error = true }

--- A loop.
-- @type Loop

--- Adds a context. It is removed after its END message, and when it is closed.
-- @tparam context ctx
-- @tparam table|function on by kind of message: OVFL and END are called as fn(message, ctx). When
-- reading fails, the context is removed and `error` is called as fn(text, ctx); if there is no
-- `error`, the text is raised. A function stands for OVFL and END
-- @treturn context ctx, for `loop:remove`
-- @raise if the context is in the loop, or closed, or on wrong types
-- @usage
-- local m = lpfm.machine("sim:k8")
-- local tid = m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10 } } } }
-- local ctx = assert(lpfm.create {})
-- ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) } }
-- ctx:write_pmds { { num = 0, value = -100, long_reset = -100, flags = { "OVFL_NOTIFY" } } }
-- assert(ctx:load(tid) and ctx:start())
-- local l = loop.new { advance = function() return m:run { ms = 1 } end }
-- l:add(ctx, function(msg)
--    print(("%#x"):format(msg.ip))
--    l:stop()
-- end)
-- l:run()
-- ctx:close()
function Loop:add(ctx, on)
   check_loop(self, "add")
   if type(on) == "function" then
      on = { OVFL = on, END = on }
   elseif type(on) ~= "table" then
      error("loop:add: function or table of functions expected, got " .. type(on), 2)
   end
   for kind, fn in pairs(on) do
      if not KINDS[kind] then
         error("loop:add: unknown kind '" .. tostring(kind) .. "' (known: OVFL, END, error)", 2)
      end
      check_function(fn, "add")
   end
   if getmetatable(ctx) ~= "lpfm.context" then error("loop:add: context expected, got " .. type(ctx), 2) end
   if ctx:closed() then error("the context is closed", 2) end
   return (add_source(self, { object = ctx, context = true, on = on }, "add"))
end

--- Adds a descriptor, or an object of lpfm.proc with a method fd(): fn(object) is called as often
-- as there is something to read.
-- @param object
-- @tparam function fn
-- @return object, for `loop:remove`
-- @raise if the object is in the loop, or on wrong types
-- @usage
-- local child = assert(proc.spawn { "true" })
-- child:go()
-- local l = loop.new()
-- l:on_fd(child, function()
--    assert(child:wait(0).status == 0)
--    l:remove(child)
-- end)
-- assert(l:run() == "empty")
function Loop:on_fd(object, fn)
   check_loop(self, "on_fd")
   check_function(fn, "on_fd")
   if type(object) == "number" and not (object >= 0 and object < 2 ^ 31 and object % 1 == 0)
      or type(object) ~= "number" and type(object) ~= "userdata" then
      error("loop:on_fd: descriptor or object with a method fd() expected, got " .. tostring(object), 2)
   end
   return (add_source(self, { object = object, on = fn }, "on_fd"))
end

local function add_timer(self, seconds, fn, period)
   local timer = { at = proc.clock() + seconds, period = period, fn = fn }
   self.timers[#self.timers + 1] = timer
   return timer
end

--- Calls a function once.
-- @number seconds from now
-- @tparam function fn called as fn(timer)
-- @return timer, for `loop:remove`
-- @usage
-- local l = loop.new()
-- l:after(0.01, function() print "now" end)
-- l:run()
function Loop:after(seconds, fn)
   check_loop(self, "after")
   check_function(fn, "after")
   check_seconds(seconds, "after")
   return add_timer(self, seconds, fn)
end

--- Calls a function at intervals. Calls that a slow callback delays are left out.
-- @number seconds between calls, more than 0
-- @tparam function fn called as fn(timer)
-- @return timer, for `loop:remove`
-- @usage
-- local l, times = loop.new(), 0
-- l:every(0.001, function(timer)
--    times = times + 1
--    if times == 3 then l:remove(timer) end
-- end)
-- l:run()
function Loop:every(seconds, fn)
   check_loop(self, "every")
   if type(seconds) ~= "number" or seconds ~= seconds or seconds <= 0 then
      error("loop:every: number of seconds above 0 expected, got " .. tostring(seconds), 2)
   end
   check_function(fn, "every")
   return add_timer(self, seconds, fn, seconds)
end

local function without(list, item)
   local rest = {}
   for _, other in ipairs(list) do
      if other ~= item then
         rest[#rest + 1] = other
      end
   end
   return rest
end

--- Removes a context, descriptor or timer; it stays open. This works in callbacks, too: what is
-- removed is not called any more.
-- @param item what add, on_fd, after or every returned
-- @treturn boolean whether it was there
-- @usage
-- local l = loop.new()
-- local timer = l:after(100, print)
-- l:remove(timer)
-- assert(l:run() == "empty")
function Loop:remove(item)
   check_loop(self, "remove")
   local source = self.by_object[item]
   if source then
      self.by_object[item] = nil
      self.sources = without(self.sources, source)
      return true
   end
   local before = #self.timers
   self.timers = without(self.timers, item)
   return #self.timers < before
end

-- --- calling callbacks ---------------------------------------------------------------------------

local function traceback(message)
   return type(message) == "string" and debug.traceback(message, 2) or message
end

local function call(self, source, fn, ...)
   if not self.on_error then
      fn(...)
      return
   end
   local args, n = { ... }, select("#", ...)
   local ok, message = xpcall(function() return fn(unpack(args, 1, n)) end, traceback)
   if not ok then
      self.on_error(message, source)
   end
end

local function serve_context(self, source)
   local ctx = source.object
   local msg, why, errno = ctx:read(0)
   if msg then
      if msg.type == "END" then
         self:remove(ctx)
      end
      if source.on[msg.type] then
         call(self, ctx, source.on[msg.type], msg, ctx)
      end
   elseif errno then
      self:remove(ctx)
      call(self, ctx, source.on.error or error, why, source.on.error and ctx or 0)
   end
end

local function serve(self, source)
   if source.context then
      serve_context(self, source)
   else
      call(self, source.object, source.on, source.object)
   end
end

local function fire(self, timer, now)
   if timer.period then
      timer.at = math.max(timer.at + timer.period, now)
   else
      self:remove(timer)
   end
   call(self, timer, timer.fn, timer)
end

local function fire_timers(self)
   local now, due = proc.clock(), {}
   for _, timer in ipairs(self.timers) do
      if timer.at <= now then
         due[#due + 1] = timer
      end
   end
   table.sort(due, function(a, b) return a.at < b.at end)
   local fired = 0
   for _, timer in ipairs(due) do
      if #without(self.timers, timer) < #self.timers then -- no callback has removed it
         fire(self, timer, now)
         fired = fired + 1
      end
   end
   return fired
end

-- Returns the objects to wait for; removes contexts that have been closed.
local function objects(self)
   local list = {}
   for _, source in ipairs(self.sources) do
      if source.context and source.object:closed() then
         self:remove(source.object)
      else
         list[#list + 1] = source.object
      end
   end
   return list
end

-- --- waiting and dispatching ---------------------------------------------------------------------

--- Lists the descriptors that your own loop waits for.
-- @treturn table list of numbers
-- @usage
-- assert(#loop.new():fds() == 0)
function Loop:fds()
   check_loop(self, "fds")
   return tables.map(objects(self), function(object) return type(object) == "number" and object or object:fd() end)
end

--- Says how long your own loop may wait at most.
-- @treturn number seconds to the next timer, 0 if it is due; nil: there is none
-- @usage
-- local l = loop.new()
-- l:after(5, print)
-- assert(l:timeout() <= 5)
function Loop:timeout()
   check_loop(self, "timeout")
   local at
   for _, timer in ipairs(self.timers) do
      at = math.min(at or math.huge, timer.at)
   end
   return at and math.max(at - proc.clock(), 0)
end

--- Does one turn: waits until something is ready, and serves it; reads one message of a context.
-- @number[opt] seconds to wait at most; without, as long as it takes
-- @treturn[1] int how many were ready or due; 0: the time is up, or the simulator, which does not
-- run during the wait, has nothing
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno: EINTR after Ctrl-C
-- @raise what a callback raised, if there is no on_error
-- @usage
-- local l = loop.new()
-- l:after(0, function() print "served" end)
-- l:step(1)
function Loop:step(seconds)
   check_loop(self, "step")
   if seconds ~= nil then check_seconds(seconds, "step") end
   local timer = self:timeout()
   local wait = seconds and timer and math.min(seconds, timer) or seconds or timer
   local ready, why, errno = lpfm.poll(objects(self), wait)
   if not ready and errno then
      return nil, why, errno
   end
   ready = ready or {}
   for _, object in ipairs(ready) do
      local source = self.by_object[object]
      if source and not (source.context and object:closed()) then
         serve(self, source)
      end
   end
   return #ready + fire_timers(self)
end

--- Ends `Loop:run` when the callback that called this returns.
-- @usage
-- local l = loop.new()
-- l:after(0, function() l:stop() end)
-- l:every(1, print)
-- l:run()
function Loop:stop()
   check_loop(self, "stop")
   self.stopped = true
end

-- Returns the reason to end when nothing was ready, or nil.
local function idle(self, deadline)
   if proc.clock() >= deadline then
      return "timeout"
   elseif self.advance then
      return not self.advance() and "idle" or nil
   elseif not self:timeout() then
      return "idle" -- all sources are simulated contexts, and nothing makes their time pass
   end
   lpfm.poll({}, math.max(math.min(self:timeout(), deadline - proc.clock()), 0))
end

--- Runs turns until stop() is called or nothing is left to wait for.
-- @number[opt] seconds at most
-- @treturn[1] string why it ended: "stopped", "empty" (all were removed), "timeout", or "idle" (on
-- the simulator, nothing comes any more)
-- @return[2] nil
-- @treturn[2] string message
-- @treturn[2] int errno: EINTR after Ctrl-C
-- @raise what a callback raised, if there is no on_error; the loop can be run again
-- @usage assert(require("pfm.loop").new():run() == "empty")
function Loop:run(seconds)
   check_loop(self, "run")
   if seconds ~= nil then check_seconds(seconds, "run") end
   local deadline = proc.clock() + (seconds or math.huge)
   self.stopped = false
   while true do
      objects(self)
      if #self.sources == 0 and #self.timers == 0 then
         return "empty"
      end
      local served, why, errno = self:step(seconds and math.max(deadline - proc.clock(), 0))
      if not served then
         return nil, why, errno
      elseif self.stopped then
         return "stopped"
      end
      local reason = served == 0 and idle(self, deadline) or proc.clock() >= deadline and "timeout"
      if reason then
         return reason
      end
   end
end

return loop
