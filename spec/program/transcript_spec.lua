-- SPDX-License-Identifier: MIT
-- .save and .load: a transcript as a script that makes the same contexts, programmed alike.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local terminal = require "support.terminal"

local quote = terminal.quote
local program, dir = c.program, c.folder()

local function prompt(text, environment)
   return c.sh(("printf %%s %s | %s %s"):format(quote(text), environment or "", program))
end

local read, write = files.read, files.write

-- Returns Lua code that prints how contexts are programmed, as text that can be compared.
local function dump(...)
   local out = {}
   for i, name in ipairs { ... } do
      out[i] = ("do local p = %s:programming(); if p.target then p.target.tid = nil end; "
         .. "print('@' .. require('repl.prompt.literal').text(p)) end\n"):format(name)
   end
   return table.concat(out)
end

local function programming(text)
   return table.concat({ text:match("(@.*)") or "" })
end

-- Work on the simulated computer: sampling with randomized periods, two sets, a running target.
local simulated = [[
m = lpfm.machine("sim:itanium2", {cpus=2})
tid = m:spawn{program={ {loop=1000, {ip=0x1000, ns=1000, events={l2_misses=1}}} }}
c = lpfm.create{format="default", buf_size=32768, flags={"OVFL_NO_MSG"}}
c:create_evtsets{ {id=1, flags={"TIME_SWITCH"}, timeout=2e6}, {id=0, flags={"TIME_SWITCH"}, timeout=1e6} }
c:write_pmcs{ {num=4, value=m:encode("l2_misses", 4)}, {num=4, set=1, value=m:encode("cpu_cycles", 4) or 3} }
p = {num=4, value=-100, long_reset=-100, short_reset=-50, flags={"OVFL_NOTIFY", "RANDOM"}, random_mask=15}
p.random_seed, p.smpl_pmds, p.reset_pmds = 7, {5}, {5}
c:write_pmds{ p }
c:write_pmds{ {num=4, set=1}, 5 }
d = lpfm.create()
d:write_pmcs(lpfm.pmcs{ {num=5, value="0xffffffffffffffff"} })
d:write_pmcs{ {num=5, value=77} }
c:load(tid); c:start()
m:run{ms=1}
]]

