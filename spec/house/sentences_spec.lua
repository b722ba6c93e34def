-- SPDX-License-Identifier: MIT
-- spec/sentences checks spec/sentences.txt, the list of the documents' sentences, as part of make
-- lint; these tests break the list in each way.
-- One interpreter: files are read.

local c = require "support.c"
local files = require "support.files"

local DOCUMENT = [[
2.1 Goals of it
The first line must count. A second
sentence has an error, i.e. it binds. This one is a remark.

2.2 The call
- it is never made
- its value is ignored
]]
local LIST = [[
# of a document
## 0.6 2.1: 2 %s
1 room/a_spec.lua: counts the first
2 = 2.1-a
## 0.6 2.2: 2 %s
1-2 room/a_spec.lua: is never made
]]

local must = c.must

local function sum(...)
   local value = 0
   for byte in (table.concat({ ... }, "\n") .. "\n"):gmatch(".") do
      value = (value * 31 + byte:byte()) % 2 ^ 32
   end
   return ("%08x"):format(value)
end

describe("the list of sentences", function()
   local here = must("pwd"):gsub("%s+$", "")
   local good = LIST:format(sum("The first line must count.", "A second sentence has an error, i.e. it binds."),
      sum("- it is never made", "- its value is ignored"))
   local root

   before_each(function()
      root = must("mktemp -d /tmp/sentences.XXXXXX"):gsub("%s+$", "")
      must(("mkdir -p %s/spec/room %s/documents"):format(root, root))
   end)
   after_each(function() must("rm -rf " .. root) end)

   local function put(path, text) files.write(root .. "/" .. path, text) end

   -- Returns what spec/sentences says of a list and a document.
   local function complaints(list, document)
      put("spec/sentences.txt", list)
      put("spec/coverage.md", "- [2.1-a] a reason\n")
      put("spec/room/a_spec.lua", 'it("counts the first")\nit("is never made")\n')
      for i = 0, 4 do
         put(("documents/%03d.txt"):format(i), i == 0 and document or "")
      end
      local out, status = c.sh(("cd %s && luajit %s/spec/sentences documents 2>&1"):format(root, here))
      local said = out:match("^(.*)sentences: ")
      assert.equal(said == "" and 0 or 1, status, out)
      return said
   end

   it("is complete when each sentence has a test that is there, or a label", function()
      assert.equal("", complaints(good, DOCUMENT))
   end)

   for what, change in pairs {
      ["0.6 2.1 2 has neither a test nor a label"] = { "\n2 = 2.1%-a", "" },
      ["0.6 2.2 2 has neither a test nor a label"] = { "\n1%-2", "\n1" },
      ["0.6 2.2 1 is there twice"] = { "\n1%-2", "\n1 1-2" },
      ["there is no test room/a_spec.lua: counts a first"] = { "counts the first", "counts a first" },
      ["there is no test room/b_spec.lua: counts the first"] = { "a_spec", "b_spec" },
      ["spec/coverage.md has no [2.1-b]"] = { "2.1%-a", "2.1-b" },
      ["what is \"nothing\"?"] = { "# of a document", "nothing" },
   } do
      it("is refused: " .. what, function()
         local said = complaints(good:gsub(change[1], change[2], 1), DOCUMENT)
         assert.truthy(said:find(what, 1, true), said)
      end)
   end

   for what, change in pairs {
      ["0.6 2.1 has 2 sentences"] = { "first line", "first word" },
      ["0.6 2.1 has 3 sentences"] = { "is a remark", "is always a remark" },
      ["no document has 0.6 2.2"] = { "2.2 The call", "2.3 The call" },
   } do
      it("is not that of another document: " .. what, function()
         local said = complaints(good, (DOCUMENT:gsub(change[1], change[2], 1)))
         assert.truthy(said:find(what, 1, true), said)
      end)
   end
end)
