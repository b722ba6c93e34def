-- SPDX-License-Identifier: MIT
--- The reference, looked up: what lpfm.help says of functions, methods, objects and modules.
-- The texts are the comments in the sources, gathered when the project is built (pfm.manual).
-- @module pfm.doc

local nearest = require "pfm.util.nearest"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

local doc = {}

local WIDTH = 100

-- Short names that the objects of a class are looked up by, too.
local aliases = { ctx = "context", c = "context", buf = "buffer", b = "buffer", s = "sample", m = "machine",
   v = "vector" }

-- --- the index -----------------------------------------------------------------------------------

local index

local function canonical(name)
   name = name:lower():gsub("%(.*", ""):gsub(":", ".")
   local first, rest = name:match("^(%w+)(%..+)$")
   return first and aliases[first] and aliases[first] .. rest or aliases[name] or name
end

local function add_key(keys, key, entry)
   keys[key] = keys[key] or {}
   for _, known in ipairs(keys[key]) do
      if known == entry then return end
   end
   table.insert(keys[key], entry)
end

-- Adds "context:read_pmds" under "context.read_pmds" and "read_pmds"; a private name only in full.
local function add_entry(keys, entry)
   local name = canonical(entry.name)
   add_key(keys, name, entry)
   if entry.prompt then add_key(keys, canonical(entry.prompt), entry) end
   while not entry.private and name:find("%.") do
      name = name:gsub("^[^.]*%.", "")
      add_key(keys, name, entry)
   end
end

-- Returns false for a public module of a part of lpfm that is not installed. Only parts have public
-- modules with a second dot in their names: pfm.PART.NAME.
local function is_there(module)
   if module.private or not module.name:find("^pfm%.[%w_]+%.") then return true end
   local path = module.name:gsub("%.", "/")
   for template in package.path:gmatch("[^;]+") do
      local file = io.open((template:gsub("%?", path)))
      if file then
         file:close()
         return true
      end
   end
   return false
end

