-- SPDX-License-Identifier: MIT
-- Real programs on the simulated caches count what valgrind's cachegrind counts, to the last miss:
-- its nine counters. One interpreter: the simulator that is compared is C.
local c = require "support.c"
local files = require "support.files"
local lpfm = require "lpfm"
local sim = require "support.sim"
local terminal = require "support.terminal"

local build, lua = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"
local dir = c.folder()

-- Gives both simulators the same environment, addresses, stdin and kind of stdout, on which depends
-- what a program executes. With the libraries' folder it does not depend on ld.so.cache.
local LIBRARIES = c.sh("gcc -print-multiarch"):gsub("%s+", "")
local function same(command, out)
   return ("env -i PATH=/usr/bin:/bin LC_ALL=C LD_LIBRARY_PATH=/usr/lib/%s setarch -R %s </dev/null >%s/%s"):format(
      LIBRARIES, command, dir, out)
end

-- Returns cachegrind's Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw, as in its summary.
local function judged(program, l1i, l1d, ll)
   local out, status = c.sh(same(("valgrind -q --tool=cachegrind --cache-sim=yes --I1=%s --D1=%s --LL=%s "
      .. "--cachegrind-out-file=%s/cg %s"):format(l1i, l1d, ll, dir, program), "judged"))
   assert(status == 0, out)
   local summary = io.open(dir .. "/cg"):read("*a"):match("\nsummary: ([%d ]+)")
   return (summary:gsub("%s+$", ""))
end

local function counted(l1i, l1d, ll)
   local function shape(text) return (text:gsub(",", ":")) end
   local m = sim.machine("p6", { cachegrind = 1, l1i = shape(l1i), l1d = shape(l1d), l2 = shape(ll) })
   local tid = assert(m:spawn { program = { { trace = dir .. "/trace" } } })
   assert(m:run { until_exit = tid, s = 10000 })
   local of = m:caches()
   local i, d, l2 = of.L1I, of.L1D, of.L2
   local truth = m:truth(tid)
   assert.are.equal(i.fetches, truth.instructions.user)
   assert.are.equal(d.load_misses + d.store_misses, truth.l1d_misses.user)
   assert.are.equal(l2.fetch_misses + l2.load_misses + l2.store_misses, truth.l2_misses.user)
   return table.concat({ i.fetches, i.fetch_misses, l2.fetch_misses, d.loads, d.load_misses, l2.load_misses, d.stores,
      d.store_misses, l2.store_misses }, " ")
end

-- No program reads what changes: the system's files, the free memory (sort without -S), or
-- /proc/self/maps, which shows valgrind's tool (gawk).
local PROGRAMS = {
   "ls -ln spec/c", "sort -S 1M --parallel=1 Makefile",
   "lua5.1 -e 's = 0 for i = 1, 2000 do s = s + i * i end print(s)'",
   "sed -n s/o/0/p Makefile", "sha256sum Makefile", "gcc -E -include stdio.h -x c /dev/null",
}
local missing = select(2, c.sh("command -v valgrind")) ~= 0 and "valgrind is not installed"
local USUAL = { "32768,8,64", "32768,8,64", "262144,8,64" }
-- cachegrind clips accesses to the smallest line, 32 bytes
local ODD = { "4096,2,32", "6144,3,64", "65536,1,128" }

describe("the simulated caches", function()
   before_each(sim.begin)
   after_each(sim.finish)

   for i, program in ipairs(PROGRAMS) do
      it("count as cachegrind: " .. program, function()
         if missing then return pending(missing) end
         local lpfm_trace = ("%s/%s/lpfm trace -o %s/trace -- "):format(build, lua, dir)
         local out, status = c.sh(same(lpfm_trace .. program, "counted"))
         assert.are.equal(0, status, out)
         assert.are.equal(judged(program, unpack(USUAL)), counted(unpack(USUAL)))
         if i <= 2 then assert.are.equal(judged(program, unpack(ODD)), counted(unpack(ODD))) end
      end)
   end

   it("replay a trace on any model", function()
      if missing then return pending(missing) end
      for _, model in ipairs(sim.models()) do
         local m = sim.machine(model)
         local tid = assert(m:spawn { program = { { trace = dir .. "/trace" } } })
         assert(m:run { until_exit = tid, s = 10000 })
         local truth = m:truth(tid)
         assert.are.equal(truth.instructions.user + truth.stalls.user, truth.cycles.user, model)
         if #m:caches() > 0 then
            assert(truth.l1d_misses.user > 0 and truth.dtlb_misses.user > 0, model .. ": misses of its caches and TLB")
         end
      end
   end)
end)

