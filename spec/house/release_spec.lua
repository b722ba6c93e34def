-- SPDX-License-Identifier: MIT
-- The steps of a release in CONTRIBUTING.md: the version is the same in all files that they name.
-- One interpreter: files of the source tree are read.

local c = require "support.c"
local files = require "support.files"

local version = files.read("Makefile"):match("\nVERSION := ([%d.]+)\n")

describe("the version", function()
   local steps = files.read("CONTRIBUTING.md"):match("\n## Release\n(.*)$")

   it("is in each file that the first step of a release names", function()
      local seen = 0
      for path in steps:match("1%. (.-)\n2%."):gmatch("`([%w_./]+/[%w_.]+)`") do
         assert.truthy(files.read(path):find("%f[%d]" .. version:gsub("%.", "%%.") .. "%f[^%d.]"), path)
         seen = seen + 1
      end
      assert(seen >= 5, "files that are named beside the Makefile: " .. seen)
      assert.truthy(io.open(("rockspec/lpfm-%s-1.rockspec"):format(version)), "a rockspec of version " .. version)
   end)

   it("is in no other file of the product", function()
      local found = c.sh(("grep -rIlwF --exclude='*.rockspec' %s kernel lpfm scripts repl rockspec"):format(version))
      for path in found:gmatch("[^\n]+") do
         assert.truthy(steps:find("`" .. path .. "`", 1, true) or path == "rockspec/debian/source/format",
            path .. " has the version, and CONTRIBUTING.md does not name it")
      end
   end)

   it("is the newest of CHANGELOG.md and of Debian's changelog", function()
      assert.equal(version, files.read("CHANGELOG.md"):match("\n## (%d[%d.]*)"))
      assert.equal(version, files.read("rockspec/debian/changelog"):match("^lpfm %(([%d.]+)%)"))
   end)
end)
