-- SPDX-License-Identifier: MIT
-- The judge of students' scripts: solutions pass; scripts that cheat fail and leave nothing behind.
-- One interpreter: the subject is programs as processes, which the judge starts.

local c = require "support.c"
local files = require "support.files"
local lpfm = require "lpfm"
local wire = require "repl.lab.wire"
local catalog = require "repl.lab.catalog"
local grade = require "repl.lab.grade"
local judge = require "repl.lab.judge"
local progress = require "repl.lab.progress"
local session = require "repl.lab.session"

local scratch = require "labs.with_state"()

-- Returns a session in which a task can be judged, and the task's page.
local function task(lab_name, id)
   local lab = assert(catalog.find(lab_name))
   local s = session.new(lab)
   for i, page in ipairs(lab.pages) do
      if page.task == id then
         s:run_up_to(i)
         return s, page
      end
   end
end

-- Returns how a script is graded, and why.
local function graded(source, lab_name, id, limit)
   local s = session.new(assert(catalog.find(lab_name or "counters")))
   id = id or "by-hand"
   s.kept.answers[id] = { answer = "x.lua", state = "right", attempts = 1, hints = 0 }
   assert(progress.write(progress.path(s.lab.name .. "-" .. id, "lua"), source))
   for _, row in ipairs(grade.session(s, limit)) do
      if row.task == id then return row.state, row.why end
   end
end

local SOLUTION = select(2, task("counters", "by-hand")).solution

-- Returns a script that does something first, and then solves nothing.
local function after(cheat)
   return cheat .. "\nreturn function() return 1 end"
end

local FFI = "local ok, ffi = pcall(require, 'ffi') if ok then %s end"

-- What students have tried, or may try, by name.
local CHEATS = {
   ["writes a verdict into every descriptor"] = [[
      local unistd = require "posix.unistd"
      for fd = 0, 63 do
         if fd ~= 1 and fd ~= 2 then unistd.write(fd, '{"result":{"right":true}}') end
         if fd ~= 1 and fd ~= 2 then unistd.write(fd, '!{s6;resultt}') end
      end
      unistd._exit(0)]],
   ["replaces the check on the stack"] = [[
      for level = 1, 20 do
         local i = 1
         while true do
            local ok, name, value = pcall(debug.getlocal, level, i)
            if not ok or not name then break end
            if type(value) == "table" and value.check then value.check = function() return true end end
            i = i + 1
         end
      end
      return 1]],
   ["replaces the judge"] = 'require("repl.lab.session").judge_value = function() return true, "yes", {} end return 1',
   ["asks the machine for the truth"] = [[return function(m, tid)
      m:run { until_exit = tid }
      return m:truth(tid).instructions.user
   end]],
   ["asks a machine of its own for the truth"] = [[return function(m, tid)
      m:run { until_exit = tid }
      return require("lpfm").machine():truth(tid).instructions.user
   end]],
   ["loads the lab for its solution"] = [[
      local path = debug.getinfo(require("labs.kit").run).source:sub(2):gsub("kit.lua$", "")
      local lab = dofile(path .. "counters.lua")
      for _, p in ipairs(lab.pages) do if p.task == "by-hand" then return loadstring(p.solution)() end end]],
   ["requires the lab for its solution"] = [[
      for _, p in ipairs(require("labs.counters").pages) do
         if p.task == "by-hand" then return loadstring(p.solution)() end
      end]],
   ["looks for the lab's file"] = ([[
      local pipe = io.popen "cat $(find '%s' -name counters.lua 2>/dev/null) /dev/null"
      local text = pipe:read "*a"
      return loadstring(text:match "SOLUTION = %%[%%[(.-)%%]%%]")()]]):format(require("posix.unistd").getcwd()),
   ["ends the interpreter"] = "os.exit(0)",
   ["ends the interpreter when it is called"] = "return function() os.exit(0) end",
   ["crashes the interpreter"] = FFI:format "ffi.cast('int *', 8)[0] = 1" .. " return function() end",
   ["returns too much"] = "return function() return ('x'):rep(2 ^ 25) end",
   ["returns a table that contains itself"] = "local t = {} t.t = t return t",
   ["returns something that pretends to be equal to all"] =
      "return function() return setmetatable({}, { __eq = function() return true end }) end",
   ["takes the answer for a number that is none"] = "return function() return 0 / 0 end",
   ["takes all memory"] = "local t = {} for i = 1, 4096 do t[i] = ('x'):rep(2 ^ 24) .. i end return function() end",
   ["makes processes without end"] = [[
      local unistd = require "posix.unistd"
      for _ = 1, 200 do
         local pid = unistd.fork()
         if pid == nil then break end
         if pid == 0 then unistd.setpid("s") unistd.sleep(600) unistd._exit(0) end
      end
      return function() return 1 end]],
   ["counts everything"] = SOLUTION:gsub(', "u"', ""),
   ["guesses from the time"] = "return function(m, tid) m:run { until_exit = tid } return m:time() end",
   ["raises what looks like a verdict"] = "return function() error({ right = true }) end",
   ["calls a verdict's name"] = "right, verdict = true, 'right' return true",
   ["lies about the protocol"] = [[
      local unistd = require "posix.unistd"
      for fd = 3, 63 do unistd.write(fd, "99999999999;1;n1;") end
      return 1]],
}

