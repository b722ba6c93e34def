-- SPDX-License-Identifier: MIT
--- Puts together what many recordings know of the same objects: for one build, the functions, lines
-- and frames that any of them has. The result does not depend on their order.
-- @module pfm.jobs.merge.objects

local render = require "pfm.render"
local tables = require "pfm.util.tables"

local objects = {}
objects.__index = objects

--- Makes an empty collection.
-- @treturn objects
function objects.new()
   return setmetatable({ by_key = {} }, objects)
end

--- Returns the key of an SYMS chunk that can be shared: objects with the same path and build are
-- one. Others belong to their recording: each boot moves the kernel, each process generates its own
-- code.
-- @tparam table value of an SYMS chunk
-- @treturn ?string
function objects.key(value)
   local shared = value.build_id and value.path:find("^/") and not value.process and not value.missing
   return shared and value.build_id .. " " .. value.path or nil
end

-- --- adding objects ------------------------------------------------------------------------------

-- Makes JSON that keeps the bytes of names.
local function exact(value)
   return render.json(value, true)
end

local function equal(a, b)
   if #a ~= #b then return false end
   for i = 1, #a do
      if a[i] ~= b[i] then return false end
   end
   return true
end

-- Adds a row under its first value. If there is one already that differs, although it should not,
-- the one with the lesser text stays, so that the order of adding does not matter.
local function keep(rows, row)
   local known = rows[row[1]]
   if not known or not equal(known, row) and exact(row) < exact(known) then rows[row[1]] = row end
end

-- Returns a row with the names of files in place of their numbers, which are every third value from
-- the at-th on.
local function named(row, at, files)
   local out = { unpack(row) }
   for i = at, #row, 3 do out[i] = files[row[i]] or "" end
   return out
end

--- Adds an object.
-- @string key of `objects.key`
-- @tparam table value of an SYMS chunk
function objects:add(key, value)
   local o = self.by_key[key] or tables.enter(self.by_key, key, { path = value.path, build_id = value.build_id,
      count = 0, segments = {}, functions = {}, lines = {}, frames = {} })
   o.count = math.max(o.count, tonumber(value.count) or #value.functions)
   for _, row in ipairs(value.segments) do keep(o.segments, row) end
   for _, row in ipairs(value.functions) do keep(o.functions, row) end
   for _, row in ipairs(value.lines) do keep(o.lines, named(row, 2, value.files)) end
   for _, row in ipairs(value.frames) do keep(o.frames, named(row, 3, value.files)) end
end

-- --- objects as chunks ---------------------------------------------------------------------------

local function sorted_rows(rows)
   local out = {}
   for _, row in pairs(rows) do out[#out + 1] = row end
   table.sort(out, function(a, b) return a[1] < b[1] end)
   return out
end

-- Returns the files' names in the rows, each once and sorted, and the number of each; "" has 0.
local function number_files(o)
   local files, numbers = {}, { [""] = 0 }
   local function note(row, at)
      for i = at, #row, 3 do
         if not numbers[row[i]] then files[#files + 1], numbers[row[i]] = row[i], #files + 1 end
      end
   end
   for _, row in pairs(o.lines) do note(row, 2) end
   for _, row in pairs(o.frames) do note(row, 3) end
   table.sort(files)
   for i, file in ipairs(files) do numbers[file] = i end
   return files, numbers
end

local function numbered(rows, at, numbers)
   for i, row in ipairs(rows) do
      local out = { unpack(row) }
      for k = at, #row, 3 do out[k] = numbers[row[k]] end
      rows[i] = out
   end
   return rows
end

-- Writes the fields in a fixed order, because JSON has none.
local function body_of(key, o)
   local files, numbers = number_files(o)
   return ('{"key":%s,"path":%s,"build_id":%s,"count":%s,"segments":%s,"functions":%s,"files":%s,"lines":%s,'
      .. '"frames":%s}'):format(exact(key), exact(o.path), exact(o.build_id), exact(o.count),
      exact(sorted_rows(o.segments)), exact(sorted_rows(o.functions)), exact(files),
      exact(numbered(sorted_rows(o.lines), 2, numbers)), exact(numbered(sorted_rows(o.frames), 3, numbers)))
end

--- Iterates over the bodies of the SYMS chunks.
-- @return an iterator of strings, in the order of keys
function objects:bodies()
   local keys, i = tables.keys(self.by_key), 0
   return function()
      i = i + 1
      return keys[i] and body_of(keys[i], self.by_key[keys[i]])
   end
end

return objects
