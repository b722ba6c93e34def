-- SPDX-License-Identifier: MIT
-- If output cannot be written, every command reports an error; results are saved elsewhere.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local recording = require "pfm.recording"

local program, run = c.program, c.lpfm
local scratch = os.tmpname()
local data = scratch .. "/lpfm.data"
local FULL = "No space left on device"

-- Runs a command with /dev/full as standard output; returns what it says on standard error.
local function run_full(line)
   return c.sh(("(%s %s) 2>&1 >/dev/full"):format(program, line))
end

-- Runs a shell command in a file system of its own, which so many bytes fill.
local function on_full_disk(bytes, command)
   local mount = ("mount -t tmpfs -o size=%d lpfm %s/disk"):format(bytes, scratch)
   return c.sh(("unshare -rm sh -c '%s && cd %s/disk && { %s; }'"):format(mount, scratch, command))
end

setup(function()
   os.remove(scratch)
   assert(select(2, c.sh("mkdir -p " .. scratch .. "/disk")) == 0)
   assert(select(2, run("record -e page-faults -c 1 -o " .. data .. " -- ls -lR /etc/apt")) == 0)
end)

teardown(function() c.sh("rm -rf " .. scratch) end)

describe("a file that takes no more", function()
   -- 200 pieces of 512 bytes fit into the 102,400 bytes that a file may have.
   it("is told of at each write, also in a loop that LuaJIT compiles", function()
      local script = scratch .. "/writes.lua"
      files.write(script, [[
         local write = require("pfm.util.text_file").write
         local file, taken, refused = io.open(arg[1], "wb"), 0, 0
         for i = 1, 1000 do
            if write(file, ("x"):rep(256), ("y"):rep(256)) then taken = taken + 1 else refused = refused + 1 end
         end
         print(taken, refused)]])
      local out = c.sh(("trap '' XFSZ; prlimit --fsize=102400 %s %s %s/limited"):format(
         os.getenv("LPFM_LUA") or "luajit", script, scratch))
      assert.equal("200\t800\n", out)
   end)

   it("ends a recording with a word, and keeps what is in it", function()
      local path = scratch .. "/limited.data"
      local line = "ulimit -f 4200; %s record -q -e faults,minor-faults -c 1 -o %s -- %s 20 50000 1; echo status $?"
      local out = c.sh(line:format(program, path, c.target("usage")))
      assert.truthy(out:find("cannot write " .. path .. ": File too large (see ulimit -f)", 1, true), out)
      assert.truthy(out:find("status 1", 1, true), out)
      local n = 0
      for _ in require("pfm.recording.samples").each(assert(recording.open(path))) do n = n + 1 end
      assert.is_true(n > 0)
   end)
end)

describe("standard output that cannot be written", function()
   for _, command in ipairs { "report", "annotate --asm", "script", "diff " .. data, "plot" } do
      it("is an error of " .. command, function()
         local out, status = run_full(("%s %s %s"):format(command, command:find("^diff") and "" or "-f", data))
         assert.truthy(out:find("cannot write", 1, true), out)
         assert.equal(1, status)
      end)
   end

   for _, format in ipairs { "folded", "flamegraph", "speedscope", "pprof", "csv", "json", "sql" } do
      it("is an error of export --format " .. format, function()
         local out, status = run_full(("export --format %s %s"):format(format, data))
         assert.truthy(out:find(FULL, 1, true), out)
         assert.equal(1, status)
      end)
   end

   it("is an error of list, of help and of a script, however much came before", function()
      for _, line in ipairs { "list", "--help", "stat --help", "--version", "-e 'for i = 1, 5000 do print(i) end'" } do
         local out, status = run_full(line)
         assert.truthy(out:find("cannot write the output", 1, true), line .. ": " .. out)
         assert.equal(1, status)
      end
   end)
end)

