-- SPDX-License-Identifier: MIT
-- BPF programs that measurements run at each overflow: lpfm histogram, and record --where.
local stored = require "lpfm.samples"
local c = require "support.c"
local cjson = require "cjson"
local histogram = require "pfm.histogram"
local profile = require "pfm.profile"
local recording = require "pfm.recording"
local sim = require "support.sim"

local run = c.lpfm

-- Returns a thread that runs two places in turn, one with 3 misses each time, one with 1.
local function worker()
   local m = sim.machine()
   return assert(m:spawn { program = { { loop = 500,
      { ip = 0x1000, ns = 1000, events = { loads = 1, l2_misses = 3 } },
      { ip = 0x2000, ns = 500, events = { loads = 1, l2_misses = 1 } } } } })
end

local function counts_of(result)
   local out = {}
   for _, row in ipairs(result.buckets) do out[row.bucket] = row.count end
   return out
end

describe("a histogram", function()
   before_each(sim.begin)
   after_each(sim.finish)

   it("counts every overflow in the bucket of its value", function()
      local result = histogram.run { tids = { (worker()) }, bucket = "ip >> 12", event = "LOADS_RETIRED", period = 1 }
      assert.same({ [1] = 500, [2] = 500 }, counts_of(result))
      assert.same({ 1000, 1000, 0, 0 }, { result.overflows, result.counted, result.outside, result.lost })
   end)

   it("counts an event from overflow to overflow", function()
      local result = histogram.run { tids = { (worker()) }, bucket = "pmd.L2_MISSES", event = "LOADS_RETIRED",
         period = 1, buckets = 3 }
      local n = result.outside
      for _, row in ipairs(result.buckets) do n = n + row.count end
      assert.equal(1000, n)
      assert.same({ [1] = 500 }, counts_of(result))
      assert.equal(500, result.outside) -- the samples with 3 misses
   end)

   it("counts what meets the condition", function()
      local result = histogram.run { tids = { (worker()) }, bucket = "log2(ip)", where = "pmd.L2_MISSES == 3",
         event = "LOADS_RETIRED", period = 1 }
      assert.equal(1000, result.overflows)
      assert.same({ [12] = 500 }, counts_of(result))
      assert.equal("4,096 - 8,191", result.buckets[1].label)
   end)

   it("does not count the event that overflows besides", function()
      local spec = { tids = { (worker()) }, event = "page-faults", period = 10 }
      for _, field in ipairs { "bucket", "where" } do
         spec.bucket, spec.where = "cpu", nil
         spec[field] = "pmd.page_faults"
         assert.error_matches(function() histogram.run(spec) end, "counted by one register", 1, true)
      end
   end)

   it("says what is wrong before it measures", function()
      sim.machine()
      for expression, why in pairs { ["cpu +"] = "expected an operand", ["1 / 0"] = "this divides by 0",
         ["1 + pmd.NOTHING"] = "itanium2 has no event NOTHING\n   1 + pmd.NOTHING\n       ^" } do
         assert.error_matches(function() histogram.run { tids = { 1 }, bucket = expression } end, why, 1, true)
      end
      assert.error_matches(function() histogram.run { bucket = "cpu", buckts = 1 } end, "did you mean 'buckets'?")
   end)
end)

describe("a profile with a condition", function()
   before_each(sim.begin)
   after_each(sim.finish)

   local function collected(spec)
      spec.tids, spec.events, spec.period = { (worker()) }, "LOADS_RETIRED", 1
      return profile.collect(spec)
   end

   it("has the samples that meet it, and only those", function()
      local result = collected { where = "ip == 0x2000" }
      assert.same({ 500, 1000 }, { result.samples, result.overflows })
      assert.same(500, collected({ where = "time / 1500 % 2 == 0" }).samples)
      assert.is_nil(collected({}).overflows)
   end)

   it("records the events of the condition, counted from overflow to overflow", function()
      local result = collected { where = "pmd.L2_MISSES >= 3" }
      assert.equal(500, result.samples)
      assert.equal(500, collected({ where = "pmd.L2_MISSES < 3", g = "fp" }).samples)
      assert.error_matches(function() collected { where = "pmd.L2_MISSES > 1", with = "L2_MISSES" } end,
         "where: 'L2_MISSES' cannot also be one of 'with'")
   end)

   it("samples at the frequency that was asked for, however few are kept", function()
      local result = collected { where = "ip == 0x3000" }
      assert.same({ 0, 1000 }, { result.samples, result.overflows })
   end)
end)

