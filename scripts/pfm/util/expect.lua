-- SPDX-License-Identifier: MIT
--- Checks of arguments and fields: an error names the wrong one, before it causes a wrong number or
-- an error from inside the library.
-- @module pfm.util.expect

local nearest = require "pfm.util.nearest"

local expect = {}

--- Raises an error without a position: the message is complete, and needs no line of the library.
-- @string message a format of `string.format`
-- @param ... its arguments
function expect.fail(message, ...)
   error(message:format(...), 0)
end

local fail = expect.fail

local failed = { __tostring = function(err) return err.message end }

--- Raises an error with the exit status that a program which does not handle it ends with.
-- @number[opt=1] status
-- @string message
function expect.fail_with_status(status, message)
   error(setmetatable({ message = message, status = status }, failed), 0)
end

--- Returns the value of a call, or raises the message that the call gives where it has none.
-- @param value
-- @string[opt] err
-- @return value
-- @usage expect.value(io.open "/dev/null"):close()
function expect.value(value, err)
   if not value then error(err, 0) end
   return value
end

--- Returns a value as messages show it.
-- @param value
-- @treturn string
-- @usage expect.shown "7" --> "'7'"
function expect.shown(value)
   if type(value) == "number" then return value == value and tostring(value) or "nan" end
   local text = value == nil and "nil" or "a " .. type(value)
   if type(value) ~= "string" then return text end
   if #value <= 40 then text = "'" .. value:gsub("%c", "?") .. "'" end
   return value:find("%z") and text .. " with a zero byte" or text
end

local shown = expect.shown

-- Returns the number that a value is: texts of digits and 64-bit integers are numbers, too.
local function number_of(value)
   if type(value) == "number" or type(value) == "table" then return tonumber(value) end
   return tonumber((tostring(value):gsub("U?LL$", "")))
end

--- Raises an error where a value is there and is no number, or is below a bound. Infinity is a
-- number.
-- @string what the argument's or field's name
-- @param value a number, a text of digits or an `lpfm.u64`; nil and false: there is none
-- @number[opt=0] low
-- @return the number, or the value where there is none
-- @usage pcall(expect.number, "seconds", 0 / 0) -- seconds: expected a number of 0 or more, got nan
function expect.number(what, value, low)
   local n = value and number_of(value)
   low = low or 0
   if value and not (n and n >= low) then
      fail("%s: expected a number of %s or more, got %s", what, low, shown(value))
   end
   return n
end

--- Raises an error where a value is there and is no whole number within bounds.
-- @string what the argument's or field's name
-- @param value as for `expect.number`
-- @int[opt=1] low
-- @int[opt=2^53] high beyond 2^53 a number of Lua does not hold every whole number
-- @return the number, or the value where there is none
-- @usage pcall(expect.whole, "period", -1) -- period: expected a whole number from 1 to 2^53, got -1
function expect.whole(what, value, low, high)
   local n = value and number_of(value)
   low, high = low or 1, high or 2 ^ 53
   if value and not (n and n >= low and n <= high and n % 1 == 0) then
      fail("%s: expected a whole number from %d to %s, got %s", what, low,
         high == 2 ^ 53 and "2^53" or ("%.0f"):format(high), shown(value))
   end
   return n
end

--- Tells whether a value can be called.
-- @param value
-- @treturn boolean
-- @usage expect.callable(print) --> true
function expect.callable(value)
   local own = type(value) == "table" and getmetatable(value)
   return type(value) == "function" or own and own.__call ~= nil or false
end

local read

--- Raises an error where a value is of another type.
-- @string what the argument's or field's name
-- @param value
-- @string kind a type as in `expect.signatures`
-- @return the value
-- @usage pcall(expect.kind, "count.run", 5, "table") -- count.run: expected a table, got 5
function expect.kind(what, value, kind)
   local test, words = read(kind)
   if not test(value) then fail("%s: expected a %s, got %s", what, words, shown(value)) end
   return value
end

