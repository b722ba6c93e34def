-- SPDX-License-Identifier: MIT
--- What a file of perf says of the machine, the command and the events: the features of its header.
-- @module pfm.recording.perfdata.features

local values = require "pfm.recording.perfdata.field_values"
local tracepoints = require "pfm.recording.perfdata.tracepoints"

local features = {}

local NUMBERS = { tracing = 1, build_ids = 2, host = 3, kernel = 4, version = 5, arch = 6, cpus = 7, cpu_name = 8,
   command = 11, events = 12, stat = 19, clock = 29, directory = 24 }
local SIZED = 2 ^ 15 -- flag of a build id's record: it has a size

-- --- reading numbers and texts -------------------------------------------------------------------

-- Returns a number of n bytes at a place, in this machine's order; nil if the bytes end before.
local function number(bytes, at, n)
   local is_there = at + n - 1 <= #bytes
   return is_there and values.number(bytes:sub(at, at + n - 1), require("lpfm.chunks").byte_order == "big") or nil
end

-- Reads a text that follows its length; returns the text, and the place after it.
local function text(bytes, at)
   local length = number(bytes, at, 4)
   if not length or at + 3 + length > #bytes then return nil end
   return bytes:sub(at + 4, at + 3 + length):match("^[^%z]*"), at + 4 + length
end

-- --- features ------------------------------------------------------------------------------------

local read = {}

for _, name in ipairs { "host", "kernel", "version", "arch", "cpu_name" } do
   read[name] = function(bytes) return (text(bytes, 1)) end
end

function read.cpus(bytes)
   return number(bytes, 1, 4)
end

function read.command(bytes)
   local out, at = {}, 5
   for i = 1, number(bytes, 1, 4) or 0 do
      out[i], at = text(bytes, at)
      if not out[i] then break end
   end
   return out
end

-- Reads build ids by path. Entries are records; one that is cut off at the end is left out.
function read.build_ids(bytes)
   local out, at = {}, 1
   while true do
      local misc, size = number(bytes, at + 4, 2), number(bytes, at + 6, 2)
      if not size or size < 36 or at + size - 1 > #bytes then return out end
      local length = misc >= SIZED and math.min(bytes:byte(at + 32), 20) or 20
      local id = bytes:sub(at + 12, at + 11 + length):gsub("%z+$", "")
      local path = bytes:sub(at + 36, at + size - 1):match("^[^%z]*")
      out[path] = id:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
      at = at + size
   end
end

-- Reads the names of events, each with the ids of the event.
function read.events(bytes)
   local out, at, attr_size = {}, 9, number(bytes, 5, 4)
   for i = 1, attr_size and number(bytes, 1, 4) or 0 do
      local count = number(bytes, at + attr_size, 4)
      local name, after = text(bytes, at + attr_size + 4)
      if not name then break end
      at = after
      out[i] = { name = name, ids = {} }
      for k = 1, count do
         out[i].ids[k] = number(bytes, at, 8)
         if not out[i].ids[k] then return out end
         at = at + 8
      end
   end
   return out
end

-- Reads the wall clock and the samples' clock at one moment, in ns.
function read.clock(bytes)
   local wall, own = number(bytes, 9, 8), number(bytes, 17, 8)
   return own and { wall = wall, own = own }
end

function read.stat()
   return true
end

read.directory = read.stat

read.tracing = tracepoints.read

--- Reads a feature.
-- @string name host, kernel, version (of perf), arch, cpus, cpu_name, command (a list), events (a
-- list of `name` and `ids`), build_ids (by path), clock (`wall`, `own`), stat, directory, tracing
-- (of `pfm.recording.perfdata.tracepoints`)
-- @string bytes
-- @return what it says, nil where it is damaged
-- @usage assert(require("pfm.recording.perfdata.features").read("cpus", "\4\0\0\0\4\0\0\0") == 4)
function features.read(name, bytes)
   return read[name](bytes)
end

--- Reads the features of a file's header.
-- @param file of `lpfm.perfdata`
-- @treturn table by name
-- @usage local f = require("lpfm.perfdata").open "perf.data"
-- if f then print(require("pfm.recording.perfdata.features").all(f).host) end
function features.all(file)
   local out = {}
   for name, n in pairs(NUMBERS) do
      local bytes = file:feature(n)
      out[name] = bytes and read[name](bytes)
   end
   return out
end

--- Adds a feature that a record tells, in a file that was written to a pipe.
-- @tparam table to of `features.all`
-- @int n its number
-- @string bytes
-- @usage require("pfm.recording.perfdata.features").add({}, 7, "\4\0\0\0\4\0\0\0")
function features.add(to, n, bytes)
   for name, known in pairs(NUMBERS) do
      if known == n then to[name] = read[name](bytes) end
   end
end

return features
