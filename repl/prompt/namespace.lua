-- SPDX-License-Identifier: MIT
--- Names at the prompt: resolves paths, and lists the names that can follow them.
-- @module repl.prompt.namespace

local parts = require "repl.parts"
local tokens = require "repl.prompt.tokens"
local tables = require "pfm.util.tables"

local namespace = {}

local LEVELS = 8 -- the longest chain of __index that is followed

-- Returns the table of methods that an __index function has as an upvalue, as those of lpfm's C
-- classes do; nil if it has none.
local function methods_of(index)
   local i = 1
   while true do
      local name, value = debug.getupvalue(index, i)
      if name == nil or type(value) == "table" then return value end
      i = i + 1
   end
end

-- Returns the table in which __index of a value looks fields up. If the metatable names a `module`,
-- that is the module.
local function index_of(value)
   local meta = debug.getmetatable(value)
   if type(meta) ~= "table" then return nil end
   local index, module = rawget(meta, "__index"), rawget(meta, "module")
   if type(module) == "string" then return select(2, pcall(require, module)) end
   if type(index) ~= "function" then return index end
   -- A table that a Lua function has as an upvalue need not be one of methods.
   return debug.getinfo(index, "S").what == "C" and methods_of(index) or nil
end

-- Returns the tables in which Lua looks fields of a value up, in their order.
local function places(value)
   local out = {}
   for _ = 1, LEVELS do
      if type(value) == "table" then out[#out + 1] = value end
      local index = index_of(value)
      if type(index) ~= "table" then break end
      value = index
   end
   return out
end

--- Returns a field of a value, without calling anything.
-- @param value
-- @param key
-- @return the field, or nil
function namespace.field(value, key)
   for _, place in ipairs(places(value)) do
      local found = rawget(place, key)
      if found ~= nil then return found end
   end
end

--- Lists the names in a directory.
-- @string dir
-- @treturn table nil if it is not a directory
function namespace.entries(dir)
   local ok, dirent = pcall(require, "posix.dirent")
   local found, list = pcall(ok and dirent.dir or error, dir)
   return found and list or nil
end

local modules, places_of

local function add_modules(dir, prefix)
   for _, file in ipairs(namespace.entries(dir) or {}) do
      local name = file:match("^([%w_]+)%.lua$")
      if name and name ~= "manual" and name ~= "former" and not places_of[name] then
         modules[#modules + 1], places_of[name] = name, prefix .. name
      end
   end
end

--- Returns the last names of the library's modules: "count" of "pfm.count".
-- @treturn table sorted
function namespace.modules()
   if modules then return modules end
   modules, places_of = {}, {}
   for dir in package.path:gmatch("([^;]*)%?%.lua") do
      add_modules(dir .. "pfm", "pfm.")
      for _, part in ipairs(parts.rows) do add_modules(dir .. "pfm/" .. part.name, ("pfm.%s."):format(part.name)) end
   end
   table.sort(modules)
   return modules
end

--- The C modules other than lpfm, without "lpfm.".
namespace.c_modules = { "chunks", "perfdata", "proc", "regions", "samples", "symbols" }

local former = { blocks = "lpfm.samples", bucket = "pfm.bucket", launcher = "pfm.launcher", where = "pfm.where" }

--- Finds the module that a global name of the prompt stands for: pfm.NAME, pfm.PART.NAME, or else
-- lpfm.NAME.
-- @string name
-- @treturn string as for require, or nil
function namespace.module(name)
   namespace.modules()
   if places_of[name] then return places_of[name] end
   return tables.find(namespace.c_modules, name) and "lpfm." .. name or former[name]
end

-- Returns true if a value loads the library's modules as fields on demand.
local function has_modules(value)
   local meta = type(value) == "table" and getmetatable(value)
   return type(meta) == "table" and rawget(meta, "modules") == true
end

-- Loads a library module that a path names for the first time.
local function lazily(value, key)
   if not has_modules(value) or not namespace.module(key) then return nil end
   local ok, found = pcall(function() return value[key] end)
   return ok and found or nil
end

-- Splits a path into its keys: name, .name, :name, [1], ["name"]; nil for anything else.
local function keys_of(path)
   local keys, list = {}, tokens.code(path)
   local i = 1
   while list[i] do
      local token, after = list[i], list[i + 2]
      if token.kind == "name" and i == 1 then
         keys[1], i = token.text, 2
      elseif (token.text == "." or token.text == ":") and list[i + 1] and list[i + 1].kind == "name" then
         keys[#keys + 1], i = list[i + 1].text, i + 2
      elseif token.text == "[" and after and after.text == "]" and list[i + 1].kind ~= "name" then
         local literal = loadstring("return " .. list[i + 1].text)
         if not literal then return nil end
         keys[#keys + 1], i = literal(), i + 3
      else
         return nil
      end
   end
   return keys
end

--- Resolves a path at the prompt: `lpfm.machine`, `t[1].x`, `ctx:read_pmds`. It calls no functions.
-- @string path
-- @return the value, or nil
function namespace.value(path)
   local value = _G
   local keys = keys_of(path)
   if not keys or #keys == 0 then return nil end
   for _, key in ipairs(keys) do
      local found = namespace.field(value, key)
      if found == nil then found = lazily(value, key) end
      if found == nil then return nil end
      value = found
   end
   return value
end

--- Returns the names of a value's fields.
-- @param value
-- @tparam[opt] boolean keywords include Lua's keywords
-- @tparam[opt] boolean callable include functions only
-- @treturn table sorted
function namespace.of(value, keywords, callable)
   local out, seen = {}, {}
   local function add(key, field)
      local fits = not callable or type(field) == "function"
      if fits and type(key) == "string" and key:find("^[%a_][%w_]*$") and not seen[key] then
         seen[key] = true
         out[#out + 1] = key
      end
   end
   for _, place in ipairs(places(value)) do
      for key, field in pairs(place) do add(key, field) end
   end
   if has_modules(value) then
      for _, module in ipairs(namespace.modules()) do add(module, add) end
      for _, module in ipairs(value == _G and namespace.c_modules or {}) do add(module, add) end
   end
   for word in pairs(keywords and tokens.keywords() or {}) do add(word, add) end
   table.sort(out)
   return out
end

--- Finds global variables that hold values of a kind.
-- @tparam function is whether a value is of that kind
-- @treturn table of `{name=, value=}`, by name; it includes elements of global lists, as "list[1]"
function namespace.globals(is)
   local out = {}
   for key, value in pairs(_G) do
      if type(key) == "string" and is(value) then out[#out + 1] = { name = key, value = value } end
      if type(key) == "string" and type(value) == "table" and value ~= _G and not getmetatable(value) then
         for i, element in ipairs(value) do
            if is(element) then out[#out + 1] = { name = ("%s[%d]"):format(key, i), value = element } end
         end
      end
   end
   table.sort(out, function(a, b) return a.name < b.name end)
   return out
end

return namespace