describe("lpfm trace", function()
   local program = build .. "/" .. lua .. "/lpfm trace "

   it("has the status of its command", function()
      local file = os.tmpname()
      assert.are.equal(3, select(2, c.sh(program .. "-o " .. file .. " -- sh -c 'exit 3'")))
      os.remove(file)
   end)

   it("says what is missing", function()
      local out, status = c.sh(program)
      assert.are.equal(2, status)
      assert.is_truthy(out:find("expected a command", 1, true), out)
      out, status = c.sh("env PATH=/nowhere " .. program .. "-- true")
      assert.are.equal(1, status)
      assert.is_truthy(out:find("valgrind is missing", 1, true), out)
      out, status = c.sh(program .. "-o - -- true")
      assert.are.equal(2, status)
      assert.is_truthy(out:find("expected -o FILE", 1, true), out)
   end)

   it("says that its file cannot be written before the command runs", function()
      local out, status = c.sh(program .. "-o /nowhere/x -- echo it ran")
      assert.are.equal(1, status)
      assert.is_truthy(out:find("/nowhere/x: No such file", 1, true), out)
      assert.is_falsy(out:find("it ran", 1, true), out)
   end)

   it("leaves no file where nothing was traced, and keeps what is in one", function()
      local scratch = c.sh("mktemp -d"):match("%S+")
      c.sh("echo kept >" .. scratch .. "/old")
      for _, name in ipairs { "old", "new" } do
         local out, status = c.sh(("%s-o %s/%s -- /no/such/program"):format(program, scratch, name))
         assert.are.equal(127, status)
         assert.is_truthy(out:find(name .. " is not written", 1, true), out)
      end
      assert.are.equal("kept\n", (c.sh("cat " .. scratch .. "/*")))
      assert.are.equal("old\n", (c.sh("ls " .. scratch)))
      c.sh("rm -r " .. scratch)
   end)

   it("writes into a pipe that has a name", function()
      local scratch = c.sh("mktemp -d"):match("%S+")
      local out, status = c.sh(("mkfifo %s/pipe && { timeout 60 cat %s/pipe >%s/trace & } && timeout 60 %s-o %s/pipe "
         .. "-- true && wait && test -s %s/trace"):format(scratch, scratch, scratch, program, scratch, scratch))
      assert.are.equal(0, status, out)
      c.sh("rm -r " .. scratch)
   end)

   -- The program does not end, and ignores Ctrl-C.
   it("keeps what it has when Ctrl-C comes, and ends the program", function()
      local file, mark = os.tmpname(), ("mark%d"):format(require("lpfm.proc").getpid())
      os.remove(file)
      local loop = "trap \"\" INT; i=0; while :; do i=$((i + 1)); [ $i = 100 ] && echo " .. mark .. "$i >&2; done"
      local t = terminal.start(("sh -c %s"):format(terminal.quote(("trap : INT; echo run; %s-o %s -- sh -c '%s'; "
         .. "echo status $?; exec cat"):format(program, file, loop))), { first = "run" })
      t:wait_for(mark .. "100")
      t:press("C-c")
      t:wait_match("lpfm trace: interrupted, [%d,]+ bytes in " .. file:gsub("%p", "%%%0"))
      t:wait_for("status 130")
      t:stop()
      assert.are.equal("0\n", (c.sh("pgrep -fc '[l]ackey.*" .. mark .. "' || true")))
      local m = sim.machine("k8")
      local tid = assert(m:spawn { program = { { trace = file } } })
      assert(m:run { until_exit = tid, s = 10000 })
      assert.is_true(m:truth(tid).instructions.user > 1000)
      os.remove(file)
   end)

   it("says that nothing was traced, with a shell's exit status, and leaves the file alone", function()
      local file = os.tmpname()
      os.remove(file)
      for path, expected in pairs { ["/nowhere/prog"] = 127, ["/etc/passwd"] = 126 } do
         local out, status = c.sh(program .. "-o " .. file .. " -- " .. path)
         assert.are.equal(expected, status)
         assert.is_truthy(out:find(("%s is not written: no instruction of '%s' was traced"):format(file, path), 1,
            true), out)
         assert.is_nil(out:find("traceback", 1, true), out)
         assert.is_nil(io.open(file))
      end
   end)

   it("makes files that are refused when damaged", function()
      local m = assert(lpfm.machine("sim:k8"))
      local file = os.tmpname()
      local function refused(bytes)
         files.write(file, bytes)
         local tid, message, errno = m:spawn { program = { { trace = file } } }
         assert.is_nil(tid)
         assert.are.equal(lpfm.errno.ENODATA, errno)
         assert.is_truthy(message:find(file, 1, true), message)
         return message
      end
      assert(c.sh(program .. "-o " .. file .. " -- true"))
      local bytes = files.read(file)
      assert.is_truthy(refused(bytes:sub(1, -20)):find("cut off or damaged", 1, true))
      assert.is_truthy(refused("I  04001090,3\n"):find("no trace of lpfm", 1, true))
      assert.is_truthy(refused(""):find("is no trace", 1, true))
      os.remove(file)
   end)
end)
