-- SPDX-License-Identifier: MIT
-- Reads preprocessed C from the standard input. Writes the declarations of this project's headers
-- and those of the system's types that they use, and nothing else of the system's headers.

local ours, system = {}, {}
local into = system
for line in io.lines() do
   local file = line:match('^# %d+ "([^"]*)"')
   if file then
      into = (file:find("^kernel/") or file:find("^lpfm/")) and ours or system
   elseif line:find("%S") and not line:find("^#") then
      into[#into + 1] = line
   end
end
ours, system = table.concat(ours, "\n"), table.concat(system, "\n")

-- The types that LuaJIT knows without a declaration.
local known = { size_t = true }
for _, name in ipairs { "int8_t", "int16_t", "int32_t", "int64_t" } do
   known[name], known["u" .. name] = true, true
end

local declared = {}

-- Adds the declaration of a type of the system's, after those of the types that it uses.
local function declare(name)
   if known[name] then
      return
   end
   known[name] = true
   local text = system:match("typedef%s[^;{}]-[%s*]" .. name .. "%s*;")
   if text then
      for word in text:gmatch("[%a_][%w_]*_t%f[^%w_]") do
         declare(word)
      end
      declared[#declared + 1] = text
   end
end

-- Adds a structure of the system's, after the types that it uses. It gets a name of ours: scripts
-- may declare it, too, and LuaJIT refuses a second declaration of a structure.
local function declare_struct(name)
   local text = system:match("struct%s+" .. name .. "%s*(%b{})")
   if known[name] or not text or ours:find("struct%s+" .. name .. "%s*{") then
      return
   end
   known[name] = true
   for word in text:gmatch("__[%w_]+_t%f[^%w_]") do
      declare(word)
   end
   declared[#declared + 1] = ("struct pfm_%s %s;"):format(name, text)
   ours = ours:gsub("struct%s+" .. name .. "%f[^%w_]", "struct pfm_" .. name)
end

for word in ours:gmatch("[%a_][%w_]*_t%f[^%w_]") do
   local own = ours:find("}%s*" .. word .. "%s*;") or ours:find("typedef[^;{}]-" .. word .. "[%s%[;]")
   if not own then
      declare(word)
   end
end
for name in ours:gmatch("struct%s+([%a_][%w_]*)%s+[%a_]") do
   declare_struct(name)
end

io.write(table.concat(declared, "\n"), "\n", ours, "\n")
