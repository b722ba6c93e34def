-- SPDX-License-Identifier: MIT
-- What is typed at the prompt: every statement runs as often as Lua says, and the value of an
-- expression at the end is shown.

local c = require "support.c"
local terminal = require "support.terminal"

local program = c.program

local function shown(text)
   return (c.sh(("printf '%%s\\n' %s | %s"):format(terminal.quote(text), program)))
end

describe("a statement at the prompt", function()
   it("is run whole, whatever stands between its parts", function()
      assert.equal("1\n2\n3\n", shown("for i = 1, 3 do x = i; print(i) end"))
      assert.equal("1\n2\n3\n", shown("n = 0 repeat n = n + 1; print(n) until n == 3"))
      assert.equal("1\n2\n", shown("n = 0 while n < 2 do n = n + 1; print(n) end"))
      assert.equal("b\nc\n", shown("if x then print 'a'; else y = 1; print 'b' end print 'c'"))
      assert.equal("nil\nend\n", shown("function f() local q = 1; print(x); end; f(); print 'end'"))
      assert.equal("1\n", shown("t = { a = 1; b = 2 }; t.a"))
      assert.equal("2\n", shown("t = { f = function() g = 1; return 2 end }; t.f()"))
      assert.equal("a;b\n", shown("s = 'a;b' print(s)"))
   end)

   it("shows the value of an expression behind it", function()
      assert.equal("42\n", shown("a = 20 + 22; a"))
      assert.equal("3\n", shown("local a = 1; local b = 2; a + b"))
      assert.equal("1\n2\n", shown("for i = 1, 1 do a = i; print(i) end; a + 1"))
      assert.equal("", shown("a = 1;"))
      assert.equal("", shown("a = 1; b = 2"))
   end)

   it("leaves its outer locals to the next ones", function()
      assert.equal("3\n", shown("local a, b = 1, 2\na + b"))
      assert.equal("7\n", shown("local function f(x) return x + 2 end\nf(5)"))
      assert.equal("4\n", shown("local n = 1 -- one\nlocal n = n + 3 -- more\nn"))
      assert.equal("2\n3\n", shown("local t = { 1, 2 }; #t\nlocal u = #t + 1\nu"))
      assert.equal("nil\nnil\n", shown("do local q = 5 end\nq\nfor i = 1, 2 do local z = i end\nz"))
      assert.equal("5\nnil\n", shown("f = function() local inner = 5; return inner end; f()\ninner"))
      assert.equal("1\n", shown("local a = 1; return a"))
      assert.equal("x\n", shown("local keep, print_, s = 1, 2, 'x'\ns"))
      local one_by_one, whole = {}, {}
      for i = 1, 20 do
         local names = {}
         for k = 1, math.random(3) do names[k] = ("v%d_%d"):format(i, k) end
         whole[i] = ("local %s = %d, %d, %d"):format(table.concat(names, ", "), i, i + 1, i + 2)
         one_by_one[i] = names[#names]
      end
      local last = table.concat(one_by_one, ", ")
      local text, values = table.concat(whole, "\n"), ("table.concat({ %s }, ' ')"):format(last)
      assert.equal(assert(loadstring(text .. " return " .. values))() .. "\n", shown(text .. "\n" .. values))
   end)

   it("may have several lines", function()
      assert.equal("1\n2\n", shown("for i = 1, 2 do\n   x = i\n   print(x)\nend"))
      assert.equal("3\n", shown("x = (1 +\n2); x"))
   end)
end)
