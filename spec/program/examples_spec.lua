-- SPDX-License-Identifier: MIT
-- The scripts in scripts/examples, as someone would run them; none is longer than 20 lines.

local c = require "support.c"
local handmade = require "support.handmade"
local files = require "support.files"

local read = files.read

local program = (os.getenv("LPFM_BUILD") or "build") .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm"
local scratch = os.tmpname()
os.remove(scratch)

local function run(line)
   return c.sh(program .. " scripts/examples/" .. line)
end

-- What must succeed; returns what it printed.
local function output(line)
   local out, status = run(line)
   assert.equal(0, status, line .. ": " .. out)
   return out
end

local usage, inlined

setup(function()
   assert(select(2, c.sh("mkdir -p " .. scratch)) == 0)
   usage, inlined = c.target("usage"), c.target("inlined")
end)

teardown(function() c.sh("rm -rf " .. scratch) end)

describe("an example", function()
   it("is at most 20 lines, and says how to run it", function()
      local names, n = c.sh("cd scripts/examples && ls *.lua"), 0
      for name in names:gmatch("[^\n]+") do
         local text = read("scripts/examples/" .. name)
         assert.is_true(select(2, text:gsub("\n", "")) <= 20, name .. " is too long")
         assert.truthy(text:match("^[^\n]*\n([^\n]*)"):find("lpfm [%w ]*" .. name), name)
         n = n + 1
      end
      assert.equal(12, n)
   end)
end)

describe("examples that count", function()
   it("faults.lua shows which command touches most memory", function()
      local out = output(("faults.lua '%s 1 100 0' '%s 1 5000 0'"):format(usage, usage))
      local few, many = out:match("1 100 0 .- ([%d,]+)\n.-1 5000 0 .- ([%d,]+)\n")
      few, many = tonumber((few:gsub(",", ""))), tonumber((many:gsub(",", "")))
      assert.is_true(many >= 5000 and few >= 100 and few < many, out)
   end)

   it("faster.lua tells the slower of two commands", function()
      local out = output(("faster.lua '%s 150 0 0' '%s 5 0 0' 3"):format(usage, usage))
      assert.truthy(out:find("the first takes [%d.]+ times as long\n"), out)
   end)

   it("gate.lua passes or fails", function()
      assert.truthy(output("gate.lua page-faults 1000000 true"):find("1,000,000 allowed", 1, true))
      assert.equal(1, select(2, run(("gate.lua page-faults 200 %s 1 1000 0"):format(usage))))
      assert.equal(3, select(2, run("gate.lua page-faults 1000000 sh -c 'exit 3'")))
   end)

   it("functions.lua counts pieces of Lua", function()
      local out = output("functions.lua")
      for _, name in ipairs { "s = s %.%. x", "table%.concat", "string%.rep" } do
         assert.truthy(out:find(name .. " +[%d.]+ %a+ +[%d,]+ page faults\n"), out)
      end
   end)

   it("regions.lua measures its regions, or lets itself be measured", function()
      local out = output("regions.lua")
      for _, name in ipairs { "fill", "sort", "join" } do
         assert.truthy(out:find(name .. " +[%d.]+ %a+ +%d+ page faults\n"), out)
      end
      out = c.sh(("%s stat --regions -o - -x, -e page-faults -- %s scripts/examples/regions.lua"):format(program,
         program))
      assert.truthy(out:find("^fill,all,1,%d+,,page%-faults,[^\n]*\nfill,%d+,1,[^\n]*\nsort,all,1,"), out)
   end)

   it("watch.lua follows a process, second by second", function()
      local out, status = c.sh(("%s 60000 0 0 >/dev/null & %s scripts/examples/watch.lua $! 1; s=$?; kill $!; exit $s")
         :format(usage, program))
      assert.equal(0, status, out)
      assert.truthy(out:find("CPU +faults +switches +moves\n +[%d.]+%% +[%d,]+ +[%d,]+ +[%d,]+\n"), out)
   end)
end)

