-- SPDX-License-Identifier: MIT
-- The layers repl -> scripts -> lpfm -> kernel: each uses only those after it. spec/layers checks
-- that as part of make lint; these tests break each of its rules.
-- One interpreter: files are read.

local c = require "support.c"
local files = require "support.files"

local must = c.must

describe("the layers", function()
   local root

   before_each(function()
      root = must("mktemp -d /tmp/layers.XXXXXX"):gsub("%s+$", "")
      must(("cd %s && mkdir -p kernel/core lpfm/base scripts/pfm/plot repl/command"):format(root))
   end)
   after_each(function() must("rm -rf " .. root) end)

   local function put(path, text) files.write(root .. "/" .. path, text) end

   local function complaints()
      local out, status = c.sh(("luajit spec/layers %s 2>&1"):format(root))
      assert.equal(out == "" and 0 or 1, status)
      return out
   end

   it("have a top level without other files", function()
      put("out.svg", "")
      put(".hidden", "")
      assert.equal("lint: out.svg: not at the top level\n", complaints())
   end)

   it("let the upper use the lower", function()
      put("kernel/core/core.h", "")
      put("lpfm/base/args.h", "")
      put("lpfm/base/args.c", '#include "base/args.h"\n#include "core.h"\n')
      put("scripts/pfm/plot.lua", 'local views = require "pfm.plot.views"\nlocal lpfm = require "lpfm"\n')
      put("repl/command/plot.lua", 'local plot, views = require "pfm.plot", require("pfm.plot.views")\n')
      assert.equal("", complaints())
   end)

   it("keep what may not be installed apart", function()
      must(("cd %s && mkdir -p scripts/pfm/jobs repl/parts/jobs"):format(root))
      put("scripts/pfm/jobs/merge.lua", 'local objects = require "pfm.jobs.merge.objects"\n')
      put("repl/parts/jobs.lua", 'local merge = require "pfm.jobs.merge"\n')
      put("repl/parts/jobs/merge.lua", 'local merge = require "pfm.jobs.merge"\n')
      assert.equal("", complaints())
      put("repl/command/report.lua", 'local parts = require "repl.parts"\nlocal merge = require "pfm.jobs.merge"\n')
      assert.truthy(complaints():find("repl/command/report.lua:2: pfm.jobs.merge is of part jobs", 1, true))
      put("repl/command/report.lua", 'return require "repl.parts.jobs"\n')
      assert.truthy(complaints():find("repl/command/report.lua:1: repl.parts.jobs is of part jobs", 1, true))
   end)

   it("refuse an include from above, however it is written", function()
      put("repl/repl.h", "")
      for _, header in ipairs { "repl.h", "../../repl/repl.h", "repl/repl.h" } do
         put("lpfm/base/args.c", ('\n#include "%s"\n'):format(header))
         local want = ("lpfm/base/args.c:2: %s is of repl/, above lpfm/"):format(header)
         assert.truthy(complaints():find(want, 1, true), header)
      end
   end)

   it("refuse the kernel's use of the Lua module", function()
      put("lpfm/base/args.h", "")
      put("kernel/core/ctx.c", '#include "base/args.h"\n')
      assert.truthy(complaints():find("kernel/core/ctx.c:1: base/args.h is of lpfm/, above kernel/", 1, true))
   end)

   it("refuse a command in a module of the library", function()
      for _, call in ipairs { 'require "repl.command.options"', 'require("repl.command.stat").main{}' } do
         put("scripts/pfm/plot.lua", "local x = " .. call .. "\n")
         assert.truthy(complaints():find("scripts/pfm/plot.lua:1: module repl.command", 1, true), call)
      end
   end)

   it("refuse the script library in the C module", function()
      put("lpfm/base/args.c", 'lua_pushliteral(L, "pfm.count");\n')
      assert.truthy(complaints():find("module pfm.count is of scripts/, above lpfm/", 1, true))
   end)

   it("refuse another module's private parts", function()
      put("scripts/pfm/export.lua", 'local views = require "pfm.plot.views"\n')
      assert.truthy(complaints():find("scripts/pfm/export.lua:1: pfm.plot.views is private to pfm.plot", 1, true))
      put("scripts/pfm/export.lua", 'local terminal = require "pfm.util.terminal"\n')
      assert.equal("", complaints())
   end)

   it("refuse a drawer of more than thirty files", function()
      for i = 1, 31 do put(("scripts/pfm/plot/%d.lua"):format(i), "") end
      assert.truthy(complaints():find("scripts/pfm/plot: 31 entries", 1, true))
   end)
end)
