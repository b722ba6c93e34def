-- SPDX-License-Identifier: MIT
-- Measurements in parallel jobs: what launchers say of a rank, files by rank, and the ranks side by
-- side. One interpreter: the subject is the program as a process.

local c = require "support.c"
local files = require "support.files"
local cjson = require "cjson"

local build, interpreter = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"
local program = ("%s/%s/lpfm"):format(build, interpreter)
local here, dir = (c.sh("pwd"):gsub("%s", "")), nil
if program:sub(1, 1) ~= "/" then program = here .. "/" .. program end

-- An environment without the variables of a launcher that may have started this run.
local clean = "env -i PATH=$PATH HOME=$HOME LUA_PATH=\"$LUA_PATH\" LUA_CPATH=\"$LUA_CPATH\" "

local function sh(command)
   return c.sh(("cd %s && %s"):format(dir, command))
end

local function names(pattern)
   return (sh("ls " .. pattern .. " | sort | xargs"):gsub("\n$", ""))
end

local function write(name, text) files.write(dir .. "/" .. name, text) end

before_each(function() dir = c.new_folder() end)
after_each(function() c.sh("rm -rf " .. dir) end)

describe("a file's name", function()
   local function name(environment, text)
      local out, status = sh(("%s %s %s stat -e page-faults --json -o %q -- true"):format(clean, environment, program,
         text))
      return status == 0 and names("x.*") or nil, out
   end

   it("has rank, job and step as launchers tell them", function()
      local slurm_says = "SLURM_JOB_ID=77 SLURM_STEP_ID=3 SLURM_PROCID=5 SLURM_NTASKS=8 SLURMD_NODENAME=n2 "
      assert.equal("x.n2.5.77.3", name(slurm_says, "x.%h.%r.%j.%s"))
   end)

   it("has the rank of the innermost launcher", function()
      assert.equal("x.1.77", name("SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=0 OMPI_COMM_WORLD_RANK=1", "x.%r.%j"))
   end)

   it("knows MPICH, PMIx and GNU parallel, whose first job is rank 0", function()
      assert.equal("x.4", name("PMI_RANK=4 PMI_SIZE=5", "x.%r"))
      os.remove(dir .. "/x.4")
      assert.equal("x.2.9", name("PMIX_RANK=2 PMIX_NAMESPACE=9", "x.%r.%j"))
      os.remove(dir .. "/x.2.9")
      assert.equal("x.0.1234", name("PARALLEL_SEQ=1 PARALLEL_PID=1234", "x.%r.%j"))
   end)

   it("has the host and percent signs anywhere", function()
      assert.equal("x." .. (c.sh("hostname"):gsub("%s", "")) .. ".%r", name("", "x.%h.%%r"))
   end)

   it("is refused where nothing stands for a part of it", function()
      local found, out = name("", "x.%r")
      assert.is_nil(found)
      assert.truthy(out:find("'%r' in 'x.%r': no launcher (srun, mpirun, parallel) has set a rank", 1, true), out)
      found, out = name("", "x.%q")
      assert.is_nil(found)
      assert.truthy(out:find("'%q' in 'x.%q': expected %h (host)", 1, true), out)
   end)
end)

describe("a recording", function()
   it("of a rank has a file of its own, and says which rank it is", function()
      for rank = 0, 1 do
         local out, status = sh(("%s OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_SIZE=2 %s record -q -- true"):format(clean,
            rank, program))
         assert.equal(0, status, out)
      end
      assert.equal("lpfm.0.data lpfm.1.data", names("*.data"))
      local info = require("pfm.recording").open(dir .. "/lpfm.1.data")
      assert.equal(1, info.head.job.rank)
      assert.equal("Open MPI", info.head.job.launcher)
   end)

   it("of one rank alone is lpfm.data", function()
      local alone = "SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=1"
      sh(("%s %s %s record -q -- true"):format(clean, alone, program))
      assert.equal("lpfm.data", names("*.data"))
   end)
end)

