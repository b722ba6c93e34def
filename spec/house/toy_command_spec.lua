-- SPDX-License-Identifier: MIT
-- A new command, which is a row and a module in a copy of repl/, is in the help, the manual, the
-- prompt and the completion. CONTRIBUTING.md's recipes in Lua, for a command, a key of reports and
-- a lab, are followed to the letter in that copy: each touches as many files as it says there.
-- One interpreter: the subject is programs as processes, made from a copy of the tree.

local c = require "support.c"
local files = require "support.files"
local recipe = require "support.recipe"

local program = c.program
local scratch = os.tmpname()
local touched = {} -- by recipe: the number of files it touches

local ROW = [[
   { name = "greet", summary = "say hello to somebody",
      words = { "file" }, offline = true, call = { "event", "key" } },
]]

local MODULE = [[
-- SPDX-License-Identifier: MIT
local options = require "repl.command.options"
local greet = {}

function greet.options()
   local c = options.command("greet", "Says hello to somebody.", "lpfm greet [options] NAME")
   c:flag("--loudly", "Say it in capitals.")
   c:option("-s --sort", "KEYS", "Greet in this order.")
   c:epilog("Names are as they are.", { "lpfm greet --loudly you" })
   return c
end

function greet.main(argv)
   local args, words = greet.options():parse(argv)
   local text = "hello " .. (words[1] or "world")
   print(args.loudly and text:upper() or text)
   return 0
end

function greet.call(who) return "hello " .. who end

return greet
]]

local function run(arguments)
   return c.sh(("LPFM_SCRIPTS=%s/scripts %s %s"):format(scratch, program, arguments))
end

setup(function()
   os.remove(scratch)
   assert.equal(0, select(2, c.sh(("mkdir %s && cp -R repl scripts %s/"):format(scratch, scratch))))
   for _, title in ipairs { "Add a command", "Add a key of reports", "Add a lab" } do
      touched[title] = recipe.follow(scratch, { "repl", "scripts" }, "CONTRIBUTING.md", title)
   end
   files.write(scratch .. "/repl/command/greet.lua", MODULE)
   local path = scratch .. "/repl/command/rows.lua"
   local text, n = files.read(path):gsub("commands%.rows = {\n", function(head) return head .. ROW end)
   assert.equal(1, n)
   files.write(path, text)
end)
teardown(function() c.sh("rm -rf " .. scratch) end)

