-- SPDX-License-Identifier: MIT
-- From addresses to functions, inlined ones too, and lines, by any compiler and wherever debug
-- information is.

local c = require "support.c"
local files = require "support.files"
local samples = require "pfm.recording.samples"
local jitmap = require "pfm.jitmap"
local instructions = require("support.objdump").instructions
local objects = require "lpfm.symbols"
local recording = require "pfm.recording"
local symbols = require "pfm.symbols"

local scratch = c.folder()

local function sh(line) return c.must("export LD_PRELOAD=; " .. line) end

-- Compiles spec/c/measured/inlined.c, with debug information as `flags` say; returns the path.
local function compile(name, compiler, flags)
   local path = ("%s/%s"):format(scratch, name)
   sh(("cd %s && %s -O1 -o %s %s $OLDPWD/spec/c/measured/inlined.c"):format(scratch, compiler, path, flags))
   return path
end

local function names_of(frames)
   local out = {}
   for i, f in ipairs(frames) do out[i] = ("%s:%d"):format(f.name, f.line) end
   return table.concat(out, " ")
end

-- Returns the chains of functions at the instructions of outer, each once.
local function chains(path, addresses)
   local object, out = assert(objects.object(path)), {}
   for _, address in ipairs(addresses) do out[names_of(object:frames(address))] = true end
   return out
end

