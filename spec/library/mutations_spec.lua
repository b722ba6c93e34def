-- SPDX-License-Identifier: MIT
-- Recordings of sound chunks with invalid fields: each is read as far as it can be, or refused with
-- a message. One interpreter: the subject is what readers check, which is the same in both.

local c = require "support.c"
local effort = require "support.effort"
local merge = require "pfm.jobs.merge"
local recording = require "pfm.recording"
local samples = require "support.samples"

local program = c.program
local COUNT = effort(2000)
local dir = c.folder()

local function words(...)
   local out = {}
   for i, n in ipairs { ... } do out[i] = samples.int(n, 8) end
   return table.concat(out)
end

-- Makes a recording; one that is `rich` and one that is not have all that recordings can hold.
local function make(name, rank, rich)
   local w = assert(recording.create(dir .. "/" .. name, {
      what = "prog", command = { "prog", "a b" }, stacks = rich and "DWARF" or nil, fixed = not rich or nil,
      time = 1700000000 + rank, frequency = rich and 1000 or nil, cpus = not rich and { 0, 1 } or nil,
      random = rich and { mask = 255, seed = 7, text = "by 255" } or nil, program = { pmcs = {}, pmds = {} },
      events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 },
         { name = "faults", pmd = 66, period = 1, set = rich and 1 or nil, values = rich and { 69 } or nil } },
      with = { { name = "cs", pmd = 69 } },
      machine = { name = "perf", pmu = "software", host = "n" .. rank, kernel = "6", arch = "x86_64", cpus = 2,
         boot = "b" .. rank },
      clock = { seconds = 1700000000, ns = 5, samples = 10, within = 100 },
      job = { launcher = "slurm", rank = rank, ranks = 2, local_rank = 0, id = "77", step = "0", host = "n" .. rank },
   }))
   w:json("MAPS", { pid = 7, time = rich and 5 or nil, maps = { { 0x400000, 0x410000, 0, "/bin/prog" },
      { 0x700000, 0x710000, 0, "" } } })
   w:json("COMM", { { tid = 7, pid = 7, comm = "prog", time = rich and 5 or nil },
      { tid = 8, pid = 7, comm = "work" } })
   if rich then
      w:json("PROG", { { "EXEC", 10, 7, 7, "prog" }, { "MAP", 11, 7, 7, 0x400000, 0x410000, 0, "/bin/prog", "ab12" },
         { "FORK", 20, 9, 9, 7, 7 }, { "RENAME", 30, 7, 8, "work" }, { "LOST", 40, 7, 7, 3, "full" },
         { "EXIT", 50, 9, 9 } })
      w:chunk("STKS", words(1, 2, 0x400110, 0x400210, 1, 0x400110))
   end
   local list = {}
   for i = 1, 12 do
      list[i] = { tid = 7 + i % 2, pid = 7, ip = i == 3 and -4096 or 0x400100 + 16 * (i % 3), tstamp = 100 * i,
         cpu = i % 2, pmd = i % 4 == 0 and 66 or 65, set = rich and i % 4 == 0 and 1 or 0,
         values = rich and { 10 * i, i % 3 } or { 10 * i } }
   end
   w:block(samples.block(list), #list)
   w:json("SYMS", { path = "/bin/prog", build_id = "ab12cd34ef", count = 9, segments = { { 0, 0x10000, 0 } },
      functions = { { 0x100, 64, "main" }, { 0x200, 64, "rest" } }, files = { "a.c", "b.c" },
      lines = { { 0x100, 1, 3 }, { 0x110, 2, 4 } }, frames = { { 0x110, "inl", 2, 4, "main", 1, 3 } } })
   w:json("SYMS", { path = "/tmp/jit-7.dump", count = 1, process = 7, segments = {},
      functions = { { 0x700100, 64, "made", 60 } }, files = { "m.js" },
      lines = { { 0x700100, 1, 3, 60 } }, frames = {} })
   w:json("OBJS", { { path = "/bin/prog", build_id = "ab12cd34ef" } })
   w:close { lost = 1, full = 1, missed = 2, elapsed = 1.5, user = 1, system = 0.5, status = 0, throttled = 3,
      sample_rate = 1000, unsampled = 0.2, untold = 1, unmeasured = 1 }
end

setup(function()
   make("rich", 0, true)
   make("plain", 1)
   merge.files({ dir .. "/rich", dir .. "/plain" }, dir .. "/merged")
end)

describe("recordings with wrong fields", function()
   for _, kind in ipairs { "report", "script", "export" } do
      it("are read or refused in words by lpfm " .. kind, function()
         local out, status = c.sh(("%s spec/fuzz/mutate.lua %s %d %s/%s %s/rich %s/plain %s/merged"):format(program,
            kind, COUNT, dir, kind, dir, dir, dir))
         assert.equal(0, status, out:sub(-4000))
         assert.truthy(out:find(("\nMUTATIONS %d, wrong 0\n"):format(COUNT), 1, true),
            out:match("\nMUTATION .*") or out:sub(-4000))
      end)
   end
end)
