-- SPDX-License-Identifier: MIT
-- Every function that a debugger names has its name, and nothing else has: labels of assembler
-- code, stubs of calls to other objects, functions inlined across units, gaps.

local c = require "support.c"
local files = require "support.files"
local instructions = require("support.objdump").instructions
local objects = require "lpfm.symbols"

local root = c.folder()

local function sh(line) return c.must("export LD_PRELOAD=; cd " .. root .. "; " .. line) end

local function write(name, text) return files.write(root .. "/" .. name, text) end

local function has(command)
   return select(2, c.sh("command -v " .. command)) == 0
end

describe("a symbol table", function()
   local out, expected, at, n, open

   local function line(format, ...)
      out[#out + 1] = format:format(...)
   end

   local function bytes(count, name)
      line(".skip %d, 0x90", count)
      for i = at, at + count - 1 do expected[i] = name end
      at = at + count
   end

   local function begin(typed)
      n = n + 1
      local name = "f" .. n
      if math.random(2) == 1 then line(".globl %s", name) end
      if typed then line(".type %s, @function", name) end
      line("%s:", name)
      return name
   end

   -- Each function adds code. A symbol without a size extends to the next symbol.
   local draw = {
      function() -- a function with its size, perhaps with a label or another one within
         local name, kind = begin(true), math.random(3)
         bytes(math.random(40), name)
         if kind == 1 then
            line("inside%d:", n)
         elseif kind == 2 then
            local inner = begin(true)
            bytes(math.random(20), inner)
            line(".size %s, . - %s", inner, inner)
         end
         bytes(math.random(40), name)
         line(".size %s, . - %s", name, name)
         open = nil
      end,
      function() open = begin(true) bytes(math.random(60), open) end, -- a function without a size
      function() open = begin(false) bytes(math.random(60), open) end, -- a label alone
      function() bytes(math.random(30), open) end, -- a gap
   }

   it("names what a debugger names, and nothing in gaps", function()
      for _ = 1, 12 do
         out, expected, at, n, open = { ".text" }, {}, 0, 0, nil
         for _ = 1, math.random(40) do draw[math.random(#draw)]() end
         line('.section .note.GNU-stack,"",@progbits')
         write("drawn.S", table.concat(out, "\n") .. "\n")
         sh("gcc -shared -nostdlib -o drawn.so drawn.S")
         local object = assert(objects.object(root .. "/drawn.so"))
         local start = tonumber(sh("readelf -SW drawn.so"):match("%.text%s+PROGBITS%s+(%x+)"), 16)
         for i = 0, at do
            local name, from, size = object:func(start + i)
            assert.equal(expected[i], name, ("byte %d of\n%s"):format(i, table.concat(out, "\n")))
            if name then assert.is_true(from <= start + i and start + i < from + size) end
         end
         for _, beyond in ipairs { start - 1, start + at + 4096, start + 2 ^ 40, -1, -4096 } do
            assert.is_nil((object:func(beyond)))
         end
      end
   end)

   it("of the kernel names functions to their last bytes, however long they are", function()
      local kernel, why = objects.object("[kernel]")
      if not kernel then return pending(why) end
      local names, long, before = {}, 0, nil -- names: aliases have one address
      local function number(hex) return tonumber(hex:sub(-8), 16) + (tonumber(hex:sub(1, -9), 16) - 2 ^ 32) * 2 ^ 32 end
      for symbol in io.lines("/proc/kallsyms") do
         -- modules have a fourth word
         local hex, kind, name = symbol:match("^(ffff%x+) (%S) (%S+)$")
         if hex and before and hex ~= before.hex then
            local address = number(hex)
            if before.code and kind:find("[tTwW]") and address - before.address > 8192 then
               long = long + 1
               local last = kernel:func(address - 1)
               assert.is_true(names[last] == before.address, ("%s before %s"):format(tostring(last), symbol))
            end
         end
         if hex then
            before = { hex = hex, address = number(hex), code = kind:find("[tTwW]") }
            names[name] = before.address
         end
      end
      assert.is_true(long > 10, long .. " functions of more than two pages")
   end)

   it("of the kernel names nothing beyond its end", function()
      local kernel, why = objects.object("[kernel]")
      if not kernel then return pending(why) end
      for _, address in ipairs { -1, -4096, 0, 2 ^ 46, -2 ^ 53 } do assert.is_nil((kernel:func(address))) end
      local highest = ""
      for symbol in io.lines("/proc/kallsyms") do
         local hex, kind = symbol:match("^(%x+) (%S)")
         if kind:find("[tT]") and hex > highest then highest = hex end
      end
      local last = tonumber(highest:sub(-8), 16) + (tonumber(highest:sub(1, -9), 16) - 2 ^ 32) * 2 ^ 32
      assert.truthy(kernel:func(last))
      assert.is_nil((kernel:func(last + 2 * 4096)))
   end)
end)

describe("stubs of calls to other objects", function()
   local source = [[
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      int main(int argc, char **argv)
      {
         void (*give_back)(void *) = free;
         give_back(malloc(strlen(argv[0])));
         puts(argv[0]);
         return atoi(argv[0]) + argc;
      }
   ]]

   -- Checks that each stub has the name that objdump gives, from its first byte to its last.
   local function assert_named(tool, flags)
      write("calls.c", source)
      sh(("%sgcc -O1 -o calls calls.c %s"):format(tool, flags))
      local object, found = assert(objects.object(root .. "/calls")), 0
      for address, name in sh(tool .. "objdump -d calls"):gmatch("\n0*(%x+) <([%w_]+@plt)>:") do
         local start = tonumber(address, 16)
         local _, from, size = object:func(start)
         assert.equal(start, from, name)
         for at = from, from + size - 1 do assert.equal(name, (object:func(at))) end
         found = found + 1
      end
      assert.is_true(found > 0, flags)
   end

   for _, flags in ipairs { "", "-no-pie", "-Wl,-z,now", "-fno-plt -Wl,-z,lazy", "-fuse-ld=lld", "-s" } do
      it(("are named as the functions: gcc %s"):format(flags), function()
         if flags:find("lld") and not has("ld.lld") then return pending("lld is not installed") end
         assert_named("", flags)
      end)
   end

   for tool, options in pairs { ["aarch64-linux-gnu-"] = { "", "-mbranch-protection=standard" },
      ["x86_64-linux-gnu-"] = { "-fcf-protection -Wl,-z,ibtplt", "-fcf-protection=none" } } do
      for _, flags in ipairs(options) do
         it(("are named as the functions: %sgcc %s"):format(tool, flags), function()
            if not has(tool .. "gcc") then return pending(tool .. "gcc is not installed") end
            assert_named(tool, flags)
         end)
      end
   end
end)

describe("a stripped program's functions", function()
   it("are told apart by where they begin and end, as its symbols did", function()
      local text = {}
      for i = 1, 40 do
         text[i] = ("__attribute__((noinline)) static int f%d(int x) { volatile int s = x;"):format(i)
            .. (" for (int i = 0; i < x; i++) s += i * %d;"):format(i) .. (" s ^= 1;"):rep(math.random(30))
            .. " return s; }"
      end
      text[#text + 1] = "int main(int argc, char **argv)\n{\n(void)argv;"
      for i = 1, 40 do text[#text + 1] = ("argc += f%d(argc);"):format(i) end
      write("many.c", table.concat(text, "\n") .. "\nreturn argc;\n}\n")
      sh("gcc -O1 -o many many.c && strip -o bare many")
      local whole, bare, n = assert(objects.object(root .. "/many")), assert(objects.object(root .. "/bare")), 0
      for hex, bytes in sh("nm -S many"):gmatch("(%x+) (%x+) [tT] f%d+\n") do
         local from, size = tonumber(hex, 16), tonumber(bytes, 16)
         for at = from, from + size - 1 do
            assert.same({ "", from, size }, { bare:func(at) })
            assert.same({ (whole:func(at)), from, size }, { whole:func(at) })
         end
         n = n + 1
      end
      assert.equal(40, n)
      assert.is_nil((bare:func(2 ^ 40)))
   end)

   it("have their places for names in a recording", function()
      sh("gcc -O1 -o spin -x c - <<'END' && nm spin >names && strip spin\n#include <time.h>\nvolatile int s;\n"
         .. "__attribute__((noinline)) void hot(void) { for (int i = 0; i < 100000; i++) s += i; }\n"
         .. "int main(void) { do hot(); while (clock() < CLOCKS_PER_SEC / 5); return 0; }\nEND\n")
      local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"
      local _, status = c.sh(("%s record -q -o %s/data -- %s/spin"):format(program, root, root))
      assert.equal(0, status)
      local start = sh("cat names"):match("0*(%x+) T hot\n")
      local out = c.sh(("%s report -f %s/data -s symbol"):format(program, root))
      assert.truthy(out:find(("  [spin: no symbols]+0x%s\n"):format(start), 1, true), out)
      local id = sh("readelf -n spin"):match("Build ID: (%x+)")
      assert.truthy(out:find(("no function names in %s/spin: no symbols; a debuginfod server may, if DEBUGINFOD_URLS "
         .. "names it, by the build id %s\n"):format(root, id), 1, true), out)
   end)

   it("are in a package, which is told", function()
      if not has("dpkg-query") then return pending("no package tells what it installed here") end
      local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"
      local _, status = c.sh(("%s record -q -o %s/loop -- dash -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'")
         :format(program, root))
      assert.equal(0, status)
      local out = c.sh(("%s report -f %s/loop -s symbol"):format(program, root))
      assert.truthy(out:find("dash: no symbols; Debian's package dash-dbgsym has them, or ", 1, true), out)
   end)

   it("are had from a debuginfod server, if there is the library and DEBUGINFOD_URLS names one", function()
      if not has("python3") or not sh("/sbin/ldconfig -p"):find("libdebuginfod.so.1", 1, true) then
         return pending("no python3 or no libdebuginfod here")
      end
      write("served.c", "__attribute__((noinline)) static int hidden(int n) { volatile int s = n; return s; }\n"
         .. "int main(int n, char **v) { (void)v; return hidden(n); }\n")
      sh("gcc -g -O1 -o served served.c && nm served >names")
      local id = sh("readelf -n served"):match("Build ID: (%x+)")
      sh(("mkdir -p www/buildid/%s && objcopy --only-keep-debug served www/buildid/%s/debuginfo && strip served")
         :format(id, id))
      local at = tonumber(sh("cat names"):match("0*(%x+) t hidden\n"), 16)
      write("serve.py", [[
import functools, http.server, os, subprocess, sys, threading
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=sys.argv[1]))
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["DEBUGINFOD_URLS"] = "http://127.0.0.1:%d" % server.server_address[1]
os.environ["DEBUGINFOD_CACHE_PATH"] = sys.argv[1] + "/cache"
sys.exit(subprocess.call(sys.argv[2:]))
]])
      write("name.lua", ("print(require('lpfm.symbols').object('%s/served'):func(%d))"):format(root, at))
      local run = (os.getenv("LPFM_BUILD") or "build") .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm "
         .. root .. "/name.lua"
      assert.equal("hidden", c.sh(("python3 %s/serve.py %s/www %s"):format(root, root, run)):match("^%S*"))
      assert.not_equal("hidden", c.sh("DEBUGINFOD_URLS= " .. run):match("^%S*"))
   end)

   it("of the vdso are found without debuginfod's library and those that it needs", function()
      if not sh("/sbin/ldconfig -p"):find("libdebuginfod.so.1", 1, true) then
         return pending("no libdebuginfod here")
      end
      write("vdso.lua", "local o = assert(require('lpfm.symbols').object '[vdso]')\n"
         .. "print(o:trouble(), o:functions() > 0)\n"
         .. "print(io.open('/proc/self/maps'):read('*a'):match('libdebuginfod%S*'))\n")
      local run = (os.getenv("LPFM_BUILD") or "build") .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm "
         .. root .. "/vdso.lua"
      assert.equal("nil\ttrue\nnil\n", c.sh("DEBUGINFOD_URLS= " .. run))
   end)
end)

describe("debug information compressed by zstd", function()
   it("is read, or it is said that it cannot be", function()
      write("z.c", "int main(void) { volatile int s = 0; for (int i = 0; i < 100000000; i++) s += i; return 0; }\n")
      if select(2, c.sh(("cd %s; gcc -O1 -g -Wl,--compress-debug-sections=zstd -o z z.c"):format(root))) ~= 0 then
         return pending("this linker cannot compress by zstd")
      end
      local object = assert(objects.object(root .. "/z"))
      local can = object:line(instructions(root .. "/z", "main")[1]) ~= nil
      assert.equal(can, object:trouble() == nil)
      local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"
      assert.equal(0, select(2, c.sh(("%s record -q -o %s/data -- %s/z"):format(program, root, root))))
      local out = c.sh(("%s report -f %s/data"):format(program, root))
      assert.equal(not can, out:find("no source lines or inlined functions of [^\n]*/z: its debug information is "
         .. "compressed by zstd") ~= nil, out)
   end)
end)

describe("functions inlined across units", function()
   it("are told as addr2line tells them, at each instruction", function()
      write("a.c", [[
         int inner(int x);
         __attribute__((noinline)) int hot(int n)
         {
            int s = 0;
            for (int i = 0; i < n; i++)
               s ^= inner(i);
            return s;
         }
         int main(int argc, char **argv)
         {
            (void)argv;
            return hot(argc * 1000) & 1;
         }
      ]])
      write("b.c", [[
         int innermost(int x);
         int inner(int x)
         {
            return innermost(x) * 5 + innermost(x + 1);
         }
      ]])
      write("c.c", "volatile int seen;\nint innermost(int x)\n{\n   seen = x;\n   return seen * 3;\n}\n")
      sh("gcc -O2 -g -flto -o units a.c b.c c.c")
      local object, deepest = assert(objects.object(root .. "/units")), 0
      for _, address in ipairs(instructions(root .. "/units", "hot")) do
         local names, lines = {}, sh(("addr2line -i -f -e units 0x%x"):format(address))
         for name in lines:gmatch("([^\n]+)\n[^\n]+\n?") do names[#names + 1] = name end
         local frames = object:frames(address)
         for i, f in ipairs(frames) do frames[i] = f.name end
         assert.same(names, frames)
         deepest = math.max(deepest, #frames)
      end
      assert.equal(3, deepest)
   end)
end)
