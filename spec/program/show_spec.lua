-- SPDX-License-Identifier: MIT
-- Values at the prompt: exact, and no more of them than is looked at.

local show = require "repl.prompt.show"

describe("a value at the prompt", function()
   it("that is a number gives the same number when it is typed again", function()
      for _, n in ipairs { 0, -5, 1e6 / 7, 1 / 3, 0.1, 123456789.123, 2 ^ 53, 2 ^ 63, -2 ^ 63, 1e15 + 0.5, 1e300,
         5e-324, math.huge, -math.huge } do
         assert.equal(n, assert(loadstring("return " .. show.text(n)))())
         assert.equal(n, assert(loadstring("return " .. show.text { n }))()[1])
      end
      assert.equal("0/0", show.text(0 / 0))
   end)

   it("is looked at no further than it is shown", function()
      local reads = 0
      local row = setmetatable({}, { __tostring = function()
         reads = reads + 1
         return "row"
      end })
      local list, map, rows = {}, {}, {}
      for i = 1, 100000 do list[i], map["key" .. i], rows[i] = row, row, { num = i, what = row } end
      for _, t in ipairs { list, map, rows } do
         reads = 0
         assert.truthy(show.text(t):find("more", 1, true))
         assert.is_true(reads <= 2000, reads .. " elements were read")
      end
      assert.is_true(#show.text(("x"):rep(1e7)) < 30000)
      assert.is_true(#show.text { text = ("x"):rep(1e7) } < 30000)
   end)
end)
