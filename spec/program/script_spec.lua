-- SPDX-License-Identifier: MIT
-- lpfm script: samples on lines, and Lua scripts over them.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local handmade = require "support.handmade"
local recording = require "pfm.recording"

local program = c.program
local data, path = os.tmpname(), os.tmpname()

local function run(line)
   return c.sh(program .. " script " .. line)
end

local function script(text) return files.write(path, text) end

setup(function()
   handmade.write(data, {
      what = "a test", fixed = true, with = { { name = "cs", pmd = 69 } },
      events = {
         { name = "cpu-clock", pmd = 65, unit = "ns", period = 500 }, { name = "faults", pmd = 66, period = 1 },
      },
   }, {
      comms = { { tid = 7, pid = 7, comm = "prog" }, { tid = 8, pid = 7, comm = "worker" } },
      samples = {
         { tid = 7, pid = 7, ip = 0x1000, tstamp = 1.5e9, cpu = 1, values = { 20 } },
         { tid = 8, pid = 7, ip = -4096, tstamp = 2e9, values = { 3000 } },
         { tid = 7, pid = 7, ip = 0x2000, tstamp = 3e9, pmd = 66, values = { 0 } },
      },
   })
end)

teardown(function()
   os.remove(data)
   os.remove(path)
end)

describe("lpfm script", function()
   it("prints every sample on a line", function()
      local high = "0xfffffffffffff000"
      local line = "%-15s %7d [%03d] %.9f: %10d %s: %18s [%s]+%s ([%s])\n"
      assert.equal(line:format("prog", 7, 1, 1.5, 500, "cpu-clock", "0x1000", "unknown", "0x1000", "unknown")
         .. line:format("worker", 8, 0, 2, 500, "cpu-clock", high, "kernel", high, "kernel")
         .. line:format("prog", 7, 0, 3, 1, "faults", "0x2000", "unknown", "0x2000", "unknown"), (run("-i " .. data)))
   end)

   it("takes an empty file for no script: it was to be a recording", function()
      local out, status = run("-i " .. data .. " " .. script "")
      assert.equal(("lpfm script: %s is empty: it is neither a recording nor a script\n"):format(path), out)
      assert.equal(1, status)
   end)

   it("prints them in the order of time, in whatever order buffers were emptied", function()
      local times, disordered = {}, os.tmpname()
      local w = assert(recording.create(disordered, { fixed = true, events = { { name = "cpu-clock", pmd = 65 } } }))
      for _, part in ipairs { 3, 1, 4, 2 } do -- each thread's later samples are written first
         for half = 2, 1, -1 do
            local list = {}
            for i = 1, 5 do
               list[i] = { tid = part, pid = 7, ip = 0x1000, tstamp = 1e9 + (half * 20 + 4 * i + part) * 1e6 }
            end
            w:block(handmade.block(list), #list)
         end
      end
      w:close { lost = 0, full = 0, missed = 0 }
      for _, line in ipairs { "script -F time -i ", "report --samples -x, -i ", "export --format csv -o - " } do
         local out, n, last = c.sh(program .. " " .. line .. disordered), 0, 0
         for time in out:gmatch("%f[%d]1%.0%d+") do
            assert.is_true(tonumber(time) >= last, line .. out)
            n, last = n + 1, tonumber(time)
         end
         times[#times + 1] = n
      end
      os.remove(disordered)
      assert.same({ 40, 40, 40 }, times)
   end)

   it("prints the fields asked for, of the event asked for", function()
      assert.equal("0x1000 20\n0xfffffffffffff000 3,000\n", (run("-F ip,cs -e cpu-clock " .. data):gsub("\n +", "\n")
         :gsub("^ +", "")))
      assert.equal((run("-F sym,dso -f " .. data)), (run(data .. " -F symbol,object")))
   end)

   it("hands samples to a script, with its arguments", function()
      local out, status = run(("-i %s %s 7 x"):format(data, script("local tid, word = ...\nlocal n = 0\n"
         .. "for s in samples() do if s.tid == tonumber(tid) then n = n + s.period end end\n"
         .. "print(n, word, arg[2], recorded.head.what)\nreturn 3")))
      assert.equal("501\tx\tx\ta test\n", out)
      assert.equal(3, status)
      assert.equal("worker\n", (run(data .. " -E 'for s in samples() do if s.cs == 3000 then print(s.comm) end end'")))
   end)

   it("takes the samples that filters let pass, as the report does, also for a script", function()
      for options, times in pairs { ["--comms prog"] = "1.5 3 ", ["--tid 8"] = "2 ", ["--pid 7"] = "1.5 2 3 ",
         ["-C 1"] = "1.5 ", ["-C 0,1 -e faults"] = "3 ", ["-e cpu-clock,faults --comm worker"] = "2 ",
         ["--symbol '[kernel]'"] = "2 ", ["-S '[unknown]'"] = "1.5 3 ", ["--time 0.4,1"] = "2 ",
         ["--time 0%-10%"] = "1.5 ", ["--time 50%,100%"] = "3 ", ["--comm none"] = "" } do
         local out = run(("-i %s %s -E 'for s in samples() do io.write(s.time, \" \") end'"):format(data, options))
         assert.equal(times, out, options)
         local lines = run(("-i %s %s -F time"):format(data, options))
         assert.equal(select(2, times:gsub(" ", "")), select(2, lines:gsub("\n", "")), options)
      end
   end)

   it("and all views print each character of UTF-8 as it is", function()
      local render = require "pfm.render"
      for _, text in ipairs { "\195\169", "\224\184\129", "\224\164\166", "\226\130\172", "\237\128\128",
         "\237\159\191", "\238\128\128", "\239\191\189", "\240\159\152\128", "\240\144\128\128",
         "\244\143\191\191", "\241\128\128\128" } do
         assert.equal(text, render.printable(text))
         assert.equal('"' .. text .. '"', render.json(text))
      end
   end)

   it("and JSON have all digits of a time", function()
      local render = require "pfm.render"
      for _, time in ipairs { 123456789012345, 2 ^ 53, 1e16 + 2, 2 ^ 60 + 256 } do
         assert.equal(("%.0f"):format(time), render.json(time))
         assert.equal(time, render.from_json(render.json(time)))
      end
   end)

   it("and report print no control character that a file holds, and no long command whole", function()
      local odd = os.tmpname()
      local name = "a\27[1m\nb\255"
      local controls = { "\194\155", -- what ESC [ is in UTF-8
         "\226\128\174", "\226\129\166", "\226\128\168" } -- bidi controls; a line separator
      local no_utf8 = { "\237\160\128", "\224\128\175", "\244\144\128\128", "\240\128\128\175" }
      local w = assert(require("pfm.recording").create(odd, { what = "x\27[2J\n" .. ("y"):rep(9999),
         events = { { name = "e" .. name, pmd = 65 } }, machine = { host = name } }))
      w:json("MAPS", { pid = 7, maps = { { 0x1000, 0x2000, 0, "/bin/" .. name },
         { 0x3000, 0x4000, 0, "/x" .. name .. table.concat(controls) .. table.concat(no_utf8) } } })
      w:json("COMM", { { tid = 7, pid = 7, comm = name } })
      w:block(handmade.block { { tid = 7, ip = 0x1000 }, { tid = 7, ip = 0x3000 } }, 2)
      w:json("SYMS", { path = "/bin/" .. name, segments = { { 0, 4096, 0 } }, functions = { { 0, 4096, name } },
         files = { name }, lines = { { 0, 1, 3 } }, frames = {} })
      w:close {}
      local clean = "a?[1m?b?"
      for _, line in ipairs { "report --plain -s comm,symbol,object,line,host -f ", "report -x , -s symbol,object -f ",
         "script -F comm,event,symbol,object,line -f ", "report --phases -f ", "diff " .. odd .. " ",
         "report --json -s symbol,object -f ", "report --histogram interval -f ", "annotate --asm -f " } do
         local out = c.sh(("%s %s%s"):format(program, line, odd))
         assert.falsy(out:find("[%z\1-\8\11-\31\127\255]"), line .. out)
         for _, bytes in ipairs(line:find("json", 1, true) and {} or controls) do
            assert.falsy(out:find(bytes, 1, true), line .. out)
         end
         for _, bytes in ipairs(no_utf8) do assert.falsy(out:find(bytes, 1, true), line .. out) end
         for text in out:gmatch("[^\n]+") do
            assert.is_true(#text < 1000 or line:find("json", 1, true) ~= nil, line .. text)
         end
         local escaped = line:find("json", 1, true) and "a\\u001b[1m\\nb?" or clean
         local other = line:find("histogram", 1, true) or line:find("diff", 1, true)
        assert.truthy(other or out:find(escaped, 1, true), line .. out)
      end
      os.remove(odd)
   end)

   it("and all commands that name a file print no control character of its name", function()
      local dir = c.sh("mktemp -d"):gsub("\n", "")
      local quoted = ("'%s/a\27[1m\nb\255'"):format(dir)
      for _, line in ipairs { "record -e page-faults -c 1 -o %s -- true", "trace -o %s.trace -- true",
         "merge -o %s.merged %s", "diff %s " .. data, "diff " .. data .. " %s", "report %s.none" } do
         local out = c.sh(("LPFM_MACHINE=perf %s %s"):format(program, line:gsub("%%s", function() return quoted end)))
         assert.falsy(out:find("[%z\1-\8\11-\31\127\255]"), line .. ": " .. out)
         assert.truthy(out:find("a?[1m", 1, true), line .. ": " .. out)
         assert.falsy(line:find("diff", 1, true) and out:find("\nb?", 1, true), "a line that begins in a name: " .. out)
      end
      c.sh("rm -rf " .. dir)
   end)

   it("calls the functions that scripts of perf have", function()
      assert.equal("begin\ncpu-clock\ncpu-clock\nfaults\nend\n", (run(("-f %s -s %s"):format(data, script(
         "function trace_begin() print 'begin' end\nfunction trace_end() print 'end' end\n"
         .. "function process_event(s) print(s.event) end")))))
   end)

   it("names the culprit of every mistake", function()
      local cases = {
         { "-i " .. data .. " -F smybol", 2, "did you mean 'symbol'?" },
         { "-i " .. data .. " -e cycles", 2, "'cycles' was not recorded" },
         { "-i " .. data .. " /no/such.lua", 1, "/no/such.lua" },
         { "-i " .. data .. " --time x,y", 2, "'x' is not a time" },
         { "-i /no/such", 1, "/no/such" },
         { data .. " -E 'x = = 1'", 1, "-E:1:" },
         { data .. " -F comm -E 'x = 1'", 2, "--fields excludes a script" },
         { data .. " -E 'x = 1' -s " .. path, 2, "--eval and --script exclude each other" },
         { data .. " " .. script("local t\nfor s in samples() do t.x = s end"), 1, path .. ":2: attempt to index" },
      }
      for _, case in ipairs(cases) do
         local out, status = run(case[1])
         assert.equal(case[2], status, case[1] .. ": " .. out)
         assert.truthy(out:find(case[3], 1, true), case[1] .. ": " .. out)
         assert.falsy(out:find("pfm/", 1, true), out)
      end
   end)

   it("names the line of a script that Lua does not understand, and none of lpfm's", function()
      local name = path .. ".lua"
      assert(os.rename(script("x = 1\nx = = 1\n"), name))
      local out, status = run(data .. " " .. name)
      os.remove(name)
      assert.equal(1, status)
      assert.equal(("lpfm script: %s:2: unexpected symbol near '='\n"):format(name), out)
   end)
end)
