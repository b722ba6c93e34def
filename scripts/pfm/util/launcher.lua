-- SPDX-License-Identifier: MIT
--- Which part of a parallel job this process is, as its launcher said in the environment: Slurm's
-- srun, Open MPI's mpirun, the launchers of PMIx and PMI (MPICH's Hydra, Intel's, Cray's), GNU
-- parallel.
-- @module pfm.util.launcher

local text_file = require "pfm.util.text_file"

local launcher = {}

-- The innermost launcher comes first: mpirun within a job of Slurm's counts ranks of its own.
-- Fields are names of variables; `from` is what a launcher calls its first rank.
local LAUNCHERS = {
   { name = "Open MPI", rank = "OMPI_COMM_WORLD_RANK", ranks = "OMPI_COMM_WORLD_SIZE",
      local_rank = "OMPI_COMM_WORLD_LOCAL_RANK", job = "PMIX_NAMESPACE" },
   { name = "GNU parallel", rank = "PARALLEL_SEQ", from = 1, job = "PARALLEL_PID" },
   { name = "PALS", rank = "PALS_RANKID", local_rank = "PALS_LOCAL_RANKID", job = "PALS_APID" },
   { name = "Slurm", rank = "SLURM_PROCID", ranks = "SLURM_NTASKS", local_rank = "SLURM_LOCALID",
      job = "SLURM_JOB_ID", step = "SLURM_STEP_ID", needs = "SLURM_STEP_ID" },
   { name = "PMI", rank = "PMI_RANK", ranks = "PMI_SIZE", local_rank = "MPI_LOCALRANKID", job = "PMI_ID" },
   { name = "PMIx", rank = "PMIX_RANK", job = "PMIX_NAMESPACE" },
}

-- Variables with the job's id of the batch system around a launcher; the first that is set counts.
local JOBS = { "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID" }

local function get(name)
   local value = name and os.getenv(name)
   return value ~= "" and value or nil
end

local function number(name)
   local text = get(name)
   return text and text:find("^%d+$") and tonumber(text) or nil
end

local function job_of(known)
   for _, name in ipairs(JOBS) do
      if get(name) then return get(name) end
   end
   return get(known.job)
end

--- Says which part of a parallel job this process is.
-- @treturn ?table nil if no launcher started it; else `launcher` (its name), `rank` (from 0), and
-- where the launcher says so `ranks` (how many), `local_rank` (among those of this host), `id` of
-- the job and `step` (strings); always `host`
-- @usage (require("pfm.util.launcher").here() or {}).rank
function launcher.here()
   for _, known in ipairs(LAUNCHERS) do
      local rank = number(known.rank)
      if rank and (not known.needs or get(known.needs)) then
         return { launcher = known.name, rank = rank - (known.from or 0), ranks = number(known.ranks),
            local_rank = number(known.local_rank), id = job_of(known), step = get(known.step),
            host = launcher.host() }
      end
   end
   return nil
end

--- Returns the name of this computer, or of Slurm's node: one computer may have several.
-- @treturn string
-- @usage require("pfm.util.launcher").host()
function launcher.host()
   return get("SLURMD_NODENAME") or text_file.line("/proc/sys/kernel/hostname")
end

-- --- names of files ------------------------------------------------------------------------------

local parts = {
   ["%"] = function() return "%" end,
   h = function() return launcher.host() end,
   p = function() return tostring(require("posix.unistd").getpid()) end,
   r = function(here) return here and tostring(here.rank), "a rank" end,
   j = function(here) return here and here.id, "a job" end,
   s = function(here) return here and here.step, "a step" end,
}

--- Returns the name of a file: %h in the text stands for the host, %r for the rank, %j for the job,
-- %s for its step, %p for this process, %% for a percent sign.
-- @string text
-- @treturn[1] string
-- @return[2] nil
-- @treturn[2] string which letter has no value here
-- @usage require("pfm.util.launcher").file_name("run.%h.%p.data")
function launcher.file_name(text)
   local here, why = launcher.here(), nil
   local name = text:gsub("%%(.?)", function(letter)
      local part = parts[letter]
      if not part then
         why = ("'%%%s' in '%s': expected %%h (host), %%r (rank), %%j (job), %%s (step), %%p (process) or %%%%"):format(
            letter, text)
         return nil
      end
      local value, what = part(here)
      if not value then
         why = ("'%%%s' in '%s': no launcher (srun, mpirun, parallel) has set %s"):format(letter, text, what)
      end
      return value
   end)
   if why then return nil, why end
   return name
end

return launcher