local function build_index()
   local ok, modules = pcall(require, "pfm.manual")
   if not ok then error("the reference was not built: 'make' in the source tree makes pfm/manual.lua", 0) end
   local found = { modules = {}, items = {}, keys = {} }
   for _, module in ipairs(modules) do
      local there = is_there(module)
      found.modules[canonical(module.name)] = there and module or nil
      for _, item in ipairs(there and module.items or {}) do
         item.private = module.private
         found.items[#found.items + 1] = item
         add_entry(found.keys, item)
      end
   end
   return found
end

local function get_index()
   index = index or build_index()
   return index
end

-- --- fields of tables ----------------------------------------------------------------------------

local add_inherited

local function add_fields(out, p)
   for _, field in ipairs(p.fields or {}) do out[#out + 1] = field end
   add_inherited(out, p)
end

function add_inherited(out, p)
   for _, like in ipairs(p.like and doc.entries(p.like) or {}) do
      for _, other in ipairs(like.params) do add_fields(out, other) end
   end
end

-- --- formatting text -----------------------------------------------------------------------------

-- Adds a line's words, filling the last line as far as it goes; `out.hang` indents the lines after
-- the first.
local function fill(out, text, first, indent)
   for word in text:gmatch("%S+") do
      local last = out[#out]
      if last and not out.full and #last + 1 + #word <= out.width then
         out[#out] = last .. " " .. word
      else
         out[#out + 1] = (not last and first or out.full and indent or out.hang or indent) .. word
      end
      out.full = false
   end
end

-- Fills paragraphs; items of lists ("- ") hang under their text, and indented lines stay as they
-- are.
local function wrap(text, first, indent, width)
   local out = { full = false, width = width }
   for line in (text:gsub("@{([^}]*)}", "%1"):gsub("`", "") .. "\n"):gmatch("(.-)\n") do
      local bullet = line:find("^%- ")
      if line:find("^   +%S") then
         out[#out + 1] = indent .. line:gsub("^   ", "")
         out.full = true
      elseif line:find("%S") then
         out.full = out.full or bullet ~= nil
         if bullet then out.hang = indent .. "  " elseif out.full then out.hang = nil end
         fill(out, line, first, indent)
      else
         out.full, out.hang = true, nil
      end
   end
   return table.concat(out, "\n")
end

local function block(text)
   return "   " .. text:gsub("\n", "\n   ")
end

-- Returns the names of the fields that a parameter takes over from another function ("as for").
local function inherited(p)
   local fields, out = {}, {}
   add_inherited(fields, p)
   for i, field in ipairs(fields) do out[i] = field.name end
   return table.concat(out, ", ")
end

-- Adds lines such as "buf_size int: bytes of its buffer (65536)"; a table's fields are indented.
local function add_params(out, list, indent, width)
   local column = 10
   for _, p in ipairs(list) do column = math.max(column, #p.name) end
   for _, p in ipairs(list) do
      local what = p.type and p.text ~= "" and p.type .. ": " .. p.text or p.type or p.text
      if p.default then what = what .. " (" .. p.default .. ")" end
      local first = ("%s%-" .. column .. "s "):format(indent, p.name)
      out[#out + 1] = what == "" and first:gsub("%s+$", "") or wrap(what, first, (" "):rep(#first), width)
      local others = inherited(p)
      if others ~= "" then out[#out + 1] = wrap(others, indent .. "   ", indent .. "   ", width) end
      add_params(out, p.fields or {}, indent .. "   ", width)
   end
end

local function value_text(value)
   if not value.type or value.text == value.type then return value.text end
   return value.text == "" and value.type or value.type .. " " .. value.text
end

-- Returns the values of one outcome in their order: "nil, string message, int errno".
local function return_text(group, width)
   local values = tables.map(group, value_text)
   return wrap(table.concat(values, ", "), "   returns    ", (" "):rep(14), width)
end

local function full_text(summary, description)
   return description == "" and summary or summary .. "\n\n" .. description
end

local function add_outcomes(out, item, width)
   for _, group in ipairs(item.returns) do out[#out + 1] = return_text(group, width) end
   add_params(out, item.results or {}, "      ", width)
   if item.raises then out[#out + 1] = wrap(item.raises, "   raises     ", (" "):rep(14), width) end
end

local function item_text(item, width)
   local out = { doc.signature(item) }
   out[#out + 1] = wrap(full_text(item.summary, item.description), "   ", "   ", width)
   add_params(out, item.params, "   ", width)
   add_outcomes(out, item, width)
   for _, usage in ipairs(item.usages) do
      out[#out + 1] = "   example"
      out[#out + 1] = block(block(usage))
   end
   return table.concat(out, "\n")
end

local function list_of(items, width)
   local column, out = 0, {}
   for _, item in ipairs(items) do column = math.max(column, #item.name) end
   for i, item in ipairs(items) do
      out[i] = wrap(item.summary, ("   %-" .. column .. "s  "):format(item.name), (" "):rep(column + 5), width)
   end
   return table.concat(out, "\n")
end

-- Functions that do all of a module's work come first, in this order, then those for single steps.
local WHOLE = { "run", "call", "times", "collect", "open", "test", "by", "write" }

local function main_first(items)
   local out, rest, by_name = {}, {}, {}
   for _, item in ipairs(items) do by_name[item.name:match("[%w_]+$")] = item end
   for _, name in ipairs(WHOLE) do out[#out + 1] = by_name[name] end
   local is_first = tables.set(out)
   for _, item in ipairs(items) do rest[#rest + 1] = not is_first[item] and item or nil end
   return tables.append(out, rest)
end

local function module_text(module, width)
   local out = { module.name, wrap(full_text(module.summary, module.description), "   ", "   ", width) }
   for _, usage in ipairs(module.usages) do out[#out + 1] = block(block(usage)) end
   if #module.items > 0 then out[#out + 1] = "" end
   out[#out + 1] = list_of(main_first(module.items), width)
   return table.concat(out, "\n")
end

-- --- finding the name of a value -----------------------------------------------------------------

-- Returns the class that a key of the registry names: "context" for "lpfm.context".
local function class_named(key)
   local class = type(key) == "string" and key:match("^lpfm%.(.+)$")
   return (class == "pmds" or class == "pmcs") and "vector" or class
end

local function class_of(value)
   local meta = debug.getmetatable(value)
   for key, place in pairs(debug.getregistry()) do
      if place == meta and class_named(key) then return class_named(key) end
   end
end

-- Returns the shortest name of a value: a function of a private module may be a public one's, too.
local function member_of(places, value)
   local found
   local function take(name)
      if not found or #name < #found or #name == #found and name < found then found = name end
   end
   for name, place in pairs(places) do
      if type(place) == "table" then
         if place == value then take(name) end
         for key, member in pairs(place) do
            if member == value and type(key) == "string" then take(name .. "." .. key) end
         end
      end
   end
   return found
end

local function methods()
   local out = {}
   for key, place in pairs(debug.getregistry()) do
      local class = class_named(key)
      if class and type(place) == "table" then out[class] = rawget(place, "__index") or place end
   end
   return out
end

local function libraries()
   local out = {}
   for name, module in pairs(package.loaded) do
      if name == "lpfm" or name:find("^lpfm%.") or name:find("^pfm%.") then out[name] = module end
   end
   return out
end

--- Finds the name under which a function, an object or a module is documented.
-- @param value
-- @treturn string or nil
-- @usage
-- local doc, lpfm = require "pfm.doc", require "lpfm"
-- assert(doc.name_of(lpfm.create) == "lpfm.create")
function doc.name_of(value)
   if type(value) == "userdata" then return class_of(value) end
   return member_of(libraries(), value) or member_of(methods(), value)
end

-- --- looking up ----------------------------------------------------------------------------------

local function mentions(item, words)
   local text = (item.name .. " " .. item.summary):lower()
   for _, word in ipairs(words) do
      if not text:find(word, 1, true) then return false end
   end
   return true
end

local function search(text)
   local words, found = {}, {}
   for word in text:lower():gmatch("%S+") do words[#words + 1] = word end
   for _, item in ipairs(get_index().items) do
      if not item.private and #words > 0 and mentions(item, words) then found[#found + 1] = item end
   end
   return found
end

-- Lists the public modules of a kind: "module", or "classmod", the methods of objects.
local function public_modules(kind)
   local out = {}
   for _, module in pairs(get_index().modules) do
      if not module.private and module.kind == (kind or module.kind) then out[#out + 1] = module end
   end
   table.sort(out, function(a, b) return a.name < b.name end)
   return out
end

--- Lists the full names of what is public and documented, in order.
-- @treturn {string,...}
-- @usage for _, name in ipairs(require("pfm.doc").names()) do print(name) end
function doc.names()
   local out = {}
   for _, item in ipairs(get_index().items) do
      if not item.private then out[#out + 1] = item.name end
   end
   for _, module in ipairs(public_modules()) do out[#out + 1] = module.name end
   table.sort(out)
   return out
end

--- Returns all entries: `name`, `kind`, `params`, `returns` and so on, as `pfm.manual` has them;
-- `prompt`, the entry's name at the prompt; `private`: its module is private.
-- @treturn {table,...}
-- @usage for _, entry in ipairs(require("pfm.doc").all()) do print(entry.name, entry.summary) end
function doc.all()
   return get_index().items
end

--- Returns the entries under a name: "context:read_pmds", "ctx.read_pmds" or "read_pmds".
-- @string name
-- @treturn {table,...} entries as of `doc.all`; empty if there is none
-- @usage assert(require("pfm.doc").entries("ctx.read_pmds")[1].name == "context:read_pmds")
function doc.entries(name)
   return get_index().keys[canonical(name)] or {}
end

--- Lists the fields of the tables that a function takes, also those that it takes "as for" another.
-- @tparam table entry of `doc.entries`
-- @treturn {table,...} fields of a table: `name`, `text`, `type`, `optional`, `default`
-- @treturn {table,...} fields of the tables in a list
-- @usage
-- local doc = require "pfm.doc"
-- for _, field in ipairs((doc.fields(doc.entries("lpfm.create")[1]))) do print(field.name, field.text) end
function doc.fields(entry)
   local fields, entries = {}, {}
   for _, p in ipairs(entry.params) do
      add_fields(p.type and p.type:find("^{") and entries or fields, p)
   end
   return fields, entries
end

-- Returns the required fields in braces if a function takes a single table, else nil.
local function argument_table(entry)
   local fields, entries = doc.fields(entry)
   local list, only = #fields > 0 and fields or entries, entry.params[1]
   if #entry.params ~= 1 or #list == 0 or not only.type or only.optional then return nil end
   local names = {}
   for _, field in ipairs(list) do
      if not field.optional then names[#names + 1] = field.name .. "=" end
   end
   local inner = #names > 0 and table.concat(names, ", ") or "..."
   return list == fields and "{" .. inner .. "}" or "{ {" .. inner .. "}, ... }"
end

--- Shows how a function is called, on a line: "lpfm.create([options]) -> context".
-- @tparam table entry of `doc.entries`
-- @treturn string
-- @usage
-- local doc = require "pfm.doc"
-- assert(doc.signature(doc.entries("lpfm.create")[1]) == "lpfm.create([options]) -> context")
function doc.signature(entry)
   local name = entry.prompt or entry.name
   if entry.kind ~= "function" then return name end
   local types = {}
   for _, value in ipairs(entry.returns[1] or {}) do types[#types + 1] = value.type end
   return name .. (argument_table(entry) or entry.args) .. (#types > 0 and " -> " .. table.concat(types, ", ") or "")
end

--- Returns help on a name, a function, an object or a module.
-- @param what the name, or the function, object or module itself
-- @int[opt=100] width columns to fill
-- @treturn[1] string text
-- @return[2] nil if it is not documented
-- @usage print(require("pfm.doc").text("lpfm.create", 72))
function doc.text(what, width)
   local name = type(what) == "string" and what or doc.name_of(what)
   if not name then return nil end
   width = width or WIDTH
   local module, entries, out = get_index().modules[canonical(name)], doc.entries(name), {}
   -- a public function may have the name of the private module that it comes from
   local public = entries[1] and not entries[1].private
   if module and not (module.private and public) then return module_text(module, width) end
   for i, entry in ipairs(entries) do out[i] = item_text(entry, width) end
   return #out > 0 and table.concat(out, "\n\n") or nil
end

--- Returns help on a name or value. If a name is not documented, lists the functions that mention
-- it, or suggests a similar name. Without an argument, lists the public modules and the classes of
-- objects.
-- @param[opt] what
-- @treturn string
-- @usage
-- local doc = require "pfm.doc"
-- assert(doc.help("ctx.read_pmds"):find("3.1.4", 1, true))
function doc.help(what)
   if what == nil then
      return ("Modules:\n%s\nObjects:\n%s"):format(list_of(public_modules("module"), WIDTH),
         list_of(public_modules("classmod"), WIDTH))
   end
   local text = doc.text(what)
   if text then return text end
   if type(what) ~= "string" then return ("a %s, which is not documented"):format(type(what)) end
   local found = search(what)
   if #found > 0 then return list_of(found, WIDTH) end
   return ("no help on '%s'%s"):format(what, nearest.hint(what, tables.keys(get_index().keys)))
end

expect.signatures("doc", doc, {
   text = "what: any?; width: width?",
   entries = "name: string",
   fields = "entry: {params}",
   signature = "entry: {args}",
})

return doc
