-- SPDX-License-Identifier: MIT
--- Compares a perf.data's objects with this machine's: names are only taken from the same build.
-- @module pfm.recording.perfdata.this_machine

local stat = require("posix.sys.stat").stat
local objects = require "lpfm.symbols"
local text_file = require "pfm.util.text_file"

local this_machine = {}

--- Finds an object in perf's cache of build ids.
-- @string id in hexadecimal
-- @treturn ?string path of a file with that build id, nil: it has none
-- @usage print(require("pfm.recording.perfdata.this_machine").stored("8f0123"))
function this_machine.stored(id)
   local home = os.getenv("HOME")
   local path = home and ("%s/.debug/.build-id/%s/%s/elf"):format(home, id:sub(1, 2), id:sub(3))
   return path and stat(path) and objects.build_id(path) == id and path or nil
end

-- Returns the running kernel's build id from its notes: sizes of name and id, type 3, "GNU".
local function kernel_build_id()
   local notes = text_file.all("/sys/kernel/notes") or ""
   local at = notes:find("\4%z%z%z.%z%z%z\3%z%z%zGNU%z")
   if not at then return nil end
   local size = notes:byte(at + 4)
   return (notes:sub(at + 16, at + 15 + size):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- Returns where the running kernel has a symbol, in hexadecimal; nil if that may not be read.
local function kernel_address(symbol)
   local file = io.open("/proc/kallsyms", "r")
   for line in file and file:lines() or function() end do
      local address, name = line:match("^(%x+) %S (%S+)$")
      if name == symbol then
         file:close()
         return address:find("[^0]") and address or nil
      end
   end
   if file then file:close() end
end

--- Returns true if the kernel that was recorded runs here, at the same addresses. If addresses may
-- not be read here, the build id alone decides.
-- @tparam table kernel `build_id`, `symbol` and its `address` (a number): nil if not known
-- @treturn boolean
-- @usage print(require("pfm.recording.perfdata.this_machine").has_kernel {})
function this_machine.has_kernel(kernel)
   local own = kernel.symbol and kernel_address(kernel.symbol)
   if own and tonumber(own, 16) ~= kernel.address then return false end
   if not kernel.build_id then return own ~= nil end
   return kernel.build_id == kernel_build_id()
end

return this_machine
