-- SPDX-License-Identifier: MIT
--- The part for parallel jobs: `lpfm merge`, `lpfm stat --ranks`.
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

return jobs
