-- SPDX-License-Identifier: MIT
-- The fuzzer's corpus once more, under ASan and UBSan. The same program whatever the
-- interpreter. "make fuzz" looks for more.
if (os.getenv("LPFM_LUA") or "luajit") ~= "luajit" then
   return
end
local c = require "support.c"

describe("the fuzzer's corpus", function()
   it("breaks no rule", function()
      local program = c.make("build/spec/fuzz_replay")
      local out, status = c.sh(program .. " spec/fuzz/corpus/*")
      assert.are.equal(0, status, out)
      assert.is_true(tonumber(out:match("(%d+) inputs")) > 100, out)
   end)
end)
