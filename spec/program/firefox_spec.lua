-- SPDX-License-Identifier: MIT
-- The Firefox Profiler's processed format: each table is whole, and holds the stacks that the
-- folded form has.

local c = require "support.c"
local cjson = require "cjson"
local export = require "pfm.export"
local files = require "support.files"
local perf_files = require "spec.fuzz.perf_files"
local recording = require "pfm.recording"

local dir = c.sh("mktemp -d"):gsub("\n", "")
local path = dir .. "/perf.data"
local PID = 2 ^ 22 + require("lpfm.proc").getpid() * 4 + 1 -- no process has such an ID
local MAP = ("/tmp/perf-%d.map"):format(PID)
local BUILD_ID = "\1\2\3\4\5\6\7\8\9\10\11\12\13\14\15\16\17\18\19\20"

local CLOCK = { name = "cpu-clock", id = 1, period = 250000, fields = { IP = true, TID = true, TIME = true,
   PERIOD = true, CALLCHAIN = true, IDENTIFIER = true } }
local FAULTS = { name = "faults", id = 2, config = 2, fields = CLOCK.fields }

local function sample(e, time, tid, chain)
   return perf_files.sample(e, { ip = chain[1], pid = PID, tid = tid, time = time * 1e6, period = 10 * time,
      chain = chain })
end

local function program(r)
   r.pid, r.time = PID, r.time or 0
   return perf_files.program(CLOCK, r)
end

setup(function()
   files.write(MAP, "1000 100 main\n2000 100 work\n3000 100 leaf\n")
   files.write(path, perf_files.file({ CLOCK, FAULTS }, program { kind = "COMM", tid = PID, comm = "prog" }
      .. program { kind = "COMM", tid = PID + 1, comm = "wor\"ker" }
      .. program { kind = "MMAP2", tid = PID, addr = 0x100000, len = 0x1000, offset = 0, path = "/bin/sh",
         build_id = BUILD_ID } .. sample(CLOCK, 1000, PID, { 0x3010, 0x2010, 0x1010 })
      .. sample(CLOCK, 1001, PID, { 0x3020, 0x2010, 0x1010 }) .. sample(CLOCK, 1002, PID + 1, { 0x2020 })
      .. sample(CLOCK, 1004, PID, { 0x100010, 0x1010 }) .. sample(FAULTS, 1003, PID, { 0x2030, 0x1010 }),
      perf_files.features { host = (require("posix.sys.utsname").uname().nodename), names = { CLOCK, FAULTS } }))
end)

teardown(function()
   os.remove(MAP)
   c.sh("rm -rf " .. dir)
end)

local function exported(options)
   export.write(assert(recording.open(path)), "firefox", dir .. "/out", options)
   return cjson.decode(files.read(dir .. "/out"))
end

local TABLES = {
   samples = { "stack", "time", "weight" }, stackTable = { "frame", "prefix" },
   frameTable = { "address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID", "line",
      "column" },
   funcTable = { "name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber" },
   resourceTable = { "lib", "name", "host", "type" },
   nativeSymbols = { "libIndex", "address", "name", "functionSize" },
   markers = { "data", "name", "startTime", "endTime", "phase", "category" },
}
local REFERS = { -- table, column, and the table that the column's numbers refer to
   { "samples", "stack", "stackTable" }, { "stackTable", "frame", "frameTable" },
   { "stackTable", "prefix", "stackTable" }, { "frameTable", "func", "funcTable" },
   { "frameTable", "nativeSymbol", "nativeSymbols" }, { "funcTable", "resource", "resourceTable" },
}

local function check_thread(out, thread)
   for name, columns in pairs(TABLES) do
      for _, column in ipairs(columns) do
         assert.equal(thread[name].length, #thread[name][column], name .. "." .. column)
      end
   end
   local function check(name, column, limit)
      for _, n in ipairs(thread[name][column]) do
         assert.is_true(n == cjson.null or (n % 1 == 0 and n >= 0 and n < limit), name .. "." .. column)
      end
   end
   for _, r in ipairs(REFERS) do check(r[1], r[2], thread[r[3]].length) end
   for _, r in ipairs { { "funcTable", "name" }, { "resourceTable", "name" }, { "nativeSymbols", "name" } } do
      check(r[1], r[2], #out.shared.stringArray)
   end
   check("nativeSymbols", "libIndex", #out.libs)
   check("resourceTable", "lib", #out.libs)
   check("funcTable", "source", math.max(out.shared.sources.length, 1))
   check("frameTable", "category", #out.meta.categories)
end

-- Adds to `to` the weight of a thread's stacks, by their folded text.
local function fold(out, thread, to)
   local name_of = function(stack)
      local frame = thread.stackTable.frame[stack + 1]
      return out.shared.stringArray[thread.funcTable.name[thread.frameTable.func[frame + 1] + 1] + 1]
   end
   for i, stack in ipairs(thread.samples.stack) do
      local names = {}
      while stack ~= cjson.null do
         table.insert(names, 1, name_of(stack))
         stack = thread.stackTable.prefix[stack + 1]
      end
      local line = ("%s;%s;%s"):format(thread.processName, thread.name:gsub(", .*", ""), table.concat(names, ";"))
      to[line] = (to[line] or 0) + thread.samples.weight[i]
   end
end

local function folded(event, weight)
   export.write(assert(recording.open(path)), "folded", dir .. "/folded", { event = event, weight = weight })
   local out = {}
   for line, n in files.read(dir .. "/folded"):gmatch("([^\n]+) (%d+)\n") do out[line] = tonumber(n) end
   return out
end

describe("the Firefox Profiler's JSON", function()
   it("has whole tables, whose numbers stand for rows that there are", function()
      local out = exported()
      assert.same({ 58, 31, "ms" }, { out.meta.preprocessedProfileVersion, out.meta.version,
         out.meta.sampleUnits.time })
      assert.equal(3, #out.threads)
      for _, thread in ipairs(out.threads) do check_thread(out, thread) end
      assert.equal(out.shared.sources.length, #out.shared.sources.filename)
   end)

   it("has the stacks of the folded form, with their weights", function()
      for _, weight in ipairs { "samples", "events" } do
         for _, event in ipairs { "cpu-clock", "faults" } do
            local out, got = exported { event = event, weight = weight }, {}
            for _, thread in ipairs(out.threads) do fold(out, thread, got) end
            assert.same(folded(event, weight), got, event .. " by " .. weight)
         end
      end
   end)

   it("has processes, threads, times in ms and libraries by their build ids", function()
      local out = exported()
      local first, second, third = unpack(out.threads)
      assert.same({ "prog, cpu-clock", true, ("%d"):format(PID), PID }, { first.name, first.isMainThread, first.pid,
         first.tid })
      assert.same({ 'wor"ker, cpu-clock', false, PID + 1 }, { second.name, second.isMainThread, second.tid })
      assert.same({ 0, 1, 4 }, first.samples.time)
      assert.same({ 2, 3 }, { second.registerTime, third.samples.time[1] })
      local found
      for _, lib in ipairs(out.libs) do found = lib.path == "/bin/sh" and lib or found end
      assert.same({ "sh", "0102030405060708090a0b0c0d0e0f1011121314", "0403020106050807090A0B0C0D0E0F100" },
         { found.name, found.codeId, found.breakpadId })
   end)
end)
