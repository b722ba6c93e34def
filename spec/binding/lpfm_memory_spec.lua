-- SPDX-License-Identifier: MIT
-- Lets each allocation that the module asks Lua for fail: nothing breaks, nothing is left open.

local c = require "support.c"

-- Runs a function with each of its allocations failing; asserts that there were many.
local function sweep(arguments, at_least)
   local program = c.compile("memory", "-rdynamic $(pkg-config --cflags --libs lua5.1) -ldl")
   local build = os.getenv("LPFM_BUILD") or "build"
   local out, status = c.sh("LUA_CPATH='" .. build .. "/lua5.1/?.so' " .. program .. " " .. arguments)
   assert.equal(0, status, out)
   assert.is_true(tonumber(out:match("^(%d+) allocations")) > at_least, out)
end

describe("the module", function()
   it("gives everything back wherever memory runs out", function()
      sweep("spec/support/lpfm_everything.lua", 200)
   end)

   it("survives it in a sampling format's state, too", function()
      sweep("spec/support/lpfm_format.lua all", 700)
   end)
end)