describe("a full disk", function()
   local lpfm = program

   local function test(name, fn)
      it(name, function()
         local out, status = on_full_disk(4096, "true")
         if status ~= 0 then return pending("no disk can be made here: " .. out) end
         fn()
      end)
   end

   for _, name in ipairs { "x.svg", "x.sqlite", "x.folded", "x.json", "x.pb.gz", "x.csv", "x.html" } do
      test("is an error of export -o " .. name .. ", of which nothing stays", function()
         local out, status = on_full_disk(4096, ("head -c 9999 /dev/zero >fill 2>/dev/null; %s export -o %s %s; "
            .. "code=$?; ls; exit $code"):format(lpfm, name, data))
         assert.truthy(out:find("[Nn]o space left on device") or out:find("disk is full"), out)
         assert.truthy(out:find("cannot write " .. name, 1, true), out)
         assert.equal(1, status, out)
         assert.falsy(out:find("\n" .. name, 1, true), out)
      end)
   end

   test("is an error of plot -o", function()
      if select(2, c.sh("command -v gnuplot")) ~= 0 then return pending("gnuplot is not here") end
      for _, kind in ipairs { "svg", "png" } do
         local out, status = on_full_disk(4096, ("head -c 9999 /dev/zero >fill 2>/dev/null; %s plot -o x.%s %s"):format(
            lpfm, kind, data))
         assert.truthy(out:find("cannot write", 1, true), out)
         assert.equal(1, status)
      end
   end)

   test("loses no recording: it is saved elsewhere, whole", function()
      local out = on_full_disk(8192, lpfm .. " record -e page-faults -c 1 -- ls -lR /etc/apt /usr/lib/ssl "
         .. ">/dev/null; echo status $?; ls lpfm.data")
      assert.truthy(out:find("status 1", 1, true), out)
      local path = out:match("cannot write lpfm.data: " .. FULL .. "; the recording is in (%S+): ")
      assert.truthy(path, out)
      assert.truthy(out:find("No such file", 1, true), "the cut file is left: " .. out)
      local self = assert(recording.open(path))
      local n = 0
      for _ in require("pfm.recording.samples").each(self) do n = n + 1 end
      os.remove(path)
      assert.equal(0, #self:warnings())
      assert.equal(self.ends.samples, n)
      assert.is_true(n > 0)
   end)
end)

describe("a device that takes nothing", function()
   it("loses no recording", function()
      local out, status = run("record -q -e page-faults -c 1 -o /dev/full -- true")
      local path = out:match("cannot write /dev/full: " .. FULL .. "; the recording is in (%S+): ")
      assert.truthy(path, out)
      assert.equal(1, status)
      assert.is_true(assert(recording.open(path)).ends.samples > 0)
      os.remove(path)
   end)

   it("loses no count: it goes to standard error", function()
      for _, form in ipairs { "", "-x, ", "--json " } do
         local out, status = run("stat -e page-faults " .. form .. "-o /dev/full -- true")
         assert.truthy(out:find("cannot write /dev/full: " .. FULL, 1, true), out)
         assert.truthy(out:find("%d+[^\n]*page%-faults") or out:find('"page-faults"', 1, true), out)
         assert.equal(1, status)
      end
      for line, result in pairs {
         ["perfex -e page-faults -o /dev/full -- true"] = "%d+[^\n]*page%-faults",
         ["histogram 'cpu' -e page-faults -c 1 -o /dev/full -- true"] = "[1-9]%d* overflows",
         ["cascade -o /dev/full page-faults:10 then page-faults -- true"] = "10 +page%-faults",
      } do
         local out, status = run(line)
         assert.truthy(out:find("cannot write /dev/full: " .. FULL, 1, true), out)
         assert.truthy(out:find(result), out)
         assert.equal(1, status)
      end
   end)

   it("loses no samples of a cascade", function()
      local out, status = run("cascade -o /dev/full page-faults:10 then sample page-faults:1 -- true")
      local path = out:match("cannot write /dev/full: " .. FULL .. "; the recording is in (%S+): ")
      assert.truthy(path, out)
      assert.equal(1, status)
      assert.truthy(assert(recording.open(path)).ends)
      os.remove(path)
   end)
end)

describe("a file with something else in it", function()
   it("keeps that if there is no result", function()
      local path = scratch .. "/kept"
      files.write(path, "kept")
      for _, line in ipairs { "stat", "stat --json", "perfex", "histogram cpu -e page-faults -c 1", "record" } do
         run(("%s -o %s -- /no/such/command"):format(line, path))
         assert.equal("kept", files.read(path), line)
      end
      run("stat -e page-faults -o " .. path .. " -- true")
      assert.is_nil(files.read(path):find("kept", 1, true))
   end)
end)

describe("a file that a command reads", function()
   it("is not written over by that command, under whatever name", function()
      local read, link, json = scratch .. "/read.data", scratch .. "/read.svg", scratch .. "/rank.json"
      assert.equal(0, select(2, c.sh(("cp %s %s && ln %s %s"):format(data, read, read, link))))
      run("stat -e page-faults --json -o " .. json .. " -- true")
      local samples, counts = files.read(read), files.read(json)
      for _, line in ipairs { "export --format csv -o " .. read .. " " .. read, "export --format sqlite -o %s " .. read,
         "export --base " .. read .. " -o %s " .. data, "report --html %s " .. read,
         "plot -o %s " .. read, "stat --ranks -o " .. json .. " " .. json, "stat --ranks --append -o " .. json .. " "
         .. json } do
         local out, status = run(line:format(link))
         assert.truthy(out:find("it is read; choose another name", 1, true), line .. ": " .. out)
         assert.equal(1, status, line)
         assert.equal(samples, files.read(read), line)
         assert.equal(counts, files.read(json), line)
      end
   end)
end)

describe("a recording", function()
   it("keeps the one before it as .old, and nothing else", function()
      local path = scratch .. "/kept.data"
      files.write(path, "no recording\n")
      assert.equal(0, select(2, run("record -q -e page-faults -c 1 -o " .. path .. " -- true")))
      assert.is_nil(io.open(path .. ".old"))
      local first = files.read(path)
      assert.equal(0, select(2, run("record -q -e page-faults -c 1 -o " .. path .. " -- true")))
      assert.equal(first, files.read(path .. ".old"))
      assert.is_true(assert(recording.open(path)).ends.samples > 0)
   end)
end)

describe("the program that a command measures", function()
   it("is not written over by its results, under whatever name", function()
      local link = scratch .. "/link"
      c.sh(("cp /bin/true %s/ran && ln %s/ran %s"):format(scratch, scratch, link))
      local kept = files.read(link)
      for _, command in ipairs { "stat", "record", "trace", "bias", "perfex", "histogram cpu -e page-faults -c 1",
         "cascade page-faults:1" } do
         local out, status = c.sh(("PATH=%s:$PATH %s %s -o %s -- ran 2>&1"):format(scratch, program, command, link))
         assert.truthy(out:find("it is read; choose another name", 1, true), command .. ": " .. out)
         assert.equal(1, status, command)
         assert.equal(kept, files.read(link), command)
      end
   end)
end)
