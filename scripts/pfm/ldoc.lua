-- SPDX-License-Identifier: MIT
--- The documentation in a module's source, in the form of LDoc: read when it is asked for.
-- @module pfm.ldoc

local ldoc = {}

local function read_all(path)
   local file = io.open(path, "r")
   local text = file and file:read("*a")
   if file then file:close() end
   return text
end

local function source_of(module)
   local file = module:gsub("%.", "/")
   for template in package.path:gmatch("[^;]+") do
      local text = read_all((template:gsub("%?", (file:gsub("%%", "%%%%")))))
      if text then return text end
   end
end

-- Comments that begin with three dashes, each with the line of code behind it.
local function blocks(text)
   local out, block = {}, nil
   for line in (text .. "\n"):gmatch("([^\n]*)\n") do
      local first, more = line:match("^%-%-%-%s?(.*)$"), line:match("^%-%-%s?(.*)$")
      if first and not block then
         block = { first }
      elseif more and block then
         block[#block + 1] = more
      elseif block then
         out[#out + 1] = { lines = block, code = line }
         block = nil
      end
   end
   return out
end

-- Tags of parameters that name their type.
local types = { tparam = true, string = true, int = true, number = true, bool = true, boolean = true,
   ["function"] = true }

local function add_tag(entry, tag, rest)
   local kind, text = tag:match("^(%a+)"), rest
   if kind == "tparam" then text = text:gsub("^%S+%s+", "") end
   if kind == "treturn" then text, kind = text:gsub("^%b{}%s*", ""):gsub("^%S+%s*", "%0"), "return" end
   if types[kind] then kind = "param" end
   entry.tags[#entry.tags + 1] = { kind = kind, text = text, optional = tag:find("opt", 1, true) ~= nil }
end

-- A block's text and its tags.
local function parse(lines)
   local entry = { text = {}, tags = {} }
   for _, line in ipairs(lines) do
      local tag, rest = line:match("^@(%S+)%s*(.*)$")
      if tag then
         add_tag(entry, tag, rest)
      elseif #entry.tags > 0 then
         local last = entry.tags[#entry.tags]
         last.text = last.text .. " " .. line
      else
         entry.text[#entry.text + 1] = line
      end
   end
   return entry
end

-- "function stat.call(what, list)" as its name, "call", and signature.
local function signature(code)
   local name, arguments = code:match("^function%s+([%w_.:]+)%s*(%b())")
   if not name then return nil end
   return name:match("[%w_]+$"), name .. arguments
end

local cache = {}

--- What a module's source says.
-- @string module "pfm.stat"
-- @treturn table `text`, lines about the module; `functions` by name: `usage`, `text`, `tags` of `{kind=, text=}`;
-- or nil where there is no source
function ldoc.module(module)
   if cache[module] ~= nil then return cache[module] or nil end
   local source = source_of(module)
   cache[module] = source and { text = {}, functions = {} } or false
   for _, block in ipairs(source and blocks(source) or {}) do
      local entry = parse(block.lines)
      local name, usage = signature(block.code)
      if name then
         entry.usage = usage
         cache[module].functions[name] = entry
      elseif #cache[module].text == 0 then
         cache[module].text = entry.text
      end
   end
   return cache[module] or nil
end

return ldoc
