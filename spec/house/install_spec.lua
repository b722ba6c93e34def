-- SPDX-License-Identifier: MIT
-- What make install and the rock leave behind works by itself, away from the source tree.
-- One interpreter: the program is installed with one of them.

local c = require "support.c"
local files = require "support.files"
local lpfm = require "lpfm"

local build = os.getenv("LPFM_BUILD") or "build"
local interpreter = os.getenv("LPFM_LUA") or "luajit"
local san = build:match("/san$") ~= nil
local root = c.folder()
local prefix = root .. "/usr"

-- CLEAN removes the specs' environment from a command; MAKE removes that of an outer make, too.
local CLEAN = "env -u LUA_PATH -u LUA_CPATH -u LPFM_SCRIPTS -u LPFM_CPATH -u LD_LIBRARY_PATH "
local MAKE = CLEAN .. "-u LD_PRELOAD -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "

local must = c.must

local function make(variables, target)
   must(("%s make LPFM_READY=1 %s LUA=%s %s %s"):format(MAKE, san and "SAN=1" or "", interpreter, variables, target))
end

local function install(variables)
   make(variables, "install")
end

-- Runs the installed program in /, without the specs' environment.
local function run(arguments, environment)
   return must(("cd / && %s %s %s/bin/lpfm %s"):format(CLEAN, environment or "", prefix, arguments))
end

-- Runs Lua code in the interpreter alone; `paths` sets LUA_PATH and LUA_CPATH to what is installed.
local function lua(code, paths)
   return must(("cd / && %s %s %s -e '%s'"):format(CLEAN, paths, interpreter, code))
end

setup(function() install("PREFIX=" .. prefix) end)

