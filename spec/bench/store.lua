-- SPDX-License-Identifier: MIT
-- Starts a database, loads the recordings of fleet.lua into it, and times a report from it.
--   store.lua KIND HOSTS HOURS	prints labels and values, separated by a tab
local c = require "support.c"
local databases = require "support.databases"
local proc = require "lpfm.proc"

local kind, hosts, hours = arg[1], arg[2], arg[3]
local build = os.getenv("LPFM_BENCH_BUILD")
local SIZE = {
   postgresql = "SELECT pg_database_size(current_database())",
   clickhouse = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active",
}
-- Days are named by their dates, because midnight may pass during the run.
local NOW, DAY = os.time(), 86400
local QUESTION = "%s/lpfm report --db '%s' -s version,symbol --top 10 --no-children --select time="
   .. os.date("!%Y-%m-%d", NOW) .. " --against time=" .. os.date("!%Y-%m-%d", NOW - DAY)

local function print_row(label, format, ...)
   print(("  %s\t" .. format):format(label, ...))
end

local function run(command)
   local out, status = c.sh(command)
   assert(status == 0, out)
   return out
end

local function timed(command)
   local best = math.huge
   for _ = 1, 3 do
      local began = proc.clock()
      run(command)
      best = math.min(best, proc.clock() - began)
   end
   return best
end

local missing = databases.missing(kind)
print(("%s: %s hosts, %s hours, a recording each hour\t%s"):format(kind, hosts, hours, missing or ""))
if missing then return end
local server, folder = databases.start(kind), os.tmpname() .. ".fleet"
run("mkdir " .. folder)
local ok, err = pcall(function()
   local said = run(("luajit spec/bench/fleet.lua '%s' %s %s %s"):format(server.url, hosts, hours, folder))
   local samples, bytes, seconds = said:match("(%d+) (%d+) ([%d.]+)%s*$")
   print_row("samples", "%s", samples)
   print_row("bytes a sample in files", "%.1f", bytes / samples)
   print_row("bytes a sample in the database", "%.2f", tonumber(server:ask(SIZE[kind])) / samples)
   print_row("samples loaded a second", "%.0f", samples / seconds)
   print_row("recordings loaded a second", "%.0f", hosts * hours / seconds)
   local question = QUESTION:format(build, server.url)
   print_row("ten functions by version, today beside yesterday, s", "%.2f", timed(question))
   print_row("the same with those that they called, s", "%.2f",
      timed((question:gsub(" %-%-no%-children", ""):gsub(" %-%-against.*", ""))))
end)
server:stop()
run("rm -rf " .. folder)
assert(ok, err)