describe("a transcript", function()
   it("is a script that programs its contexts alike, and finds that they are", function()
      local file = dir .. "/transcript.lua"
      local before = programming(prompt(simulated .. ".save " .. file .. "\n" .. dump("c", "d")))
      assert.truthy(before:find("random_seed = 7", 1, true), before)
      write(dir .. "/after.lua", ("local status = dofile(%q)\n"):format(file) .. dump("c", "d") .. "return status\n")
      local out, status = c.sh(program .. " " .. dir .. "/after.lua")
      assert.equal(0, status, out)
      assert.equal(before, programming(out))
      out, status = c.sh(program .. " " .. file)
      assert.equal(0, status, out)
      assert.falsy(out:find("not as it was saved", 1, true), out)
   end)

   it("is loaded at the prompt, where its names are then", function()
      local file = dir .. "/transcript.lua"
      local before = programming(prompt(simulated .. ".save " .. file .. "\n" .. dump("c", "d")))
      local out, status = prompt(".load " .. file .. "\nprint(#c:buffer(), tid)\n" .. dump("c", "d"))
      assert.equal(0, status, out)
      assert.equal(before, programming(out))
      assert.truthy(out:find("\n%d+\t100\n"), out)
   end)

   it("can be saved again after it was loaded", function()
      local file, again = dir .. "/transcript.lua", dir .. "/again.lua"
      local before = programming(prompt(simulated .. ".save " .. file .. "\n" .. dump("c", "d")))
      local out = prompt((".load %s\nd:write_pmcs{ {num=6, value=5} }\n.save %s\n"):format(file, again))
      assert.truthy(out:find("again.lua: 2 statements, 2 contexts", 1, true), out)
      out = prompt((".load %s\n"):format(again) .. dump("c", "d"))
      assert.equal((before:gsub("{num = 5, value = 77}", "%0, {num = 6, value = 5}")), programming(out))
   end)

   it("of some contexts has their programming alone", function()
      local file = dir .. "/contexts.lua"
      local before = programming(prompt(simulated .. ".save " .. file .. " c d\n" .. dump("c", "d")))
      local text = read(file)
      assert.truthy(text:find('lpfm.machine("sim:itanium2", {cpus = 2})', 1, true), text)
      assert.falsy(text:find("m:run", 1, true), text)
      write(dir .. "/after.lua", ("local chunk = assert(loadfile(%q))\n"):format(file)
         .. "local machine = lpfm.machine\n"
         .. "lpfm.machine = function(...)\nm = machine(...)\nm:spawn{program={{sleep=1000}}}\nreturn m\nend\nchunk()\n"
         .. dump("c", "d"))
      local out, status = c.sh(program .. " " .. dir .. "/after.lua")
      assert.equal(0, status, out)
      assert.equal(before, programming(out))
   end)

   it("keeps what was typed: functions, locals, values, in their order", function()
      local file = dir .. "/typed.lua"
      prompt("function twice(n)\nreturn 2 * n -- a comment\nend\nlocal q = 1\nq = (q or 5) + 1\n"
         .. "x = twice(q); x + 1\nx -- the value\n'nothing' == nil\nreturn 7\nnosuch.field\nx = = 1\n.help\n?stat\n=x\n"
         .. ".save " .. file .. "\n")
      local out, status = c.sh(program .. " " .. file)
      assert.equal(0, status, out)
      assert.equal("5\n4\nfalse\n7\n4\n", out)
      local text = read(file)
      assert.truthy(text:find("-- nosuch.field\n-- failed: ", 1, true), text)
      assert.falsy(text:find("help", 1, true), text)
   end)

   it("prints what the prompt printed, also with kept locals, and goes on behind a return", function()
      local file = dir .. "/printed.lua"
      local typed = "local b = 6\nlocal function g(x) return x + b end\ng(1)\nlocal c = 3; c + b\ny = 5 return y\n"
         .. "if y then return 'taken' end\nfor i = 1, 3 do if i == 2 then return i end end\n"
         .. "function h() if y then return 9 end end\nh()\nlocal z = 1 return z\ndo local hidden = 4 end\nhidden\n"
         .. "if y > 9 then return 1 end; y + 1\nfunction f() return n end\nlocal n = 3; f()\n"
         .. "local a = 1 if a > 5 then return end\nprint(a)\nreturn 7, 8\n"
      local printed = prompt(typed)
      assert.equal("7\n9\n5\ntaken\n2\n9\n1\nnil\n6\n3\n1\n7\t8\n", printed)
      prompt(typed .. ".save " .. file .. "\n")
      local out, status = c.sh(program .. " " .. file)
      assert.equal(0, status, out)
      assert.equal(printed, out)
   end)

   it("writes out what statements did to contexts before they failed", function()
      local file = dir .. "/failed.lua"
      local typed = "c = lpfm.create{}\nc:write_pmcs{ {num=66, value=9}, {num=999, value=9} }\n"
         .. "d = lpfm.create() d:write_pmcs{ {num=67, value=8} } error('late')\n"
      local before = programming(prompt(typed .. ".save " .. file .. "\n" .. dump("c", "d"), "LPFM_MACHINE=sim"))
      assert.truthy(before:find("pmcs = {{num = 66, value = 9}}", 1, true), before)
      local out, status = prompt(".load " .. file .. "\n" .. dump("c", "d"), "LPFM_MACHINE=sim")
      assert.equal(0, status, out)
      assert.equal(before, programming(out))
   end)

   it("writes out what they changed in contexts that were there", function()
      local file = dir .. "/changed.lua"
      local typed = "m = lpfm.machine()\nt, u = m:spawn{program={{sleep=1000}}}, m:spawn{program={{sleep=1000}}}\n"
         .. "c = lpfm.create{}\nc:create_evtsets{ {id=1}, {id=2} }\n"
         .. "c:write_pmcs{ {num=66, value=9}, {num=67, value=9, set=1} }\nc:load(t) c:start()\n"
         .. "c:stop() c:unload() c:delete_evtsets{1} c:write_pmcs{ {num=66, value=8} } error('late')\n"
         .. "d = lpfm.create{}\nd:write_pmcs{ {num=66, value=9} }\nd:load(u) d:start()\nd:stop() error('later')\n"
      local before = programming(prompt(typed .. ".save " .. file .. "\n" .. dump("c", "d"), "LPFM_MACHINE=sim"))
      assert.truthy(before:find("sets = {{id = 2}}, pmcs = {{num = 66, value = 8}}", 1, true), before)
      assert.truthy(before:find("target = {}, running = false", 1, true), before)
      local out, status = prompt(".load " .. file .. "\n" .. dump("c", "d"), "LPFM_MACHINE=sim")
      assert.equal(0, status, out)
      assert.equal(before, programming(out))
   end)

   it("takes the thread that was monitored as an argument", function()
      local file = dir .. "/target.lua"
      local text = "c = lpfm.create()\nc:write_pmcs{ {num=66, value=9} }\nc:load(%s)\n.save %s\n"
      local shell = ("sleep 60 & pid=$!; printf '%%s' %s | sed s/PID/$pid/ | %s; echo pid=$pid; sed -n 4p %s; "
         .. "%s %s $pid; echo status $?; kill $pid; wait $pid 2>/dev/null; %s %s; echo status $?"):format(
         quote(text:format("PID", file)), program, file, program, file, program, file)
      local out = c.sh("export LPFM_MACHINE=perf; " .. shell)
      local pid = out:match("pid=(%d+)")
      local line = "local target = tonumber((select(1, ...))) or %s -- the thread (sleep) that 'c' was loaded on"
      assert.truthy(out:find(line:format(pid), 1, true), out)
      assert.truthy(out:find("status 0\n.*no thread " .. pid .. ".*status 1\n"), out)
   end)

   it("says when contexts are not programmed as they were", function()
      local file = dir .. "/changed.lua"
      prompt("c = lpfm.create{}\nc:write_pmcs{ {num=66, value=9} }\nc:write_pmds{66}\n.save " .. file .. "\n")
      write(file, (read(file):gsub("value=9", "value=8"):gsub("c:write_pmds{66}", "true")))
      local out, status = c.sh(program .. " " .. file)
      assert.equal(1, status, out)
      assert.truthy(out:find("c is not as it was saved: PMC 66 is programmed otherwise", 1, true), out)
      assert.truthy(out:find("c is not as it was saved: PMD 66 is not programmed", 1, true), out)
   end)

   it("is refused in words where it cannot be written or read", function()
      local file = os.tmpname()
      write(file, "kept")
      local out, status = prompt((".save /no/such/dir/x\n.save\n.load\n.load /no/such\n.save %s nosuch\n.lode x\n")
         :format(file))
      assert.equal(1, status)
      assert.equal("kept", read(file))
      os.remove(file)
      for _, text in ipairs { "cannot write /no/such/dir/x", ".save: expected a file", ".load: expected a file",
         "cannot read /no/such", "'nosuch' is no open context",
         "unknown command '.lode'; did you mean '.load'?" } do
         assert.truthy(out:find(text, 1, true), text .. " not in " .. out)
      end
   end)

   it("frees a thread whose last context nobody holds any more", function()
      local out, status = prompt("c = lpfm.create{}\nc:load()\nc = lpfm.create{}\nc:load()\n", "LPFM_MACHINE=perf")
      assert.equal(0, status)
      assert.equal("true\ntrue\n", out)
   end)
end)
