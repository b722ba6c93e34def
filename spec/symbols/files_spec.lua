-- SPDX-License-Identifier: MIT
-- Functions are found in the file that was mapped, wherever it is by then: deleted, replaced, in
-- memory, in a namespace of its own; and never in another file of its path.
-- One interpreter: the subject is programs that are recorded, and the C that finds their files.

local c = require "support.c"
local files = require "support.files"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"
local summary = require "pfm.recording.summary"
local analyze = require "pfm.analyze"

local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"
local root = c.folder()
local data = root .. "/data"

-- This program runs the function NAME until the process has had argv[1] ms of CPU time.
local spinner = [[
   #include <stdlib.h>
   #include <time.h>
   volatile unsigned long sink;
   __attribute__((noinline)) void NAME(void)
   {
      for (int i = 0; i < 100000; i++)
         sink += i;
   }
   int main(int argc, char **argv)
   {
      struct timespec t;
      do {
         NAME();
         clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
      } while (argc > 1 && t.tv_sec * 1000 + t.tv_nsec / 1000000 < atoi(argv[1]));
      return 0;
   }
]]

local function sh(line) return c.must("export LD_PRELOAD=; " .. line) end

local function write(name, text) return files.write(root .. "/" .. name, text) end

local function compile(name, func, flags)
   write(name .. ".c", spinner)
   sh(("gcc -O1 -DNAME=%s %s -o %s/%s %s/%s.c"):format(func, flags or "", root, name, root, name))
   return root .. "/" .. name
end

-- Returns how many samples are named by each function.
local function counts()
   local out = {}
   for s in samples.each(assert(recording.open(data))) do out[s.symbol] = (out[s.symbol] or 0) + 1 end
   return out
end

