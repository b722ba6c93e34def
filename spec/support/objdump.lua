-- SPDX-License-Identifier: MIT
--- Finds addresses of code by objdump.
local c = require "support.c"

local objdump = {}

--- Returns the addresses of the instructions of a function, up to its first return.
-- @string path
-- @string name
-- @treturn table of numbers
function objdump.instructions(path, name)
   local out = {}
   local text, status = c.sh("objdump -d --no-show-raw-insn " .. path)
   assert(status == 0, text)
   for address, code in text:match("<" .. name .. ">:\n(.-)\n\n"):gmatch("%s+(%x+):\t([^\n]+)") do
      out[#out + 1] = tonumber(address, 16)
      if code:find("^ret") then return out end
   end
   return out
end

return objdump
