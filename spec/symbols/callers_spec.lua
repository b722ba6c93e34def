-- SPDX-License-Identifier: MIT
-- The callers in call stacks, compared with what programs of known structure call.
-- One interpreter: the subject is programs that are recorded, and the C that finds their callers.
local c = require "support.c"
local effort = require "support.effort"
local files = require "support.files"
local lpfm = require "lpfm"
local objects = require "lpfm.symbols"
local real = require "support.real"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.stacks"

local BUILD = os.getenv("LPFM_BUILD") or "build"
local LPFM = BUILD .. "/lpfm"
local FOLDER = BUILD .. "/spec/callers/" .. (os.getenv("LPFM_LUA") or "luajit")
local MS = effort(800) -- how long a drawn program runs

local write = files.write

local function compile(line)
   if os.getenv("LPFM_PREBUILT") then pending("there is no compiler here") end
   local out, status = c.sh("mkdir -p " .. FOLDER .. " && cd " .. FOLDER .. " && LD_PRELOAD= " .. line)
   assert(status == 0, out)
end

local path = os.tmpname()

local function record(options, command)
   local out, status = c.sh(("LPFM_MACHINE=%s %s record -c 500000 %s -o %s -- %s"):format(real, LPFM, options, path,
      command))
   assert(status == 0, out)
   return assert(recording.open(path)), out
end

-- Iterates over the samples: the names of frames, the innermost first, and where the stack was cut.
local function each_stack(self)
   local next_sample = samples.each(self)
   return function()
      local s = next_sample()
      if not s then return nil end
      local names = {}
      local frames, cut = stacks.frames(self, s)
      for i, f in ipairs(frames) do names[i] = f.symbol end
      return names, cut
   end
end

local function dump(names)
   return table.concat(names, " < ")
end

-- --- programs of known calls ---------------------------------------------------------------------
-- Functions call later ones, each from some places, with frames of any size. Small leaves are
-- called often, so that samples lie in prologues, epilogues and PLTs.

local FUNCTIONS, LEAVES, TIMES = 10, 4, 40

local function name_of(i)
   return ("f%d_"):format(i)
end

