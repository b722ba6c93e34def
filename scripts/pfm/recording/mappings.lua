-- SPDX-License-Identifier: MIT
--- The code that a program has mapped over time, also at the same addresses.
--
-- A mapping is a list: start, stop, offset in the file, path, and the file's identity where it is
-- known. Mappings are added in the order of time; `at(address, n)` is what was at an address after
-- n of them. A mapping from a record exists from the record's time on; one from /proc may be older.
-- @module pfm.recording.mappings

local tables = require "pfm.util.tables"
local mappings = {}
mappings.__index = mappings

local FAR = 64          -- generations: mappings are inherited over that many forks without exec

--- Returns true if a mapping is memory without a file.
-- @string path of a mapping
-- @treturn boolean
-- @usage require("pfm.recording.mappings").is_anonymous "//anon" --> true
function mappings.is_anonymous(path)
   return path == "" or path:find("^//anon") ~= nil or path:find("^%[anon") ~= nil
end

local function is_same(a, b)
   if mappings.is_anonymous(a[4]) then return mappings.is_anonymous(b[4]) end
   return a[4] == b[4] and a[1] - a[3] == b[1] - b[3] and (a[5] == b[5] or not a[5] or not b[5])
end

--- Makes a list without mappings.
-- @tparam[opt] mappings parent what the program began with: a new process has its parent's mappings
-- @treturn mappings with `n`, how many were added
function mappings.new(parent)
   local generation = parent and parent.generation + 1 or 0
   return setmetatable({ spans = {}, list = {}, n = 0, generation = generation,
      parent = generation < FAR and parent or nil, limit = parent and parent.n }, mappings)
end

-- --- spans: stretches of addresses in which all is the same, by their start ----------------------

local function span_at(self, address)
   local span = self.spans[tables.last_before(self.spans, "start", address)]
   return span and address < span.stop and span or nil
end

-- Splits the i-th span at an address.
local function split(spans, i, address)
   local left = spans[i]
   local right = { start = address, stop = left.stop }
   for k, entry in ipairs(left) do right[k] = entry end
   left.stop = address
   table.insert(spans, i + 1, right)
end

local function push(span, entry)
   local top = span[#span]
   if not top or not is_same(top.row, entry.row) then
      span[#span + 1] = entry
   elseif entry.row[5] and not top.row[5] then
      span[#span] = { n = top.n, row = entry.row, from_proc = top.from_proc }
   end
end

-- Returns true if, after the first n mappings, all of a range was mapped already as `row` maps it.
-- For memory without a file, a range of which nothing is known counts as mapped in this way, too.
local function had(self, row, start, stop, n)
   local spans, at = self.spans, start
   local i = tables.last_before(spans, "start", start)
   if i == 0 or spans[i].stop <= start then i = i + 1 end
   while at < stop do
      local span = spans[i]
      local entry = span and span.start <= at and span[tables.last_before(span, "n", n)]
      local to = span and (span.start <= at and span.stop or span.start) or stop
      if entry and not is_same(entry.row, row) then return false end
      if not entry and not self.parent and not mappings.is_anonymous(row[4]) then return false end
      if not entry and self.parent then
         if not had(self.parent, row, at, math.min(to, stop), self.limit) then return false end
      end
      if span and span.start <= at then i = i + 1 end
      at = to
   end
   return true
end

--- Adds a mapping.
-- @tparam table row
-- @bool[opt] from_proc true if the mapping was read from /proc, which does not say when it was
-- made: it may be older than mappings that were added before it
-- @treturn boolean true if something else, or nothing, was known to be mapped there
-- @usage
-- local m = require("pfm.recording.mappings").new()
-- print(m:add { 0, 8192, 0, "/lib/a.so" }, m:add { 4096, 8192, 4096, "/lib/a.so" }) --> true false
function mappings:add(row, from_proc)
   local changes = not had(self, row, row[1], row[2], self.n)
   self.n = self.n + 1
   self.list[self.n] = row
   local entry = { n = self.n, row = row, from_proc = from_proc }
   local spans, at, stop = self.spans, row[1], row[2]
   local i = tables.last_before(spans, "start", at)
   if i > 0 and spans[i].start < at and spans[i].stop > at then split(spans, i, at) end
   i = tables.last_before(spans, "start", at)
   if i == 0 or spans[i].start < at then i = i + 1 end
   while at < stop do
      local span = spans[i]
      if not span or span.start > at then
         span = { start = at, stop = math.min(stop, span and span.start or stop) }
         table.insert(spans, i, span)
      elseif span.stop > stop then
         split(spans, i, stop)
      end
      push(span, entry)
      at, i = span.stop, i + 1
   end
   return changes
end

-- --- finding mappings ----------------------------------------------------------------------------

-- Returns the first mapping at an address if it was read from /proc, as the time of such a mapping
-- is not known.
local function later(self, address)
   local span = span_at(self, address)
   local first = span and span[1]
   if first and first.from_proc then return first.row end
   return self.parent and later(self.parent, address)
end

-- Returns what was mapped at an address after the first n mappings, or nil. Returns false if the
-- next mapping there was read from /proc and is among the first `doubt`: it may be older than the
-- first n.
local function exact(self, address, n, doubt)
   local span = span_at(self, address)
   local k = span and tables.last_before(span, "n", n) or 0
   if k > 0 then
      local after = span[k + 1]
      if after and after.from_proc and after.n <= doubt then return false end
      return span[k].row
   end
   return self.parent and exact(self.parent, address, self.limit, self.limit)
end

--- Returns what was mapped at an address.
-- @number address
-- @number n after so many mappings
-- @number[opt=n] doubt if /proc showed another mapping up to this number, it may have been there
-- already
-- @return the mapping; false: one of several, and it is not known which; nil: none
-- @usage
-- local m = require("pfm.recording.mappings").new()
-- m:add { 0, 8192, 0, "/lib/a.so" }
-- m:add { 4096, 8192, 0, "/lib/b.so" }
-- print(m:at(4096, 1)[4], m:at(4096, 2)[4]) --> /lib/a.so /lib/b.so
function mappings:at(address, n, doubt)
   local row = exact(self, address, n, doubt or n)
   if row == nil then row = later(self, address) end
   return row
end

--- Lists all that ever was mapped at an address.
-- @number address
-- @treturn table of mappings
-- @treturn number up to which address the list is the same
-- @usage
-- local m = require("pfm.recording.mappings").new()
-- m:add { 0, 8192, 0, "/lib/a.so" }
-- print(#m:ever(4096), select(2, m:ever(4096))) --> 1 8192
function mappings:ever(address)
   local out, stop, its = {}, math.huge, self
   while its do
      local spans = its.spans
      local i = tables.last_before(spans, "start", address)
      local span, after = spans[i], spans[i + 1]
      if span and address < span.stop then
         for _, entry in ipairs(span) do out[#out + 1] = entry.row end
         stop = math.min(stop, span.stop)
      elseif after then
         stop = math.min(stop, after.start)
      end
      its = its.parent
   end
   return out, stop
end

--- Iterates over all mappings, the latest first.
-- @return iterator
function mappings:each()
   local its, i = self, self.n + 1
   return function()
      i = i - 1
      while i == 0 and its.parent do its, i = its.parent, its.limit end
      return its.list[i]
   end
end

return mappings
