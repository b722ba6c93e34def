-- SPDX-License-Identifier: MIT
-- Measurements under launchers of parallel jobs: the ranks that they start are found, compared and
-- merged. One interpreter: the launchers take the time.
-- Engine: Slurm, Open MPI and GNU parallel.

local c = require "support.c"
local slurm = require "support.slurm"

local build, interpreter = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"
local program = ("%s/%s/lpfm"):format(build, interpreter)
local here, dir = (c.sh("pwd"):gsub("%s", "")), nil
if program:sub(1, 1) ~= "/" then program = here .. "/" .. program end

local started -- Slurm; the last test kills a node

local function cluster()
   started = started or slurm.start()
   return started
end

teardown(function()
   if started then started:stop() end
end)

local function sh(command)
   return c.sh(("cd %s && %s"):format(dir, command))
end

local function files(pattern)
   return (sh("ls " .. pattern .. " | sort | xargs"):gsub("\n$", ""))
end

-- Counts a command that takes a second of CPU time as one rank, and nearly none as the others.
local BUSY = "sh -c 'luajit -e \"while os.clock() < $(($%s == %d ? 1000 : 20)) / 1000 do end\"'"
local STAT = program .. " stat -e task-clock --json -o 'run.%%h.%%r.json' -- " .. BUSY

before_each(function() dir = c.new_folder() end)
after_each(function() c.sh("rm -rf " .. dir) end)

describe("the slow rank of a job is named", function()
   local function compared(out, status, slow)
      assert.equal(0, status, out)
      out, status = sh(program .. " stat --ranks run.*.json")
      assert.equal(0, status, out)
      assert.truthy(out:find("stands out", 1, true), out)
      assert.truthy(out:find(slow, 1, true), out)
   end

   it("of Slurm's", function()
      local why = slurm.missing()
      if why then return pending(why) end
      local out, status = cluster():sh(("cd %s && srun -N4 -n8 %s"):format(dir, STAT:format("SLURM_PROCID", 5)))
      assert.equal("8", (files("run.n*.json | wc -l")))
      compared(out, status, "Rank 5 on n3 stands out")
   end)

   it("of Open MPI's", function()
      if select(2, c.sh("command -v mpirun")) ~= 0 then return pending("mpirun is not installed") end
      local start = "mpirun --allow-run-as-root --oversubscribe -n 4 "
      local out, status = sh(start .. STAT:format("OMPI_COMM_WORLD_RANK", 2))
      compared(out, status, "Rank 2 on ")
   end)

   it("of GNU parallel's", function()
      if select(2, c.sh("command -v parallel")) ~= 0 then return pending("GNU parallel is not installed") end
      local out, status = sh(("parallel --will-cite -j4 -q %s ::: a b c d"):format(
         STAT:format("PARALLEL_SEQ", 3))) -- a to d become arguments of sh, which does not use them
      compared(out, status, "Rank 2 on ")
   end)
end)

describe("the recordings of a job of Slurm's", function()
   local why = slurm.missing()
   local RANKS = program .. " record -q -e page-faults -c 1 -o 'run.%h.%r.data' -- "

   -- Runs a command in the test's folder, which must succeed.
   local function run(command)
      local out, status = cluster():sh(("cd %s && %s"):format(dir, command))
      assert.equal(0, status, out)
      return out
   end

   local function recorded(command)
      run("srun -N4 -n8 " .. RANKS .. command)
      assert.equal("8", (files("run.n*.data | wc -l")))
      return run(program .. " merge run.n*.data -o once")
   end

   local function is_the_same(name)
      assert.equal("", (sh("cmp once " .. name)))
   end

   it("are the same file, merged at once, by the steps of a job, or by a job array and one that reduces", function()
      if why then return pending(why) end
      assert.truthy(recorded("true"):find("8 recordings", 1, true))
      -- each node merges its own recordings; then two and two are merged
      run(("srun -N4 -n4 sh -c '%s merge -q run.$SLURMD_NODENAME.*.data -o node.$SLURM_PROCID'"):format(program))
      run(("srun -n2 sh -c '%s merge -q node.$SLURM_PROCID node.$((SLURM_PROCID + 2)) -o half.$SLURM_PROCID'"):format(
         program))
      run(("srun -n1 %s merge -q half.1 half.0 -o steps"):format(program))
      is_the_same("steps")
      -- each task of an array merges the recordings of two ranks
      local id = run(("sbatch --parsable -o /dev/null --array=0-3 --wrap '%s merge -q run.*.$SLURM_ARRAY_TASK_ID.data "
         .. "run.*.$((SLURM_ARRAY_TASK_ID + 4)).data -o array.$SLURM_ARRAY_TASK_ID'"):format(program)):match("%d+")
      run(("srun -n1 -d afterok:%s sh -c '%s merge -q array.* -o array'"):format(id, program))
      is_the_same("array")
      local ranks = sh(program .. " report --plain -x, -s rank array")
      for rank = 0, 7 do assert.truthy(ranks:find((",page-faults,%d\n"):format(rank), 1, true), ranks) end
   end)

   -- This test is the last, as it kills a node.
   it("are without those of a node that died, which are named", function()
      if why then return pending(why) end
      -- the node's daemon and recorders are killed: one file is missing, another is cut
      local died = ([[sh -c '[ $SLURM_PROCID = 4 ] || [ $SLURM_PROCID = 5 ] || exit 0
         until [ -s run.n3.$SLURM_PROCID.data ]; do :; done
         [ $SLURM_PROCID = 5 ] || { rm run.n3.4.data; kill -KILL $(cat %s/slurmd-n3.pid); }
         kill -KILL $PPID']]):format(cluster().dir)
      local _, status = cluster():sh(("cd %s && srun -N4 -n8 %s %s"):format(dir, RANKS, died))
      assert.truthy(status ~= 0)
      sh("truncate -s -5 run.n3.5.data")
      assert.equal("7", (files("run.n*.data | wc -l")))
      local said
      said, status = sh(program .. " merge run.n?.[0-35-7].data run.n3.4.data -o once")
      assert.equal(1, status)
      for _, part in ipairs { "left out: run.n3.5.data is cut off", "left out: run.n3.4.data: No such file",
         "6 recordings" } do
         assert.truthy(said:find(part, 1, true), said)
      end
      -- the nodes that are left merge what is left
      said, status = cluster():sh(("cd %s && srun -N3 -n4 -x n3 sh -c '%s merge -q run.*.$SLURM_PROCID.data "
         .. "run.*.$((SLURM_PROCID + 4)).data -o part.$SLURM_PROCID'"):format(dir, program))
      assert.truthy(status ~= 0)
      assert.truthy(said:find("left out: run.n3.5.data is cut off", 1, true), said)
      run(("srun -n1 -x n3 %s merge -q part.0 part.1 part.2 part.3 -o steps"):format(program))
      is_the_same("steps")
   end)
end)
