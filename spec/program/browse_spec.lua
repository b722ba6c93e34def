-- SPDX-License-Identifier: MIT
-- A report on a terminal: its keys, its sizes, and the terminal after it.
-- One interpreter: the subject is the program as a process.

local stored = require "lpfm.samples"
local c = require "support.c"
local files = require "support.files"
local handmade = require "support.handmade"
local recording = require "pfm.recording"
local terminal = require "support.terminal"

local int = handmade.int
local program = c.program
local scratch = c.folder()
local file = scratch .. "/x.data"

-- main calls outer, which calls inner; outer has an escape sequence in its name.
local STACKS = { { 0x1000 }, { 0x2000, 0x1011 }, { 0x3000, 0x2011, 0x1011 } }
local FUNCTIONS = { { 0x1000, 0x100, "main" }, { 0x2000, 0x100, "outer\27[2J" }, { 0x3000, 0x100, "inner" } }

local function write()
   local w = assert(recording.create(file, { what = "the program", stacks = "frame pointers", fixed = true,
      machine = {}, events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000000 } } }))
   w:json("MAPS", { pid = 7, maps = { { 0, 0x10000, 0, "/bin/prog" }, { 0x20000, 0x30000, 0, "/lib/other.so" } } })
   w:json("COMM", { { tid = 7, pid = 7, comm = "one" }, { tid = 8, pid = 7, comm = "two" } })
   local words, t, list = { 1 }, stored.stack_table(), {}
   for _, frames in ipairs(STACKS) do
      words[#words + 1] = #frames
      for _, frame in ipairs(frames) do words[#words + 1] = frame end
   end
   for i, word in ipairs(words) do words[i] = int(word, 8) end
   assert(t:load(table.concat(words)))
   w:chunk("STKS", t:bytes())
   for i = 1, 60 do
      local stack = i % 3 + 1
      list[i] = { tid = i <= 45 and 7 or 8, pid = 7, ip = STACKS[stack][1], values = { stack }, tstamp = i * 1e6 }
   end
   w:block(handmade.block(list), #list)
   w:json("SYMS", { path = "/bin/prog", count = 3, segments = { { 0, 0x10000, 0 } }, files = {}, lines = {},
      frames = {}, functions = FUNCTIONS })
   w:close { samples = 60, lost = 5 }
end

setup(function() write() end)

-- Starts a report on a terminal, which stays, and shows its settings, when the report is over.
local function start(options, words, environment)
   local line = ("%s sh -c 'echo $$ >%s/pid; exec %s report %s %s'; echo status $?; stty -a; cat"):format(
      environment or "", scratch, program, words or "", file)
   options = options or {}
   options.first = options.first or "q quits"
   return terminal.start(line, options)
end

local function in_order(t)
   t:wait_match("status %d+")
   local shown = t:wait_for("echoke")
   for _, flag in ipairs { "icanon", "echo", "isig" } do
      assert.truthy((" " .. shown):find("[ \n]" .. flag .. "[ ;\n]"), flag)
   end
   assert.is_nil(shown:find("q quits", 1, true))
end

describe("a report on a terminal", function()
   local t

   after_each(function()
      if t then t:stop() end
      t = nil
   end)

   it("shows the rows of the report and its warnings, and leaves the terminal in order", function()
      t = start()
      local shown = t:wait_for("inner")
      assert.truthy(shown:find("lpfm report: 60 samples of the program", 1, true))
      assert.truthy(shown:find("5 samples lost while recording", 1, true))
      assert.truthy(shown:find(">+  100.00%  33.33%       20  prog    [.] main", 1, true))
      assert.truthy(shown:find("66.67%  33.33%       20  prog    [.] outer?[2J", 1, true))
      t:type("q")
      in_order(t)
   end)

   it("goes through the rows and unfolds who called a function and whom it called", function()
      t = start()
      t:press("Down", "Enter")
      local shown = t:wait_for("calls inner")
      assert.truthy(shown:find("66.67%% +called by main"))
      assert.truthy(shown:find("33.33%% +calls inner"))
      assert.truthy(shown:find("\n>%- +66.67%%"))
      t:press("Down", "Down", "Enter") -- goes to the row of inner
      t:wait_match(">%+%s+33.33%%%s+33.33%%%s+20%s+prog%s+%[%.%] inner")
      t:press("Home", "Down", "Enter")
      t:wait_until(function(s) return not s:find("calls inner", 1, true) end, "the row folded")
   end)

   it("unfolds the whole tree of a function, and of all", function()
      t = start()
      t:press("End")
      t:type("e")
      local shown = t:wait_for("called by main")
      assert.truthy(shown:find("33.33%% +called by outer%?%[2J\n +33.33%% +  called by main\n"), shown)
      assert.truthy(shown:find("\n>%- +33.33%%"), shown)
      t:type("e")
      t:wait_until(function(s) return not s:find("called by", 1, true) end, "the row folded")
      t:type("E")
      shown = t:wait_match("(%- +100.00%%.*inner.*)")
      assert.truthy(shown:find("^%- +100.00%%[^\n]*main\n +66.67%% +calls outer%?%[2J\n"), shown)
      assert.truthy(shown:find("\n +33.33%% +  calls inner\n"), shown)
      assert.equal(3, select(2, ("\n" .. shown):gsub("\n[ >]*%- ", "")), shown)
      t:type("E")
      t:wait_until(function(s) return not s:find("calls", 1, true) end, "all rows folded")
   end)

   it("sorts by self and by children", function()
      t = start()
      local function order()
         local out = {}
         for name in t:screen():gmatch("%[%.%] (%a+)") do out[#out + 1] = name end
         return table.concat(out, " ")
      end
      assert.equal("main outer inner", order())
      t:type("s")
      t:wait_for("sorted by self")
      assert.equal("inner main outer", order()) -- each has a third of the samples, so names decide
      t:type("s")
      t:wait_until(function(s) return not s:find("sorted by self", 1, true) end, "the first order")
      assert.equal("main outer inner", order())
   end)

   it("scrolls sideways beside the numbers, and back", function()
      t = start({ columns = 40, rows = 20 })
      t:press("Right")
      t:wait_match("\n>%+  100.00%%  33.33%%       20  %[%.%] main\n")
      t:press("Left", "Left")
      t:wait_match("\n>%+  100.00%%  33.33%%       20  prog    %[%.\n")
   end)

   it("colours shares: from 5 % red, from 0.5 % green, below not at all", function()
      local list, other = {}, scratch .. "/shares.data"
      for tid, n in pairs { [7] = 895, [8] = 46, [9] = 50, [10] = 5, [11] = 4 } do
         for _ = 1, n do list[#list + 1] = { tid = tid, pid = tid, ip = 64 } end
      end
      handmade.write(other, { fixed = true, what = "x", machine = {},
         events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 } } }, { samples = list })
      t = terminal.start(("%s report -s thread %s"):format(program, other), { first = "0.40%" })
      local raw, colours = t:raw_screen(), {}
      for _, share in ipairs { "5.00", "4.60", "0.50", "0.40" } do
         colours[#colours + 1] = raw:match("(3%d)m" .. share .. "%%") or "none"
      end
      assert.same({ "31", "32", "32", "none" }, colours, raw)
   end)

   it("shows one thread, one object, or all again", function()
      t = start()
      t:type("t")
      t:wait_match("25.00%%%s+8 two")
      t:press("Down", "Down", "Enter")
      t:wait_for("15 samples of the program, tid 8")
      t:type("o")
      t:wait_match("100.00%%%s+prog")
      t:press("Down", "Enter")
      t:wait_for("15 samples of the program, object prog, tid 8")
      t:type("t")
      t:wait_for("Show only")
      t:press("Enter")
      t:wait_for("60 samples of the program, object prog")
   end)

   it("searches, and says what is not there", function()
      t = start()
      t:type("/inn")
      t:wait_for("/inn")
      t:press("Enter")
      t:wait_match(">[^\n]*inner")
      t:type("/nothing")
      t:press("Enter")
      t:wait_for("'nothing' is not in these rows")
      t:type("n")
      t:wait_for("'nothing' is not in these rows")
   end)

   it("annotates, helps, and comes back", function()
      t = start()
      t:type("a")
      t:wait_for("main in /bin/prog: 20 samples of cpu-clock")
      t:type("q")
      t:wait_for("children")
      t:type("?")
      t:wait_for("what called it")
      t:press("Escape")
      t:wait_for("children")
      t:press("C-c")
      in_order(t)
   end)

   it("follows the terminal's size, down to a few columns and lines", function()
      t = start({ columns = 60, rows = 12 })
      t:wait_for("inner")
      t:resize(30, 6)
      t:wait_until(function(s) return s:find("? help, q quits, Enter unfolds\n", 1, true) end, "a shorter last line")
      t:press("End")
      t:wait_match(">%+   33.33%%  33.33%%       20")
      t:resize(100, 30)
      t:wait_for("/ search, t, o")
      t:type("q")
      in_order(t)
   end)

   it("leaves the terminal in order when it is killed", function()
      t = start()
      c.sh("kill -TERM " .. files.read(scratch .. "/pid"))
      in_order(t)
      assert.equal("143", t:wait_match("status (%d+)"))
   end)

   it("has no colour where NO_COLOR forbids it", function()
      t = start()
      assert.truthy(t:raw_screen():find("\27[7m", 1, true))
      t:stop()
      t = start(nil, nil, "NO_COLOR=1")
      assert.is_nil(t:raw_screen():find("\27[7m", 1, true))
      assert.truthy(t:screen():find(">+  100.00%", 1, true))
      assert.is_nil(t:raw_screen():find("\27[31m", 1, true))
   end)

   it("is text with --plain, and where another form or a part is asked for", function()
      for _, words in ipairs { "--plain", "--json", "-x ,", "--top 1", "-g caller", "--samples" } do
         t = start({ first = "status 0" }, words)
         assert.truthy(t:screen():find("main", 1, true) or t:screen():find("4096", 1, true)
            or t:screen():find("0x1000", 1, true), words)
         t:stop()
      end
      t = nil
      local out = c.sh(("%s report %s"):format(program, file))
      assert.truthy(out:find("^# 60 samples of the program\n"))
   end)
end)
