-- SPDX-License-Identifier: MIT
-- The recipes of kernel/README.md, followed to the letter in a copy of the source tree: a new sampling format and a
-- new PMU model are files of their own and one row each, and everything that lists formats and models has them.

local c = require "support.c"
local files = require "support.files"

local build = (os.getenv("LPFM_BUILD") or "build"):match("build/san$") or "build"
local interpreter = os.getenv("LPFM_LUA") or "luajit"
local CLEAN = "env -u LD_PRELOAD -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "
local root

local function must(command)
   local out, status = c.sh(command)
   assert.are.equal(0, status, command .. "\n" .. out)
   return out
end

-- One "##" section's new files, { path = text }, and the files in which it has a row added, { path = row }.
local function recipe(title)
   local text = files.read("kernel/README.md"):match("\n## " .. title .. "\n(.-)\n## ")
   local own, rows = {}, {}
   for path, source in text:gmatch("\n`([^`\n]+)`:\n\n```c\n(.-\n)```\n") do own[path] = source end
   for path, row in text:gmatch("In `([^`]+)` add the row `([^`]+)`") do rows[path] = row end
   assert(next(own) and next(rows), title)
   return own, rows
end

-- A row more, after the last line of the list: "\tX(...)", all but the last continued by a backslash.
local function add_row(path, row)
   local lines, last = {}, nil
   for line in files.read(path):gmatch("([^\n]*)\n") do
      lines[#lines + 1] = line
      if line:find("^\tX%(") then last = #lines end
   end
   lines[last] = lines[last] .. " \\\n\t" .. row
   files.write(path, table.concat(lines, "\n") .. "\n")
end

local function follow(title)
   local own, rows = recipe(title)
   for path, source in pairs(own) do
      assert.is_nil(io.open(path), path .. " is there already")
      files.write(root .. "/" .. path, source)
   end
   for path, row in pairs(rows) do add_row(root .. "/" .. path, row) end
   return own, rows
end

-- A script for the copy's module. What is there of the library was not built again: it reads the lists.
local function lua(code)
   local script = root .. "/script.lua"
   files.write(script, code)
   return must(("LPFM_MACHINE=sim LUA_CPATH='%s/%s/%s/?.so;;' %s %s"):format(root, build, interpreter, interpreter,
      script))
end

local function names(text)
   local set = {}
   for name in text:gmatch("[^%s,]+") do set[name] = true end
   return set
end

setup(function()
   root = os.tmpname()
   os.remove(root)
   -- with its objects and their times: make compiles what the recipes touch
   must(("mkdir -p %s/%s/%s && cp -a Makefile kernel lpfm %s && cp -a %s/obj %s/%s/"):format(root, build, interpreter,
      root, build, root, build))
   must(("cp -a %s/%s/lpfm.so %s/%s/%s/"):format(build, interpreter, root, build, interpreter))
   must(("cp -a %s/libpfmlib.so* %s/libpfmregions.so* %s/%s/"):format(build, build, root, build))
end)
teardown(function() c.sh("rm -rf " .. root) end)

describe("kernel/README.md", function()
   it("adds a sampling format and a PMU model by files of their own, and one row each", function()
      for title, list in pairs { ["Add a sampling format"] = "kernel/formats/formats.h",
            ["Add a PMU model"] = "kernel/pmu/models.h" } do
         local _, rows = follow(title)
         assert.same({ [list] = "X(toy)" }, rows)
      end
      must(("cd %s && %s make -j2 LPFM_READY=1 %s CFLAGS='-O0 -g -Werror' %s/libperfmon.so"):format(root, CLEAN,
         build:match("san$") and "SAN=1" or "", build))
   end)

   it("the format is listed, and keeps samples", function()
      assert.are.equal("toy 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0 65536\n1 4096\n2 4112\n3 4096\nfull 511\n" ..
         "restarted 0\n", (lua([[
         local lpfm = require "lpfm"
         for _, f in ipairs(lpfm.formats()) do
            if f.name == "toy" then print(f.name, f.uuid, f.version) end
         end
         local m = lpfm.machine("sim:k8")
         local tid = m:spawn { program = { { loop = 1000, { ip = 4096, ns = 10 }, { ip = 4112, ns = 10 } } } }
         local ctx = assert(lpfm.create { format = "toy" })
         assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) } })
         assert(ctx:write_pmds { { num = 0, value = -1, long_reset = -1, short_reset = -3, flags = "OVFL_NOTIFY" } })
         assert(ctx:load(tid) and ctx:start())
         assert(m:run { ns = 70 })
         for i = 1, ctx:buffer():get("u64", 0) do print(i, ctx:buffer():get("u64", 8 * i)) end
         assert(m:run { until_message = ctx })
         print("full", ctx:buffer():get("u64", 0))
         assert(ctx:restart())
         print("restarted", ctx:buffer():get("u64", 0))
      ]]):gsub("\t", " ")))
   end)

   it("the model is a machine, and counts", function()
      assert.are.equal("sim:toy Toy 2\n2000 20000\nPMC0 PMC1\n", (lua([[
         local lpfm = require "lpfm"
         local m = assert(lpfm.machine("sim:toy"))
         print(m.name, m.pmu, m.hw_counters)
         local tid = m:spawn { program = { { loop = 2000, { ip = 1, ns = 10 } } } }
         local ctx = assert(lpfm.create())
         assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) },
            { num = 1, value = m:encode("cycles", 1) } })
         assert(ctx:write_pmds { { num = 0 }, { num = 1, value = -100 } })
         assert(ctx:load(tid) and ctx:start() and m:run { until_exit = tid })
         local v = ctx:read_pmds { 0, 1 }
         print(v[1].value, v[2].value + 100)
         print(lpfm.pmcs()[1].name, lpfm.pmcs()[2].name)
      ]]):gsub("\t", " ")))
   end)

   it("the model has no caches unless it describes some: memory is what accesses wait for", function()
      assert.are.equal("0\n1000\n201\n", (lua([[ -- 1, and 100 for the instruction as for what it loads
         local lpfm = require "lpfm"
         local m = assert(lpfm.machine("sim:toy"))
         local load = { ip = 4096, load = { 2 ^ 20, 64 } }
         local tid = m:spawn { program = { { loop = 1000, load } } }
         local ctx = assert(lpfm.create())
         assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) },
            { num = 1, value = m:encode("cycles", 1) } })
         assert(ctx:write_pmds { { num = 0 }, { num = 1 } })
         assert(ctx:load(tid) and ctx:start() and m:run { until_exit = tid, s = 10 })
         local v = ctx:read_pmds { 0, 1 }
         print(#m:caches())
         print(v[1].value)
         print(math.floor(v[2].value / v[1].value))
      ]])))
   end)

   it("lists, error messages and completion have them", function()
      local out = lua [[
         local lpfm = require "lpfm"
         print(table.concat(lpfm.machines(), " "))
         print((select(2, lpfm.machine("sim:nosuch"))))
         print((select(2, lpfm.machine("nosuch"))))
         package.loaded["lpfm"], _G.lpfm = lpfm, lpfm
         local complete = require "repl.prompt.complete"
         print(table.concat(complete.words("sim:t", 'lpfm.machine("', '"'), " "))
         print(table.concat(complete.words("to", 'lpfm.create{format="', '"'), " "))
      ]]
      local machines, model, machine, offered, format = out:match("(.-)\n(.-)\n(.-)\n(.-)\n(.-)\n")
      assert.is_true(names(machines)["sim:toy"], machines)
      assert.is_true(names(model)["toy"], model)
      assert.is_true(names(machine)["sim:toy"], machine)
      assert.are.equal("sim:toy", offered)
      assert.are.equal("toy", format)
   end)

   it("Kbuild and DKMS build the format's module", function()
      local list = must(([[cd %s && %s make -s -f kernel/linux/Kbuild src=kernel/linux CONFIG_ARM64=y \
         --eval='print: ; @echo $(obj-m:%%.o=%%); echo $(perfmon_toy_smpl-y)' print]]):format(root, CLEAN))
      local modules, parts = list:match("(.-)\n(.-)\n")
      assert.is_true(names(modules).perfmon_toy_smpl)
      assert.are.equal("modules/fmt_toy.o ../formats/toy.o", parts)
      local dkms = must(("cd %s && arch=aarch64 bash -c '. kernel/dkms.conf; echo ${BUILT_MODULE_NAME[@]}'"):format(
         root))
      assert.same(names(modules), names(dkms))
   end)
end)
