-- SPDX-License-Identifier: MIT
-- Generated code that a JIT compiler describes in a jit-PID.dump: names, lines, and which code was
-- at an address when.

local analyze = require "pfm.analyze"
local c = require "support.c"
local files = require "support.files"
local jitdump = require "pfm.jitdump"
local lpfm = require "lpfm"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"
local symbols = require "pfm.symbols"

local program = c.program
local scratch = c.folder()

describe("a dump", function()
   local path = scratch .. "/jit-1.dump"
   local bytes

   setup(function()
      local out, status = c.sh(("%s %s 1 && mv %s/jit-*.dump %s"):format(c.target "jit", scratch, scratch, path))
      assert(status == 0, out)
      bytes = files.read(path)
   end)

   local function read(text)
      files.write(path, text)
      return jitdump.read(path)
   end

   it("has the code that was made at each time, with lines, and that which was moved", function()
      local dump = assert(read(bytes))
      assert.equal(3, #dump.list)
      local first, second, moved = unpack(dump.list)
      assert.equal(first.start, second.start)
      assert.equal(first.start + 2048, moved.start)
      local function at(time, offset)
         local view = dump:at(time)
         local name, start = view:func(first.start + offset)
         local file, line = view:line(first.start + offset)
         return { name, start and start - first.start, file, line }
      end
      assert.same({ "first", 0, "made.js", 10 }, at(first.time, 0))
      assert.same({ "first", 0, "made.js", 11 }, at(second.time - 1, 5))
      assert.same({ "second", 0, "made.js", 21 }, at(second.time, 5))
      assert.same({ "second", 2048, "made.js", 21 }, at(moved.time, 2048 + 5))
      assert.same({}, at(moved.time, 100))
      assert.same({ second.time }, dump:replacements())
   end)

   it("that is cut is read as far as it goes, and what is none is refused", function()
      for length = 40, #bytes do
         local dump = assert(read(bytes:sub(1, length)))
         assert.is_true(#dump.list <= 3)
      end
      for _, none in ipairs { "", "JiTD", ("x"):rep(100) } do
         local dump, err = read(none)
         assert.is_nil(dump)
         assert.truthy(err:find("not a dump of generated code", 1, true), err)
      end
      assert.truthy(select(2, jitdump.read "/no/such/jit-1.dump"):find("No such file", 1, true))
   end)

   it("with any byte changed does no harm", function()
      for i = 1, #bytes do
         local dump = read(bytes:sub(1, i - 1) .. string.char((bytes:byte(i) + 255) % 256) .. bytes:sub(i + 1))
         if dump then dump:at(5):func(dump.list[1] and dump.list[1].start or 0) end
      end
   end)

   it("is told by its name", function()
      assert.equal("/a/jit-7.dump", jitdump.path_of "/a/jit-7.dump")
      assert.equal("/a/jit-7.dump", jitdump.path_of "/a/jit-7.dump (deleted)")
      for _, other in ipairs { "/a/jit-.dump", "jit-7.dump", "/a/jit-7.dumps", "/a/xjit-7.dump" } do
         assert.is_nil(jitdump.path_of(other))
      end
   end)
end)

for _, how in ipairs { "", "-g fp" } do
   describe(("a program that makes code, by record %s,"):format(how), function()
      local data, began = ("%s/%s.data"):format(scratch, how:gsub("%W", "")), {}

      setup(function()
         local line = "LPFM_MACHINE=%s %s record %s -q -c 200000 -o %s -- %s %s 200000000"
         local real = lpfm.machine().name == "linux" and "linux" or "perf"
         local out, status = c.sh(line:format(real, program, how, data, c.target "jit", scratch))
         assert(status == 0, out)
         for time in out:gmatch("(%d+)\n") do began[#began + 1] = tonumber(time) end
         c.sh("rm -f " .. scratch .. "/jit-*.dump") -- the recording has the names now
      end)

      it("is told which code ran when", function()
         local self, seen = assert(recording.open(data)), {}
         for s in samples.each(self) do
            if s.object == "[generated code]" then
               local name = s.time * 1e9 < began[2] and "first" or "second"
               assert.equal(name, s.symbol)
               seen[name] = (seen[name] or 0) + 1
               local file, line = symbols.line(s.where)
               assert.equal("made.js", file)
               assert.equal(name == "first" and 1 or 2, math.floor(line / 10))
            end
         end
         assert.is_true(seen.first > 10 and seen.second > 10)
      end)

      it("is reported by function and line", function()
         local by = {}
         for _, row in ipairs(analyze.by(assert(recording.open(data)), "symbol,line").rows) do
            by[row.symbol .. " " .. row.line] = row.samples
         end
         assert.is_true((by["first made.js:11"] or 0) > 0 and (by["second made.js:21"] or 0) > 0)
      end)
   end)
end