describe("a new command", function()
   it("runs, and is in the help", function()
      assert.equal("HELLO YOU\n", (run("greet --loudly you")))
      assert.truthy((run("--help")):find("\n   greet       say hello to somebody\n", 1, true))
      assert.truthy((run("help greet")):find("Say it in capitals.", 1, true))
      local out, status = run("gret")
      assert.equal(2, status)
      assert.truthy(out:find("did you mean 'greet'?", 1, true), out)
   end)

   it("has a manual page", function()
      local _, status = run("repl/man.lua 3.0 " .. scratch)
      assert.equal(0, status)
      assert.truthy(files.read(scratch .. "/lpfm-greet.1"):find("lpfm\\-greet \\- say hello", 1, true))
   end)

   it("is a function at the prompt, with help and completion", function()
      files.write(scratch .. "/typed", "greet('you')\nhelp('greet')\n")
      local out = run("<" .. scratch .. "/typed")
      assert.truthy(out:find("hello you", 1, true), out)
      assert.truthy(out:find("greet(event, key)", 1, true), out)
      files.write(scratch .. "/offers.lua", [=[
         require("repl.prompt.globals").provide()
         local complete = require "repl.prompt.complete"
         print(complete.words("gree", "", "")[1])
         print(complete.words("sym", "greet('cs', '", "'")[1])]=])
      assert.equal("greet\nsymbol\n", (run(scratch .. "/offers.lua")))
   end)

   it("is completed by the shells", function()
      for _, shell in ipairs { "bash", "fish", "zsh" } do
         local out, status = run("completion " .. shell)
         assert.equal(0, status, out)
         assert.truthy(out:find("greet", 1, true) and out:find("loudly", 1, true), shell)
      end
      files.write(scratch .. "/bash", (run("completion bash")))
      files.write(scratch .. "/typed", ([[source %s/bash
         COMP_LINE='%s greet --sort sym' COMP_POINT=${#COMP_LINE}; _lpfm; echo "${COMPREPLY[*]}"
         COMP_LINE='%s gre' COMP_POINT=${#COMP_LINE}; _lpfm; echo "${COMPREPLY[*]}"]]):format(scratch, program,
         program))
      assert.equal("symbol\ngreet\n", (c.sh(("LPFM_SCRIPTS=%s/scripts bash %s/typed"):format(scratch, scratch))))
   end)
end)

describe("the recipe of", function()
   it("each thing touches as many files as CONTRIBUTING.md says", function()
      for title, n in pairs(touched) do assert.equal(recipe.files_named(title), n, title) end
   end)

   it("a command gives one without words, which the help, the manual and the shells know", function()
      assert.equal("hello, world\n", (run("hello")))
      assert.equal("hello, you\n", (run("hello -n you")))
      assert.truthy((run("--help")):find("\n   hello       say hello\n", 1, true))
      assert.equal(2, select(2, run("hello --nosuch")))
      assert.equal(0, select(2, run("repl/man.lua 3.0 " .. scratch)))
      assert.truthy(files.read(scratch .. "/lpfm-hello.1"):find("lpfm\\-hello \\- say hello", 1, true))
      for _, shell in ipairs { "bash", "fish", "zsh" } do
         files.write(scratch .. "/" .. shell, (run("completion " .. shell)))
         local out, status = c.sh(("! command -v %s >/dev/null || %s -n %s/%s"):format(shell, shell, scratch, shell))
         assert.equal(0, status, out)
      end
      assert.truthy(files.read(scratch .. "/fish"):find("__fish_seen_subcommand_from hello' -f\n", 1, true))
      assert.falsy(files.read(scratch .. "/zsh"):match("\t\thello%).-;;\n"):find("word", 1, true))
      files.write(scratch .. "/typed", ([[source %s/bash
         COMP_LINE='%s hello ' COMP_POINT=${#COMP_LINE}; _lpfm; echo "${COMPREPLY[*]}"
         COMP_LINE='%s hello --n' COMP_POINT=${#COMP_LINE}; _lpfm; echo "${COMPREPLY[*]}"]]):format(scratch, program,
         program))
      assert.equal("\n--name\n", (c.sh(("LPFM_SCRIPTS=%s/scripts bash %s/typed"):format(scratch, scratch))))
   end)

   it("a key gives one that reports sort by, and that messages and completion know", function()
      local file = scratch .. "/folders.data"
      local out, status = run(("record -o %s -e cpu-clock:u -c 100000 -- sh -c 'ls -lR /usr/share >/dev/null'"):format(
         file))
      assert.equal(0, status, out)
      local report = run(("report -s folder --plain %s"):format(file))
      assert.truthy(report:find("percent +samples +folder\n"), report)
      assert.truthy(report:find("%% +[%d,]+ +/[^\n]*lib[^\n]*\n"), report) -- where the C library is
      assert.truthy((run(("report -s nosuch %s"):format(file))):find("event, folder, host", 1, true))
      assert.equal("folder\n", (run("completion --words key fold")))
   end)

   it("a lab gives one that the course lists, checks and prints", function()
      local path = scratch .. "/scripts/labs/mylab.lua"
      local text, n = files.read(path):gsub("number = 1,", "number = 19,") -- the next free number
      assert.equal(1, n)
      files.write(path, text)
      assert.truthy((run("lab")):find("\n *19 +mylab +[^\n]*A lab to begin with"))
      -- labs_spec.lua checks the course; here one other lab is enough
      c.sh(("cd %s/scripts/labs && ls *.lua | grep -vxE 'mylab.lua|sets.lua|kit.lua' | xargs rm"):format(scratch))
      local out, status = run(("lab --check %s/scripts/labs"):format(scratch))
      assert.equal("2 labs in " .. scratch .. "/scripts/labs: nothing to complain of\n", out)
      assert.equal(0, status)
      assert.truthy((run("lab mylab --sheet")):find("loads", 1, true))
   end)
end)
