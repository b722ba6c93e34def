-- SPDX-License-Identifier: MIT
-- Each public function of the script library, called with missing and with wrong arguments: it
-- returns something that is a number where it is one, or nil and why; or its error names what is
-- wrong, and no line of the library.

local dirent = require "posix.dirent"
local lpfm = require "lpfm"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"
local reference = require "pfm.manual"

-- Functions that do something for ever, or with the whole computer, when their only argument is
-- left out or empty.
local WORKING = { ["pfm.system.count"] = true }

local function none() end
local VALUES = { {}, 1, "x", true, none, { 1, 2 }, { "x" }, { {} }, lpfm.u64(5), { lpfm.u64(5), lpfm.u64(6) } }

-- Returns lists of arguments: none, one of each value, and each value as the second and as the
-- third one.
local function attempts()
   local out = { { n = 0 }, { n = 1 } }
   for _, first in ipairs(VALUES) do
      out[#out + 1] = { first, n = 1 }
      for _, second in ipairs(VALUES) do
         out[#out + 1] = { first, second, n = 2 }
         out[#out + 1] = { first, first, second, n = 3 }
      end
   end
   return out
end

local function is_number(value, depth)
   if type(value) == "number" then return value == value and math.abs(value) < math.huge end
   for _, element in pairs(type(value) == "table" and depth < 4 and value or {}) do
      if not is_number(element, depth + 1) then return false end
   end
   return true
end

-- Returns what is wrong with the answer of a call, or nil.
local function fault(ok, ...)
   if not ok then
      local message = tostring((...))
      local place = message:match("^[^\n:]*%.lua:%d+:")
      return place and not place:find("arguments_spec", 1, true) and message or nil
   end
   for i = 1, select("#", ...) do
      if not is_number((select(i, ...)), 1) then return "returns nan or infinity" end
   end
end

local function shown(arguments)
   local out = {}
   for i = 1, arguments.n do out[i] = type(arguments[i]) end
   return table.concat(out, ", ")
end

-- Returns the public functions of the script library by their names.
local function functions()
   local out = {}
   for _, module in ipairs(reference) do
      local ok, exports = pcall(require, module.name)
      for _, item in ipairs(ok and not module.private and module.name:find "^pfm%." and module.items or {}) do
         local of, own = item.name:match("^(.*)%.([%w_]+)$")
         local fn = of == module.name and type(exports) == "table" and exports[own]
         if type(fn) == "function" and not WORKING[item.name] then out[item.name] = fn end
      end
   end
   return out
end

describe("A function of the script library names wrong arguments:", function()
   local list = attempts()
   local all, home, folder = functions(), unistd.getcwd(), nil
   local path = package.path
   setup(function() -- "x" is the name of a file, too
      folder = assert(stdlib.mkdtemp "/tmp/arguments.XXXXXX")
      package.path = ((";" .. path):gsub(";([^/;])", ";" .. home .. "/%1"):sub(2))
      assert(unistd.chdir(folder))
   end)
   before_each(function() assert(lpfm.machine "perf") end)
   teardown(function()
      require("pfm.region").finish() -- what some of the calls have begun
      require("pfm.jitmap").stop()
      for name in dirent.files(folder) do os.remove(folder .. "/" .. name) end
      assert(unistd.chdir(home))
      assert(unistd.rmdir(folder))
      package.path = path
   end)

   for name, fn in pairs(all) do
      it(name, function()
         for _, arguments in ipairs(list) do
            local wrong = fault(pcall(fn, unpack(arguments, 1, arguments.n)))
            assert.is_nil(wrong, ("%s(%s): %s"):format(name, shown(arguments), wrong or ""))
         end
      end)
   end
end)
