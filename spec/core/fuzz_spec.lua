-- SPDX-License-Identifier: MIT
-- Runs the fuzzers' corpus and random names for the demangler under ASan and UBSan ("make fuzz").
-- One interpreter: the programs are C.
local c = require "support.c"

describe("the fuzzer's corpus", function()
   it("breaks no rule", function()
      local program = c.make("build/spec/fuzz_replay")
      local out, status = c.sh(program .. " spec/fuzz/corpus/*")
      assert.are.equal(0, status, out)
      assert.is_true(tonumber(out:match("(%d+) inputs")) > 100, out)
   end)
end)

describe("random names of Rust's, D's and C++'s", function()
   it("are read or refused, in bounds", function()
      local program = c.make("build/spec/mangled_random")
      for seed = 1, 2 do
         local out, status = c.sh(program .. " " .. seed .. " 100000")
         assert.are.equal(0, status, out)
         local read, longer = out:match("(%d+) read, (%d+) longer")
         assert.is_true(tonumber(read) > 1000 and tonumber(longer) > 10, out)
      end
   end)
end)