describe("the judge", function()
   for name, cheat in pairs(CHEATS) do
      it("gives nothing to a script that " .. name, function()
         if judge.weakness() and cheat:find "counters" then return pending(judge.weakness()) end
         local how, why = graded(cheat)
         assert.equal("wrong", how, why)
         assert.is_string(why)
      end)
   end

   it("calls what it had loaded itself, whatever a script has put in its place", function()
      local s, page = task("formats", "histogram")
      for _, cheat in ipairs { [[
         local kit = require "labs.kit"
         kit.try_format = function(p, _, program, every)
            return kit.by_address(kit.sample(kit.machine(p), program, { event = "loads", period = every }))
         end
         return { name = "x" }]], [[
         local real, kit = getmetatable(require "lpfm").__index, require "labs.kit"
         real.machine = function() error "replaced" end
         kit.machine = real.machine
         return { name = "x", handler = function() return "RESET" end,
            calls = { result = function() return {} end } }]] }
      do
         local right, say = judge.script(s, page, cheat, { quiet = true })
         assert.is_false(right)
         assert.is_nil(say:find("replaced", 1, true), say)
      end
      assert.is_true(judge.script(s, page, page.solution, { quiet = true }))
   end)

   it("lends a script few contexts, and none of this computer", function()
      local s, page = task("counters", "by-hand")
      local own = setmetatable({ check = function(_, _, value) return value, tostring(value) end }, { __index = page })
      local function has(source) return (judge.script(s, own, source, { quiet = true })) end
      local lends = "return rawget(require 'lpfm', 'create') ~= nil"
      assert.is_true(has(lends))
      s.lab = setmetatable({ machine = "perf" }, { __index = s.lab })
      assert.is_false(has(lends))
      s = task("counters", "by-hand")
      local make = "local lpfm = require 'lpfm' for i = 1, %d do assert(lpfm.create()) end return true"
      assert.is_true(has(make:format(64)))
      local right, say = judge.script(s, own, make:format(65), { quiet = true })
      assert.is_nil(right)
      assert.truthy(say:find("at most 64 contexts", 1, true), say)
   end)

   it("does without namespaces where there are none, and says what that means", function()
      for n, way in ipairs { "namespaces", "privileges", "limits" } do
         local out, status = c.sh(([[%s/%s/lpfm -e '
            local confine = require "repl.lab.confine"
            for _ = 2, %d do table.remove(confine.ways, 1) end
            confine.ways = { "none", unpack(confine.ways) }
            confine.command = (function(command)
               return function(way, ...) return way == "none" and { "false" } or command(way, ...) end
            end)(confine.command)
            local lab, judge = require("repl.lab.catalog").find "counters", require "repl.lab.judge"
            local s = require("repl.lab.session").new(lab)
            local page = lab.pages[#lab.pages]
            local right = judge.script(s, page, page.solution, { quiet = true })
            local cheat = "return function(m, tid) m:run { until_exit = tid } return m:truth(tid) end"
            print(right, (judge.script(s, page, cheat, { quiet = true })), judge.weakness())
         ' 2>&1]]):format(os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit", n))
         assert.same({ 0, true }, { status, out:find("true\tfalse\tScripts run without namespaces", 1, true) ~= nil },
            way .. ": " .. out)
      end
   end)

   it("ends a script that does not end, wherever it is", function()
      for _, source in ipairs { "while true do end", "return function() while true do end end",
         "os.execute 'sleep 1000'", "return function() os.execute 'sleep 1000' end" } do
         assert.same({ "wrong", "it did not end within 0.5 s" }, { graded(source, "counters", "by-hand", 0.5) })
      end
   end)

   it("leaves no process of a script, whatever session it fled to", function()
      local mark = ("%d%d"):format(os.time(), math.random(1e6))
      graded(after(("os.execute 'setsid sleep 7%s >/dev/null 2>&1 &'"):format(mark)))
      local _, status = c.sh("grep -lz '^7" .. mark .. "' /proc/[0-9]*/cmdline 2>/dev/null")
      assert.not_equal(0, status, "a sleep has outlived its judge")
   end)

   it("shows a script neither other students' files nor a home, and keeps it from writing", function()
      if judge.weakness() then return pending(judge.weakness()) end
      local secret = scratch .. "/secret"
      files.write(secret, "secret")
      local s, page = task("counters", "by-hand")
      local seen = [[
         local found = {}
         for _, path in ipairs { %q, "/etc/passwd", "/root", "/home", "/var" } do
            if os.rename(path, path) or io.open(path) then found[#found + 1] = path end
         end
         for _, path in ipairs { %q, "/usr/x", "/x", "/etc/x" } do
            if io.open(path, "w") then found[#found + 1] = "written: " .. path end
         end
         for _, name in ipairs { "XDG_STATE_HOME", "USER", "SSH_AUTH_SOCK" } do
            if os.getenv(name) then found[#found + 1] = name end
         end
         error(table.concat(found, " "), 0)]]
      local _, say = judge.script(s, page, seen:format(secret, scratch .. "/owned"), { quiet = true })
      assert.equal("", say)
   end)

   it("has no network for a script", function()
      if judge.weakness() then return pending(judge.weakness()) end
      local s, page = task("counters", "by-hand")
      local _, say = judge.script(s, page, [[
         local names = {}
         for line in io.lines "/proc/net/dev" do names[#names + 1] = line:match "^%s*(%w+):" end
         error(table.concat(names, " "), 0)]], { quiet = true })
      assert.equal("lo", say)
   end)

   it("gives a script no descriptor, whatever the program was started with, and no terminal", function()
      local own = scratch .. "/open"
      graded([[
         local unistd = require "posix.unistd"
         local tty = io.open("/dev/tty", "w")
         if tty then tty:write "stolen" end
         for fd = 5, 63 do unistd.write(fd, "stolen") end
         return 1]])
      files.write(scratch .. "/lpfm/labs/counters.json", '{"answers":{"by-hand":{"answer":"x.lua","attempts":1}}}')
      local out, status = c.sh(("env XDG_STATE_HOME=%s %s/%s/lpfm lab --grade counters 5>%s 6>&5"):format(scratch,
         os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit", own))
      assert.equal(0, status, out)
      assert.truthy(out:find('"by-hand","kind":"task","state":"wrong"', 1, true), out)
      assert.equal("", files.read(own))
      os.remove(scratch .. "/lpfm/labs/counters.json")
   end)

   it("keeps a script from the process that judges it, and from the one that asks", function()
      local before = judge.script
      graded(after 'require("repl.lab.judge").script = function() return true end kill = true')
      assert.equal(before, judge.script)
      assert.is_nil(rawget(_G, "kill"))
   end)

   it("gives nothing to a script where the student has made the task so small that anything solves it", function()
      local lab = assert(catalog.find "branches")
      local function judged(params, source)
         local s = session.new(lab, { params = params })
         s:run_up_to(#lab.pages)
         return judge.script(s, lab.pages[#lab.pages], source, { quiet = true })
      end
      local right, say = judged({ values = 1 }, "return function(list) return list end")
      assert.same({ false, "with values=1 anything solves this task, so it does not count" }, { right, say })
      assert.is_true((judged(session.draw(lab, "anna"), lab.pages[#lab.pages].solution)))
      assert.is_true((judged({ values = 500 }, lab.pages[#lab.pages].solution)))
      -- the number of trials in these labs is no parameter
      for _, name in ipairs { "statistics", "topdown", "waiting" } do
         assert.has_error(function() session.new(assert(catalog.find(name)), { params = { trials = 0 } }) end,
            ("lab %s has no parameter 'trials'"):format(name))
      end
   end)

   it("judges the script that a student names in a session, too", function()
      local s = task("counters", "by-hand")
      s.index = #s.lab.pages
      s:enter()
      local path = scratch .. "/mine.lua"
      for source, text in pairs { ["os.exit(3)"] = "Not so. It ended the program",
         [SOLUTION] = "Right. It counts programs", [CHEATS["asks the machine for the truth"]] = "is not there for" } do
         files.write(path, source)
         s:enter()
         assert.truthy(table.concat(s:reply(path), " "):find(text, 1, true), text)
      end
   end)

   it("says in plain words what is wrong with a first attempt that runs nothing", function()
      local s, page = task("counters", "by-hand")
      local right, say = judge.script(s, page, "return function() end", { quiet = true })
      assert.is_false(right)
      assert.truthy(say:find("returns before the thread has run", 1, true), say)
   end)
end)

describe("checks of scripts", function()
   -- Returns whether the judge takes a script as the solution of a task, and what it says.
   local function verdict(lab_name, id, source)
      local s, page = task(lab_name, id)
      local right, say = judge.script(s, page, source, { quiet = true })
      return right, say
   end

   it("of bias: want random periods that see all, not an empty table, another PMD, or no bias at all", function()
      local random = "return { value = -3, short_reset = -%d, long_reset = -%d, flags = { 'RANDOM' }, "
         .. "random_mask = %d, random_seed = %d }"
      for _, source in ipairs { "return {}", "return { num = 9 }",
         "return { value = -5, short_reset = -5, long_reset = -5 }",
         "return { value = -1, short_reset = -1, long_reset = -1 }", random:format(4, 4, 2, 1),
         random:format(4, 4, 3, 1), "return { value = -5, short_reset = -5, long_reset = -5, random_mask = 1 }" } do
         local right, say = verdict("bias", "honest", source)
         assert.is_false(right, source .. say)
      end
      assert.is_true(verdict("bias", "honest", random:format(2, 2, 1, 7)))
   end)

   it("of branches: want values set apart, not sorted by whatever algorithm", function()
      local stable = "return function(l) local a, b = {}, {} for _, v in ipairs(l) do "
         .. "table.insert(v %s 50 and a or b, v) end for _, v in ipairs(b) do table.insert(a, v) end return a end"
      assert.is_true(verdict("branches", "sort", stable:format "<"))
      assert.is_true(verdict("branches", "sort", stable:format ">="))
      for _, source in ipairs { "return function(l) table.sort(l) return l end",
         "local s = table.sort return function(l) s(l) return l end", [[return function(l)
            for i = 1, #l do
               for j = 1, #l - i do if l[j] > l[j + 1] then l[j], l[j + 1] = l[j + 1], l[j] end end
            end
            return l
         end]] } do
         assert.is_false(verdict("branches", "sort", source))
      end
   end)

   it("of skid: want every culprit in loops of several lengths", function()
      for n = 1, 8 do assert.is_false(verdict("skid", "repair", ("return function() return %d end"):format(n))) end
      assert.is_false(verdict("skid", "repair", "return function(s, k) return (s - k - 1) % 8 + 1 end"))
   end)

   it("of width: know the look at which nothing has happened", function()
      local join = "return function(s, now, last, w) if now %s last then s = s + 2 ^ w end return s, s + now end"
      assert.is_true(verdict("width", "join", join:format "<"))
      assert.is_false(verdict("width", "join", join:format "<="))
   end)

   it("of caches and threads: hold a function to what it said", function()
      local asked = [[local asked, wide = 0, %s
         return function(...)
            asked = asked + 1
            if asked > %d then return 0 end
            return wide(...)
         end]]
      local layout = asked:format("function(record, field) return (record * 8 + field) * 8 end", 256 * 8)
      assert.is_false(verdict("caches", "layout", layout))
      assert.is_false(verdict("threads", "pad", asked:format("function(cpu) return 8 * cpu end", 4)))
   end)

   it("of costs: measure periods that end with the program", function()
      local right, say = verdict("costs", "budget", "return { period = 500, buffer = 1 }")
      assert.is_false(right)
      assert.truthy(say:find("201 samples", 1, true), say)
   end)

   it("of costs: count interrupts, which no buffer saves", function()
      assert.is_false(verdict("costs", "budget", "return { period = 1000, buffer = 50 }"))
      assert.is_true(verdict("costs", "budget", "return { period = 2500, buffer = 50 }"))
   end)

   it("of sets: want a second set that is never left, however late that would be", function()
      local sets = [[return { { id = 0, flags = { "OVFL_SWITCH" } }, { id = 1, %s } }]]
      local right, say = verdict("sets", "cascade", sets:format [[flags = { "TIME_SWITCH" }, timeout = 1e9]])
      assert.is_false(right)
      assert.truthy(say:find("when its time is over", 1, true), say)
      assert.is_true(verdict("sets", "cascade", sets:format ""))
   end)

   it("of multiplex: tell why an estimate of nothing is not wanted", function()
      local right, say = verdict("multiplex", "worst", "return { 0, 50, 0, 50, 0, 50 }")
      assert.is_false(right)
      assert.truthy(say:find("not to be 0", 1, true), say)
   end)

   it("of formats: tell the error of a handler", function()
      local _, say = verdict("formats", "histogram", [[return { name = "x", init = function() end,
         handler = function() error "my own mistake" end, calls = { result = function() return {} end } }]])
      assert.truthy(say:find("my own mistake", 1, true), say)
   end)
end)

describe("the wire between interpreters", function()
   -- Returns a random value that can be sent.
   local function draw(depth)
      local kind = math.random(depth > 3 and 6 or 7)
      if kind == 1 then return math.random(-1e9, 1e9) end
      if kind == 2 then return (math.random() - 0.5) * 2 ^ math.random(-300, 300) end
      if kind == 3 then return math.random(2) == 1 end
      if kind == 4 then return ("\0;{}\n\255"):rep(math.random(0, 4)) .. math.random() end
      if kind == 5 then return lpfm.u64("0xffffffff00000000") + math.random(1, 1e6) end
      if kind == 6 then return ({ math.huge, -math.huge, "", "n1;" })[math.random(4)] end
      local out = {}
      for i = 1, math.random(0, 5) do out[math.random(2) == 1 and i or "k" .. i] = draw(depth + 1) end
      return out
   end

   local function same(a, b)
      if type(a) ~= "table" then return a == b end
      for k, v in pairs(a) do
         if not same(v, b[k]) then return false end
      end
      for k in pairs(b) do
         if a[k] == nil then return false end
      end
      return true
   end

   it("gives back every value as it was", function()
      for _ = 1, 500 do
         local value = draw(0)
         assert.is_true(same(value, wire.load(wire.dump(value))))
      end
   end)

   it("refuses damaged texts with an error, and nothing worse", function()
      for _ = 1, 2000 do
         local text = wire.dump { draw(0), draw(1) }
         local at = math.random(#text)
         text = math.random(2) == 1 and text:sub(1, at) or text:sub(1, at - 1) .. string.char(math.random(0, 255))
            .. text:sub(at + 1)
         local ok, err = pcall(wire.load, text)
         assert.is_true(ok or err == "what the other process sent cannot be read", tostring(err))
      end
      assert.has_error(function() wire.load(("{t"):rep(1e5)) end, "what the other process sent cannot be read")
   end)
end)