--- Raises an error where a value is no table, or the table has an unknown name, which would be
-- ignored silently; the message has the nearest known one.
-- @string call name of the function that takes the table
-- @tparam ?table t nil: all that is in it is left out
-- @tparam {string,...} known
-- @string[opt="field"] what such a name is
-- @usage pcall(expect.fields, "count.run", { commnd = {} }, { "command" }) -- ... did you mean 'command'?
function expect.fields(call, t, known, what)
   if t then expect.kind(call, t, "table") end
   local set = {}
   for _, name in ipairs(known) do set[name] = true end
   for name in pairs(t or {}) do
      if not set[name] then
         fail("%s: unknown %s '%s'%s", call, what or "field", tostring(name), nearest.hint(tostring(name), known))
      end
   end
end

--- Loads a module of another package, or names the Debian package to install.
-- @string module
-- @string package the Debian package that has it
-- @return what `require` returns
-- @raise why the module cannot be loaded; if no file can be opened at all, that reason
-- @usage expect.module("cjson", "lua-cjson")
function expect.module(module, package)
   local ok, found = pcall(require, module)
   if ok then return found end
   if not found:find(("module '%s' not found"):format(module), 1, true) then error(found, 0) end
   local file, why = io.open("/dev/null")
   if not file then fail("the Lua module %s cannot be loaded: %s", module, why:match(": (.*)")) end
   file:close()
   fail("the Lua module %s is missing (Debian: apt install %s)", module, package)
end

-- --- signatures ----------------------------------------------------------------------------------

local function has(value, name)
   return value[name] ~= nil
end