local function assert_named(func, not_func)
   local found = counts()
   local seen = {}
   for name, n in pairs(found) do seen[#seen + 1] = name .. " " .. n end
   assert.is_true((found[func] or 0) > 0, func .. " of " .. table.concat(seen, ", "))
   assert.is_nil(found[not_func])
end

local function may_unshare()
   return select(2, c.sh("unshare -m true")) == 0
end

for kind, flags in pairs { ["a build id"] = "-Wl,--build-id", ["no build id"] = "-Wl,--build-id=none" } do
   describe("of a program that has " .. kind .. ", functions are found", function()
      -- Records program `one`, beside which the shell does `what`; $! is its process ID.
      local function record_while(what)
         compile("one", "first", flags)
         compile("other", "second", flags)
         write("run.sh", ("cd %s; ./one 400 & %s; wait\n"):format(root, what))
         sh(("%s record -q -o %s -- sh %s/run.sh"):format(program, data, root))
      end

      it("when its file is deleted while it runs", function()
         record_while("until [ \"$(readlink /proc/$!/exe)\" = $PWD/one ]; do :; done; sleep 0.2; rm one")
         assert_named("first")
      end)

      it("when another file takes its place while it runs", function()
         record_while("until [ \"$(readlink /proc/$!/exe)\" = $PWD/one ]; do :; done; sleep 0.2; mv other one")
         assert_named("first", "second")
      end)

      it("when its file is deleted, or replaced, before it is attached to", function()
         for _, what in ipairs { "rm one", "mv other one" } do
            compile("one", "first", flags)
            compile("other", "second", flags)
            local line = "%s/one 60000 >/dev/null 2>&1 & until [ \"$(readlink /proc/$!/exe)\" = %s/one ]; do :; done; "
               .. "(cd %s; %s); %s record -q -o %s -p $! --timeout 0.4; s=$?; kill $!; exit $s"
            sh(line:format(root, root, root, what, program, data))
            assert_named("first", "second")
         end
      end)

      it("when it runs in a namespace of mounts, and has ended", function()
         if not may_unshare() then return pending("no right to namespaces of mounts") end
         compile("one", "first", flags)
         sh("mkdir -p " .. root .. "/in")
         write("enter.sh", ("cd %s; mount -t tmpfs tmpfs in && cp one in/inside && exec %s/in/inside 500"):format(root,
            root))
         sh(("%s record -q -o %s -- unshare -m sh %s/enter.sh"):format(program, data, root))
         assert_named("first")
      end)

      it("when another file has its path in our namespace of mounts", function()
         if not may_unshare() then return pending("no right to namespaces of mounts") end
         compile("one", "first", flags)
         compile("other", "second", flags)
         sh(("mkdir -p %s/in; cp %s/other %s/in/inside"):format(root, root, root))
         write("enter.sh", ("cd %s; mount -t tmpfs tmpfs in && cp one in/inside && exec %s/in/inside 500"):format(root,
            root))
         sh(("%s record -q -o %s -- unshare -m sh %s/enter.sh"):format(program, data, root))
         assert_named("first", "second")
      end)
   end)
end

describe("functions", function()
   it("of a program in a folder with odd bytes in its name are found, started or attached to", function()
      for _, name in ipairs { "two\nlines", "a\\\\b", "\\303\\244 \\377", "tab\there", "(deleted)" } do
         local folder = root .. "/odd"
         local line = "rm -rf %s && mkdir -p %s && cd %s && D=$(printf '%s.') && D=${D%%.} && mkdir \"$D\" && "
            .. "cp %s \"$D/one\" && cd - >/dev/null && "
         line = line:format(folder, folder, folder, name, compile("one", "first"))
         sh(line .. ("%s record -q -o %s -- \"%s/$D/one\" 300"):format(program, data, folder))
         assert_named("first")
         sh(line .. ("{ \"%s/$D/one\" 60000 & } && until readlink /proc/$!/exe | grep -q /odd/; do :; done; "
            .. "%s record -q -o %s -p $! --timeout 0.4; s=$?; kill $!; exit $s"):format(folder, program, data))
         assert_named("first")
      end
   end)

   it("of a program in memory are found", function()
      local inside = compile("one", "first")
      write("memory.c", [[
         #define _GNU_SOURCE
         #include <fcntl.h>
         #include <sys/mman.h>
         #include <sys/sendfile.h>
         #include <unistd.h>
         int main(int argc, char **argv)
         {
            (void)argc;
            int from = open(argv[1], O_RDONLY), to = memfd_create("inside", MFD_CLOEXEC);
            while (sendfile(to, from, 0, 1 << 20) > 0)
               ;
            fexecve(to, argv + 1, environ);
            return 1;
         }
      ]])
      sh(("gcc -O1 -o %s/memory %s/memory.c"):format(root, root))
      sh(("%s record -q -o %s -- %s/memory %s 400"):format(program, data, root, inside))
      assert_named("first")
   end)

   it("of two builds of a library, one after the other at one path, are told apart", function()
      for i, flags in ipairs { "-Wl,--build-id", "-Wl,--build-id=none" } do
         for k = 1, 2 do
            write("lib.c", ("#include <time.h>\nint run(void)\n{\n   extern int f%d(void);\n"
               .. "   return f%d();\n}\nint f%d(void)\n{\n   volatile int s = 0;\n   struct timespec t;\n   do {\n"
               .. "      for (int i = 0; i < 100000; i++)\n         s += i;\n"
               .. "      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);\n"
               .. "   } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < %d);\n"
               .. "   return s;\n}\n"):format(k, k, k, k * 400))
            sh(("gcc -O1 -shared -fPIC %s -o %s/lib%d.so %s/lib.c"):format(flags, root, k, root))
         end
         write("load.c", [[
            #include <dlfcn.h>
            #include <stdio.h>
            int main(int argc, char **argv)
            {
               for (int i = 2; i < argc; i++) {
                  rename(argv[i], argv[1]);
                  void *lib = dlopen(argv[1], RTLD_NOW);
                  int (*run)(void) = (int (*)(void))dlsym(lib, "run");
                  run();
                  dlclose(lib);
               }
               return 0;
            }
         ]])
         sh(("gcc -O1 -o %s/load %s/load.c"):format(root, root))
         sh(("%s record -q -o %s -- %s/load %s/lib.so %s/lib1.so %s/lib2.so"):format(program, data, root, root, root,
            root))
         local found = counts()
         assert.is_true((found.f1 or 0) > 0 and (found.f2 or 0) > 0,
            ("f1 %s, f2 %s, %d"):format(found.f1, found.f2, i))
      end
   end)

   it("are not looked for in a file that was built since, which is said", function()
      local path = compile("one", "first")
      sh(("%s record -q -o %s -- %s 300"):format(program, data, path))
      -- without the recording's symbols, names could only come from the file
      local self = assert(recording.open(data))
      local id = self.objects[path].build_id
      self.symbols = nil
      compile("one", "second")
      local result = analyze.by(self, "symbol")
      local names = {}
      for _, row in ipairs(result.rows) do names[row.symbol] = true end
      assert.is_nil(names.first)
      assert.is_nil(names.second)
      assert.is_true(names["[one: not the file that was mapped]"])
      local text = table.concat(summary.warnings(self, result), "\n")
      assert.truthy(text:find("not the file that was mapped, that had the build id " .. id, 1, true), text)
   end)

   it("that a program in a container made have the names of its map file there", function()
      if not may_unshare() then return pending("no right to namespaces") end
      write("jit.c", [[
         #include <stdint.h>
         #include <stdio.h>
         #include <string.h>
         #include <sys/mman.h>
         #include <time.h>
         #include <unistd.h>
         #if defined(__x86_64__)
         static const unsigned char code[] = { 0xb8, 0x00, 0x00, 0x10, 0x00, 0xff, 0xc8, 0x75, 0xfc, 0xc3 };
         #else
         static const uint32_t code[] = { 0x52a00200, 0x71000400, 0x54ffffe1, 0xd65f03c0 };
         #endif
         int main(void)
         {
            char name[64];
            struct timespec t;
            void *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(at, code, sizeof(code));
            __builtin___clear_cache(at, (char *)at + 4096);
            snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
            FILE *file = fopen(name, "w");
            fprintf(file, "%lx %x made_inside\n", (unsigned long)at, (unsigned int)sizeof(code));
            fclose(file);
            do {
               ((void (*)(void))at)();
               clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
            } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < 500);
            return 0;
         }
      ]])
      sh(("gcc -O1 -o %s/jit %s/jit.c"):format(root, root))
      sh(("%s record -q -o %s -- unshare -mpf --mount-proc sh -c 'mount -t tmpfs tmpfs /tmp; exec /proc/self/fd/9' "
         .. "9<%s/jit"):format(program, data, root))
      assert_named("made_inside")
   end)
end)
