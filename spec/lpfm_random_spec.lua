-- SPDX-License-Identifier: MIT
-- Misuse at random, in a process of its own: it must not crash.

local c = require "support.c"

describe("the module", function()
   for seed = 1, 4 do
      it("survives random calls, seed " .. seed, function()
         local out, status = c.sh((os.getenv("LPFM_LUA") or "lua5.1") .. " spec/support/lpfm_random_calls.lua " .. seed
            .. " 4000")
         assert.equal(0, status, out)
         assert.equal("4000\n", out)
      end)
   end
end)
