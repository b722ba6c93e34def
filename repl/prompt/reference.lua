-- SPDX-License-Identifier: MIT
--- From what a person names, or has in hand, to the text that describes it.
-- @module repl.prompt.reference

local commands = require "repl.command"
local names = require "repl.prompt.names"
local globals = require "repl.prompt.globals"
local topics = require "repl.prompt.topics"

local reference = {}

-- --- the texts -----------------------------------------------------------------------------------

--- A page of help.
-- @string name
-- @return string or nil
function reference.topic(name)
   return topics.topics[name]
end

--- The names of the pages, sorted.
-- @treturn table
function reference.topics()
   local out = {}
   for name in pairs(topics.topics) do out[#out + 1] = name end
   table.sort(out)
   return out
end

-- What a command's row says of its function.
local function entry_of_command(name)
   local row = commands.rows[name]
   if not row or not row.call then return nil end
   return { usage = ("%s(%s)"):format(name, table.concat(row.call, ", ")),
      text = ("%s; 'lpfm %s --help' lists the options."):format((row.summary:gsub("^%l", string.upper)), name) }
end

--- The description of a call.
-- @string key as of `reference.key`
-- @treturn table `usage`, `text`, perhaps `fields`, `entries`, `topic`; or nil
function reference.entry(key)
   return topics.calls[key] or entry_of_command(key)
end

--- The names of all calls that are described.
-- @treturn table sorted
function reference.keys()
   local out = {}
   for key in pairs(topics.calls) do out[#out + 1] = key end
   for _, row in ipairs(commands.rows) do
      if row.call and not topics.calls[row.name] then out[#out + 1] = row.name end
   end
   table.sort(out)
   return out
end

-- --- classes -------------------------------------------------------------------------------------

local classes = { context = "context", buffer = "buffer", pmds = "vector", pmcs = "vector", u64 = "u64" }

-- Names that people give to such objects; what is known of the object itself goes before.
local habits = { c = "context", ctx = "context", context = "context", b = "buffer", buf = "buffer", buffer = "buffer",
   m = "machine", machine = "machine", j = "job", job = "job", v = "vector", vector = "vector" }

--- The class of an object: context, buffer, vector, u64, machine (a simulated one), job.
-- @param value
-- @return string or nil
function reference.class(value)
   local meta = debug.getmetatable(value)
   if type(meta) ~= "table" then return nil end
   for name, class in pairs(classes) do
      if debug.getregistry()["lpfm." .. name] == meta then return class end
   end
   if type(value) ~= "table" or type(meta.__index) ~= "table" then return nil end
   if meta.__index.pause and meta.__index.resume then return "job" end
   return meta.__index.spawn and meta.__index.run and "machine" or nil
end

--- The methods of a class that are described.
-- @string class
-- @treturn table of keys, sorted
function reference.methods(class)
   local out = {}
   for _, key in ipairs(reference.keys()) do
      if key:match("^(%w+):") == class then out[#out + 1] = key end
   end
   return out
end

-- --- keys ----------------------------------------------------------------------------------------

-- The one class that has a method of this name.
local function only_class_with(method)
   local found
   for _, key in ipairs(reference.keys()) do
      if key:match("^%w+:(.+)$") == method then
         if found then return nil end
         found = key
      end
   end
   return found
end

-- "c:read_pmds", "ctx.read_pmds": by the object if there is one, by its usual name, by the method alone.
local function method_key(path)
   local object, method = path:match("^(.-)[.:]([%a_][%w_]*)$")
   if not object then return nil end
   local class = reference.class(names.value(object)) or habits[object]
   local key = class and class .. ":" .. method
   if key and reference.entry(key) then return key end
   return names.value(object) == nil and only_class_with(method) or nil
end

--- The key of the description of what a path names.
-- @string path "lpfm.create", "c:write_pmds", "watch"
-- @return string or nil
function reference.key(path)
   local plain = path:gsub("%s", "")
   if reference.entry(plain) then return plain end
   return method_key(plain)
end

local function find_in(place, value, prefix)
   for name, field in pairs(place) do
      if type(name) == "string" and rawequal(field, value) then return prefix .. name end
   end
end

-- The class and name of a method in hand.
local function key_of_method(value)
   for name, class in pairs(classes) do
      local meta = debug.getregistry()["lpfm." .. name]
      local index = meta and meta.__index
      local found = type(index) == "table" and find_in(index, value, class .. ":")
      if found then return found end
   end
end

--- The name under which a function can be found: of the prompt, of lpfm, of a class, of a module of the library.
-- @param value
-- @return string or nil
function reference.name_of(value)
   local name = globals.name_of(value)
   if name then return name end
   if type(value) ~= "function" and type(value) ~= "table" then return nil end
   name = find_in(require "lpfm", value, "lpfm.") or key_of_method(value)
   if name then return name end
   for module, content in pairs(package.loaded) do
      if module:find("^l?pfm%.") and type(content) == "table" then
         if content == value then return module end
         name = find_in(content, value, module .. ".")
         if name then return name end
      end
   end
end

return reference
