-- SPDX-License-Identifier: MIT
-- lpfm annotate: shares of samples by source line and instruction.
-- One interpreter: the subject is the program as a process.

local code = require "pfm.recording.code"
local c = require "support.c"
local cjson = require "cjson"
local instructions = require("support.objdump").instructions
local objects = require "lpfm.symbols"
local handmade = require "support.handmade"
local recording = require "pfm.recording"

local program = c.program
local data = os.tmpname()
local PID = 2 ^ 22 + require("lpfm.proc").getpid() -- no process has such an ID
local BASE = 0x10000000
local target, outer, main, hot

local function run(line)
   return c.sh(program .. " annotate " .. line)
end

-- Four samples at the middle instruction of outer, one at outer's last, one in main, two elsewhere.
setup(function()
   target = c.target("inlined", "-O1", "inlined_o1")
   local path = c.sh("realpath " .. target):gsub("\n", "")
   outer, main = instructions(path, "outer"), instructions(path, "main")
   local list = {}
   hot = outer[math.floor(#outer / 2)]
   for _, at in ipairs { hot, hot, hot, hot, outer[#outer], main[1] } do
      list[#list + 1] = { tid = PID, ip = BASE + at }
   end
   list[#list + 1] = { tid = PID, ip = -4096 }
   list[#list + 1] = { tid = PID, ip = 64 }
   handmade.write(data, {
      what = "a test", fixed = true, events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 } },
   }, {
      maps = { { pid = PID, maps = { { BASE, 2 * BASE, 0, path } } } },
      comms = { { tid = PID, pid = PID, comm = "p" } }, samples = list,
      objects = { { path = path, build_id = objects.build_id(path) } },
   })
end)

teardown(function() os.remove(data) end)

describe("annotate", function()
   it("counts the samples of instructions and lines", function()
      local f = code.functions(assert(recording.open(data)), "outer")[1]
      assert.same({ "outer", 5, 62.5, true }, { f.symbol, f.samples, f.percent, f.disassembled })
      assert.equal(#outer, #f.instructions)
      for i, at in ipairs(outer) do
         local n = at == hot and 4 or i == #outer and 1 or 0
         assert.same({ at, n, n * 20 }, { f.instructions[i].address, f.instructions[i].samples,
            f.instructions[i].percent })
      end
      local samples, lines = 0, {}
      for _, l in ipairs(f.lines) do
         samples, lines[l.line] = samples + l.samples, true
         assert.truthy(l.file:find("spec/c/measured/inlined.c$"))
      end
      assert.equal(5, samples)
      assert.is_true(lines[18] and lines[24]) -- one line of each function inlined there
   end)

   it("weighs samples by what they stand for, as reports do", function()
      local path, list, file = c.sh("realpath " .. target):gsub("\n", ""), {}, os.tmpname()
      local waits = { { hot, 900 }, { outer[#outer], 100 }, { main[1], 500 }, { main[1], 500 }, { main[1], 0 } }
      for i, one in ipairs(waits) do
         list[i] = { tid = PID, ip = BASE + one[1], period = one[2], pmd = 66 }
      end
      local off_cpu = { name = "off-cpu", pmd = 66, unit = "ns", weighted = true }
      handmade.write(file, { what = "waits", events = { off_cpu } },
         { maps = { { pid = PID, maps = { { BASE, 2 * BASE, 0, path } } } }, samples = list })
      local self, shares = assert(recording.open(file)), {}
      for i, f in ipairs(code.functions(self, nil, { top = 2 })) do shares[i] = { f.symbol, f.samples, f.percent } end
      assert.same({ { "main", 3, 50 }, { "outer", 2, 50 } }, shares)
      for _, i in ipairs(code.functions(self, "outer")[1].instructions) do
         assert.equal(i.address == hot and 90 or i.address == outer[#outer] and 10 or 0, i.percent)
      end
      os.remove(file)
   end)

   it("takes the hottest function, so many as asked for, or that into which one is inlined", function()
      local self = assert(recording.open(data))
      assert.equal("outer", code.functions(self)[1].symbol)
      assert.equal("outer", code.functions(self, "leaf")[1].symbol)
      local list = code.functions(self, nil, { top = 10 })
      assert.same({ "outer", "[kernel]", "[unknown]", "main" }, { list[1].symbol, list[2].symbol, list[3].symbol,
         list[4].symbol })
      assert.same({ false, 1, -4096 }, { list[2].disassembled, #list[2].instructions, list[2].instructions[1].address })
      assert.equal("main", code.functions(self, "main", { object = "inlined_o1" })[1].symbol)
   end)

   it("never shows other code than was sampled: it names what is gone, or was built anew", function()
      local prog, file = data .. ".prog", data .. ".moved"
      local function shown(line) return (run(("-i %s %s"):format(file, line))) end
      local out, status = c.sh(("cp %s %s && chmod 755 %s && %s record -q -c 1000000 -o %s -- %s 300"):format(target,
         prog, prog, program, file, prog))
      assert.equal(0, status, out)
      assert.truthy(shown("outer"):find("\n[ %d.]+ |   %x+: %l+ ")) -- with instructions
      local id, before = objects.build_id(prog), code.functions(assert(recording.open(file)), "outer")[1]
      local function check(reason)
         local text = shown("outer")
         assert.truthy(text:find("# Only the addresses of samples are shown: " .. reason, 1, true), text)
         assert.falsy(text:find(" |   %x+: %l"), text)
         for _, line in ipairs(before.lines) do -- the recording itself has the lines of its samples
            local place = ("inlined.c:%d "):format(line.line)
            if line.samples > 0 then assert.truthy(text:find(place, 1, true), place .. text) end
         end
         local f = code.functions(assert(recording.open(file)), "outer")[1]
         assert.same({ false, before.samples }, { f.disassembled, f.samples })
         c.sh(("%s report --html %s.html -i %s"):format(program, file, file))
         local page = require("support.files").read(file .. ".html")
         assert.truthy(page:find("Only sampled addresses are shown: " .. reason, 1, true), reason)
      end
      os.remove(prog)
      check(prog .. ": No such file or directory")
      c.sh(("cp %s %s"):format(c.target("shares"), prog))
      check(("%s is another than was recorded: its build id is %s, not %s"):format(prog, objects.build_id(prog), id))
      c.sh(("objcopy --remove-section=.note.gnu.build-id %s"):format(prog))
      check(("%s is another than was recorded: its build id is missing, not %s"):format(prog, id))
      for _, name in ipairs { file, file .. ".html", prog } do os.remove(name) end
   end)

   -- Makes a program of one function, which does not end if there is an argument.
   local function build(path, step, id)
      require("support.files").write(path .. ".c", ([[
         #include <time.h>
         __attribute__((noinline)) void only(int argc) {
            volatile double x = 0;
            do { for (int i = 0; i < 100000; i++) x += %s; } while (argc > 1 || clock() < CLOCKS_PER_SEC / 5);
         }
         int main(int argc, char **argv) { only(argc); return !argv; }]]):format(step))
      local out, status = c.sh(("gcc -g -O1 -Wl,--build-id=%s -o %s %s.c"):format(id, path, path))
      assert.equal(0, status, out)
   end

   it("never shows other code than was sampled of a program without a build id", function()
      local prog, file = data .. ".none", data .. ".same"
      build(prog, "i", "none")
      local out, status = c.sh(("%s record -q -o %s -- %s"):format(program, file, prog))
      assert.equal(0, status, out)
      assert.truthy(run("-i " .. file .. " only"):find("\n[ %d.]+ |   %x+: %l+ "))
      build(prog .. ".new", "i * x - 3", "none")
      c.sh(("cat %s.new >%s"):format(prog, prog)) -- as in a new file that gets the inode of the old one
      local text = run("-i " .. file .. " only")
      assert.truthy(text:find(prog .. " is another than was recorded: it was replaced", 1, true), text)
      assert.falsy(text:find(" |   %x+: %l"), text)
      c.sh(("rm %s %s.*"):format(file, prog))
   end)

   it("keeps two builds of a function apart", function()
      local prog, file = data .. ".two", data .. ".both"
      build(prog .. ".old", "i", "sha1")
      build(prog .. ".new", "i * x - 3", "sha1")
      -- each build ends once lpfm, the shell's parent, holds its file open
      require("support.files").write(prog .. ".sh", [[for i in old new; do
         rm -f $1; cp $1.$i $1; $1 forever & until ls -iL /proc/$PPID/fd/* | grep -q "^ *$(stat -c %i $1) "; do :; done
         kill $!; wait $!
      done; true]])
      local out, status = c.sh(("%s record -q -o %s -- sh %s.sh %s 2>&1"):format(program, file, prog, prog))
      assert.equal(0, status, out)
      local changed, shown = 0, 0
      for _, f in ipairs(code.functions(assert(recording.open(file)), "only")) do
         if f.changed then changed = changed + 1 else shown = shown + 1 end
      end
      assert.same({ 1, 1 }, { changed, shown })
      c.sh(("rm %s %s.* %s"):format(file, prog, prog))
   end)

   it("prints source and instructions, each with its share, and no colours in a pipe", function()
      local out, status = run("-i " .. data)
      assert.equal(0, status)
      assert.truthy(out:find("^# outer in [^\n]*inlined_o1: 5 samples of cpu%-clock, 62%.50%% of all\n"))
      assert.truthy(out:find(("\n   80.00 |   %x: "):format(hot), 1, true), out)
      assert.truthy(out:find(("\n   20.00 |   %x: ret"):format(outer[#outer]), 1, true), out)
      assert.truthy(out:find("\n[ %d.]+ | inlined%.c:18 +x = x %* 6364136223846793005ULL"), out)
      assert.falsy(out:find("\27", 1, true))
      assert.falsy((run("--asm -i " .. data)):find("inlined.c:", 1, true))
      -- perf has these options for the same output.
      assert.equal((run("--asm -i " .. data)), (run("--stdio --no-source --dso inlined_o1 -i " .. data)))
      assert.falsy((run("--source -i " .. data)):find(("%x:"):format(hot), 1, true))
   end)

   it("prints the share of each source line once, wherever the code of it lies", function()
      local sum, lines = 0, 0
      for share in (run("-i " .. data)):gmatch("\n +([%d.]+) | inlined%.c:%d+") do
         sum, lines = sum + tonumber(share), lines + 1
      end
      assert.is_true(lines > 0)
      assert.equal(100, sum)
   end)

   it("shows the event that has most samples in the function, and names the one without", function()
      local several, list = os.tmpname(), {}
      for i, s in ipairs { { 65, main[1] }, { 65, main[1] }, { 65, main[1] }, { 66, outer[1] }, { 66, main[1] } } do
         list[i] = { tid = PID, ip = BASE + s[2], pmd = s[1] }
      end
      handmade.write(several, { what = "a test", fixed = true, events = {
         { name = "page-faults", pmd = 65, period = 10 },
         { name = "cpu-clock", pmd = 66, unit = "ns", period = 1000 } } },
         { maps = { { pid = PID, maps = { { BASE, 2 * BASE, 0, (c.sh("realpath " .. target):gsub("\n", "")) } } } },
         samples = list })
      assert.matches("^# outer in [^\n]*: 1 sample of cpu%-clock, 50%.00%% of all\n", (run("outer -i " .. several)))
      assert.matches("^# main in [^\n]*: 3 samples of page%-faults, 100%.00%% of all\n", (run("main -i " .. several)))
      assert.matches("no samples of page%-faults lie in 'outer'", (run("-e page-faults outer -i " .. several)))
      os.remove(several)
   end)

   it("colours hot lines on a screen, unless NO_COLOR forbids it", function()
      local line = "TERM=xterm script -qec '%s annotate -i %s' /dev/null"
      assert.truthy((c.sh("env -u NO_COLOR " .. line:format(program, data))):find("\27[31m   80.00\27[0m", 1, true))
      assert.falsy((c.sh("NO_COLOR=1 " .. line:format(program, data))):find("\27", 1, true))
   end)

   it("prints JSON that says the same", function()
      local out = cjson.decode((run("--json -i " .. data)))[1]
      assert.same({ "outer", 80 }, { out.symbol, out.instructions[math.floor(#outer / 2)].percent })
   end)

   it("names the culprit of every mistake", function()
      c.fail({
         { "-i " .. data .. " outre", 1, "no samples lie in 'outre'; did you mean 'outer'?" },
         { "-i " .. data .. " strlen", 1, "most samples are in outer, " },
         { "-i " .. data .. " --object libc.so.6", 1, "no samples lie in libc.so.6" },
         { "-i " .. data .. " --object nosuch outer", 1, "no samples lie in nosuch" },
         { "-i " .. data .. " a b", 2, "unexpected argument 'b'" },
         { "-i " .. data .. " -s outre", 1, "no samples lie in 'outre'; did you mean 'outer'?" },
         { "-i " .. data .. " --top x", 2, "--top: 'x'" },
         { "-i " .. data .. " --asm --source", 2, "exclude each other" },
         { "-i /no/such", 1, "/no/such" },
      }, run)
   end)

   it("finds where a real program spends its time", function()
      local file = data .. ".real"
      local out, status = c.sh(("%s record -q -c 1000000 -o %s -- %s 300"):format(program, file, target))
      assert.equal(0, status, out)
      local f = code.functions(assert(recording.open(file)), "outer")[1]
      os.remove(file)
      local loop, sum = 0, 0
      for _, l in ipairs(f.lines) do
         if l.line == 17 or l.line == 18 then loop = loop + l.samples end
      end
      for _, i in ipairs(f.instructions) do sum = sum + i.samples end
      assert.equal(f.samples, sum)
      assert.is_true(loop > f.samples * 0.9, loop .. " of " .. f.samples)
   end)
end)
