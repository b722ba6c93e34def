-- SPDX-License-Identifier: MIT
-- Every allocation that the module asks Lua for may fail: nothing breaks, nothing is left open.

local c = require "support.c"

describe("the module", function()
   it("gives everything back wherever memory runs out", function()
      local program = c.compile("memory", "$(pkg-config --cflags --libs lua5.1) -ldl")
      local build = os.getenv("LPFM_BUILD") or "build"
      local out, status = c.sh("LUA_CPATH='" .. build .. "/lua5.1/?.so' " .. program
         .. " spec/support/lpfm_everything.lua")
      assert.equal(0, status, out)
      assert.is_true(tonumber(out:match("^(%d+) allocations")) > 200)
   end)
end)