describe("an installed lpfm", function()
   it("counts", function()
      local faults, event = run("stat -o - -x, -e page-faults -- true"):match("^(%d+),,([%w-]+),")
      assert.are.equal("page-faults", event)
      assert.is_true(tonumber(faults) > 0)
      assert.is_truthy(run("list pmus"):find("itanium2", 1, true))
      assert.is_truthy(run("list metrics -v", "LPFM_MACHINE=sim:itanium2"):find("CPI    CYC / INS", 1, true))
   end)

   it("has its reference and its manual pages", function()
      assert.is_truthy(run("-e 'print(lpfm.help(\"read_pmds\"))'"):find("3.1.4", 1, true))
      for _, page in ipairs { "lpfm", "lpfm-record" } do
         assert.is_truthy(must(("cat %s/share/man/man1/%s.1"):format(prefix, page)):find("\n.SH NAME", 1, true))
      end
   end)

   it("has completion for the shells", function()
      for shell, path in pairs { bash = "bash-completion/completions/lpfm", zsh = "zsh/site-functions/_lpfm",
         fish = "fish/vendor_completions.d/lpfm.fish" } do
         assert.is_truthy(must(("cat %s/share/%s"):format(prefix, path)):find("lpfm completion " .. shell, 1, true))
      end
   end)

   it("records and reports", function()
      local file, program = root .. "/recording", root .. "/shares"
      must(("cp %s %s"):format(c.target("shares"), program))
      run(("record -q -F 2000 -o %s -- %s 0.2 1"):format(file, program))
      assert.is_truthy(run("report --file " .. file):find("heavy", 1, true))
   end)

   it("has a prompt, and runs scripts through links", function()
      local out = must(("cd / && echo '20 + 22' | %s %s/bin/lpfm"):format(CLEAN, prefix))
      assert.are.equal("42\n", out)
      must(("ln -s %s/bin/lpfm %s/link"):format(prefix, root))
      out = must(("cd / && LPFM_MACHINE=sim:k8 %s %s/link -e 'print(lpfm.event(\"cycles\").name)'"):format(CLEAN, root))
      assert.are.equal("CPU_CLK_UNHALTED\n", out)
   end)

   it("uses its own libraries", function()
      local out = must(("ldd %s/lib/lpfm/lpfm.so"):format(prefix))
      assert.is_truthy(out:find("libperfmon.so.3 => " .. prefix, 1, true), out)
      assert.is_truthy(out:find("libpfmlib.so.3 => " .. prefix, 1, true), out)
   end)

   it("is a module for the interpreter", function()
      if san then pending("the plain interpreter has no sanitizers") return end
      local paths = ("LUA_CPATH='%s/lib/lpfm/?.so' LUA_PATH='%s/share/lpfm/scripts/?.lua'"):format(prefix, prefix)
      assert.are.equal("7\n", lua('print(require("lpfm").event("cycles", "itanium2").counters[4])', paths))
      if interpreter == "luajit" then
         assert.are.equal("80\n", lua('print(require("pfm.ffi").pmds({ 66, 80 }).data[1].reg_num)', paths))
      end
   end)

   it("builds C programs that pkg-config tells the flags of", function()
      local program = root .. "/page"
      local flags = must(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs perfmon pfmlib"):format(prefix))
      assert.is_truthy(flags:find("-I" .. prefix .. "/include/lpfm", 1, true), flags)
      must(("LD_PRELOAD= gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror %s -o %s spec/c/old/pfmlib_page.c "
         .. "spec/c/old/pfmlib_page_sim.c -Wl,--wrap=getpid,--wrap=pfm_stop %s -Wl,-rpath,%s/lib"):format(
         san and "-fsanitize=address,undefined" or "", program, flags:gsub("\n", ""), prefix))
      assert.are.equal("results: 1000000\n", must(("cd / && LPFM_MACHINE=sim:p6 LD_PRELOAD= %s"):format(program)))
   end)

   it("builds programs with perfctr's virtual counters", function()
      local flags = must(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs perfctr"):format(prefix))
      local program = root .. "/perfex"
      must(("LD_PRELOAD= gcc -D_GNU_SOURCE %s -o %s spec/c/measured/perfex.c %s -Wl,-rpath,%s/lib"):format(
         san and "-fsanitize=address,undefined" or "", program, flags:gsub("\n", ""), prefix))
      assert.is_truthy(must(("cd / && LD_PRELOAD= %s true"):format(program)):find("\npage%-faults +%d"))
   end)

   it("builds programs that mark regions, and measures them", function()
      local flags = must(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs pfmregions"):format(prefix))
      local program = root .. "/regions"
      must(("LD_PRELOAD= gcc -D_GNU_SOURCE %s -o %s spec/c/measured/regions.c %s -pthread -Wl,-rpath,%s/lib"):format(
         san and "-fsanitize=address,undefined" or "", program, flags:gsub("\n", ""), prefix))
      local out = run(("stat --regions -o - -x, -e page-faults -- %s nested"):format(program))
      assert.is_truthy(out:find("\ninner,all,3,%d+,,page%-faults,"), out)
   end)

   describe("is libpfm 3, by its names,", function()
      local flags = san and "-fsanitize=address,undefined" or ""
      local gcc = "LD_PRELOAD= gcc " .. flags
      local lib = prefix .. "/lib/lpfm"

      local function write(name, text)
         local path = root .. "/" .. name
         return files.write(path, text)
      end

      local function counts(program)
         local machine = require "support.real"
         local out = must(("cd / && LPFM_MACHINE=%s LD_PRELOAD= %s %s self"):format(machine, CLEAN, program))
         assert.is_true(tonumber(out:match("^counted (%d+)\n$")) >= 1000, out)
      end

      it("to a configure script: AC_CHECK_LIB(pfm, ...)", function()
         for _, name in ipairs { "pfm_initialize", "pfm_find_event", "pfm_get_version", "pfm_strerror",
            "pfm_dispatch_events", "pfm_create_context", "pfm_write_pmcs" } do
            local source = write("conftest.c", ("char %s ();\nint main (void) { return %s (); }\n"):format(name, name))
            must(("%s -w -o %s/conftest %s -L%s -lpfm"):format(gcc, root, source, lib))
         end
      end)

      local cc = ("%s -std=gnu11 -D_GNU_SOURCE -I%s/include/lpfm"):format(gcc, prefix)
      local static = lib .. "/libpfm.a -pthread -ldl"
      local function shared()
         local pc = must(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs libpfm3"):format(prefix))
         return (pc:gsub("\n", ""))
      end

      it("to a program linked with it alone, shared or static", function()
         -- libpfm4 still calls its own functions
         for _, libs in ipairs { shared(), static, "-rdynamic " .. static } do
            must(("%s spec/c/old/old_kinds.c -o %s/kinds %s"):format(cc, root, libs))
            counts(root .. "/kinds")
         end
      end)

      it("with the files of /sys/kernel/perfmon for such a program, and before a function of its own", function()
         local source = write("own.c", "int access(const char *path, int mode);\n"
            .. "int access(const char *path, int mode) { return path && mode == 77 ? 5 : -1; }\n"
            .. "int pfm_initialize(void);\n"
            .. "int main(void) { pfm_initialize(); return access(\"/\", 77) != 5; }\n")
         for _, libs in ipairs { shared(), static } do
            must(("%s spec/c/calls/sysfs_files.c -o %s/files %s"):format(cc, root, libs))
            assert.are.equal("", must(("cd / && LPFM_MACHINE=sim:nehalem LD_PRELOAD= %s %s/files"):format(CLEAN, root)))
            must(("%s %s -o %s/own %s && %s/own"):format(cc, source, root, libs, root))
         end
      end)

      it("to dlopen() and dlsym(), with all events of libpfm4", function()
         local program = root .. "/by_name"
         must(("%s -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o %s spec/c/old/old_by_name.c -ldl"):format(gcc,
            program))
         local here = lpfm.events(nil, { pmu = "p6" })
         for _, file in ipairs { "libpfm.so", "libpfm.so.3" } do
            assert.are.equal(("libpfm 3.10, %d events of p6, L2_RQSTS is 0x2e\n"):format(#here),
               must(("cd / && LD_PRELOAD= %s %s %s/%s"):format(CLEAN, program, lib, file)))
         end
      end)
   end)

   it("can be staged for another place", function()
      install(("DESTDIR=%s/stage PREFIX=/opt/lpfm"):format(root))
      local stage = root .. "/stage/opt/lpfm"
      for _, pc in ipairs { "perfmon", "pfmlib", "perfctr", "pfmregions", "libpfm3" } do
         local out = must(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --variable=libdir %s"):format(stage, pc))
         assert.are.equal(pc == "libpfm3" and "/opt/lpfm/lib/lpfm\n" or "/opt/lpfm/lib\n", out)
      end
      for _, name in ipairs { "libpfm.so", "libpfm.so.3", "libpfm.a" } do
         must(("test -f %s/lib/lpfm/%s && ! test -e %s/lib/%s"):format(stage, name, stage, name))
      end
      assert.are.equal("3\n", must(("cd / && %s %s/bin/lpfm -e 'print(1 + 2)'"):format(CLEAN, stage)))
   end)

   it("goes away, and leaves what others put beside it", function()
      local place = ("DESTDIR=%s/gone PREFIX=/usr"):format(root)
      install(place)
      must(("touch %s/gone/usr/share/lpfm/notes"):format(root))
      make(place, "uninstall")
      assert.are.equal(root .. "/gone/usr/share/lpfm/notes\n", must(("find %s/gone -type f -o -type l"):format(root)))
      assert.are.equal("lpfm\n", must(("ls %s/gone/usr/share"):format(root)))
   end)

   it("refuses places that it cannot name", function()
      for place, why in pairs { ["DESTDIR='a b'"] = "without blanks", ["PREFIX='/a b'"] = "without blanks",
         ["PREFIX=a"] = "PREFIX begins with /" } do
         local out, status = c.sh(("%s make -n %s install"):format(MAKE, place))
         assert.equal(2, status, out)
         assert.truthy(out:find(why, 1, true), out)
      end
   end)
end)

describe("a copy of the source tree, in a path with blanks,", function()
   local tree = root .. "/a copy"

   -- Makes a target there, where files are for their owner alone.
   local function make_there(variables, target)
      must(("cd '%s' && umask 077 && %s make LPFM_READY=1 %s LUA=%s %s %s"):format(tree, MAKE, san and "SAN=1" or "",
         interpreter, variables, target))
   end

   setup(function()
      local made = "build" .. (san and "/san" or "")
      local copy = "cp -R --preserve=links,timestamps"
      must(("umask 077 && mkdir -p '%s/%s' && %s Makefile kernel lpfm repl rockspec scripts '%s' && cd %s && "
         .. "%s doc gen l* obj '%s/%s'"):format(tree, made, copy, tree, build, copy, tree, made))
   end)

   it("is built", function()
      must(("touch '%s/lpfm/doc/config.ld'"):format(tree))
      make_there("", "all doc")
      assert.equal("a copy\n", must(("cd %s && ls -d a*"):format(root)))
   end)

   it("is installed for another LIB than it was built for", function()
      make_there("DESTDIR=../lib64 PREFIX=/usr LIB=lib64", "install")
      assert.equal("42\n", must(("cd / && %s %s/lib64/usr/bin/lpfm -e 'print(42)'"):format(CLEAN, root)))
   end)

   it("is installed for all users, whatever the umask is", function()
      make_there("DESTDIR=../open PREFIX=/usr", "install")
      assert.equal("", must(("cd %s/open/usr && find . ! -type l ! -perm -o=r"):format(root)))
   end)

   it("is made into Debian's packages without git", function()
      local stub = "#!/bin/sh\nsha256sum debian/rules Makefile kernel/core/ctx.c >../a.deb\n"
      must(("cd '%s' && mkdir tools && printf '%s' >tools/dpkg-buildpackage && chmod +x tools/*"):format(tree, stub))
      make_there("PATH=\"$PWD/tools:$PATH\" BUILD=build -o deps-deb", "deb")
      local sums = must("sha256sum rockspec/debian/rules Makefile kernel/core/ctx.c"):gsub("rockspec/", "")
      assert.equal(sums, must(("cat '%s/build/deb/a.deb'"):format(tree)))
   end)

   it("builds no format's module without the folder of one", function()
      must(("mkdir '%s/headers' && printf 'modules:\\n' >'%s/headers/Makefile'"):format(tree, tree))
      for _, dir in ipairs { "", "DIR=nowhere" } do
         local out, status = c.sh(("cd '%s' && %s make LPFM_READY=1 KDIR=headers -o module %s module-of 2>&1"):format(
            tree, MAKE, dir))
         assert.equal(2, status, out)
         assert.truthy(out:find("expected DIR=", 1, true), out)
      end
   end)

   it("is removed again from a place below it", function()
      make_there("DESTDIR=stage PREFIX=/usr", "install")
      make_there("DESTDIR=stage PREFIX=/usr", "uninstall")
      assert.equal("", must(("find '%s/stage' ! -type d"):format(tree)))
   end)
end)

describe("the rock", function()
   it("installs into a tree, loads from there and counts", function()
      if san then pending("rocks are built without sanitizers") return end
      if select(2, c.sh("command -v luarocks")) ~= 0 then pending("luarocks is not installed") return end
      local tree = root .. "/rock"
      must(("%s luarocks --lua-version 5.1 make --tree %s rockspec/lpfm-3.0-1.rockspec"):format(MAKE, tree))
      local paths = ("LUA_CPATH='%s/lib/lua/5.1/?.so' LUA_PATH='%s/share/lua/5.1/?.lua'"):format(tree, tree)
      local code = [[local count = require("pfm.count")
         local result = count.call(function() return ("x"):rep(3e7) end, "page-faults")
         print(result.events[1].value > 100, not rawget(_G, "jit") or require("pfm.ffi").pmds({ 66 }).n == 1)]]
      assert.are.equal("true\ttrue\n", lua(code, paths))
   end)
end)
