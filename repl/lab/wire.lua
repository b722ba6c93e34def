-- SPDX-License-Identifier: MIT
--- Lua values on a socket between two interpreters that call each other's functions. Numbers,
-- 64-bit values, strings, booleans and tables are copied; a function, and an object that `share`
-- permits, remains in its interpreter, and the other end gets an object that calls it there.
-- Received data is neither run nor trusted.
-- @module repl.lab.wire

local lpfm = require "lpfm"
local unistd = require "posix.unistd"

local wire = {}
wire.__index = wire

--- The error that is raised when the other end has gone.
wire.gone = "it ended the program"

-- bytes of a message, tables in tables, bytes of a read
local MOST, DEPTH, BLOCK = 2 ^ 24, 60, 65536

local call

-- --- values as text ------------------------------------------------------------------------------

local write

local function write_table(self, out, value, depth)
   if depth > DEPTH then error("a table is too deep, or contains itself", 0) end
   out[#out + 1] = "{"
   for k, v in pairs(value) do
      write(self, out, k, depth + 1)
      write(self, out, v, depth + 1)
   end
   out[#out + 1] = "}"
end

-- Keeps a value that is not copied; returns the number by which the other end refers to it.
local function keep(self, value, methods)
   local id = self.ids[value]
   if not id then
      id = #self.kept + 1
      self.kept[id], self.ids[value] = { value = value, methods = methods }, id
   end
   return id
end

function write(self, out, value, depth)
   local kind = type(value)
   if value == nil then
      out[#out + 1] = "z"
   elseif kind == "number" then
      out[#out + 1] = ("n%.17g;"):format(value)
   elseif kind == "boolean" then
      out[#out + 1] = value and "t" or "f"
   elseif kind == "string" then
      out[#out + 1] = ("s%d;"):format(#value) .. value -- %s would end at a zero byte
   elseif self.theirs[value] then
      out[#out + 1] = ("y%d;"):format(self.theirs[value])
   elseif kind == "function" then
      out[#out + 1] = ("g%d;"):format(keep(self, value, true))
   elseif self.share(value) then
      out[#out + 1] = ("m%d;"):format(keep(self, value, self.share(value)))
   elseif kind == "table" then
      write_table(self, out, value, depth)
   else
      local ok, hex = pcall(function() return lpfm.u64(value):hex() end)
      if not ok then error(("a %s cannot be sent to another process"):format(kind), 0) end
      out[#out + 1] = ("u%s;"):format(hex)
   end
end

local function damaged()
   error("what the other process sent cannot be read", 0)
end

-- Returns a function that calls a function of the other end.
local function function_of(self, id)
   local function theirs(...) return call(self, id, nil, ...) end
   self.theirs[theirs] = id
   return theirs
end

-- Returns an object that calls the methods of an object of the other end.
local function object_of(self, id)
   local object = setmetatable({}, { __index = function(_, name)
      return function(_, ...) return call(self, id, name, ...) end
   end })
   self.theirs[object] = id
   return object
end

local read

local function read_table(self, text, at, depth)
   local out = {}
   while text:sub(at, at) ~= "}" do
      local key, after = read(self, text, at, depth + 1)
      if key == nil or key ~= key then damaged() end
      out[key], at = read(self, text, after, depth + 1)
   end
   return out, at + 1
end

local readers = {
   z = function(_, at) return nil, at end,
   t = function(_, at) return true, at end,
   f = function(_, at) return false, at end,
}

-- Returns the text up to the next semicolon, and the position behind that; raises an error if there
-- is none.
local function word(text, at)
   local found, stop = text:match("^([^;]*);()", at)
   if not found then damaged() end
   return found, stop
end

function readers.n(text, at)
   local digits, stop = word(text, at)
   local special = { inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0, ["-nan"] = 0 / 0 }
   return special[digits] or tonumber(digits) or damaged(), stop
end

function readers.u(text, at)
   local digits, stop = word(text, at)
   local ok, value = pcall(lpfm.u64, digits)
   return ok and value or damaged(), stop
end

function readers.s(text, at)
   local length, start = word(text, at)
   length = tonumber(length) or damaged()
   if length < 0 or start + length - 1 > #text then damaged() end
   return text:sub(start, start + length - 1), start + length
end

function read(self, text, at, depth)
   if depth > DEPTH then damaged() end
   local kind = text:sub(at, at)
   if kind == "{" then return read_table(self, text, at + 1, depth) end
   if kind == "m" or kind == "g" or kind == "y" then
      local id, stop = word(text, at + 1)
      id = tonumber(id) or damaged()
      if kind == "y" then return (self.kept[id] or damaged()).value, stop end
      return (kind == "m" and object_of or function_of)(self, id), stop
   end
   return (readers[kind] or damaged)(text, at + 1)
end

-- --- messages ------------------------------------------------------------------------------------

local function send(self, ...)
   local out, n = {}, select("#", ...)
   for i = 1, n do write(self, out, (select(i, ...)), 0) end
   local text = table.concat(out)
   if #text > MOST then error("a message is too long", 0) end
   text = ("%d;%d;"):format(#text, n) .. text
   while #text > 0 do
      text = text:sub((unistd.write(self.fd, text) or error(wire.gone, 0)) + 1)
   end
end

local function fill(self)
   local part = unistd.read(self.fd, BLOCK)
   if not part or part == "" then error(wire.gone, 0) end
   self.buffer = self.buffer .. part
end

-- Receives the next message. Returns its values and their number.
local function receive(self)
   local length, n, start
   repeat
      length, n, start = self.buffer:match("^(%d+);(%d+);()")
      if not length then
         if #self.buffer > 64 then damaged() end
         fill(self)
      end
   until length
   length, n = tonumber(length), tonumber(n)
   if length > MOST or n > length then damaged() end
   local parts, have = { self.buffer }, #self.buffer
   while have < start - 1 + length do
      local part = unistd.read(self.fd, BLOCK)
      if not part or part == "" then error(wire.gone, 0) end
      parts[#parts + 1], have = part, have + #part
   end
   local text = table.concat(parts)
   self.buffer = text:sub(start + length)
   text = text:sub(start, start - 1 + length)
   local values, at = {}, 1
   for i = 1, n do values[i], at = read(self, text, at, 0) end
   return values, n
end

-- Makes the call that the other end requested, and sends its results back.
local function serve(self, values, n)
   local entry = self.kept[values[2]]
   local method = values[3]
   local function answer(ok, ...)
      if not ok then return send(self, "raised", tostring((...))) end
      local sent = pcall(send, self, "done", ...)
      if not sent then send(self, "raised", "what it returned cannot be sent to another process") end
   end
   if not entry then damaged() end
   if type(entry.methods) ~= "table" then
      return answer(pcall(entry.value, unpack(values, 4, n)))
   end
   if not entry.methods[method] then
      return send(self, "raised", ("'%s' is not there for a script that is judged"):format(tostring(method)))
   end
   answer(pcall(function(...) return entry.value[method](entry.value, ...) end, unpack(values, 4, n)))
end

-- Returns the answer to a call. Until it comes, calls from the other end are served.
local function await(self)
   while true do
      local values, n = receive(self)
      if values[1] == "done" then return unpack(values, 2, n) end
      if values[1] == "raised" then error(values[2], 0) end
      if values[1] ~= "call" then damaged() end
      serve(self, values, n)
   end
end

function call(self, id, method, ...)
   send(self, "call", id, method, ...)
   return await(self)
end

--- Writes a value as text, from which `wire.load` makes an equal value.
-- @param value of numbers, 64-bit values, strings, booleans and tables
-- @treturn string
-- @raise on values of other types
function wire.dump(value)
   local out = {}
   write(wire.new(), out, value, 0)
   return table.concat(out)
end

--- Reads a value from a text of `wire.dump`.
-- @string text
-- @return the value
-- @raise if the text is not a value
function wire.load(text)
   return (read(wire.new(), text, 1, 0))
end

--- Makes one end of a connection.
-- @int[opt] fd of a socket
-- @tparam[opt] function share returns the names of methods that the other end may call of a value
-- that is neither copied nor a function, or nil if it may call none
-- @tparam[opt] function first the first function that the other end can call
-- @treturn table
function wire.new(fd, share, first)
   local self = setmetatable({ fd = fd, buffer = "", kept = {}, ids = {},
      theirs = setmetatable({}, { __mode = "k" }), share = share or function() end }, wire)
   if first then keep(self, first, true) end
   return self
end

--- Returns the first function of the other end.
-- @treturn function
function wire:first()
   return function(...) return call(self, 1, nil, ...) end
end

--- Serves calls from the other end until it has gone.
function wire:serve()
   while true do
      local values, n = receive(self)
      if values[1] ~= "call" then damaged() end
      serve(self, values, n)
   end
end

return wire