describe("at the command line", function()
   local FAULTS = "-e page-faults -c 1"
   local WORK = " -- sh -c 'exec ls -lR /usr/share/doc/luajit* >/dev/null'"

   it("a histogram is a table with bars, or JSON", function()
      local out, status = run("histogram 'ip & 1' " .. FAULTS .. " -o -" .. WORK)
      assert.equal(0, status, out)
      assert.matches("ip & 1 of page%-faults, every 1\n", out)
      assert.matches("\n0 .- [%d,]+\n1 .- [%d,]+\n", out)
      out, status = run("histogram 'ip & 1' --where 'tid > 0' --json " .. FAULTS .. " -o -" .. WORK)
      assert.equal(0, status, out)
      local result = cjson.decode(out)
      assert.same({ 0, 0 }, { result.outside, result.overflows - result.counted })
      assert.equal(result.counted, result.buckets[1].count + result.buckets[2].count)
      assert.is_true(result.counted > 50)
   end)

   it("a histogram has a command's threads and children, unless that is not wanted", function()
      local work = " -- " .. c.target("work") .. " threads=3 touch=400"
      local out, status = run("histogram cpu --json " .. FAULTS .. " -o -" .. work)
      assert.equal(0, status, out)
      assert.is_true(cjson.decode(out).counted >= 1200, out)
      out, status = run("histogram cpu -i --json " .. FAULTS .. " -o -" .. work)
      assert.equal(0, status, out)
      assert.is_true(cjson.decode(out).counted < 1200, out)
   end)

   it("record keeps what meets the condition", function()
      local path = os.tmpname()
      local out, status = run("record --where 'ip % 2 == 1' " .. FAULTS .. " -o " .. path .. WORK)
      assert.equal(0, status, out)
      local kept, all = out:match("([%d,]+) samples in .*; of ([%d,]+) overflows")
      assert.truthy(kept, out)
      local file = assert(recording.open(path))
      local n = 0
      for block in file:each_block() do
         for s in stored.each(block, file:sizes()) do
            assert.equal(1, s.ip % 2)
            n = n + 1
         end
      end
      assert.equal(tonumber((kept:gsub(",", ""))), n)
      assert.is_true(n < tonumber((all:gsub(",", ""))))
      assert.equal("ip % 2 == 1", file.head.where)
      out, status = run("record --where 'tid == 0' " .. FAULTS .. " -o " .. path .. WORK)
      assert.equal(0, status, out)
      assert.matches("none of which met the condition", out)
      os.remove(path)
   end)

   it("mistakes are told with a caret", function()
      for _, line in ipairs { "histogram 'cpu +'", "record --where 'cpu +'" } do
         local out, status = run(line .. " -- true")
         assert.equal(2, status, out)
         assert.matches("expected an operand at the end\n   cpu %+\n        ^\n", out)
      end
      for _, line in ipairs { "histogram \"ip in 'libc'\"", "record --where \"ip in 'libc'\"" } do
         local out, status = run(line .. " -- true")
         assert.equal(2, status, out)
         assert.matches("expected -p PID", out, 1, true)
      end
      for _, line in ipairs { "histogram", "histogram -- true", "histogram -e page-faults -- true 1" } do
         local out, status = run(line)
         assert.same({ 2, true }, { status, out:find("expected an expression", 1, true) ~= nil }, line)
      end
   end)
end)

describe("objects", function()
   it("are those of a running process", function()
      local where = require("pfm.program").where
      local lpfm = require "lpfm"
      local pid = require("lpfm.proc").getpid()
      assert(lpfm.machine(require "support.real"))
      local ctx = assert(lpfm.create(where("ip in 'libc' and not ip in 'kernel'"):create { pid = pid }))
      assert.equal(0, ctx:verdicts().runs)
      ctx:close()
      assert.error_matches(function() where("ip in 'libnone'"):create { pid = pid } end,
         "no object 'libnone' is mapped there")
   end)
end)
