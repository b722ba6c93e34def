-- SPDX-License-Identifier: MIT
-- Values at the prompt: exact, and no more of them than is looked at.

local doc = require "pfm.doc"
local show = require "repl.prompt.show"

describe("a value at the prompt", function()
   it("that is a module has the functions that do all of its work first", function()
      for module, first in pairs { count = "run call times check", record = "run begin finish" } do
         local names = {}
         for name in doc.text("pfm." .. module, 100):gmatch("\n   pfm%." .. module .. "%.([%w_]+)") do
            names[#names + 1] = name
         end
         assert.equal(first, table.concat(names, " "):sub(1, #first))
      end
   end)

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

   it("is short, whatever in it is long", function()
      local long, many, numbers, columns = ("x"):rep(1e6), {}, {}, {}
      for i = 1, 1e5 do many["k" .. i], numbers[i] = i, 2 * i end
      for i = 1, 200 do columns[i] = { ["a" .. i] = 1, ["b" .. i] = 2 } end
      local shown_by_name = setmetatable({}, { __tostring = function() return long end })
      for what, value in pairs { key = { [long] = 1 }, column = { { [long] = 1 } }, columns = { many, many },
         ["columns of different rows"] = columns, registers = { { pmds = numbers } }, ["own text"] = shown_by_name,
         ["own text inside"] = { { shown_by_name } } } do
         assert.is_true(#show.text(value) < 30000, what .. ": " .. #show.text(value) .. " bytes")
      end
      assert.equal("pmds\n1-3 7 9", show.text { { pmds = { 1, 2, 3, 7, 9 } } })
   end)

   it("may contain itself, also as a key", function()
      local value, key = {}, {}
      value[1], key[key] = value, 5
      assert.equal("{{{{{...}}}}}", show.text(value))
      assert.truthy(show.text(key):find("{...}", 1, true))
   end)

   it("is told of, if its metatable gives no text for it", function()
      local numeric = setmetatable({}, { __tostring = function() return 5 end })
      assert.has_error(function() show.text(numeric) end, "__tostring returned a number, not a string")
   end)
end)

describe("help on an object", function()
   it("has a method on each line, wrapped once, at any width", function()
      local help, lpfm = require "repl.prompt.help", require "lpfm"
      local ctx = assert(lpfm.create {})
      for _, width in ipairs { 60, 79, 100, math.random(60, 200) } do
         local text = help.text(ctx, width)
         local column = math.floor(width * 0.4)
         for line in text:gmatch("\n([^\n]*)") do
            assert.is_true(#line <= width, line)
            local method = line:find("^   context:")
            assert.is_true(method ~= nil or line:find("^" .. (" "):rep(column) .. "%S") ~= nil, line)
         end
         assert.truthy(text:gsub("%s+", " "):find("SIGIO interrupts it as Ctrl-C does.", 1, true), text)
      end
      ctx:close()
   end)
end)

describe("help on the module lpfm", function()
   it("is the page on contexts, filled to the width", function()
      local help, lpfm = require "repl.prompt.help", require "lpfm"
      for _, width in ipairs { 60, 79, 100 } do
         assert.equal(help.text("context", width), help.text(lpfm, width))
      end
   end)
end)

describe("a context at the prompt", function()
   local c = require "support.c"
   local terminal = require "support.terminal"
   local program = (os.getenv("LPFM_BUILD") or "build") .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm"

   local function shown(text)
      return (c.sh(("printf '%%s\\n' %s | LPFM_MACHINE=sim:itanium2 %s"):format(terminal.quote(text), program)))
   end

   it("says what it is loaded on, how it is programmed and what it counted", function()
      local out = shown([[
m = lpfm.machine(); tid = m:spawn{ program = { { loop = 70, { ip = 0x1000, ns = 10 } } } }
c = lpfm.create{}
c
c:write_pmcs{ { num = 4, value = m:encode("instructions", 4) }, { num = 13, value = 5 } } and nil
c:write_pmds{ { num = 4, value = 0 }, { num = 5, value = -9, long_reset = -9, short_reset = -9 } } and nil
print(c)
c:load(tid) and c:start() and nil
c
m:run{ until_exit = tid } and nil
c:stop() and nil
tostring(c)
{ c }
c:close()
c]])
      assert.truthy(out:find("^lpfm.context %(fd %d+%), not loaded\n"), out)
      assert.truthy(out:find("not loaded\n  PMD4   instructions +0 *\n  PMD5   PMD5 +%-9  every 9\n  PMC13  = 0x5 *\n"),
         out)
      assert.truthy(out:find("loaded on thread %d+, running\n  PMD4"), out)
      assert.truthy(out:find("PMD4   instructions  70 *\n"), out)
      assert.truthy(out:find("\n{lpfm%.context %(fd %d+%)[^\n]*}\n"), out)
      assert.truthy(out:find("\nlpfm.context (closed)\n", 1, true), out)
   end)

   it("of many registers is cut, and costs no more than is shown", function()
      local out = shown([[
c, list = lpfm.create{}, {}
for i = 8, 15 do list[#list + 1] = { num = i, value = 1 } end
for n = 4, 39 do
   local set = math.floor(n / 4)
   c:create_evtsets{ { id = set } }
   list[#list + 1] = { num = 4 + n % 4, set = set, value = 18 }
end
c:write_pmcs(list) and nil
c]])
      local lines = select(2, out:gsub("\n", ""))
      assert.is_true(lines >= 20 and lines <= 24, out)
      assert.truthy(out:find("... %d+ more registers"), out)
      assert.truthy(out:find("set 5", 1, true), out)
   end)
end)

describe("a mistake at the prompt", function()
   local terminal = require "support.terminal"
   local c = require "support.c"
   local program = (os.getenv("LPFM_BUILD") or "build") .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm"

   local function said(text)
      return (c.sh(("printf '%%s\\n' %s | LPFM_MACHINE=sim:itanium2 %s"):format(terminal.quote(text), program)))
   end

   it("of one line is told without a position", function()
      assert.equal("attempt to perform arithmetic on a nil value\n", said("nil + 1"))
      assert.equal("boo\n", said("error('boo')"))
      assert.equal("attempt to concatenate a table value\n", said("'a' .. {}"))
   end)

   it("is told in few words, however long its text is", function()
      for _, call in ipairs { "error(LONG)", "error({ message = LONG })", "nil, LONG",
         "error(setmetatable({}, { __tostring = function() return LONG end }))" } do
         local out = said("LONG = ('x'):rep(1e6)\n" .. call)
         assert.is_true(#out < 30000, call .. ": " .. #out .. " bytes")
         assert.truthy(out:find("xxx... [%d,]+ more bytes\n$"), out)
      end
   end)

   it("has the message that its value inherits", function()
      assert.equal("boom\n", said("E = { message = 'boom' } E.__index = E error(setmetatable({}, E))"))
   end)

   it("does not end it, whatever the metatable of its value does", function()
      for _, meta in ipairs { "{ __tostring = function() error('x') end }", "{ __index = function() error('x') end }",
         "{ __tostring = function() end }", "{ __tostring = function() error(setmetatable({}, hostile)) end }" } do
         for _, call in ipairs { "error(hostile)", "error { message = hostile }", "nil, hostile", "hostile" } do
            local out = said(("hostile = %s hostile = setmetatable({}, hostile)\n%s\n'and on'"):format(meta, call))
            assert.truthy(out:find("\nand on\n$"), call .. " with " .. meta .. ": " .. out)
         end
      end
   end)

   it("is pointed at in a long text", function()
      local caret, chunk = require "repl.prompt.caret", require "repl.prompt.chunk"
      local compile, calls = chunk.compile, 0
      chunk.compile = function(text) -- luacheck: ignore (put back below)
         calls = calls + 1
         return compile(text)
      end
      for _, mistake in ipairs { 1, 2, 77, 199, 200 } do
         local lines = {}
         for i = 1, 200 do lines[i] = ("a%d = f(%d)"):format(i, i) end
         lines[mistake] = "b b = 1"
         local text = table.concat(lines, "\n")
         local _, err = compile(text)
         calls = 0
         assert.truthy(caret.syntax(text, err):find("\n   b b = 1\n     ^", 1, true), "in line " .. mistake)
         assert.is_true(calls < 20, calls .. " attempts")
      end
      chunk.compile = compile -- luacheck: ignore
   end)

   it("in a format's name has the nearest one, and a caret", function()
      local out = said("lpfm.create{format=\"defualt\"}")
      assert.truthy(out:find('no sampling format is called "defualt"; did you mean \'default\'?', 1, true), out)
      assert.truthy(out:find("\n +%^"), out)
   end)

   it("of a hole in a list names the element behind it", function()
      local ctx = "c = lpfm.create{}; "
      for _, call in ipairs { "write_pmcs{ {num=4,value=9}, [4]={num=5,value=9} }", "read_pmds{ 4, 5, [9]=6 }",
         "write_pmds{ {num=4,value=0}, [3]={num=5,value=0} }", "create_evtsets{ {id=1}, [3]={id=2} }" } do
         local out = said(ctx .. "c:" .. call)
         assert.truthy(out:find("element %d is behind a hole: there is no element %d"), out)
      end
      assert.equal("true\n", said(ctx .. "c:write_pmds{ {num=4,value=0}, {num=5,value=0}, n = 2 }"))
   end)
end)
