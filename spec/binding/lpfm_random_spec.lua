-- SPDX-License-Identifier: MIT
-- Misuse at random, in a process of its own: it must not crash. "make fuzz-lua" goes on for longer.

local c = require "support.c"
local effort = require "support.effort"

local lua = os.getenv("LPFM_LUA") or "lua5.1"

local CALLS = effort(4000)

local function survives(host, seed)
   local out, status = c.sh(("%s spec/fuzz/random_calls.lua %d %d"):format(host, seed, CALLS))
   assert.equal(0, status, out)
   local raised = tonumber(out:match(("^(%%d+) of %d calls raised\n%d\n$"):format(CALLS, CALLS)))
   assert.is_true(raised and raised > CALLS / 4 and raised < CALLS * 0.9, out) -- some calls succeed
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
