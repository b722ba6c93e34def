-- SPDX-License-Identifier: MIT
--- Counts of the ranks of a parallel job, side by side: what `lpfm stat` wrote as JSON, a file or a
-- line each.
-- @module pfm.jobs.ranks

local render = require "pfm.render"
local shape = require "pfm.util.shape"
local statistics = require "pfm.statistics"
local expect = require "pfm.util.expect"
local tables = require "pfm.util.tables"

local ranks = {}

-- --- what the ranks wrote ------------------------------------------------------------------------

-- The times of a command, as rows like those of events.
local TIMES = { { "elapsed", "elapsed" }, { "user", "user" }, { "system", "system" } }

local count, number, text = shape.whole(0, 2 ^ 53), shape.number(-2 ^ 1000, 2 ^ 1000), shape.text

-- Checks the fields about the job that `pfm.util.launcher` has set.
local place = shape.record({}, { rank = count, ranks = count, id = text, host = text }, {})

local result = shape.record({ elapsed = number,
   events = shape.list(shape.record({ event = text }, { unit = text }, { value = number, stddev = number })) },
   { job = place, host = text }, { user = number, system = number, status = count, signal = count, runs = count,
   ["elapsed-stddev"] = number })

local function member_of(object, path)
   local job, values, deviations, order = object.job or {}, {}, {}, {}
   local function add(name, value, unit, deviation)
      order[#order + 1] = { name = name, unit = unit }
      values[name], deviations[name] = value, deviation
   end
   for _, row in ipairs(object.events) do add(row.event, row.value, row.unit, row.stddev) end
   for _, time in ipairs(TIMES) do add(time[1], object[time[2]], "s", object[time[2] .. "-stddev"]) end
   return { rank = job.rank, ranks = job.ranks, host = object.host or job.host or "?", id = job.id, file = path,
      runs = object.runs or 1, values = values, deviations = deviations, order = order,
      status = object.signal and 128 + object.signal or object.status }
end

-- Returns a file's results, the number of the first line that is no JSON, and the number of lines.
local function results_of(file)
   local out, bad, n = {}, nil, 0
   for line in file:lines() do
      n = n + 1
      local object = line:find("%S") and render.from_json(line)
      -- rows of -I have no target
      if object and result(object) and (object.command or object.tids or object.cpus) then out[#out + 1] = object end
      bad = bad or (line:find("%S") and not object and n) or nil
   end
   return out, bad, n
end

local function read_file(path, members, problems)
   local file, err = io.open(path)
   local results, bad, n
   local unread = file and select(2, file:read(0)) -- reading a folder fails
   if unread then
      file:close()
      err = ("%s: %s"):format(path, unread)
   elseif file then
      results, bad, n = results_of(file)
      file:close()
      err = bad and ("%s:%d: no counts in JSON"):format(path, bad)
         or n == 0 and path .. ": empty: its rank has not ended, or could not write"
         or #results == 0 and path .. ": has no counts in JSON"
   end
   if err then problems[#problems + 1] = err end
   for _, object in ipairs(results or {}) do members[#members + 1] = member_of(object, path) end
end

local function before(a, b)
   if (a.id or "") ~= (b.id or "") then return (a.id or "") < (b.id or "") end
   if (a.rank or -1) ~= (b.rank or -1) then return (a.rank or -1) < (b.rank or -1) end
   if a.host ~= b.host then return a.host < b.host end
   return a.file < b.file
end

local function of_job(id)
   return id and " of job " .. id or ""
end

-- Returns the jobs (`id`; `seen`: members by rank; `ranks`: how many) and the members. Of two
-- members of a job with the same rank the second is left out, and reported as a problem.
local function jobs_of(members, problems)
   local list, jobs, sound = {}, {}, {}
   for _, m in ipairs(members) do
      local job = jobs[m.id or ""] or tables.enter(jobs, m.id or "", { id = m.id, seen = {}, ranks = 0 }, list)
      local before_it = m.rank and job.seen[m.rank]
      if before_it then
         problems[#problems + 1] = ("%s: rank %d%s is in %s already"):format(m.file, m.rank, of_job(m.id),
            before_it.file)
      else
         sound[#sound + 1] = m
      end
      if m.rank then
         job.seen[m.rank] = before_it or m
         job.ranks = math.max(job.ranks, m.ranks or 0)
      end
   end
   return list, sound
end

local SHOWN = 20 -- missing ranks that a message names

local function missing_of(job)
   local missing, n = {}, job.ranks
   for rank in pairs(job.seen) do
      if rank < job.ranks then n = n - 1 end
   end
   for rank = 0, job.ranks - 1 do
      if #missing == SHOWN then break end
      if not job.seen[rank] then missing[#missing + 1] = rank end
   end
   if n <= 0 then return nil end
   return ("%d of %s%s wrote nothing: %s%s"):format(n, render.plural(job.ranks, "rank"), of_job(job.id),
      table.concat(missing, ", "), n > SHOWN and ", ..." or "")
end

--- Gathers what the ranks of a job wrote.
-- @tparam {string,...} paths files of `lpfm stat --json -o`, of one or several ranks each
-- @treturn table `members`, by rank: `rank` (nil: there was no launcher), `host`, `id` of the job,
-- `file`, `values` by name, `status`; in words `problems`, what was left out, and `missing`, which
-- ranks there should be
-- @usage #require("pfm.jobs.ranks").gather({}).members
function ranks.gather(paths)
   local members, problems = {}, {}
   for _, path in ipairs(paths) do read_file(path, members, problems) end
   table.sort(members, before)
   local jobs, sound = jobs_of(members, problems)
   local missing = {}
   for _, job in ipairs(jobs) do missing[#missing + 1] = missing_of(job) end
   return { members = sound, problems = problems, missing = missing }
end

-- --- comparing ranks -----------------------------------------------------------------------------

-- Returns the names and units of values, in the order in which they come first.
local function names_of(members)
   local out, seen = {}, {}
   for _, m in ipairs(members) do
      for _, column in ipairs(m.order) do
         if not seen[column.name] then out[#out + 1] = column end
         seen[column.name] = true
      end
   end
   return out
end

-- Returns how likely it is, by chance, that the largest value is so far above the others' mean.
-- Returns nil if a member was measured only once, or its deviation is not known.
local function chance_of(members, row)
   local variance, runs = 0, math.huge
   for _, m in ipairs(members) do
      local deviation = m.deviations and m.deviations[row.name]
      if m.values[row.name] and not (deviation and m.runs > 1) then return nil end
      if deviation then
         variance = variance + (deviation / (m == row.max_of and 1 or row.n - 1)) ^ 2
         runs = math.min(runs, m.runs)
      end
   end
   local above = row.max - (row.sum - row.max) / (row.n - 1)
   if variance == 0 then return above == 0 and 1 or 0 end
   return math.min(1, row.n * statistics.student(above / math.sqrt(variance), runs - 1))
end

local function summary_of(members, column)
   local row = { name = column.name, unit = column.unit, n = 0, sum = 0 }
   for _, m in ipairs(members) do
      local value = m.values[column.name]
      if value then
         row.n, row.sum = row.n + 1, row.sum + value
         if not row.min or value < row.min then row.min, row.min_of = value, m end
         if not row.max or value > row.max then row.max, row.max_of = value, m end
      end
   end
   if row.n > 0 then row.mean = row.sum / row.n end
   row.imbalance = row.mean and row.mean > 0 and row.max / row.mean or nil
   row.chance = row.n > 1 and chance_of(members, row) or nil
   return row
end

--- Summarizes each event, and the times, over members: the least, the mean, the most.
-- @tparam table members of `ranks.gather` or `ranks.by_host`
-- @treturn {table,...} `name`, `unit`, `n`, `sum`, `min`, `min_of` (a member), `mean`, `max`,
-- `max_of`, `imbalance`: the most divided by the mean; `chance`: how likely the most is so far
-- above the others by chance, nil where one was measured only once
-- @usage #require("pfm.jobs.ranks").summary {}
function ranks.summary(members)
   return tables.map(names_of(members), function(column) return summary_of(members, column) end)
end

local ELAPSED = "elapsed"

-- Adds a rank to its host: the elapsed time is the longest, all else is added up.
local function add_to(host, m)
   host.count = host.count + 1
   for _, column in ipairs(m.order) do
      local name, value = column.name, m.values[column.name]
      local sum = host.values[name]
      if not host.has[name] then
         host.order[#host.order + 1] = column
         host.has[name] = true
      end
      if value and name == ELAPSED then
         host.values[name] = math.max(sum or 0, value)
      elseif value then
         host.values[name] = (sum or 0) + value
      end
   end
end

--- Adds up the ranks of each host; the elapsed time is that of the slowest rank.
-- @tparam table members of `ranks.gather`
-- @treturn {table,...} as members, without rank; `count`, how many ranks
-- @usage #require("pfm.jobs.ranks").by_host {}
function ranks.by_host(members)
   local out, hosts = {}, {}
   for _, m in ipairs(members) do
      add_to(hosts[m.host] or tables.enter(hosts, m.host,
         { host = m.host, count = 0, values = {}, order = {}, has = {} }, out), m)
   end
   table.sort(out, function(a, b) return a.host < b.host end)
   return out
end

local OUT_OF_LINE = 1.1 -- a member is reported from this many times the mean on
-- a single run is reported from this many standard deviations (roots of the count) on
local CHANCE = 4
-- members with several runs are reported if the probability of chance is below this
local SURE = 0.05

local function differs(row)
   return row.n > 1 and row.imbalance ~= nil and row.imbalance >= OUT_OF_LINE
end

local function is_out_of_line(row)
   if not differs(row) then return false end
   if row.chance then return row.chance < SURE end
   return row.max_of.runs == 1 and (row.unit ~= nil or row.max - row.mean > CHANCE * math.sqrt(row.mean))
end

-- Returns how much the largest is above the mean: times in s, counts in their standard deviations.
local function excess(row)
   local above = row.max - row.mean
   if row.unit == "s" then return above end
   return row.unit == "ns" and above / 1e9 or above / math.sqrt(row.mean)
end

--- Finds the row that stands out most: the time that is most above the mean in some member; if
-- times are alike, the count, if that is beyond chance.
-- @tparam {table,...} rows of `ranks.summary`
-- @treturn ?table one of them; nil if none stands out
-- @treturn boolean do members differ, in some row, by a tenth of the mean or more?
-- @usage require("pfm.jobs.ranks").outlier {}
function ranks.outlier(rows)
   local most, differ = nil, false
   for _, row in ipairs(rows) do
      differ = differ or differs(row)
      if is_out_of_line(row) then
         local is_time, is_first = row.unit ~= nil, not most
         local better = is_first or (is_time and not most.unit)
            or (is_time == (most.unit ~= nil) and excess(row) > excess(most))
         if better then most = row end
      end
   end
   return most, differ
end

expect.signatures("ranks", ranks, {
   gather = "paths: [path]",
   summary = "members: [{order,values}]",
   by_host = "members: [{host,order,values}]",
   outlier = "rows: [{n}]",
})

return ranks
