-- SPDX-License-Identifier: MIT
--- Lists and tables: parts of them, joined ones, their keys, what sorts them, and searches in them.
-- @module pfm.util.tables

local tables = {}

--- Copies a part of a list of any length: `unpack` takes no more than the interpreter's C stack
-- holds, some 8,000 values.
-- @tparam table list
-- @int[opt=1] from
-- @int[opt=#list] to
-- @treturn table
-- @usage tables.slice({ "a", "b", "c" }, 2) --> { "b", "c" }
function tables.slice(list, from, to)
   local out = {}
   for i = from or 1, to or #list do out[#out + 1] = list[i] end
   return out
end

--- Joins lists.
-- @tparam table ... lists
-- @treturn table
-- @usage tables.join({ "command" }, { "events" }) --> { "command", "events" }
function tables.join(...)
   local out = {}
   for _, list in ipairs { ... } do tables.append(out, list) end
   return out
end

--- Adds the elements of a list to another one.
-- @tparam table list
-- @tparam table more
-- @treturn table list
-- @usage tables.append({ "a" }, { "b" }) --> { "a", "b" }
function tables.append(list, more)
   for _, element in ipairs(more) do list[#list + 1] = element end
   return list
end

--- Makes a list of what each element gives.
-- @tparam table list
-- @tparam function|string of gets an element; or the name of a field
-- @treturn table
-- @usage tables.map({ { n = 1 }, { n = 2 } }, "n") --> { 1, 2 }
function tables.map(list, of)
   local out, field = {}, type(of) == "string"
   for i, element in ipairs(list) do
      if field then out[i] = element[of] else out[i] = of(element) end
   end
   return out
end

--- Makes a list of the elements that pass a test.
-- @tparam table list
-- @func is
-- @treturn table
-- @usage #tables.filter({ 1, "a", 2 }, tonumber) --> 2
function tables.filter(list, is)
   local out = {}
   for _, element in ipairs(list) do
      if is(element) then out[#out + 1] = element end
   end
   return out
end

--- Copies the fields of a table; the values are the same.
-- @tparam table t
-- @treturn table
-- @usage tables.copy({ a = 1 }).a --> 1
function tables.copy(t)
   local out = {}
   for key, value in pairs(t) do out[key] = value end
   return out
end

--- Makes a set of the elements of a list: a table that has true at each of them.
-- @tparam table list
-- @treturn table the values are true
-- @usage tables.set({ "a", "b" }).b --> true
function tables.set(list)
   local out = {}
   for _, element in ipairs(list) do out[element] = true end
   return out
end

--- Puts a new element into a table and at the end of a list.
-- @tparam table t
-- @param key
-- @param element
-- @tparam[opt] table list
-- @return element
-- @usage local t, list = {}, {}
-- print((t.a or tables.enter(t, "a", { n = 0 }, list)).n) --> 0
function tables.enter(t, key, element, list)
   t[key] = element
   if list then list[#list + 1] = element end
   return element
end

--- Lists the keys of a table in their order.
-- @tparam table t with keys that can be compared
-- @treturn table
-- @usage print(table.concat(tables.keys { b = 1, a = 2 }, " ")) --> a b
function tables.keys(t)
   local out = {}
   for key in pairs(t) do out[#out + 1] = key end
   table.sort(out)
   return out
end

--- Finds the first element that is a value, or has it in a field.
-- @tparam table list
-- @param value
-- @param[opt] field its name or number
-- @treturn ?int position; nil: there is none
-- @return the element
-- @usage tables.find({ "a", "b" }, "b") --> 2
function tables.find(list, value, field)
   for i, element in ipairs(list) do
      if element == value or field and element[field] == value then return i, element end
   end
end

--- Finds the last element which has a field of at most a value; returns its position.
-- @tparam table list of tables, sorted by the field
-- @param field its name or number
-- @number value
-- @treturn number 0: there is none
-- @usage tables.last_before({ { at = 1 }, { at = 5 } }, "at", 4) --> 1
function tables.last_before(list, field, value)
   local low, high = 0, #list
   while low < high do
      local mid = math.ceil((low + high) / 2)
      if list[mid][field] <= value then low = mid else high = mid - 1 end
   end
   return low
end

--- Returns a comparison for `table.sort`: by a field; if elements have the same there, by the next
-- field.
-- @param first its name or number
-- @param[opt] second
-- @param[opt] third
-- @treturn function
-- @usage table.sort({ { at = 5 }, { at = 1 } }, tables.by "at")
function tables.by(first, second, third)
   return function(a, b)
      if a[first] ~= b[first] or not second then return a[first] < b[first] end
      if a[second] ~= b[second] or not third then return a[second] < b[second] end
      return a[third] < b[third]
   end
end

return tables
