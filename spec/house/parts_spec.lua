-- SPDX-License-Identifier: MIT
-- The parts of lpfm that are packages of their own: without them everything else works, and what
-- they have is refused with the name of the package; each is installed alone.
-- One interpreter: the subject is the program as a process, and what make install leaves.

local c = require "support.c"

local build = os.getenv("LPFM_BUILD") or "build"
local interpreter = os.getenv("LPFM_LUA") or "luajit"
local program = ("%s/%s/lpfm"):format(build, interpreter)
local root = c.folder()

local CLEAN = "env -u LUA_PATH -u LUA_CPATH -u LPFM_SCRIPTS -u LPFM_CPATH -u LD_LIBRARY_PATH "

local must = c.must

local function refused(command, ...)
   local out, status = c.sh(command)
   assert.equal(2, status, command .. "\n" .. out)
   for _, text in ipairs { ... } do assert.truthy(out:find(text, 1, true), out) end
end

-- Installs lpfm with some parts, by default in a folder that is named after them. Returns the words
-- that command lines of this lpfm begin with, and the prefix.
local function install(parts, place)
   local prefix = ("%s/%s"):format(root, place or parts == "" and "none" or parts)
   must(("%s -u LD_PRELOAD -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make LPFM_READY=1 %s LUA=%s PREFIX=%s PARTS=%s install")
      :format(CLEAN, build:match("/san$") and "SAN=1" or "", interpreter, prefix, parts))
   return ("cd %s && %s %s/bin/lpfm "):format(root, CLEAN, prefix), prefix
end

describe("lpfm with all of its parts", function()
   it("has their commands, options and modules, these by their former names, too", function()
      for name, words in pairs { help = "merge,jupyter", ["stat --help"] = "--ranks", ["record --help"] = "--every",
         ["report --help"] = "--db", ["export --help"] = "--to", ["completion bash"] = "merge,--ranks,--db" } do
         local out = must(program .. " " .. name)
         for word in words:gmatch("[^,]+") do assert.truthy(out:find(word, 1, true), name .. ": " .. word) end
      end
      for name, now in pairs { merge = "jobs.merge", ranks = "jobs.ranks", store = "fleet.store",
         collector = "fleet.collector", oprofile = "oprofile.oprofile", launcher = "util.launcher" } do
         must(("%s -e 'assert(require \"pfm.%s\" == require \"pfm.%s\")'"):format(program, name, now))
      end
      must(program .. " -e 'assert(require \"lpfm.blocks\" == require \"lpfm.samples\")'")
      must(program .. " -e 'assert(require \"pfm.where\"(\"cpu == 0\").where == \"cpu == 0\")'")
   end)
end)

describe("lpfm without its parts", function()
   local lpfm, prefix

   setup(function() lpfm, prefix = install("") end)

   it("measures, records and reports", function()
      must(lpfm .. "stat -e page-faults -- true")
      must(lpfm .. "record -q -e page-faults -c 1 -o one.data -- true")
      assert.truthy(must(lpfm .. "report one.data"):find("%%"))
      assert.truthy(must(lpfm .. "report one.data one.data"):find("it counts once", 1, true))
      must(lpfm .. "export -o one.svg one.data")
   end)

   it("says nothing of them in help, completion, manual and reference", function()
      for _, command in ipairs { "help", "stat --help", "record --help", "report --help", "export --help",
         "completion bash", "completion zsh", "completion fish" } do
         local out = must(lpfm .. command)
         for _, word in ipairs { "merge", "Jupyter's", "--ranks", "--every", "--db", "--to" } do
            assert.falsy(out:find("%f[%w%-]" .. word:gsub("%-", "%%-") .. "%f[^%w%-]"), command .. ": " .. word)
         end
      end
      assert.equal("", must(("cd %s && find . -name '*merge.1' -o -name '*jupyter.1'"):format(prefix)))
      assert.falsy(must(lpfm .. "-e 'print(lpfm.help())'"):find("pfm.%a+.merge"))
   end)

   it("names the package of what is missing", function()
      refused(lpfm .. "merge one.data", "apt install lpfm-jobs", "make install PARTS=jobs")
      refused(lpfm .. "jupyter install", "lpfm-notebook")
      refused(lpfm .. "help merge", "lpfm-jobs")
      refused(lpfm .. "help databases", "lpfm-fleet")
      refused(lpfm .. "stat --ranks one.json", "--ranks: ", "lpfm-jobs")
      refused(lpfm .. "record -a --every 5m", "--every: ", "lpfm-fleet")
      refused(lpfm .. "report --db clickhouse://none/none", "--db: ", "lpfm-fleet")
      refused(lpfm .. "export --to clickhouse://none/none", "--to: ", "lpfm-fleet")
      local out, status = c.sh(lpfm .. "-e 'require \"pfm.merge\"'")
      assert.equal(1, status)
      assert.truthy(out:find("apt install lpfm-jobs", 1, true), out)
      out = c.sh(("echo 'merge{}' | (%s)"):format(lpfm))
      assert.truthy(out:find("merge: .*lpfm%-jobs"), out)
   end)
end)

describe("each part", function()
   it("is installed alone", function()
      local lpfm = install("jobs")
      must(lpfm .. "record -q -e page-faults -c 1 -o one.data -- true")
      must(lpfm .. "merge -q one.data -o all.data")
      refused(lpfm .. "jupyter install", "lpfm-notebook")
      lpfm = install("fleet")
      refused(lpfm .. "report --db mysql://db", "unknown kind of database 'mysql'")
      refused(lpfm .. "merge one.data", "lpfm-jobs")
      lpfm = install("notebook")
      must(lpfm .. "jupyter --help")
      refused(lpfm .. "record -a --every 5m", "lpfm-fleet")
      must(install("oprofile") .. "-e 'assert(#require(\"pfm.oprofile.oprofile\").argument { cpus = 4 } == 64)'")
      local prefix = select(2, install("perfctr"))
      must(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --exists perfctr"):format(prefix))
   end)

   it("that is unknown is refused before anything is built or installed", function()
      refused("env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -n LPFM_READY=1 PARTS='jobs fleets' all",
         'not "jobs fleets"')
   end)

   it("stays where another one is added, as the messages say", function()
      install("jobs", "both")
      local lpfm = install("notebook", "both")
      must(lpfm .. "jupyter --help")
      must(lpfm .. "merge --help")
   end)
end)
