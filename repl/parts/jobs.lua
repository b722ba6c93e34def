-- SPDX-License-Identifier: MIT
--- The part for parallel jobs: merging of recordings, and the ranks of a job in lpfm stat.
-- @module repl.parts.jobs

local jobs = {}

jobs.commands = {
   { name = "merge", module = "repl.parts.jobs.merge", summary = "put many recordings into one file",
      words = { "file" }, offline = true, call = { "file", "file" } },
}

local stat = {}

function stat.options(c)
   c:flag("--ranks", "Measure nothing: compare what the ranks of a job wrote with --json into the files named.")
   c:flag("--per-rank", "With --ranks: print the counts of each rank.")
   c:flag("--per-host", "With --ranks: print the counts of each host.")
   c:append("--ranks compares the files that the ranks of a job wrote.",
      { "srun lpfm stat --json -o run.%r.json -- ./prog && lpfm stat --ranks run.*.json" })
end

function stat.main(args, words)
   if args.ranks then return require("repl.parts.jobs.ranks").main(args, words) end
   if args.per_rank or args.per_host then
      require("repl.command.options").fail("--per-rank and --per-host need --ranks")
   end
end

jobs.extend = { stat = stat }

jobs.topics = {
{ "ranks", "measure the processes of a parallel job, and merge recordings", [==[
   srun lpfm stat --json -o run.%r.json -- ./prog
                                         a file for each rank of a job: Slurm, MPI, GNU parallel
   lpfm stat --ranks run.*.json          the ranks side by side: least, mean, most, and which is slow
   srun lpfm record -o run.%r.data -- ./prog && lpfm report -s rank,symbol run.*.data
                                         many recordings, read as one
   lpfm merge run.*.data -o job.data     many recordings, of one host or a thousand, in one file
   lpfm plot ranks job.data              which rank spends how much in which function

All commands that read a recording take several files, or what lpfm merge made of them. The keys rank, host, node, job,
step and recording tell the parts of a job apart (-s rank,symbol); --rank 0-3 and the like choose some. The page of
lpfm report --html shows a map of functions by rank, with the imbalance of each function.

A merge reads and writes as it goes: it needs memory for the distinct symbols alone. Whatever the order of the files and
the number of steps, the merged file is the same to the byte, and a recording that is given twice is in it once. So a
tree of merges, a job array or a reduce step may make it. Programs of one name and different builds stay apart
(prog [8f3a1c2b]). The clocks of machines are aligned by the wall clock that each recording read beside its own clock;
the report says how well. Damaged files are named and left out.]==] },
}

return jobs
