-- SPDX-License-Identifier: MIT
--- Reads LDoc comments, of the C module's functions and of the library's.
local ldoc = {}
local Blocks = {}
Blocks.__index = Blocks

local read = require("support.files").read

-- Returns the files of a directory and of those below it that have this ending, sorted.
local function files(dir, ending)
   local list, find = {}, io.popen(("find %s -name '*%s' | sort"):format(dir, ending))
   for path in find:lines() do list[#list + 1] = path end
   find:close()
   return list
end

--- Returns the comments in the C files of a directory, by the function or table that they describe.
function ldoc.read(dir)
   local blocks = setmetatable({}, Blocks)
   for _, path in ipairs(files(dir, ".c")) do
      for text in read(path):gmatch("/%*%*%*\n(.-)%*/") do
         local name = text:match("@function ([%w_.:]+)") or text:match("@table ([%w_.]+)")
         if name then
            blocks[name] = text
         end
      end
   end
   return blocks
end

--- Returns the comment of a function, which is named with or without "lpfm.".
function Blocks:block(name)
   return rawget(self, name) or rawget(self, "lpfm." .. name)
end

--- Returns true if the comment of one of these functions has the word.
function Blocks:mentions(names, word)
   for _, name in ipairs(names) do
      if (" " .. (self:block(name) or "") .. " "):find("%f[%w_]" .. word .. "%f[^%w_]") then
         return true
      end
   end
   return false
end

-- Returns the table of methods: __index or its first upvalue. PUC Lua shows no upvalues of C
-- functions: then {}.
local function methods_of(object)
   local index = debug.getmetatable(object).__index
   if type(index) == "table" then
      return index
   end
   local _, value = debug.getupvalue(index, 1)
   return value or {}
end

--- Returns the names of a table's functions, or of the methods of an object of the C module.
function ldoc.functions_of(object)
   local found = {}
   local function add(fields)
      for name, value in pairs(fields) do
         if type(value) == "function" and type(name) == "string" and not name:find("^_") then
            found[#found + 1] = name
         end
      end
   end
   if type(object) == "table" then
      add(object)
      local meta = getmetatable(object)
      if meta and type(meta.__index) == "table" then
         add(meta.__index)
      end
   else
      add(methods_of(object))
   end
   table.sort(found)
   return found
end

-- Returns the names of tables with public functions: the one that the file returns, and classes
-- (@type).
local function public_tables(text)
   local public = { [text:match("\nreturn ([%w_]+)%s*$") or ""] = true }
   for class in text:gmatch("\n%-%- @type [%w_]+\nlocal ([%w_]+)") do
      public[class] = true
   end
   return public
end

--- Returns "FILE: NAME" for each public function in a directory's Lua files without a comment
-- "---".
function ldoc.undocumented(dir)
   local found = {}
   for _, path in ipairs(files(dir, ".lua")) do
      local text, commented = read(path), false
      local public = public_tables(text)
      for line in text:gmatch("[^\n]*") do
         local name = line:match("^function ([%w_]+[.:][%w_.:]+)")
         if name and public[name:match("^[%w_]+")] and not commented then
            found[#found + 1] = path:match("[^/]*$") .. ": " .. name
         end
         if line:find("^%-%-%-") then
            commented = true
         elseif line ~= "" and not line:find("^%-%-") then
            commented = false
         end
      end
   end
   return found
end

return ldoc
