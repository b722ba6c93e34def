-- SPDX-License-Identifier: MIT
--- Finds the description of a name or a value: an LDoc comment in the sources, as `pfm.doc` has it,
-- or a page of `repl.prompt.topics`.
-- @module repl.prompt.reference

local commands = require "repl.command.rows"
local doc = require "pfm.doc"
local namespace = require "repl.prompt.namespace"
local globals = require "repl.prompt.globals"
local topics = require "repl.prompt.topics"
local tables = require "pfm.util.tables"

local reference = {}

-- --- the texts -----------------------------------------------------------------------------------

--- Returns a page of help.
-- @string name
-- @return string or nil
function reference.topic(name)
   return topics.pages[name]
end

--- Lists the names of the pages, sorted.
-- @treturn table
function reference.topics()
   return tables.keys(topics.pages)
end

local function by_name(list)
   local out = {}
   for _, field in ipairs(list or {}) do
      local default = field.default and " (" .. field.default .. ")" or ""
      out[field.name] = out[field.name] or field.text:gsub("`", "") .. default
   end
   return next(out) and out or nil
end

local function topic_of(key)
   if topics.pages[key] then return key end
   return topics.about[key] or topics.about[key:match("^%w+:")]
end

local function new_entry(key, item)
   local fields, entries = doc.fields(item)
   return { usage = doc.signature(item), text = item.summary, fields = by_name(fields), entries = by_name(entries),
      returns = by_name(item.results), topic = topic_of(key) }
end

-- Returns the description of a command that has no LDoc comment, from the summary in its row.
local function item_of_command(row)
   return { name = row.name, kind = "function", args = "(" .. table.concat(row.call, ", ") .. ")", params = {},
      returns = {}, summary = row.summary:gsub("^%l", string.upper) .. "." }
end

local items -- all described items, by key

-- Returns all described items: public functions of modules, and what the prompt provides.
local function all_items()
   if items then return items end
   items = {}
   local ok, list = pcall(doc.all)
   for _, item in ipairs(ok and list or {}) do
      local key = item.prompt or not item.private and item.name
      if key and not items[key] then items[key] = item end
   end
   for _, row in ipairs(commands.rows) do
      if row.call and not items[row.name] then items[row.name] = item_of_command(row) end
   end
   return items
end

local entries = {}

--- Returns the description of a call.
-- @string key as of `reference.key`
-- @treturn table `usage`, `text`, perhaps `fields`, `entries`, `returns` (texts by name) and
-- `topic`; or nil
function reference.entry(key)
   local item = all_items()[key]
   if item and not entries[key] then entries[key] = new_entry(key, item) end
   return entries[key]
end

--- Lists the names of all calls that are described.
-- @treturn table sorted
function reference.keys()
   return tables.keys(all_items())
end

-- --- classes -------------------------------------------------------------------------------------

-- Names that users often give to objects, with the classes these have. The class of an actual
-- object takes precedence.
local habits = { c = "context", ctx = "context", context = "context", b = "buffer", buf = "buffer", buffer = "buffer",
   m = "machine", machine = "machine", j = "job", job = "job", v = "vector", vector = "vector" }

local classes = { context = "context", buffer = "buffer", pmds = "vector", pmcs = "vector", u64 = "u64" }

--- Returns the class of an object: context, buffer, vector, u64, machine (a simulated one), job.
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

--- Lists the methods of a class that have descriptions.
-- @string class
-- @treturn table of keys, sorted
function reference.methods(class)
   return tables.filter(reference.keys(), function(key) return key:match("^(%w+):") == class end)
end

-- --- keys ----------------------------------------------------------------------------------------

-- Returns the key of the method with this name, or nil if no class or more than one has such a
-- method.
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

-- Returns the key of a method such as "c:read_pmds" or "ctx.read_pmds", or nil if it is not known:
-- by the class of the object, by the usual name of such objects, or by the name of the method
-- alone.
local function method_key(path)
   local object, method = path:match("^(.-)[.:]([%a_][%w_]*)$")
   if not object then return nil end
   local class = reference.class(namespace.value(object)) or habits[object]
   local key = class and class .. ":" .. method
   if key and reference.entry(key) then return key end
   return namespace.value(object) == nil and only_class_with(method) or nil
end

--- Returns the key of the description of a path.
-- @string path "lpfm.create", "c:write_pmds", "watch"
-- @return string or nil
function reference.key(path)
   local plain = path:gsub("%s", "")
   if reference.entry(plain) then return plain end
   return method_key(plain)
end

--- Returns a function's name in the prompt, in lpfm, in a class, or in a module of the library.
-- @param value
-- @return string or nil
function reference.name_of(value)
   local name = globals.name_of(value)
   if name then return name end
   if type(value) ~= "function" and type(value) ~= "table" then return nil end
   return doc.name_of(value)
end

return reference
