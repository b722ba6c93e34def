-- SPDX-License-Identifier: MIT
--- The reference, looked up: what lpfm.help says of functions, methods, objects and modules.
-- The texts are the comments in the sources, gathered when the project is built (pfm.manual).
-- @module pfm.doc

local nearest = require "pfm.util.nearest"

local doc = {}

local WIDTH = 100

-- What people call the things of a class.
local aliases = { ctx = "context", c = "context", buf = "buffer", b = "buffer", s = "sample", m = "machine",
   v = "vector" }

-- --- the index -------------------------------------------------------------------------------------

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

-- "context:read_pmds" is found as that, as "context.read_pmds" and as "read_pmds".
local function add_entry(keys, entry)
   local name = canonical(entry.name)
   add_key(keys, name, entry)
   while name:find("%.") do
      name = name:gsub("^[^.]*%.", "")
      add_key(keys, name, entry)
   end
end

local function build_index()
   local ok, modules = pcall(require, "pfm.manual")
   if not ok then error("the reference was not built: 'make' in the source tree makes pfm/manual.lua", 0) end
   local found = { modules = {}, items = {}, keys = {} }
   for _, module in ipairs(modules) do
      found.modules[canonical(module.name)] = module
      for _, item in ipairs(module.items) do
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

-- --- text ------------------------------------------------------------------------------------------

local function plain(text)
   return (text:gsub("@{([^}]*)}", "%1"):gsub("`", ""))
end

-- Adds a line's words, filling the last line as far as it goes.
local function fill(out, text, first, indent)
   for word in text:gmatch("%S+") do
      local last = out[#out]
      if last and not out.full and #last + 1 + #word <= WIDTH then
         out[#out] = last .. " " .. word
      else
         out[#out + 1] = (last and indent or first) .. word
      end
      out.full = false
   end
end

-- Paragraphs are filled; lines that are indented stay as they are.
local function wrap(text, first, indent)
   local out = { full = false }
   for line in (plain(text) .. "\n"):gmatch("(.-)\n") do
      if line:find("^   +%S") then
         out[#out + 1] = indent .. line:gsub("^   ", "")
         out.full = true
      elseif line:find("%S") then
         fill(out, line, first, indent)
      else
         out.full = true
      end
   end
   return table.concat(out, "\n")
end

local function block(text)
   return "   " .. text:gsub("\n", "\n   ")
end

local function param_text(p)
   local what = (p.type and p.type ~= "" and p.type .. (p.text ~= "" and ": " or "") or "") .. p.text
   local name = p.name .. (p.optional and " (optional)" or "")
   return wrap(what, ("   %-10s "):format(name), (" "):rep(14))
end

local function value_text(value)
   if not value.type or value.text == value.type then return value.text end
   return value.text == "" and value.type or value.type .. " " .. value.text
end

-- In the order of the values of one outcome: "nil, string message, int errno".
local function return_text(group)
   local values = {}
   for i, value in ipairs(group) do values[i] = value_text(value) end
   return wrap(table.concat(values, ", "), "   returns    ", (" "):rep(14))
end

local function full_text(summary, description)
   return description == "" and summary or summary .. "\n\n" .. description
end

local function item_text(item)
   local out = { item.name .. (item.kind == "function" and item.args or "") }
   out[#out + 1] = wrap(full_text(item.summary, item.description), "   ", "   ")
   for _, p in ipairs(item.params) do out[#out + 1] = param_text(p) end
   for _, group in ipairs(item.returns) do out[#out + 1] = return_text(group) end
   if item.raises then out[#out + 1] = wrap(item.raises, "   raises     ", (" "):rep(14)) end
   for _, usage in ipairs(item.usages) do
      out[#out + 1] = "   example"
      out[#out + 1] = block(block(usage))
   end
   return table.concat(out, "\n")
end

local function list_of(items)
   local width = 0
   for _, item in ipairs(items) do width = math.max(width, #item.name) end
   local out = {}
   for i, item in ipairs(items) do
      local indent = (" "):rep(width + 5)
      out[i] = wrap(item.summary, ("   %-" .. width .. "s  "):format(item.name), indent)
   end
   return table.concat(out, "\n")
end

local function module_text(module)
   local out = { module.name, wrap(full_text(module.summary, module.description), "   ", "   ") }
   for _, usage in ipairs(module.usages) do out[#out + 1] = block(block(usage)) end
   if #module.items > 0 then out[#out + 1] = "" end
   out[#out + 1] = list_of(module.items)
   return table.concat(out, "\n")
end

-- --- values ----------------------------------------------------------------------------------------

local function class_of(value)
   local meta = debug.getmetatable(value)
   for key, place in pairs(debug.getregistry()) do
      if place == meta and type(key) == "string" then return key:match("^lpfm%.(.+)$") end
   end
end

local function member_of(places, value)
   for name, place in pairs(places) do
      if type(place) == "table" then
         if place == value then return name end
         for key, member in pairs(place) do
            if member == value and type(key) == "string" then return name .. "." .. key end
         end
      end
   end
end

local function methods()
   local out = {}
   for key, place in pairs(debug.getregistry()) do
      local class = type(key) == "string" and key:match("^lpfm%.(.+)$")
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

-- The name under which a value is documented, or nil.
local function name_of(value)
   if type(value) == "userdata" then return class_of(value) end
   return member_of(libraries(), value) or member_of(methods(), value)
end

-- --- looking up ------------------------------------------------------------------------------------

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
      if #words > 0 and mentions(item, words) then found[#found + 1] = item end
   end
   return found
end

--- All that is documented: full names, in order.
-- @treturn {string,...}
function doc.names()
   local out = {}
   for _, item in ipairs(get_index().items) do out[#out + 1] = item.name end
   for name in pairs(get_index().modules) do out[#out + 1] = name end
   table.sort(out)
   return out
end

--- The entries under a name: "context:read_pmds", "ctx.read_pmds" or "read_pmds".
-- @string name
-- @treturn {table,...} entries as of pfm.manual; empty if there is none
function doc.entries(name)
   return get_index().keys[canonical(name)] or {}
end

--- Help on a name, a function, an object or a module.
-- @param what a string or a value of the module
-- @treturn[1] string text
-- @return[2] nil if it is not documented
function doc.text(what)
   local name = type(what) == "string" and what or name_of(what)
   if not name then return nil end
   local module = get_index().modules[canonical(name)]
   if module then return module_text(module) end
   local entries, out = doc.entries(name), {}
   for i, entry in ipairs(entries) do out[i] = item_text(entry) end
   return #out > 0 and table.concat(out, "\n\n") or nil
end

--- Help in any case: on a name or value, else what mentions it, else names that are near.
-- Without an argument, what there is.
-- @param[opt] what
-- @treturn string
-- @usage
-- local doc = require "pfm.doc"
-- assert(doc.help("ctx.read_pmds"):find("3.1.4", 1, true))
function doc.help(what)
   if what == nil then
      local modules = {}
      for _, module in pairs(get_index().modules) do modules[#modules + 1] = module end
      table.sort(modules, function(a, b) return a.name < b.name end)
      return list_of(modules)
   end
   local text = doc.text(what)
   if text then return text end
   if type(what) ~= "string" then return ("a %s; nothing is written about it"):format(type(what)) end
   local found = search(what)
   if #found > 0 then return list_of(found) end
   local keys = {}
   for key in pairs(get_index().keys) do keys[#keys + 1] = key end
   return ("no help on '%s'%s"):format(what, nearest.hint(what, keys))
end

return doc