-- Writes one function: what it has on its stack, and what it calls. A leaf has a loop or nothing.
local function body(out, i, callees, random)
   local words = random(4) == 1 and random(60) or random(6)
   out[#out + 1] = ("NOIPA long %s(long n)\n{"):format(name_of(i))
   if #callees == 0 then
      out[#out + 1] = random(2) == 1 and "\tfor (long i = 0; i < (n & 15); i++)\n\t\tsum += i;" or "\tsum += n;"
      out[#out + 1] = "\treturn n ^ 5;\n}\n"
      return
   end
   out[#out + 1] = ("\tALIGNED volatile long here[%d];\n\there[n & 0] = n;"):format(words)
   if random(3) == 1 then out[#out + 1] = "\tchar *more = __builtin_alloca(16 + (n & 63));\n\tKEEP(more);" end
   for _, k in ipairs(callees) do
      out[#out + 1] = ("\tfor (int i = 0; i < %d; i++)\n\t\there[0] += %s(here[0] + i);"):format(
         k > FUNCTIONS and TIMES or 2, name_of(k))
   end
   out[#out + 1] = "\tKEEP(here);\n\treturn here[0];\n}\n"
end

-- Returns C code in which main() calls f1_() for as many milliseconds as its argument says, and by
-- name of a function the set of functions that it calls.
local function draw(random)
   local calls, out = {}, { "#include <stdlib.h>", "#include <time.h>", "#define NOIPA __attribute__((noipa))",
      '#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")', "extern volatile long sum;",
      "#ifndef ALIGNED\n#define ALIGNED\n#endif", "#ifndef MAIN\n#define MAIN\n#endif" }
   for i = 1, FUNCTIONS + LEAVES do out[#out + 1] = ("long %s(long n);"):format(name_of(i)) end
   out[#out + 1] = "#ifdef PARTS\n#define PART(i) (PARTS == (i) % 2)\n#else\n#define PART(i) 1\n#endif"
   out[#out + 1] = "#if PART(0)\nvolatile long sum;\n#endif"
   for i = 1, FUNCTIONS + LEAVES do
      local callees, set = {}, {}
      if i <= FUNCTIONS then
         callees[1] = i < FUNCTIONS and i + 1 or nil
         callees[#callees + 1] = FUNCTIONS + random(LEAVES)
         if random(3) == 1 and i + 2 <= FUNCTIONS then callees[#callees + 1] = random(i + 2, FUNCTIONS) end
      end
      for _, k in ipairs(callees) do set[name_of(k)] = true end
      calls[name_of(i)] = set
      out[#out + 1] = ("#if PART(%d)"):format(i)
      body(out, i, callees, random)
      out[#out + 1] = "#endif"
   end
   calls.main = { [name_of(1)] = true }
   out[#out + 1] = "#if PART(0)\nMAIN int main(int argc, char **argv)\n{\n"
      .. "\tfor (long i = 0, n = atol(argv[argc - 1]); clock() < n * (CLOCKS_PER_SEC / 1000); i++)\n"
      .. "\t\tsum += f1_(i);\n\treturn 0;\n}\n#endif"
   return table.concat(out, "\n") .. "\n", calls
end

-- Compares a sample's frames, the innermost first, with `calls`. Returns "true" if each function,
-- up to main(), is called by that of the next frame; "elsewhere" if no function is a drawn one;
-- "lost" if the stack does not reach main(); else what is wrong.
local function judge(frames, calls)
   local first
   for i, f in ipairs(frames) do first = first or calls[f] and i end
   if not first then return "elsewhere" end
   for i = first, #frames do
      if frames[i] == "main" then return "true" end
      local caller = frames[i + 1]
      if not caller then return "lost" end
      if not (calls[caller] and calls[caller][frames[i]]) then return ("%s calls %s"):format(caller, frames[i]) end
   end
end

describe("the callers of functions", function()
   local calls, seed

   setup(function()
      assert(lpfm.machine(real))
      if os.getenv("LPFM_PREBUILT") then return end
      seed = os.time()
      math.randomseed(seed)
      local text
      text, calls = draw(math.random)
      os.execute("mkdir -p " .. FOLDER)
      write(FOLDER .. "/drawn.c", text)
   end)

   teardown(function() os.remove(path) end)

   local POINTERS = "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"
   if jit and jit.arch == "arm64" then POINTERS = "-fno-omit-frame-pointer" end
   local ALL = "gcc -g -w drawn.c -o drawn "

   -- Without tables there are only frame pointers and symbols; a call instruction before a return
   -- address tells whether a leaf has a frame. On arm64 a leaf's return address is in a register:
   -- the stack ends with the leaf.
   local BARE = "-g0 -fno-asynchronous-unwind-tables "

   for _, case in ipairs {
      { "with frame pointers", ALL .. "-O2 -fno-omit-frame-pointer", "-g fp" },
      { "with frame pointers, in frames aligned further", ALL .. "-O2 -fno-omit-frame-pointer "
         .. "-DALIGNED='_Alignas(64)'", "-g fp" },
      { "with frame pointers but in main()", ALL .. "-O2 -fno-omit-frame-pointer "
         .. "-DMAIN='__attribute__((optimize(\"omit-frame-pointer\")))'", "-g" },
      { "with frame pointers, without tables", ALL .. BARE .. "-O2 -fno-omit-frame-pointer", "-g fp", "x64" },
      { "with frame pointers, without tables, unwound", ALL .. BARE .. "-O1 -fno-omit-frame-pointer", "-g dwarf",
         "x64" },
      { "without tables at -O0", ALL .. BARE .. "-O0", "-g", "x64" },
      { "with frame pointers in leaves, too", ALL .. "-O2 " .. POINTERS, "-g fp" },
      { "with frame pointers at -O1", ALL .. "-O1 -fno-omit-frame-pointer", "-g" },
      { "with frame pointers, unwound", ALL .. "-O2 -fno-omit-frame-pointer", "-g dwarf" },
      { "without frame pointers", ALL .. "-O2 -fomit-frame-pointer", "-g" },
      { "without frame pointers at -O1", ALL .. "-O1 -fomit-frame-pointer", "-g" },
      { "of a static program at any address", ALL .. "-O2 -static-pie", "-g" },
      { "across PLTs, with frame pointers",
         "gcc -g -w -O2 -fPIC -shared -fno-omit-frame-pointer -DPARTS=1 drawn.c -o libodd.so && "
         .. "gcc -g -w -O2 -fPIC -fno-omit-frame-pointer -DPARTS=0 drawn.c -o drawn -rdynamic -L. -lodd "
         .. "-Wl,-z,lazy -Wl,-rpath,'$ORIGIN'", "-g fp" },
      { "across PLTs, without them",
         "gcc -g -w -O2 -fPIC -shared -DPARTS=1 drawn.c -o libodd.so && "
         .. "gcc -g -w -O2 -fPIC -DPARTS=0 drawn.c -o drawn -rdynamic -L. -lodd -Wl,-z,lazy -Wl,-rpath,'$ORIGIN'",
         "-g" },
   } do
      it(("are the true ones, to the last: %s (%s)"):format(case[1], case[3]), function()
         if case[4] and jit and jit.arch ~= case[4] then pending("a leaf returns to a register here") end
         compile(case[2])
         local self = record(case[3], ("%s/drawn %d"):format(FOLDER, MS))
         local n = 0
         for names, cut in each_stack(self) do
            local found = judge(names, calls)
            assert(found == "true" or found == "elsewhere", ("seed %d: %s (%s): %s"):format(seed, found,
               cut or "not cut", dump(names)))
            if found == "true" then
               n = n + 1
               assert.is_nil(cut, dump(names))
            end
         end
         assert.is_true(n > 100, n .. " samples")
      end)
   end

   it("are none that do not call them, where neither tables nor frame pointers are", function()
      compile(ALL .. BARE .. "-O2 -fomit-frame-pointer")
      local n = 0
      for names, cut in each_stack(record("-g", ("%s/drawn %d"):format(FOLDER, MS))) do
         local found = judge(names, calls)
         assert(found == "true" or found == "elsewhere" or (found == "lost" and cut),
            ("seed %d: %s (%s): %s"):format(seed, found, cut or "not cut", dump(names)))
         if found == "lost" then n = n + 1 end
      end
      assert.is_true(n > 100, n .. " samples")
   end)
end)

-- --- stacks that end elsewhere -------------------------------------------------------------------

describe("the end of stacks", function()
   setup(function() assert(lpfm.machine(real)) end)
   teardown(function() os.remove(path) end)

   -- Checks that all samples in burn() have these callers, the innermost first. Returns how often
   -- stacks were cut, by where, the number of samples, the frames of the last, and the output.
   local function burning(options, command, ...)
      local expected, n, cuts, out = { ... }, 0, {}, nil
      local self, words = record(options, command)
      for names, cut in each_stack(self) do
         local first
         for i, f in ipairs(names) do first = first or f == "burn" and i end
         if first then
            n = n + 1
            for i, f in ipairs(expected) do assert.equal(f, names[first + i], dump(names)) end
            cuts[cut or "whole"] = (cuts[cut or "whole"] or 0) + 1
            out = names
         end
      end
      assert.is_true(n > 20, n .. " samples")
      return cuts, n, out, words
   end

   local function only(which, cuts, n)
      assert.same({ [which] = n }, cuts)
   end

   for name, flags in pairs { with = "-O2 -fno-omit-frame-pointer", without = "-O2 -fomit-frame-pointer" } do
      local prog = FOLDER .. "/ends_" .. name
      local function build()
         compile("gcc -g -w " .. flags .. " -o ends_" .. name .. " $OLDPWD/spec/c/measured/ends.c")
      end

      it(("is the bottom of a coroutine, and a return address 0: %s frame pointers"):format(name), function()
         build()
         for _, how in ipairs { "-g dwarf", "-g fp" } do
            only("whole", burning(how, prog .. " coroutine", "co"))
            local cuts, n, names = burning(how, prog .. " made", "made")
            only("whole", cuts, n)
            assert.equal("made", names[#names])
         end
      end)

      it(("is what a signal interrupted, on a stack of its own: %s frame pointers"):format(name), function()
         build()
         local cuts, n, names = burning("-g dwarf", prog .. " signal", "handler")
         only("stack", cuts, n)
         assert.truthy(names[#names]:find("kill") or names[#names]:find("raise"), dump(names))
      end)

      it(("is where the copy ends, and is said to be: %s frame pointers"):format(name), function()
         build()
         local deep = math.random(600, 1000)
         local cuts, n, _, words = burning("-g dwarf,4096", prog .. " recursion " .. deep, "deep", "deep", "deep")
         only("copy", cuts, n)
         local most = words:match("([%d.]+)%% of stacks are incomplete: [%d,]+ at the end of the 4 KiB copied")
         assert(most and tonumber(most) > 80, words)
         assert.truthy(words:find("dwarf,16384 copies more", 1, true), words)
         local text = c.sh(("%s report --plain -f %s"):format(LPFM, path))
         assert.truthy(text:find("# Warning: " .. most .. "% of stacks are incomplete: ", 1, true), text)
         cuts, n = burning("-g dwarf,65528", prog .. " recursion 300", "deep", "deep")
         only("whole", cuts, n)
      end)
   end

   it("is after the most frames that are kept, by frame pointers", function()
      compile("gcc -g -w -O2 -fno-omit-frame-pointer -o ends_with $OLDPWD/spec/c/measured/ends.c")
      local cuts, n = burning("-g fp", FOLDER .. "/ends_with recursion 1000", "deep", "deep")
      only("frames", cuts, n)
      only("whole", burning("-g fp", FOLDER .. "/ends_with recursion 100", "deep", "deep"))
   end)

   -- In musl, the functions that call main() or a thread's function have no tables, and lie before
   -- others that musl exports.
   it("is where musl calls main(), or a thread begins, with symbols and without", function()
      write(FOLDER .. "/like_musl.c", [[
#define NOIPA __attribute__((noipa))
typedef void called(void);
static NOIPA void leave(void)
{
#ifdef __x86_64__
	__asm__ volatile("syscall" : : "a"(231), "D"(0));
#else
	register long number __asm__("x8") = 94, status __asm__("x0") = 0;
	__asm__ volatile("svc 0" : : "r"(number), "r"(status));
#endif
}
NOIPA void before(void) { }
static NOIPA void libc_start_main_stage2(called *f) { f(); leave(); }
NOIPA void __libc_start_main(called *f) { libc_start_main_stage2(f); }
NOIPA void pthread_exit(void) { }
static NOIPA void start(called *f) { f(); leave(); }
__attribute__((visibility("hidden"))) NOIPA void do_cleanup(void) { }
NOIPA void pthread_create(called *f) { start(f); }
]])
      write(FOLDER .. "/on_musl.c", [[
#define NOIPA __attribute__((noipa))
volatile unsigned long sum;
NOIPA void burn(void) { for (int i = 0; i < 200000; i++) sum = sum * 2654435761u + i; }
NOIPA void begin(void) { for (int i = 0; i < 150; i++) burn(); sum++; }
void FIRST(void (*f)(void));
void first(void) { FIRST(begin); }
#ifdef __x86_64__
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall first\n\thlt\n");
#else
__asm__(".globl _start\n_start:\n\tmov x29, 0\n\tbl first\n");
#endif
]])
      local OWN = "gcc -w -O1 -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-toplevel-reorder -nostdlib "
      compile(OWN .. "-fPIC -shared -s -o liblike_musl.so like_musl.c && " .. OWN .. "-c like_musl.c")
      for _, lib in ipairs { "-static like_musl.o", "-L. -llike_musl -Wl,-rpath,'$ORIGIN'" } do
         for _, flags in ipairs { "-fomit-frame-pointer", "-fno-omit-frame-pointer",
            "-fno-omit-frame-pointer -fno-asynchronous-unwind-tables" } do
            for _, first in ipairs { "__libc_start_main", "pthread_create" } do
               compile(("gcc -w -O2 %s -nostdlib -DFIRST=%s -o on_musl on_musl.c %s"):format(flags, first, lib))
               only("whole", burning("-g", FOLDER .. "/on_musl", "begin"))
            end
         end
      end
   end)

   it("is true in programs of 32 bits", function()
      write(FOLDER .. "/narrow.c", [[
volatile unsigned long sum;
#define NOIPA __attribute__((noipa))
NOIPA void burn(void) { for (int i = 0; i < 200000; i++) sum = sum * 2654435761u + i; }
NOIPA int deep(int n) { if (n) n = deep(n - 1) + 1; else burn(); __asm__ volatile("" : : : "memory"); return n; }
NOIPA int begin(void) { for (int i = 0; i < 500; i++) deep(3); return 0; }
__asm__(".globl _start\n.type _start, @function\n_start:\n"
	"\txor %ebp, %ebp\n\tcall begin\n"
	"\tmov $1, %eax\n\txor %ebx, %ebx\n\tint $0x80\n\thlt\n.size _start, .-_start\n");
]])
      if select(2, c.sh("gcc -m32 -c -x c /dev/null -o /dev/null")) ~= 0 then pending("no compiler for 32 bits") end
      for _, flags in ipairs { "-O2", "-O2 -fno-omit-frame-pointer", "-O1" } do
         compile("gcc -m32 -nostdlib -static -g -fno-pic " .. flags .. " narrow.c -o narrow")
         for _, how in ipairs { "-g dwarf", "-g fp", "-g" } do
            only("whole", burning(how, FOLDER .. "/narrow", "deep", "deep", "deep", "deep", "begin"))
         end
      end
   end)
end)

-- --- the choice ----------------------------------------------------------------------------------

describe("the records of what a program maps", function()
   -- The program loads a library while the first record is read. The samples in it are in the
   -- buffer when that record has been read, and are to be unwound after the record of the library.
   it("are read before the samples in what was mapped, also if both come while records are read", function()
      local profile = require "pfm.profile"
      local sample_buffers = require "pfm.measure.sample_buffers"
      local create, new, contexts, waited = lpfm.create, sample_buffers.new, {}, false
      finally(function() lpfm.create, sample_buffers.new = create, new end)
      function lpfm.create(...)
         local ctx, err, code = create(...)
         contexts[#contexts + 1] = ctx
         return ctx, err, code
      end
      local root = c.folder()
      files.write(root .. "/lib.c", "void spin(long n) { for (volatile long i = 0; i < n; i++) ; }")
      files.write(root .. "/late.c", [[
         #include <dlfcn.h>
         #include <fcntl.h>
         #include <time.h>
         #include <unistd.h>
         int main(void) {
            int go = open("go", O_RDONLY), done;
            char byte;
            if (read(go, &byte, 1) != 1) return 1;
            void (*spin)(long) = (void (*)(long))dlsym(dlopen("./lib.so", RTLD_NOW), "spin");
            for (clock_t end = clock() + CLOCKS_PER_SEC / 10; clock() < end;) spin(100000);
            done = open("done", O_WRONLY);
            return write(done, "x", 1) != 1 || read(go, &byte, 1) != 1; }]])
      local out, status = c.sh(("cd %s && mkfifo go done && gcc -O1 -shared -fPIC -o lib.so lib.c && "
         .. "gcc -O1 -o late late.c -ldl"):format(root))
      assert.equal(0, status, out)
      function sample_buffers.new(...)
         local sampler = new(...)
         local usual = sampler.record
         function sampler:record(r)
            if r.kind == "MAP" and not waited then
               waited = true
               local go = assert(io.open(root .. "/go", "w"))
               go:write("x")
               go:flush()
               local done = assert(io.open(root .. "/done", "r"))
               done:read(1)
               done:close()
               contexts[#contexts]:getinfo_evtsets { 0 } -- drains the kernel's rings; the others were closed
               go:write("x")
               go:close()
            end
            return usual(self, r)
         end
         return sampler
      end
      assert(lpfm.machine(real))
      local outcome = profile.run(profile.prepare { command = { "sh", "-c", "cd " .. root .. " && exec ./late" },
         g = "dwarf", events = "cpu-clock", period = 1e6, inherit = true }, { block = function() end,
         maps = function() end, comm = function() end, stacks = function() end, programs = function() end })
      assert.is_true(waited)
      local cuts = outcome.stacks.cuts or {}
      assert.is_true((cuts.mappings or 0) < 10, (cuts.mappings or 0) .. " samples in unknown mappings")
      c.sh("rm -r " .. root)
   end)
end)

describe("the choice of how call stacks are got", function()
   local function why(command)
      return require("pfm.measure.conventions").obstacle { command = command }
   end

   setup(function()
      compile("gcc -w -O2 -fno-omit-frame-pointer -o with $OLDPWD/spec/c/measured/ends.c && "
         .. "gcc -w -O2 -fomit-frame-pointer -o without $OLDPWD/spec/c/measured/ends.c")
      write(FOLDER .. "/lib.c", "long g(volatile long *);\n"
         .. "long f(long n) { volatile long a[9]; a[n & 7] = n; return g(a) + a[1]; }\n"
         .. "long g(volatile long *a) { volatile long b[5]; b[a[0] & 3] = 1; return b[2] + *a; }\n")
      write(FOLDER .. "/uses.c", "extern long f(long); int main(int n, char **v) { return f(n) + 1; }\n")
      write(FOLDER .. "/starts.c", "#include <unistd.h>\n"
         .. "int main(int n, char **v) { volatile int a[9]; a[n] = execv(v[1], v + 1); return a[n]; }\n")
      for name, flags in pairs { with = "-fno-omit-frame-pointer", without = "-fomit-frame-pointer" } do
         compile(("gcc -w -O2 -fPIC -shared %s lib.c -o lib%s.so && "
            .. "gcc -w -O2 -fno-omit-frame-pointer uses.c -o uses_%s -L. -l%s -Wl,-rpath,'$ORIGIN'"):format(flags, name,
            name, name))
      end
      compile("gcc -w -O2 -fno-omit-frame-pointer starts.c -o starts")
      for name, line in pairs { script = "#!" .. FOLDER .. "/with", twice = "#!" .. FOLDER .. "/script",
         bare = "#!" .. FOLDER .. "/without -x", env = "#!/usr/bin/env -S sh -e" } do
         local at = line:find("^#!/") and line or "#!" .. require("posix.unistd").getcwd() .. "/" .. line:sub(3)
         write(FOLDER .. "/" .. name, at .. "\n")
         os.execute("chmod +x " .. FOLDER .. "/" .. name)
      end
   end)

   for _, case in ipairs {
      { "with" }, { "without", "without has no frame pointers" },
      { "uses_with" }, { "uses_without", "libwithout.so has no frame pointers" },
      { "starts", "starts may start programs without frame pointers" },
      { "script" }, { "twice" }, { "bare", "without has no frame pointers" }, { "env", "has no frame pointers" },
   } do
      it(("goes by what runs: %s"):format(case[1]), function()
         local got = why { FOLDER .. "/" .. case[1] }
         if case[2] then
            assert.truthy((got or ""):find(case[2], 1, true), got)
         else
            assert.is_nil(got)
         end
      end)
   end

   it("looks through a shell's exec, and through nothing else of it", function()
      assert.is_nil(why { "sh", "-c", "exec " .. FOLDER .. "/with" })
      assert.is_nil(why { "sh", "-c", 'exec "$@" >/dev/null', "sh", FOLDER .. "/with" })
      for _, line in ipairs { FOLDER .. "/with", "exec " .. FOLDER .. "/with | cat", "exec $PROG", "exec a; b" } do
         assert.truthy(why { "sh", "-c", line }, line)
      end
      assert.truthy(why { FOLDER .. "/no-such-program" }:find("cannot be looked into", 1, true))
   end)

   it("is DWARF for CPUs, and goes by what a process has mapped", function()
      local obstacle = require("pfm.measure.conventions").obstacle
      assert.truthy(obstacle { cpus = { 0 } }:find("any program", 1, true))
      assert.truthy(obstacle { tids = { require("posix.unistd").getpid() } })
   end)

   it("takes a size with dwarf alone, from 1 byte to what the kernel copies", function()
      local how = require("pfm.measure.sample_buffers").parse
      for text, size in pairs { ["dwarf,1"] = 8, ["dwarf,8"] = 8, ["dwarf,4097"] = 4104, ["dwarf,0x1000"] = 4096,
         ["dwarf,65528"] = 65528 } do
         assert.same({ "DWARF", size }, { how(text) })
      end
      assert.same({ { "DWARF" }, { "frame pointers" } }, { { how "dwarf" }, { how "fp" } })
      for _, bad in ipairs { "dwarf,", "dwarf,0", "dwarf,65529", "dwarf,-8", "dwarf,8K", "dwarf,1e3", "dwarf,9,9",
         "dwarf8", "fp,8192", "fp,", "lbr", "", ",", ",8" } do
         local got, err = how(bad)
         assert.is_nil(got, bad)
         assert.truthy(err:find("'" .. bad .. "'", 1, true), err)
      end
      local out, status = c.sh(LPFM .. " record --call-graph dwarf,65529 -- true")
      assert.equal(2, status)
      assert.truthy(out:find("--call-graph: 'dwarf,65529': SIZE is from 1 to 65528 bytes", 1, true), out)
   end)
end)

-- --- chains and mappings -------------------------------------------------------------------------

describe("an unwinder", function()
   local PAGE, WORD = 4096, 8
   -- Numbers of frame pointer, stack pointer, program counter, and link register, if there is one;
   -- how many registers there are.
   local FP, SP, PC, LR, REGS = 6, 7, 8, nil, 20
   if jit and jit.arch == "arm64" or not jit and c.sh("uname -m"):find("aarch64") then
      FP, SP, PC, LR, REGS = 29, 31, 32, 30, 33
   end

   local function word(value)
      local out = {}
      for i = 1, WORD do
         out[i] = string.char(value % 256)
         value = math.floor(value / 256)
      end
      return table.concat(out)
   end

   local function words(list)
      local out = {}
      for i, value in ipairs(list) do out[i] = word(value) end
      return table.concat(out)
   end

   local function numbers(bytes)
      local out = {}
      for at = 1, #bytes, WORD do
         local value = 0
         for i = WORD - 1, 0, -1 do value = value * 256 + bytes:byte(at + i) end
         out[#out + 1] = value
      end
      return out
   end

   local function registers(pc, sp, fp, lr)
      local out = {}
      for i = 0, REGS - 1 do out[i + 1] = i == PC and pc or i == SP and sp or i == FP and fp or i == LR and lr or 0 end
      return words(out)
   end

   local function mapped(maps, address)
      for _, m in ipairs(maps) do
         if address >= m[1] and address < m[2] then return true end
      end
   end

   -- Returns the frames that a chain must give, and why they end. Each address is behind a call.
   local function expected(maps, chain)
      local out = { chain[1] }
      for i = 2, #chain do
         if chain[i] == 0 then return out end
         if not mapped(maps, chain[i] - 1) then return out, "code" end
         out[i] = chain[i]
      end
      return out, "pointers"
   end

   it("keeps of a drawn chain of frame pointers what is code, up to a 0", function()
      local ends = {}
      for round = 1, 2000 do
         local maps, chain = {}, {}
         for i = 1, math.random(4) do
            local start = math.random(1, 1000) * PAGE
            maps[i] = { start, start + math.random(3) * PAGE, 0, "" }
         end
         local function code()
            local m = maps[math.random(#maps)]
            return m[1] + math.random(m[2] - m[1] - 1)
         end
         for i = 1, math.random(2, 12) do
            local kind = i == 1 and 0 or math.random(12)
            chain[i] = kind == 1 and 0 or kind == 2 and 2 ^ 47 + 2 ^ 46 * math.random(0, 3) or kind == 3
               and math.random(4e6) or kind == 4 and math.random(30) or code()
         end
         local u = objects.unwinder(maps, true)
         local sp = 2 ^ 40 + WORD * math.random(100)
         local got, cut = u:frames(registers(chain[1], sp, sp + WORD * math.random(0, 9)), "", words(chain))
         local frames, why = expected(maps, chain)
         assert.same({ round, frames, why }, { round, numbers(got), cut })
         ends[why or "whole"] = true
      end
      assert.same({ code = true, pointers = true, whole = true }, ends)
   end)

   it("follows frame pointers only where they may be followed, and up the stack", function()
      local maps = { { PAGE, 2 * PAGE, 0, "" } }
      local regs, chain = registers(PAGE + 1, 2 ^ 40, 2 ^ 40), words { PAGE + 1, PAGE + 9, 0 }
      local function frames(u, r)
         local got, cut = u:frames(r or regs, "", chain)
         return { #numbers(got), cut }
      end
      assert.same({ 2 }, frames(objects.unwinder(maps, true)))
      assert.same({ 1, "table" }, frames(objects.unwinder(maps)))
      assert.same({ 1, "stack" }, frames(objects.unwinder(maps, true), registers(PAGE + 1, 2 ^ 40, 2 ^ 40 - 8)))
      assert.same({ 1, "stack" }, frames(objects.unwinder(maps, true), registers(PAGE + 1, 2 ^ 40, 2 ^ 40 + 4)))
      assert.same({ 1, "mappings" }, frames(objects.unwinder({}, true)))
   end)

   -- Returns what a process had mapped at a time, by the events in order of time.
   local function maps_at(events, pid, time)
      local processes = {}
      for _, e in ipairs(events) do
         if e.time > time then break end
         local own = processes[e.pid] or {}
         if e.kind == "maps" then
            own[#own + 1] = e.map
         else
            own = e.kind == "fork" and { unpack(processes[e.parent] or {}) } or {}
         end
         processes[e.pid] = own
      end
      return processes[pid] or {}
   end

   local function tell(u, e)
      if e.kind == "maps" then
         u:maps(e.pid, e.time, { e.map })
      elseif e.kind == "exec" then
         u:exec(e.pid, e.time)
      else
         u:fork(e.pid, e.time, e.parent)
      end
   end

   it("goes by what was mapped at the time, whatever the order in which it is told", function()
      local ends = {}
      for round = 1, 60 do
         local u, events, order = objects.unwinder(nil, true), {}, {}
         for i = 1, 30 do
            local start, kind = math.random(9) * PAGE, math.random(6)
            local pid = math.random(3)
            local e = { time = i * 10, pid = pid, kind = kind < 5 and "maps" or kind == 5 and "exec" or "fork",
               parent = pid % 3 + 1, map = { start, start + math.random(3) * PAGE, 0, "" } }
            table.insert(order, math.random(#order + 1), e)
         end
         for _, e in ipairs(order) do
            tell(u, e)
            events[#events + 1] = e
            table.sort(events, function(x, y) return x.time < y.time end)
            for _ = 1, 4 do
               local pid, time, chain = math.random(3), math.random(0, 310), {}
               for i = 1, math.random(2, 5) do chain[i] = math.random(12) * PAGE + 8 end
               local got, cut = u:frames(registers(chain[1], 2 ^ 40, 2 ^ 40), "", words(chain), pid, time)
               local maps = maps_at(events, pid, time)
               local frames, why = expected(maps, chain)
               if not mapped(maps, chain[1]) then frames, why = { chain[1] }, "mappings" end
               assert.same({ round, frames, why }, { round, numbers(got), cut })
               ends[why] = (ends[why] or 0) + 1
            end
         end
      end
      assert.is_true(ends.mappings > 100 and ends.code > 100 and ends.pointers > 100)
   end)

   it("finds callers by a file only if it has the build id of the one that was mapped", function()
      local file, out = c.target "tree", c.sh("nm -n " .. c.target "tree")
      local main, id = tonumber(out:match("(%x+) T main"), 16), objects.build_id(file)
      local start, stop = main - main % 4096, main - main % 4096 + 4096
      local u, pid = objects.unwinder(), 0
      -- At its first instruction, main() has its return address on top of the stack or in a
      -- register.
      local function callers(build_id)
         pid = pid + 1
         u:maps(pid, 0, { { start, stop, start, file, build_id } })
         return #numbers((u:frames(registers(main, 2 ^ 40, 0, main + 1), words { main + 1 }, "", pid))) - 1
      end
      assert.same({ 1, 0, 1, 0, 1 },
         { callers(), callers(("0"):rep(#id)), callers(id), callers(id .. "00"), callers(id) })
   end)

   it("opens a file once, and the vdso, whatever the number of processes that map them", function()
      -- other descriptors come and go, for instance those of threads of the library
      local function opened(what)
         return tonumber((c.sh(("ls -l /proc/%d/fd | grep -c %q"):format(require("lpfm.proc").getpid(), what))))
      end
      local exe = c.sh(("readlink /proc/%d/exe"):format(require("lpfm.proc").getpid())):gsub("\n", "") .. "$"
      local u, vdsos, exes = objects.unwinder(nil, true), opened("memfd:vdso"), opened(exe)
      for pid = 1, 50 do
         u:maps(pid, pid, { { 2 ^ 40, 2 ^ 40 + 8192, 0, "[vdso]" }, { 2 ^ 41, 2 ^ 41 + 2 ^ 20, 0, "/proc/self/exe" } })
      end
      assert.is_true(opened("memfd:vdso") <= vdsos + 1)
      assert.is_true(opened(exe) <= exes + 1)
   end)
end)