describe("examples that sample", function()
   it("nightly.lua leaves a flame graph and a line", function()
      output(("nightly.lua %s %s 200"):format(scratch, inlined))
      local day = os.date("%Y-%m-%d")
      assert.truthy(read(("%s/%s.svg"):format(scratch, day)):find(">outer<", 1, true))
      assert.truthy(read(scratch .. "/profiles.csv"):find("^%d+%-%d+%-%d+,%d+,[%d.]+,outer,[%d.]+\n$"))
   end)

   it("hotlines.lua shows lines and their text", function()
      local file = scratch .. "/lines.data"
      assert.equal(0, select(2, c.sh(("%s record -q -o %s -- %s 200"):format(program, file, inlined))))
      local out, status = c.sh(("%s script -i %s scripts/examples/hotlines.lua"):format(program, file))
      assert.equal(0, status, out)
      assert.truthy(out:find("\n? *[%d.]+%%  inlined%.c:1[78] +%S"), out)
   end)

   it("pauses.lua finds them, exactly", function()
      local file = scratch .. "/pauses.data"
      local list = {}
      for i, ms in ipairs { 0, 1, 2, 40, 41, 60 } do list[i] = { tid = 5, ip = 64 * i, tstamp = ms * 1e6 } end
      handmade.write(file, { fixed = true, events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1e6 } } },
         { comms = { { tid = 5, pid = 5, comm = "five" } }, samples = list })
      local line = "%s script -i %s scripts/examples/pauses.lua %s"
      assert.equal("2 pauses\n    38.0 ms  five (5)  from [unknown] to [unknown]\n"
         .. "    19.0 ms  five (5)  from [unknown] to [unknown]\n", (c.sh(line:format(program, file, ""))))
      assert.truthy((c.sh(line:format(program, file, "30"))):find("^1 pauses\n"))
   end)

   it("flamegraph.lua draws a command, or a lab", function()
      local picture = scratch .. "/flame.svg"
      output(("flamegraph.lua %s %s 200"):format(picture, inlined))
      assert.truthy(read(picture):find(">outer<", 1, true))
      output("flamegraph.lua " .. picture)
      assert.truthy(read(picture):find("sim_cursor_move", 1, true))
   end)

   it("cpus.lua draws all CPUs", function()
      local out = output(("cpus.lua 0.5 %s/cpus.svg"):format(scratch))
      assert.truthy(out:find("^all CPUs: cpu%-clock, CPUs busy\n"), out)
      assert.truthy(read(scratch .. "/cpus.svg"):find("<svg", 1, true))
   end)

   it("misses.lua samples a simulated program: three misses here for one there", function()
      assert.truthy(output("misses.lua"):find("^samples of L2 misses\n0x1000 [^\n]* 147\n0x1020 [^\n]* 428\n$"))
   end)
end)

describe("the README", function()
   local text = read("README.md")

   it("has Lua that runs, block after block", function()
      local code, blocks = { "local lpfm\n" }, 0
      for block in text:gmatch("```lua\n(.-)```") do
         local needs_ffi = block:find("pfm.ffi", 1, true)
         code[#code + 1] = ("do %s\n%s end\n"):format(needs_ffi and "if not jit then return end" or "",
            (block:gsub("^local lpfm = ", "lpfm = ")))
         blocks = blocks + 1
      end
      assert.is_true(blocks > 5)
      local path = scratch .. "/readme.lua"
      local file = assert(io.open(path, "w"))
      file:write(table.concat(code))
      file:close()
      local out, status = c.sh(program .. " " .. path)
      assert.equal(0, status, out)
   end)

   it("names only files, commands and targets that there are", function()
      for path in text:gmatch("%f[%w]([%w_]+/[%w_./-]*%w)%f[^%w_/.]") do
         local first = path:match("^%w+")
         if first == "spec" or first == "scripts" or first == "kernel" or first == "lpfm" or first == "repl" then
            local found = io.open(path) or io.open((path:gsub("/$", "")))
            assert(found, path):close()
         end
      end
      for name in text:gmatch("\n    build/lpfm (%a+)") do
         assert.equal(0, select(2, c.sh(program .. " help " .. name)), name)
      end
   end)
end)
