-- SPDX-License-Identifier: MIT
--- Writes what LDoc has read as a Lua table, which pfm.doc searches.
-- It is the filter of LDoc's option filter; REFERENCE in the environment names the file to write.

local filter = {}

local function trim(text)
   return text and (text:gsub("^%s+", ""):gsub("%s+$", "")) or ""
end

-- Returns the full name: "run" in module pfm.count is pfm.count.run. Names that begin with a class
-- or module stay; in a command's module, the module's name replaces that of its table. LDoc takes
-- its module's name off a method too, unless the module says "@pragma nostrip".
local function full_name(module, item)
   local first, own = item.name:match("^([%w_]+)([.:].+)$")
   if first and first == module.name:match("%.([%w_]+)$") then return module.name .. own end
   if module.name:find("^repl%.command%.") or module.name:find("^repl%.parts%.") then
      return module.name .. "." .. item.name:match("[^.]+$")
   end
   if item.name:find("[.:]") or module.type == "classmod" and item.type == "table" then return item.name end
   return module.name .. (module.type == "classmod" and ":" or ".") .. item.name
end

-- LDoc 1.5 and later call the type of `@int` "integer", and so on.
local SHORT = { integer = "int", boolean = "bool", ["function"] = "func" }

local function type_of(text)
   return SHORT[text] or text
end

-- "spec.period" among the parameters is a field of the table `spec`.
local function param_of(item, name)
   local modifiers = item.modifiers[item.parameter] or {}
   local own, text = modifiers[name] or {}, trim(item.params.map[name])
   local out = { name = name:match("[^.]+$") or name, text = text, type = type_of(own.type),
      optional = own.opt and true or nil, default = type(own.opt) == "string" and own.opt or nil,
      like = text:match("as for `([^`]+)`") }
   for i, field in ipairs(item.subparams[name] or {}) do
      out.fields = out.fields or {}
      out.fields[i] = param_of(item, field)
   end
   return out
end

local function params_of(item)
   local out = {}
   for i, name in ipairs(item.params or {}) do out[i] = param_of(item, name) end
   return out
end

-- Reads lines "@result NAME TEXT", each of which describes a field of the table that is returned.
local function results_of(item)
   local out
   for _, line in ipairs(item.tags.result or {}) do
      local name, text = trim(line):match("^(%S+)%s*(.*)$")
      out = out or {}
      out[#out + 1] = { name = name, text = trim(text) }
   end
   return out
end

local function returns_of(item)
   local out = {}
   for _, group in ipairs(item.retgroups or {}) do
      local values = {}
      for i, value in ipairs(group) do
         values[i] = { type = value.type ~= "" and type_of(value.type) or nil, text = trim(value.text) }
      end
      out[#out + 1] = values
   end
   return out
end

local function usages_of(item)
   local out = {}
   for i, usage in ipairs(item.usage or {}) do out[i] = trim(usage) end
   return out
end

-- Returns what is typed at the prompt for the item, or nil: the command for its `call`, the method
-- for objects that the prompt has, and NAME for an item with "@prompt NAME".
local function prompt_name(module, item)
   local given = item.tags.prompt
   if given then return trim(given[1]) end
   if item.name:match("[^.]+$") == "call" then return module.name:match("^repl%..*%.([%w_]+)$") end
   return module.name:find("^repl%.prompt%.") and item.name:find(":") and item.name or nil
end

local function item_of(module, item)
   return { name = full_name(module, item), prompt = prompt_name(module, item), kind = item.type, args = item.args,
      summary = trim(item.summary), description = trim(item.description), params = params_of(item),
      returns = returns_of(item), results = results_of(item), raises = item.raise and trim(item.raise) or nil,
      usages = usages_of(item) }
end

-- build.mk has copied the files of private modules to a folder "private".
local function is_private(module)
   return module.file:find("/private/", 1, true) ~= nil
end

local function module_of(module)
   local out = { name = module.name, kind = module.type, private = is_private(module) or nil,
      summary = trim(module.summary), description = trim(module.description), usages = usages_of(module), items = {} }
   for i, item in ipairs(module.items) do out.items[i] = item_of(module, item) end
   return out
end

-- Writes keys in order, so that the same sources make the same file.
local function write(value, indent)
   if type(value) == "string" then return (("%q"):format(value):gsub("\\\n", "\\n")) end
   if type(value) ~= "table" then return tostring(value) end
   local keys, out = {}, {}
   for key in pairs(value) do keys[#keys + 1] = key end
   table.sort(keys, function(a, b)
      if type(a) == type(b) then return a < b end
      return type(a) == "number"
   end)
   for _, key in ipairs(keys) do
      local text = write(value[key], indent .. " ")
      out[#out + 1] = indent .. (type(key) == "number" and text or key .. " = " .. text)
   end
   return #out == 0 and "{}" or "{\n" .. table.concat(out, ",\n") .. " }"
end

-- If items of two modules have the same name (pfm.ffi has contexts, too), the second one's name
-- gets its module's name before it.
local function tell_apart(modules)
   local seen = {}
   for _, private in ipairs { false, true } do
      for _, module in ipairs(modules) do
         for _, item in ipairs((module.private or false) == private and module.items or {}) do
            if seen[item.name] then item.name = module.name .. "." .. item.name end
            seen[item.name] = true
         end
      end
   end
end

--- Writes the table to the file named in REFERENCE.
-- @tparam table modules of LDoc
function filter.dump(modules)
   local out = {}
   for i, module in ipairs(modules) do out[i] = module_of(module) end
   tell_apart(out)
   local file = assert(io.open(os.getenv "REFERENCE", "w"))
   assert(file:write("return ", write(out, " "), "\n"))
   assert(file:close())
end

return filter
