-- SPDX-License-Identifier: MIT
--- Reads the declarations of a C header: functions, structures with fields, constants with values.
local c = require "support.c"
local files = require "support.files"

local headers = {}

local function read(path)
   local text = files.read(path)
   return (text:gsub("/%*.-%*/", " "):gsub("\\\n", " "))
end

-- Returns what is between the braces at position i, and the position behind them.
local function braces(text, i)
   local whole = text:match("^%b{}", i)
   return whole:sub(2, -2), i + #whole
end

-- Adds the names in "uint64_t a, b[4], *c; unsigned d:3" to a set, and those inside inner unions
-- and structures.
local function fields_of(body, into)
   body = body:gsub("%f[%w]union%s*(%b{})", function(inner) fields_of(inner:sub(2, -2), into) return "" end)
   body = body:gsub("%f[%w]struct%s*(%b{})", function(inner) fields_of(inner:sub(2, -2), into) return "" end)
   for declaration in body:gmatch("([^;]+);") do
      for name in (declaration:gsub("%b[]", "") .. ","):gmatch("([%w_]+)%s*:?%s*%d*%s*,") do
         into[name] = true
      end
   end
   return into
end

local function structures(text)
   local found = {}
   for at, kind in text:gmatch("()typedef ([%w_]+)%s*{") do
      local body, stop = braces(text, text:find("{", at, true))
      assert(kind == "struct" or kind == "union", "a typedef of " .. kind)
      found[text:match("^%s*([%w_]+)%s*;", stop)] = fields_of(body, {})
   end
   for at, name in text:gmatch("()%f[%w]struct%s+([%w_]+)%s*{") do
      found[name] = fields_of(braces(text, text:find("{", at, true)), {})
   end
   return found
end

-- Returns the set of functions that are declared: "int name(" at the beginning of a line, up to
-- ");".
local function functions(text)
   local found = {}
   local plain = text:gsub("\n[ \t]*#[^\n]*", "\n")
   for name in plain:gmatch("\n[%w_ \t]*[%w_*][ \t*]+([%w_]+)%([^;{}]*%)[^;{}]*;") do
      found[name] = true
   end
   return found
end

-- Returns { name = true } for each "#define NAME value", and for each "#define NAME(x) ...".
local function macros(text)
   local constants, calls = {}, {}
   for name, mark, value in text:gmatch("\n[ \t]*#[ \t]*define[ \t]+([%w_]+)(%(?)([^\n]*)") do
      if mark == "(" then
         calls[name] = true
      elseif value:find("%S") and not value:find("[{\"]") then
         constants[name] = true
      end
   end
   return constants, calls
end

-- Returns the values of constants as the compiler computes them, by name.
local function evaluate(header, names)
   local program = { "#define PFM_NO_MMAP_REDIRECT\n#include \"perfmon/", header, "\"\n#include <stdio.h>\n",
      "int main(void)\n{\n" }
   for name in pairs(names) do
      program[#program + 1] = ('\tprintf("%s %%lld\\n", (long long)(%s));\n'):format(name, name)
   end
   program[#program + 1] = "\treturn 0;\n}\n"
   local base = os.tmpname()
   files.write(base .. ".c", table.concat(program))
   local out, status = c.sh(("LD_PRELOAD= gcc -Ikernel/include -o %s %s.c && LD_PRELOAD= %s"):format(base, base, base))
   os.remove(base .. ".c")
   os.remove(base)
   assert(status == 0, out)
   local values = {}
   for name, value in out:gmatch("([%w_]+) (%-?%d+)") do
      values[name] = tonumber(value)
   end
   return values
end

--- Reads a header of kernel/include/perfmon.
-- @param name "perfmon.h"
-- @param skip names of macros that are no integer constants
-- @return { functions = set, structures = { name = set of fields }, constants = { name = number },
-- macros = set }
function headers.read(name, skip)
   local text = read("kernel/include/perfmon/" .. name)
   local constants, calls = macros(text)
   for unwanted in pairs(skip) do
      constants[unwanted] = nil
   end
   return { functions = functions(text), structures = structures(text), constants = evaluate(name, constants),
      macros = calls }
end

return headers
