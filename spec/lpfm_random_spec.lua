-- SPDX-License-Identifier: MIT
-- Misuse at random, in a process of its own: it must not crash. "make fuzz-lua" goes on for longer.

local c = require "support.c"

local lua = os.getenv("LPFM_LUA") or "lua5.1"

local function survives(host, seed)
   local out, status = c.sh(("%s spec/support/lpfm_random_calls.lua %d 4000"):format(host, seed))
   assert.equal(0, status, out)
   local raised = tonumber(out:match("^(%d+) of 4000 calls raised\n4000\n$"))
   assert.is_true(raised and raised > 1000 and raised < 3600, out) -- some do what they are for
end

describe("the module", function()
   for seed = 1, 4 do
      it("survives random calls, seed " .. seed, function()
         survives(lua, seed)
      end)
   end

   if lua ~= "luajit" then
      for seed = 5, 6 do
         it("survives them when memory runs out, seed " .. seed, function()
            survives(c.compile("starved", "-rdynamic $(pkg-config --cflags --libs lua5.1) -ldl"), seed)
         end)
      end
   end
end)
