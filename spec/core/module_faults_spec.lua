-- SPDX-License-Identifier: MIT
-- Tests libperfmon on a perfmon.ko that has no memory.
-- One interpreter: the program is C.
local c = require "support.c"

describe("perfmon.ko without memory", function()
   it("is told as that: not as another version, not as another machine, and nothing is freed twice", function()
      local out, status = c.sh("env -u LPFM_MACHINE " .. c.make("build/spec/module_faults"))
      assert.are.equal(0, status, out)
      assert.are.equal("8 ioctls and 2 allocations failed\n", out)
   end)
end)
