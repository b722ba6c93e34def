-- SPDX-License-Identifier: MIT
-- A command is a row and a module: with these two in a copy of repl/ there is a new one everywhere.

local c = require "support.c"
local files = require "support.files"

local build = os.getenv("LPFM_BUILD") or "build"
local program = ("%s/%s/lpfm"):format(build, os.getenv("LPFM_LUA") or "luajit")
local scratch = os.tmpname()

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
   assert.equal(0, select(2, c.sh(("mkdir -p %s/scripts && cp -R repl %s/ && ln -s $PWD/scripts/pfm %s/scripts/")
      :format(scratch, scratch, scratch))))
   files.write(scratch .. "/repl/command/greet.lua", MODULE)
   local path = scratch .. "/repl/command/init.lua"
   local text, n = files.read(path):gsub("command%.rows = {\n", function(head) return head .. ROW end)
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
