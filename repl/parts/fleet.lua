-- SPDX-License-Identifier: MIT
--- The part for fleets of computers: periodic recordings, and databases of recordings.
-- @module repl.parts.fleet

local fleet = { commands = {}, extend = {} }

local function stored() return require "repl.parts.fleet.stored" end
local function collect() return require "repl.parts.fleet.collect" end

local function fail(...) return require("repl.command.options").fail(...) end

local record, report, export = {}, {}, {}

function record.options(c)
   c:option("--every", "TIME", "Record again and again, beginning every TIME (60, 60s, 5m, 1h), into a folder: -o.")
   c:option("--for", "TIME", "With --every, record for TIME each time (default: 5s)."):target("seconds")
   c:option("--rounds", "N", "With --every, stop after N recordings.")
   c:option("--cpu-budget", "PERCENT", "With --every, of the machine's CPU time lpfm may take (default: 1).")
   c:option("--disk-budget", "SIZE", "With --every, the oldest recordings go when all take more (default: 1G).")
   c:option("--to", "URL", "With --every, hand the recordings to this database; see export --to.")
   c:option("--set", "NAME=VALUE", "With --to, what the recordings are known by, as version=1.2."):count("*")
   c:append("--every: the folder's collector.json counts what was recorded, delivered and dropped. A database that is\n"
      .. "away is asked again with the next recording.", {
      "lpfm record -a -F 99 --every 60s --for 5s -o /var/spool/lpfm --to clickhouse://db.example/profiles",
   })
end

-- Refuses options that mean nothing without --every.
local function check_every(args)
   for _, name in ipairs { "seconds", "rounds", "cpu_budget", "disk_budget", "to" } do
      if args[name] then fail("--%s goes with --every", name == "seconds" and "for" or (name:gsub("_", "-"))) end
   end
   if #args.set > 0 then fail("--set goes with --every and --to") end
end

function record.main(args, prepared)
   if not args.every then return check_every(args) end
   if args.max_size then fail("--every and --max-size exclude each other: see --disk-budget") end
   if args.switch_output then
      fail("--every and --switch-output exclude each other: --every makes a file each time")
   end
   return collect().main(args, prepared())
end

-- Adds the options that select recordings and samples in a database.
local function add_database(c)
   c:option("--db", "URL", "Ask this database instead of a file: postgresql://USER@HOST/DATABASE, clickhouse://...")
   c:option("--select", "CONDITIONS", "With --db, only these recordings and samples: host=web*,time=yesterday.")
      :count("*")
   c.meant["--from"], c.meant["--where"] = "--db", "--select" -- former names
end

-- Refuses options that mean nothing without a database.
local function check_database(args)
   for _, name in ipairs { "select", "against", "set" } do
      if args[name] and #args[name] > 0 then
         fail("--%s: expected --%s URL, the database", name, name == "set" and "to" or "db")
      end
   end
end

function report.options(c)
   add_database(c)
   c:option("--against", "CONDITIONS", "With --db, compare with what meets these: time=yesterday."):count("*")
   c:append(function()
      return "--db: keys are " .. table.concat(require("pfm.fleet.store").keys(), ", ") .. ";\n"
      .. "--select and --against: host, version, command, kernel, arch, job, node, step, file, id, event, process,\n"
      .. "comm, symbol, object, build, line with = or !=, * and ? in them, | between several; rank with =, <, >=:\n"
      .. "0-3|5; time with them: 2026-11-17, 2026-11-17T14:30, today, yesterday, tuesday (the last), -24h. Times are\n"
      .. "of UTC."
   end, {
      "lpfm report --db clickhouse://db.example/profiles -s version,symbol --top 10 --select time=today "
         .. "--against time=yesterday",
   })
end

function report.main(args, paths, check_limit)
   if not args.db then return check_database(args) end
   if paths then fail("--db and a recording exclude each other") end
   check_limit(args)
   return stored().report(args)
end

function export.options(c)
   c:option("--to", "URL", "Load recordings into this database: postgresql://USER@HOST/DATABASE, clickhouse://...")
   c:option("--set", "NAME=VALUE", "With --to, what the recordings are known by, as version=1.2."):count("*")
   add_database(c)
   c:append("--to: each recording is there once, however often it is loaded; report --db asks. A database that is\n"
      .. "away is waited for, a minute. --set: version, host, command, kernel, arch, job.", {
      "lpfm export --to clickhouse://db.example/profiles --set version=1.2 *.data",
      "lpfm export --db clickhouse://db.example/profiles --select host=web*,time=today -o today.svg",
   })
end

function export.main(args, words, choose)
   if args.to then
      if args.input then table.insert(words, 1, args.input) end
      local input = require "repl.command.input"
      return stored().load(args, input.expand(#words > 0 and words or { "lpfm.data" }))
   end
   if not args.db then return check_database(args) end
   local name = choose("folded")
   if args.files then fail("--db and a recording exclude each other") end
   return stored().draw(args, name)
end

fleet.extend = { record = record, report = report, export = export }

fleet.topics = {
{ "databases", "keep recordings in PostgreSQL or ClickHouse; record always", [==[
   lpfm export --to clickhouse://db/profiles *.data
                                         load recordings; a year of a fleet
   lpfm report --db clickhouse://db/profiles -s version,symbol --select time=today --against time=yesterday
                                         report from there, and compare
   lpfm record -a -F 99 --every 60s --for 5s -o spool --to clickhouse://db/profiles
                                         record always, on a budget

In a database a recording is there once, however often it is loaded and whatever fails. Its rows are what a
recording has of each thread's name, place and call stack. Times are those of recordings; threads and CPUs stay in the
file. psql or clickhouse-client does the talking (Debian: postgresql-client, clickhouse-client). The database aggregates
for report --db and export --db.

record --every keeps to shares of CPU time and disk space. It lets recordings wait in its folder while the database is
away, and counts in collector.json what it had to drop. Debian's package lpfm-fleet has a systemd unit for it,
lpfm-record, which it does not enable.]==] },
}

return fleet