describe("stat --ranks", function()
   -- Writes the file of a rank that counted `faults` page faults.
   local function rank_file(rank, faults, more)
      local object = { command = { "prog" }, elapsed = 1, user = 1, system = 0, status = 0, host = "n" .. rank % 2,
         job = { rank = rank, ranks = 4, id = "7" }, events = { { event = "page-faults", value = faults } } }
      for k, v in pairs(more or {}) do object[k] = v end
      write(("r%d.json"):format(rank), cjson.encode(object) .. "\n")
   end

   local function ranks(arguments)
      return sh(program .. " stat --ranks " .. arguments)
   end

   it("gives the least, the mean, the most and their imbalance, by rank and by host", function()
      for rank, faults in pairs { [0] = 100, 300, 200, 600 } do rank_file(rank, faults) end
      local out, status = ranks("-x, r*.json")
      assert.equal(0, status)
      assert.truthy(out:find("^page%-faults,,4,300,100,0,600,3,2%.000000\n"), out)
      out = ranks("--json r*.json")
      local result = cjson.decode(out)
      assert.same({ 300, 900 }, { result.hosts[1].values["page-faults"], result.hosts[2].values["page-faults"] })
      assert.same({ 1, 1 }, { result.hosts[1].values.elapsed, result.hosts[2].values.elapsed })
      out = ranks("--per-rank --per-host r*.json")
      assert.truthy(out:find("4 ranks on 2 hosts", 1, true), out)
      assert.truthy(out:find("\n  3 on n1 +600 "), out)
      assert.truthy(out:find("\n  n1 %(2 ranks%) +900 "), out)
      assert.truthy(out:find("Rank 3 on n1 stands out: page-faults is 2.00 times the mean.", 1, true), out)
   end)

   it("names the files of those that no launcher gave a rank", function()
      for i, faults in ipairs { 100, 300 } do rank_file(i, faults, { job = cjson.null, host = "n" }) end
      local out = ranks("-x, r1.json r2.json")
      assert.truthy(out:find("^page%-faults,,2,200,100,r1.json,300,r2.json,1%.500000\n"), out)
      local row = cjson.decode((ranks("--json r1.json r2.json"))).summary[1]
      assert.same({ "r1.json", "r2.json" }, { row["min-file"], row["max-file"] })
   end)

   it("says of how many ranks the mean is where one lacks an event", function()
      for rank = 0, 3 do rank_file(rank, 100) end
      assert.falsy(ranks("r*.json"):find("the mean is of", 1, true))
      rank_file(2, 100, { events = { { event = "cs", value = 7 } } })
      local out = ranks("r*.json")
      assert.truthy(out:find("\n  page-faults: the mean is of 3 of 4 ranks.\n  cs: the mean is of 1 of 4 ranks.\n", 1,
         true), out)
   end)

   it("names a slow rank before one whose counts are odd", function()
      for rank = 0, 3 do rank_file(rank, rank == 1 and 1000 or 10, { elapsed = rank == 2 and 3 or 1 }) end
      local out = ranks("r*.json")
      assert.truthy(out:find("Rank 2 on n0 stands out: elapsed is 2.00 times the mean.", 1, true), out)
   end)

   it("names none where all are alike, or differ by chance", function()
      for rank = 0, 3 do rank_file(rank, 100 + rank) end
      assert.truthy(ranks("r*.json"):find("All are alike, within a tenth of the mean.", 1, true))
      for rank = 0, 3 do rank_file(rank, 100 + (rank == 2 and 15 or 0)) end
      assert.truthy(ranks("r*.json"):find("None stands out beyond what may be chance.", 1, true))
   end)

   it("says that one run each cannot tell a slow rank from chance; the spread of several can", function()
      -- rank 2 takes 1.33 times the mean of all; `spread` is each rank's standard deviation
      local function of_runs(spread, runs)
         for rank = 0, 3 do
            rank_file(rank, 10, { elapsed = rank == 2 and 1.5 or 1, runs = runs, ["elapsed-stddev"] = spread,
               events = { { event = "task-clock", unit = "ns", value = rank == 2 and 1.4e9 or 1e9, stddev = spread and
                  spread * 1e9 } } })
         end
         return (ranks("r*.json"))
      end
      local out = of_runs(nil, nil)
      assert.truthy(out:find("Rank 2 on n0 stands out: elapsed is 1.33 times the mean.\n", 1, true), out)
      assert.truthy(out:find("One run each cannot tell whether that is chance", 1, true), out)
      out = of_runs(0.01, 5)
      assert.truthy(out:find("Rank 2 on n0 stands out: elapsed is 1.33 times the mean, in 5 runs each (p <0.0001).", 1,
         true), out)
      assert.falsy(out:find("One run", 1, true), out)
      out = of_runs(0.5, 5) -- the difference, 0.5, has a larger standard deviation
      assert.truthy(out:find("None stands out beyond what may be chance.", 1, true), out)
      assert.falsy(out:find("Rank 2 on n0 stands", 1, true), out)
   end)

   it("names no rank by chance more often than it says", function()
      local found, rounds = 0, 200
      local statistics, library = require "pfm.statistics", require "pfm.jobs.ranks"
      local state = 12345
      local function random() -- the same numbers in every run
         state = (state * 16807) % 2147483647
         return state / 2147483647
      end
      for _ = 1, rounds do
         local members = {}
         for rank = 0, 7 do
            local runs = {}
            for i = 1, 6 do runs[i] = 1 + random() end
            local mean, deviation = statistics.mean(runs)
            members[rank + 1] = { rank = rank, host = "n", runs = 6, order = { { name = "elapsed", unit = "s" } },
               values = { elapsed = mean }, deviations = { elapsed = deviation } }
         end
         if library.outlier(library.summary(members)) then found = found + 1 end
      end
      assert.is_true(found <= rounds * 0.05, found .. " of " .. rounds)
   end)

   it("has the spread of repeated runs from stat itself", function()
      local run = ("OMPI_COMM_WORLD_RANK=%%d OMPI_COMM_WORLD_SIZE=2 %s stat -r 2 --json -o w%%d.json -- true"):format(
         program)
      for rank = 0, 1 do sh(run:format(rank, rank)) end
      local object = cjson.decode((sh("cat w0.json")))
      assert.equal(2, object.runs)
      assert.equal("number", type(object["elapsed-stddev"]))
      local out = ranks("w*.json")
      assert.falsy(out:find("One run", 1, true), out)
   end)

   it("names who failed, what is damaged, missing, foreign or there twice, and goes on", function()
      rank_file(0, 1)
      rank_file(1, 2, { status = 3 })
      write("a.json", "{\"events\": [")
      write("b.json", "")
      c.sh(("cp %s/r1.json %s/s.json"):format(dir, dir))
      local out, status = ranks("*.json nosuch .")
      assert.equal(1, status)
      for _, part in ipairs { "Rank 1 on n1 ended with status 3.", "2 of 4 ranks of job 7 wrote nothing: 2, 3.",
         "Left out: a.json:1: no counts in JSON", "Left out: b.json: empty",
         "Left out: s.json: rank 1 of job 7 is in r1.json already", "Left out: nosuch: No such file",
         "Left out: .: Is a directory" } do
         assert.truthy(out:find(part, 1, true), part .. "\n" .. out)
      end
      assert.truthy(out:find("2 ranks on 2 hosts", 1, true), out)
   end)

   it("names the missing ranks of a job beside one that is whole", function()
      rank_file(0, 1, { job = { rank = 0, ranks = 1, id = "6" } })
      c.sh(("mv %s/r0.json %s/whole.json"):format(dir, dir))
      rank_file(0, 1, { job = { rank = 0, ranks = 2, id = "8" } })
      for _, order in ipairs { "whole.json r0.json", "r0.json whole.json" } do
         local out = ranks(order)
         assert.truthy(out:find("1 of 2 ranks of job 8 wrote nothing: 1.", 1, true), out)
      end
   end)

   it("takes no numbers from what is not of its form, and counts the ranks of a job that says it is huge", function()
      rank_file(0, 1, { job = { rank = 0, ranks = 1e9, id = "9" } })
      for name, more in pairs { a = { events = { 3 } }, b = { events = { { event = 1 } } }, c = { host = 7 },
         d = { job = 5 }, e = { job = { rank = "z" } }, f = { job = { rank = 1, id = { 1 } } } } do
         rank_file(1, 1, more)
         c.sh(("mv %s/r1.json %s/odd.%s"):format(dir, dir, name))
      end
      local out, status = ranks("r0.json odd.*")
      assert.equal(1, status)
      for _, name in ipairs { "a", "b", "c", "d", "e", "f" } do
         assert.truthy(out:find(("Left out: odd.%s: has no counts in JSON"):format(name), 1, true), out)
      end
      assert.truthy(out:find("999999999 of 1,000,000,000 ranks of job 9 wrote nothing: 1, 2, ", 1, true), out)
   end)

   it("takes patterns, and refuses by name what it does not heed", function()
      for rank = 0, 1 do rank_file(rank, 5) end
      local out, status = ranks("-x, 'r[0-9].json'")
      assert.truthy(out:find("^page%-faults,,2,"), out)
      assert.equal(1, status) -- two of four are missing
      for _, option in ipairs { "-e cs", "--event cs", "-a", "-p 1", "-r 3", "-M cpi", "-d", "-I 10", "--per-cpu" } do
         out, status = ranks(option .. " r0.json")
         local long = ({ ["-e"] = "event", ["-a"] = "all-cpus", ["-p"] = "pid", ["-r"] = "repeat", ["-M"] = "metrics",
            ["-d"] = "detailed", ["-I"] = "interval" })[option:match("^%S+")] or option:match("^%-%-(%S+)")
         assert.truthy(out:find("--ranks and --" .. long .. " exclude each other", 1, true), option .. ": " .. out)
         assert.equal(2, status)
      end
   end)

   it("says what it expects where there is nothing to read", function()
      local out, status = ranks("")
      assert.equal(2, status)
      assert.truthy(out:find("expected the files that lpfm stat --json -o run.%r.json wrote", 1, true), out)
      out, status = ranks("nosuch")
      assert.equal(1, status)
      assert.truthy(out:find("nosuch: No such file", 1, true), out)
   end)
end)
