-- SPDX-License-Identifier: MIT
--- Completion at the prompt: names, fields, methods; inside strings events, registers, files.
-- @module pfm.complete

local complete = {}

local keywords = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
   "nil", "not", "or", "repeat", "return", "then", "true", "until", "while" }

local function starts(text, prefix)
   return text:sub(1, #prefix) == prefix
end

local function add(out, seen, name, prefix)
   if type(name) == "string" and starts(name, prefix) and not seen[name] then
      seen[name] = true
      out[#out + 1] = name
   end
end

-- --- fields --------------------------------------------------------------------------------------

-- Tables in which a field of the value would be found.
local function places(value)
   local out, guard = {}, 0
   while value ~= nil and guard < 8 do
      guard = guard + 1
      if type(value) == "table" then out[#out + 1] = value end
      local meta = debug.getmetatable(value)
      value = type(meta) == "table" and rawget(meta, "__index") or nil
      if type(value) ~= "table" then break end
   end
   return out
end

local function lookup(value, name)
   for _, place in ipairs(places(value)) do
      local found = rawget(place, name)
      if found ~= nil then return found end
   end
end

local function walk(path)
   local value = _G
   for name in path:gmatch("[%w_]+") do
      value = lookup(value, name)
      if value == nil then return nil end
   end
   return value
end

local function names_of(value, prefix, only_functions)
   local out, seen = {}, {}
   for _, place in ipairs(places(value)) do
      for k, v in pairs(place) do
         if not only_functions or type(v) == "function" then add(out, seen, k, prefix) end
      end
   end
   return out
end

local function globals(word)
   local out = names_of(_G, word)
   for _, k in ipairs(keywords) do
      if starts(k, word) then out[#out + 1] = k end
   end
   return out
end

local function in_code(word)
   local path, sep, last = word:match("^([%w_.]-)([.:])([%w_]*)$")
   if not path then return word:find("^[%w_]*$") and globals(word) or {} end
   local value = walk(path)
   if value == nil then return {} end
   local out = names_of(value, last, sep == ":")
   for i, name in ipairs(out) do out[i] = path .. sep .. name end
   return out
end

-- --- strings -------------------------------------------------------------------------------------

local text_names

local function names_in_texts()
   if text_names then return text_names end
   local out = require("pfm.events").names()
   local lpfm = require "lpfm"
   for _, name in ipairs(lpfm.events() or {}) do out[#out + 1] = name end
   for _, get in ipairs { lpfm.pmcs, lpfm.pmds } do
      for _, reg in ipairs(get() or {}) do out[#out + 1] = reg.name end
   end
   for _, f in ipairs(lpfm.formats() or {}) do out[#out + 1] = f.name end
   text_names = out
   return out
end

local function modules(word)
   local out, seen = {}, {}
   for name in pairs(package.loaded) do
      if starts(name, "pfm.") or starts(name, "lpfm") then add(out, seen, name, word) end
   end
   for _, name in ipairs { "count", "profile", "events", "session", "symbols", "format", "follow", "report" } do
      add(out, seen, "pfm." .. name, word)
   end
   return out
end

local function files(word)
   local ok, dirent = pcall(require, "posix.dirent")
   if not ok then return {} end
   local dir, last = word:match("^(.*/)([^/]*)$")
   dir, last = dir or "", last or word
   local found, entries = pcall(dirent.dir, dir == "" and "." or dir)
   local out, seen = {}, {}
   for _, name in ipairs(found and entries or {}) do
      if name ~= "." and name ~= ".." and starts(name, last) then add(out, seen, dir .. name, "") end
   end
   return out
end

local function in_text(word, before)
   if before:find("require%s*%(?%s*[\"']$") then return modules(word) end
   local out, seen = {}, {}
   for _, name in ipairs(names_in_texts()) do add(out, seen, name, word) end
   if #out == 0 or word:find("/") then out = files(word) end
   return out
end

--- Words that complete one.
-- @string word
-- @string before the line up to the word
-- @string quote the open quote, or ""
-- @treturn table sorted
function complete.words(word, before, quote)
   local out = quote ~= "" and in_text(word, before) or in_code(word)
   table.sort(out)
   return out
end

return complete