-- Returns a test for a table, or what can be indexed as one, that has all of the fields.
local function fields_test(names)
   local list, words = {}, {}
   for name in names:gmatch("[%w_]+") do
      list[#list + 1] = tonumber(name) or name
      words[#words + 1] = tonumber(name) and "an element " .. name or "'" .. name .. "'"
   end
   return function(value)
      for _, name in ipairs(list) do
         local ok, there = pcall(has, value, name)
         if type(value) == "string" or not ok or not there then return false end
      end
      return true
   end, "table with " .. table.concat(words, " and ")
end

local function is_whole(value)
   return type(value) == "number" and math.abs(value) <= 2 ^ 53 and value % 1 == 0
end

-- A path is cut at a zero byte by io.open().
local function is_path(value)
   return type(value) == "string" and not value:find("%z")
end

local MOST = 2 ^ 20 -- a loop of so many turns ends soon, and what they make fits into memory

local function is_count(value)
   return is_whole(value) and value >= 0 and value <= MOST
end

-- Returns true for a number of columns; math.huge: there is room for any text.
local function is_width(value)
   return is_whole(value) or value == math.huge
end

local tests = { ["function"] = expect.callable, any = function() return true end, path = is_path,
   count = is_count, width = is_width }
local words_of = { path = "string", count = ("whole number from 0 to %d"):format(MOST),
   width = "whole number or math.huge" }

-- Returns a test for a value of one of some types, as "string|table".
local function kind_test(kinds)
   local list, words = {}, {}
   for kind in kinds:gmatch("%w+") do
      words[#words + 1] = words_of[kind] or kind
      list[#list + 1] = tests[kind] or function(value) return type(value) == kind end
   end
   if #list == 1 and kinds ~= "any" then return list[1], words[1] end
   return function(value)
      for _, test in ipairs(list) do
         if value ~= nil and test(value) then return true end
      end
      return false
   end, table.concat(words, " or ")
end

-- Returns a test for a list: each element must pass the test of `kind`. An empty list passes, too,
-- unless `one` is true.
local function list_test(kind, one)
   local test, words = read(kind)
   if kind == "path" then words = "string without zero bytes" end -- the message does not show the element
   return function(value)
      if type(value) ~= "table" or (one and value[1] == nil) then return false end
      for _, element in ipairs(value) do
         if not test(element) then return false end
      end
      return true
   end, ("list%s, each a %s"):format(one and " of one or more" or "", words)
end

-- Returns a test for a table: each value must pass the test of `kind`. The keys are not tested.
local function values_test(kind)
   local test, words = read(kind)
   return function(value)
      if type(value) ~= "table" then return false end
      for _, element in pairs(value) do
         if not test(element) then return false end
      end
      return true
   end, ("table of values, each a %s"):format(words)
end

-- Returns the test for a type of a signature, and its words.
function read(kind)
   local of, plus = kind:match("^%[(.*)%](%+?)$")
   if of then return list_test(of, plus == "+") end
   of = kind:match("^<(.*)>$")
   if of then return values_test(of) end
   local names = kind:match("^{(.*)}$")
   return (names and fields_test or kind_test)(names or kind)
end

local function check_one(call, its, value)
   if its and not (its.optional and not value) and not its.test(value) then
      fail("%s: %s: expected a %s, got %s", call, its.name, its.words, shown(value))
   end
end

local ARGUMENTS = 6 -- most arguments of a signature; LuaJIT compiles no select(i, ...)

local function check(call, checks, a, b, c, d, e, f)
   check_one(call, checks[1], a)
   check_one(call, checks[2], b)
   check_one(call, checks[3], c)
   check_one(call, checks[4], d)
   check_one(call, checks[5], e)
   check_one(call, checks[6], f)
end

-- Returns the checks of the arguments that a text of a signature describes.
local function read_signature(text)
   local checks = {}
   for argument, kind, optional in text:gmatch("([%w_]+): ([^;?]+)(%??)") do
      local test, words = read(kind)
      checks[#checks + 1] = { name = argument, test = test, words = words, optional = optional == "?" }
   end
   assert(#checks <= ARGUMENTS, text)
   return checks
end

--- Makes functions of a module check their arguments: an error names the wrong one, and comes
-- before anything is done.
-- @string name the module's
-- @tparam table module
-- @tparam {[string]=string,...} list for each function its first arguments and their types:
-- "of: number; at: string?" (nil or false may stand for a type with "?"); "a: string|table"; "a:
-- path", a string without zero bytes; "a: count", a whole number that is small enough for a loop;
-- "a: width", a whole number of columns, or math.huge; "a: {x,y}", what has these fields;
-- "a: [number]", a list, and "a: [number]+", one that is not empty; "a: <number>", a table of
-- numbers by any keys
-- @usage
-- local m = { half = function(n) return n / 2 end }
-- expect.signatures("m", m, { half = "n: number" })
-- print(pcall(m.half, "x")) --> false, "m.half: n: expected a number, got 'x'"
function expect.signatures(name, module, list)
   for key, text in pairs(list) do
      local fn, call, checks = module[key], name .. "." .. key, read_signature(text)
      module[key] = function(...)
         check(call, checks, ...)
         return fn(...)
      end
   end
end

--- Returns the message for a method that is called with another value than an object of its class.
-- @param value
-- @string name the class's
-- @string key the method's
-- @treturn string
-- @usage print(expect.misuse(5, "map", "func")) --> "func: map expected, got number: a method ..."
function expect.misuse(value, name, key)
   return ("%s: %s expected, got %s: a method is called with a colon, as in %s:%s(...)"):format(key, name,
      type(value), name, key)
end

--- Makes methods of a class check that they are called on an object of it, and their arguments.
-- @string name the class's
-- @tparam table class the metatable of the objects
-- @tparam {[string]=string,...} list for each method what follows the object, as for
-- `expect.signatures`
-- @usage
-- local m = {}
-- m.__index = m
-- function m:half() return self[1] / 2 end
-- expect.methods("m", m, { half = "" })
-- print(pcall(m.half)) --> false, "half: m expected, got nil: a method is called with a colon, as in m:half(...)"
function expect.methods(name, class, list)
   local methods = class.__index
   for key, text in pairs(list) do
      local fn, call, checks = methods[key], name .. ":" .. key, read_signature(text)
      methods[key] = function(self, ...)
         if getmetatable(self) ~= class then error(expect.misuse(self, name, key), 0) end
         check(call, checks, ...)
         return fn(self, ...)
      end
   end
end

return expect