describe("debug information", function()
   local deepest = "leaf:18 middle:24 outer:29"

   local kinds = {
      { "gcc", "gcc", "-g" }, { "gcc, split", "gcc", "-g -gsplit-dwarf" },
      { "clang, DWARF 4", "clang", "-g -gdwarf-4" },
      { "clang, which writes no .debug_aranges", "clang", "-g" }, { "clang, split", "clang", "-g -gsplit-dwarf" },
   }
   for i, kind in ipairs(kinds) do
      it("of " .. kind[1] .. " tells inlined functions and lines", function()
         local _, missing = c.sh("command -v " .. kind[2])
         if missing ~= 0 then return pending(kind[2] .. " is not installed") end
         local path = compile("kind" .. i, kind[2], kind[3])
         local addresses = instructions(path, "outer")
         assert.is_true(chains(path, addresses)[deepest])
         local object, lines = objects.object(path), {}
         for _, address in ipairs(addresses) do
            local file, line = object:line(address)
            assert.truthy(file:find("spec/c/measured/inlined.c$"), file)
            lines[line] = true
            assert.equal("outer", (object:func(address)))
         end
         assert.is_true(lines[18])
      end)
   end

   -- Compiles a stripped program, with its debug information in a file of its own.
   local function separated(name)
      local path = compile(name, "gcc", "-g -Wl,--build-id")
      local addresses = instructions(path, "outer")
      sh(("cd %s && objcopy --only-keep-debug %s %s.debug && strip %s"):format(scratch, name, name, name))
      return path, addresses
   end

   -- Returns what an object says of places when it is asked for one at a time.
   local function one_by_one(object, offsets)
      local functions, lines, frames = {}, {}, {}
      for _, offset in ipairs(offsets) do
         local address = object:address(offset)
         local name, start, size
         if address then name, start, size = object:func(address) end
         if name then
            functions[start] = { start, size == 0 and 1 or size, name }
            local file, line = object:line(address)
            lines[address] = file and { address, file, line }
            local chain, row = object:frames(address), { address }
            for _, f in ipairs(chain) do
               row[#row + 1], row[#row + 2], row[#row + 3] = f.name, f.file or "", f.line or 0
            end
            frames[address] = #chain > 1 and row or nil
         end
      end
      return { functions = functions, lines = lines, frames = frames }
   end

   -- Returns the same of object:describe, with files in place of their numbers; checks the order.
   local function by_address(of)
      local out = { functions = {}, lines = {}, frames = {} }
      for what, rows in pairs(out) do
         local last = -math.huge
         for _, row in ipairs(of[what]) do
            assert.is_nil(rows[row[1]])
            assert.is_true(what == "functions" or row[1] > last)
            last, rows[row[1]] = row[1], row
         end
      end
      local function name(row, i) row[i] = row[i] == 0 and "" or assert(of.files[row[i]]) end
      for _, row in pairs(out.lines) do name(row, 2) end
      for _, row in pairs(out.frames) do
         for i = 3, #row, 3 do name(row, i) end
      end
      return out
   end

   it("says the same of many places at once as of one at a time", function()
      local own, stripped = compile("many", "gcc", "-g"), compile("few", "gcc", "-s")
      local found = { functions = 0, lines = 0, frames = 0 }
      for _, path in ipairs { own, stripped, c.target "tree", "/bin/sh", "[vdso]" } do
         local object = assert(objects.object(path))
         local offsets, size = {}, path:find("^/") and #files.read(path) or 4096
         for i = 1, 3000 do offsets[i] = math.random(-1, size) end
         local described = by_address(object:describe(offsets))
         assert.same(one_by_one(object, offsets), described, path)
         for what, rows in pairs(described) do found[what] = found[what] + #require("pfm.util.tables").keys(rows) end
      end
      for what, n in pairs(found) do assert.is_true(n > 10, what) end
      assert.same({ functions = {}, lines = {}, frames = {}, files = {} }, objects.object("/bin/sh"):describe {})
      assert.has_error(function() objects.object("/bin/sh"):describe { 1.5 } end)
      assert.has_error(function() objects.object("/bin/sh"):describe { "x" } end)
   end)

   it("in a file that .gnu_debuglink names is found, beside the program and in .debug", function()
      local path, addresses = separated("linked")
      sh(("cd %s && objcopy --add-gnu-debuglink=linked.debug linked"):format(scratch))
      assert.is_true(chains(path, addresses)[deepest])
      assert.equal("outer", (objects.object(path):func(addresses[1])))
      sh(("cd %s && mkdir .debug && mv linked.debug .debug/"):format(scratch))
      assert.is_true(chains(path, addresses)[deepest])
   end)

   it("in a directory of build ids is found", function()
      local path, addresses = separated("identified")
      local id = objects.object(path):build_id()
      assert.equal(40, #id)
      local place = ("%s/ids/.build-id/%s"):format(scratch, id:sub(1, 2))
      sh(("mkdir -p %s && mv %s.debug %s/%s.debug"):format(place, path, place, id:sub(3)))
      assert.same({ [""] = true }, chains(path, addresses))
      local lua = ("for _, f in ipairs(require('lpfm.symbols').object('%s'):frames(%d)) do print(f.name) end"):format(
         path, addresses[math.floor(#addresses / 2)])
      local program = c.program
      local out = c.sh(('LPFM_DEBUG_PATH=%s/ids %s -e "%s"'):format(scratch, program, lua))
      assert.truthy(out:find("leaf\nmiddle\nouter\n", 1, true), out)
   end)

   -- Returns what lpfm calls a program's functions, by their names in the program.
   local function demangled(names)
      local source, path = scratch .. "/mangled.c", scratch .. "/mangled"
      local text, n = {}, 0
      for name in pairs(names) do
         n = n + 1
         text[n] = ('void f%d(void) __asm__("%s"); void f%d(void) { }\n'):format(n, name, n)
      end
      files.write(source, table.concat(text) .. "int main(void) { return 0; }\n")
      sh(("gcc -o %s %s"):format(path, source))
      local object, found = assert(objects.object(path)), {}
      for address, name in sh("nm " .. path):gmatch("(%x+) T (_[DRZ][^\n]+)") do
         found[name] = object:func(tonumber(address, 16))
      end
      return found
   end

   it("tells names of C++ and Rust as they are in the source", function()
      local names = {
         ["_ZN3foo3barEv"] = "foo::bar()",
         ["_ZN4core3ptr13drop_in_place17h0123456789abcdefE"] = "core::ptr::drop_in_place",
         ["_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17habcdefabcdefabcdE"] =
            "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
         ["_ZN4main4hashE"] = "main::hash",
         ["_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123"] = "core::fmt::Formatter::pad",
         ["_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.cold"] = "core::fmt::Formatter::pad.cold",
      }
      local found = demangled(names)
      assert.same(names, found)
   end)

   -- The names are the examples of RFC 2603, and of the rustc book's chapter on the format.
   it("tells names of Rust's v0 mangling", function()
      local names = {
         ["_RNvNtCs1234_7mycrate3foo3bar"] = "mycrate::foo::bar",
         ["_RNvC6_123foo3bar"] = "123foo::bar",
         ["_RINvNtC3std3mem8align_ofdE"] = "std::mem::align_of::<f64>",
         ["_RNvMNtC7mycrate3fooNtB2_3Foo3bar"] = "<mycrate::foo::Foo>::bar",
         ["_RNvXC7mycrateINtB2_3FoohENtB2_5Trait3bar"] = "<mycrate::Foo<u8> as mycrate::Trait>::bar",
         ["_RNvYhNtC7mycrate5Trait3bar"] = "<u8 as mycrate::Trait>::bar",
         ["_RNCNvC7mycrate3foos_0"] = "mycrate::foo::{closure#1}",
         ["_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_"] = "cc::spawn::{closure#0}::{closure#0}",
         ["_RNSNvC7mycrate3foo6vtable"] = "mycrate::foo::{shim:vtable#0}",
         ["_RINvC1a1fKj7b_Kanb_Kb1_Kc76_KpE"] = "a::f::<123, -11, true, 'v', _>",
         ["_RINvC1a1fRhQhPhOhSsAsj8_TEThEThtEzE"] =
            "a::f::<&u8, &mut u8, *const u8, *mut u8, [i16], [i16; 8], (), (u8,), (u8, u16), !>",
         ["_RINvC1a1fFG_UKCRL0_hEtE"] = "a::f::<for<'a> unsafe extern \"C\" fn(&'a u8) -> u16>",
         ["_RINvC1a1fDNtC4core4SendNtBa_4SyncEL_E"] = "a::f::<dyn core::Send + core::Sync>",
         ["_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std"] =
            "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>",
         ["_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y"] =
            "utf8_idents::საჭმელად_გემრიელი_სადილი",
         ["_RNvC1a1f.llvm.123"] = "a::f",
         ["_RNvC1a1f.cold"] = "a::f.cold",
      }
      assert.same(names, demangled(names))
   end)

   it("tells names of OCaml, as its tools print them", function()
      local names = { ["camlO__fib_81"] = "O.fib_81", ["camlStdlib__List__map_9"] = "Stdlib.List.map_9",
         ["camlM__$3e$3e$3d_5"] = "M.>>=_5", ["camlM__$zz_5"] = "M.$zz_5", ["caml_alloc"] = "caml_alloc",
         ["camllower"] = "camllower", ["camlM__f$"] = "M.f$" }
      for name, plain in pairs(names) do assert.equal(plain, objects.demangle(name)) end
   end)

   -- The names are by gdc 12, their plain forms by c++filt. Only toLower's, with its parameter that
   -- is "return scope", c++filt does not print.
   it("tells names of D, as its tools print them", function()
      local names = {
         ["_Dmain"] = "D main",
         ["_D3app1C2stFKiJlLAyaIAaMPiZi"] =
            "app.C.st(ref int, out long, lazy immutable(char)[], in char[], scope int*)",
         ["_D3app1C3runMOFiZi"] = "app.C.run(int) shared",
         ["_D3app1D6__ctorMFZCQrQp"] = "app.D.this()",
         ["_D3app1D7__ClassZ"] = "ClassInfo for app.D",
         ["_D3app2ioFPNgiZQf"] = "app.io(inout(int)*)",
         ["_D3app3retFiZPFiZi"] = "app.ret(int)",
         ["_D3app4ret2FiZ5innerMFNaNbNiNfiZi"] = "app.ret2(int).inner(int)",
         ["_D3app4variFiYv"] = "app.vari(int, ...)",
         ["_D3app5vari2FAiXv"] = "app.vari2(int[]...)",
         ["_D3app5delegFDFNfiZiPFAiG3iHAyaiZvQgPxPiuwemqZi"] = "app.deleg(int(int) @safe delegate, "
            .. "void(int[], int[3], int[immutable(char)[]]) function, immutable(char)[], const(int*)*, wchar, dchar, "
            .. "real, ulong, cfloat)",
         ["_D3app__T1PTiVii3VAyaa2_6869Vbi1Vai120Vde0CP1ZQBl6__ctorMFNaNbNcNiNfiZSQCr__TQCqTiVii3VQCra2_6869Vbi1Vai120"
            .. "Vde0CP1ZQEc"] = [[app.P!(int, 3, "hi", true, 'x', 0x0.Cp1).P.this(int)]],
         ["_D3app__T2avVAiA3i1N2i3ZQpFNaNbNiNfiZi"] = "app.av!([1, -2, 3]).av(int)",
         ["_D3app__T2fvVdeNINFZQlFNaNbNiNfiZi"] = "app.fv!(-Inf).fv(int)",
         ["_D3app__T2svVSQm2S2S2i1a3_710a01ZQyFNaNbNiNfiZi"] = [[app.sv!(app.S2(1, "q\n\x01")).sv(int)]],
         ["_D3app__T3aavVHAyaiA1a1_61i1ZQuFNaNbNiNfiZi"] = 'app.aav!(["a":1]).aav(int)',
         ["_D3std3uni7toLowerFNaNfNkMAyaZQe"] = "std.uni.toLower(return scope immutable(char)[])",
         ["_D3std4conv__T7enumRepTyAaTEQBa12experimental6logger4core8LogLevelVQBoi128ZQCjyQCd"] =
            "std.conv.enumRep!(immutable(char[]), std.experimental.logger.core.LogLevel, 128).enumRep",
         ["_D3app3fibFiZi.part.0"] = "app.fib(int) [clone .part.0]",
      }
      assert.same(names, demangled(names))
   end)

   -- The first name would have 2^40 types, the second 2^30 parses, the third a level per letter.
   it("leaves names as they are that no compiler of D's makes", function()
      local twice = { "_D1aFB2ii", "B2QgQi" }
      for i = 3, 40 do twice[i] = "B2QiQk" end
      for _, name in ipairs { table.concat(twice) .. "Zv", "_D1d__T1c" .. ("S11a__T1bTiS1z__T1c"):rep(30) .. "!",
         "_D1aF" .. ("P"):rep(1000000) .. "iZv", "_D", "_DYNAMIC", "_D1", "_D3ap", "_D1aFQaZv", "_D1aFZ", "_D1aFiZi!",
         "_D0", "_D4294967297aFZv" } do
         assert.equal(name, objects.demangle(name))
      end
   end)

   -- Names of C++ and Rust in turn: two would have 2^34 types, two need a stack frame per letter.
   it("leaves names as they are that are made to take all time or memory", function()
      local templates, tuples = { "_Z1f1AIiiE" }, { "_RIC1aThhE" }
      local DIGITS, at, last = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", #tuples[1], 4
      for i = 1, 33 do
         local same = ("S%s_"):format(("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"):sub(i, i))
         templates[i + 1] = ("S_I%s%sE"):format(same, same)
         local digits = (last > 62 and DIGITS:sub((last - 1) / 62 + 1, (last - 1) / 62 + 1) or "")
            .. DIGITS:sub((last - 1) % 62 + 1, (last - 1) % 62 + 1)
         tuples[i + 1] = ("TB%s_B%s_E"):format(digits, digits)
         at, last = at + #tuples[i + 1], at - 2
      end
      for _, name in ipairs { table.concat(templates), table.concat(tuples) .. "E", "_Z1f" .. ("P"):rep(1000000) .. "i",
         "_RIC1a" .. ("T"):rep(1000000) .. ("E"):rep(1000001) } do
         assert.equal(name, objects.demangle(name))
      end
   end)

   it("tells long names of C++", function()
      local long = ("x"):rep(9000)
      assert.equal(("std::vector<%s, int>::f()"):format(long),
         objects.demangle(("_ZNSt6vectorI9000%siE1fEv"):format(long)))
   end)

   it("says all of why there are none, without the object's name twice", function()
      local hidden = "the kernel's symbols are hidden (sysctl: kernel.kptr_restrict=0 as root shows them)"
      assert.equal(hidden, symbols.reason("[kernel]", hidden))
      assert.equal("No such file: gone", symbols.reason("/bin/x", "/bin/x: No such file: gone"))
      assert.equal("/bin/xy: other", symbols.reason("/bin/x", "/bin/xy: other"))
   end)

   it("tells names of C++ in map files of generated code, too", function()
      assert.equal("foo::bar()", (jitmap.parse("10 10 _ZN3foo3barEv\n"):func(0x10)))
   end)

   it("leaves names as they are that are no names of Rust's", function()
      local names = {}
      for _, name in ipairs { "_RN", "_RNv", "_RNvC", "_RNvC9_short", "_RNvB_3foo", "_RNvC1a1fB", "_RTuuE",
         "_RINvC1a1fB9_E", "_RNvC1au2AA", "_RIC1a" .. ("T"):rep(5000) .. ("E"):rep(5001) } do
         names[name] = name
      end
      assert.same(names, demangled(names))
   end)

   it("that is missing leaves the function, and says nothing of lines", function()
      local path = compile("plain", "gcc", "")
      local address = instructions(path, "outer")[1]
      local object = objects.object(path)
      assert.equal("outer", (object:func(address)))
      assert.is_nil((object:line(address)))
      assert.same({}, object:frames(address))
      local resolver = symbols.resolver()
      resolver:add(7, { { 0x1000000, 0x2000000, 0, path } })
      local where = resolver:resolve(7, 0x1000000 + address)
      assert.equal("outer", where.func)
      assert.same({ { name = "outer" } }, symbols.frames(where))
   end)
end)

describe("generated code of a forked process", function()
   it("has the names in the map of its parent, until it executes a program", function()
      local parent, child, grandchild = 2 ^ 22 + 7, 2 ^ 22 + 8, 2 ^ 22 + 9 -- beyond all process IDs
      local ran = require("pfm.recording.programs").new({ { "EXEC", 10, parent, parent, "jit" },
         { "MAP", 11, parent, parent, 0x1000, 0x2000, 0, "//anon" }, { "FORK", 20, child, child, parent, parent },
         { "FORK", 25, grandchild, grandchild, child, child }, { "EXEC", 30, child, child, "other" },
         { "MAP", 31, child, child, 0x1000, 0x2000, 0, "//anon" } }, {}, {})
      local resolver = symbols.resolver { kernel = false, mapped = ran, stored = function(path)
         return path == jitmap.path(parent) and jitmap.parse "1000 100 hot\n" or nil
      end }
      local function func(pid, time) return resolver:resolve(ran.lives:at(pid, time), 0x1010).func end
      assert.same({ "hot", "hot", "hot" }, { func(parent, 15), func(child, 21), func(grandchild, 26) })
      assert.not_equal("hot", func(child, 32))
   end)
end)

describe("generated code", function()
   local map = jitmap.parse("1000 100 first\n1100 80 second one\nbroken\n1000 40 newer\n0x3000 0x10 prefixed\n"
      .. "2000 0 none\n")

   it("has the names of the map file, and is not known for sure where several claim a place", function()
      assert.same({ "newer (or earlier code)", 0x1000, 0x40 }, { map:func(0x1000) })
      assert.same({ "newer (or earlier code)", 0x1000, 0x40 }, { map:func(0x103f) })
      assert.same({ "first", 0x1000, 0x100 }, { map:func(0x1040) })
      assert.same({ "second one", 0x1100, 0x80 }, { map:func(0x117f) })
      assert.same({ "prefixed", 0x3000, 0x10 }, { map:func(0x300f) })
      for _, address in ipairs { 0xfff, 0x1180, 0x2000, 0x3010, 0 } do assert.is_nil((map:func(address))) end
   end)

   it("that is made again at its place keeps its name", function()
      assert.equal("same", (jitmap.parse("1000 100 same\n1000 80 same\n"):func(0x1010)))
   end)

   it("shows no control characters of a map file", function()
      assert.equal("a?[31mred?", (jitmap.parse("10 10 a\27[31mred\7\n"):func(0x10)))
   end)

   it("of a process is found in /tmp, mapped or not", function()
      local pid = 2 ^ 22 + require("lpfm.proc").getpid() -- no process has such an ID
      local path = ("/tmp/perf-%d.map"):format(pid)
      files.write(path, "500000 10 made\n900000 10 later\n")
      local resolver = symbols.resolver()
      resolver:add(pid, { { 0x500000, 0x600000, 0, "" } })
      local where, unmapped = resolver:resolve(pid, 0x500008), resolver:resolve(pid, 0x900001)
      local nameless, other = resolver:resolve(pid, 0x500010), resolver:resolve(pid + 1, 0x500008)
      os.remove(path)
      assert.same({ "made", 8, "[generated code]" }, { where.func, where.offset, where.object })
      assert.same({ "later", 1 }, { unmapped.func, unmapped.offset })
      assert.equal("[generated code]", nameless.func)
      assert.equal("[unknown]", other.func)
   end)

   it("of LuaJIT is written into a map file, trace by trace", function()
      if not rawget(_G, "jit") then
         assert.truthy(select(2, jitmap.start()):find("only LuaJIT", 1, true))
         return
      end
      local path = assert(jitmap.start(os.tmpname()))
      local chunk = assert(loadstring("local x = 0 for i = 1, 2000 do x = x + i end return x", "=looping.lua"))
      require("jit").flush()
      assert.equal(2001000, chunk())
      jitmap.stop()
      local text = files.read(path)
      os.remove(path)
      local start, size, trace = text:match("(%x+) (%x+) looping%.lua:1 %[trace (%d+)%]\n")
      assert.truthy(start, text)
      local code, address = require("jit.util").tracemc(tonumber(trace))
      assert.same({ address, #code }, { tonumber(start, 16), tonumber(size, 16) })
   end)

   it("of LuaJIT is found in a recording", function()
      if not rawget(_G, "jit") then return pending("only LuaJIT compiles Lua code") end
      local program = (os.getenv("LPFM_BUILD") or "build") .. "/luajit/lpfm"
      local script, data = scratch .. "/busy.lua", scratch .. "/busy.data"
      files.write(script, "local until_, x = os.clock() + 0.3, 0\nwhile os.clock() < until_ do\n"
         .. "for i = 1, 1e6 do x = x + i % 7 end\nend\n")
      local line = "LPFM_JITMAP=1 %s record -q -o %s -- %s %s"
      local out, status = c.sh(line:format(program, data, program, script))
      assert.equal(0, status, out)
      local self = assert(recording.open(data))
      os.remove(jitmap.path(samples.each(self)().pid)) -- the recording has the names
      local names = {}
      for s in samples.each(self) do names[s.symbol:gsub("%d+", "N")] = s.object end
      assert.equal("[generated code]", names["busy.lua:N [trace N]"])
   end)
end)
