-- SPDX-License-Identifier: MIT
--- Recordings of many machines and of a long time in a database, PostgreSQL or ClickHouse, which
-- does the counting.
--
--    local s = store.open "clickhouse://db.example/profiles"
--    s:load({ "lpfm.data" }, { version = "1.2" })
--    local today = s:report("version,symbol", { where = { "time=today" }, limit = 10 })
--    for _, row in ipairs(today.rows) do print(row.percent, row.version, row.symbol) end
--
-- The database's own client program is used, psql or clickhouse-client. Passwords stay hidden.
-- @module pfm.fleet.store
-- @pragma nostrip

local batches = require "pfm.fleet.store.batch"
local client = require "pfm.fleet.store.client"
local collected = require "pfm.recording.stacks"
local expect = require "pfm.util.expect"
local identity = require "pfm.recording.identity"
local proc = require "lpfm.proc"
local query = require "pfm.fleet.store.query"
local recording = require "pfm.recording"
local shell = require "pfm.util.shell"
local tables = require "pfm.fleet.store.tables"
local time = require "posix.time"
local unistd = require "posix.unistd"
local where = require "pfm.fleet.store.where"
local sorted_keys = require("pfm.util.tables").keys

local fail = expect.fail

local store = {} -- also the class of opened stores
store.__index = store

local MOST = 50000 -- rows of a report; if the database returns fewer, their sums are the totals

--- Attributes that recordings can be given in place of their own.
store.given = { "version", "host", "command", "kernel", "arch", "job" }

--- Opens a store. Nothing is sent before it is used.
-- @string url postgresql://USER@HOST:PORT/DATABASE or clickhouse://...; for parts that are missing
-- the client's own defaults hold
-- @treturn table
-- @raise on other texts, and where the client program is missing
-- @usage local ok, why = pcall(require("pfm.fleet.store").open, "mysql://db")
-- print(why) --> ... unknown kind of database 'mysql' ...
function store.open(url)
   local parsed = client.parse(url)
   local database = require("pfm.fleet.store." .. parsed.kind).new(parsed)
   return setmetatable({ url = parsed, name = parsed.name, database = database, known = {}, most = MOST }, store)
end

--- Lists the names of the sort keys.
-- @treturn table
-- @usage assert(store.keys()[1] == "arch")
-- @function keys
store.keys = query.keys

-- --- loading -------------------------------------------------------------------------------------

local ROWS = 200000    -- rows of samples in a batch, at most
local FILES = 256      -- files in a batch, at most
local PATIENCE = 60    -- s that a database may be away
local FIRST_NAP, LAST_NAP = 0.1, 5 -- s
local TRIES = 3        -- times that a batch is tried while the database answers

local function nap(seconds)
   time.nanosleep({ tv_sec = math.floor(seconds), tv_nsec = math.floor(seconds % 1 * 1e9) })
end

-- Returns the ids of recordings, which merging keeps; for files that are damaged or hold many, a
-- hash of their content. Files that cannot be read have none.
local function ids_of(paths)
   local words, out = {}, {}
   for i, path in ipairs(paths) do words[i] = shell.quote(path) end
   local text = client.read(("{ sha256sum %s 2>/dev/null || :; }"):format(table.concat(words, " ")))
   local by_name = {}
   for line in (text or ""):gmatch("[^\n]+") do
      local escaped, id, name = line:match("^(\\?)(%x+)  (.*)$")
      if escaped == "\\" then name = name:gsub("\\(.)", { n = "\n", ["\\"] = "\\" }) end
      if id then by_name[name] = id:sub(1, 32) end
   end
   for i, path in ipairs(paths) do out[i] = identity.of(path) or by_name[path] or by_name["./" .. path] end
   return out
end

-- Returns the set of those ids that the database has. Returns nil and an error if the tables, or
-- columns that the first versions did not have, are missing.
local function present(self, ids)
   local texts, out = {}, {}
   for i, id in ipairs(ids) do texts[i] = self.database.literal(id) end
   for from = 1, #texts, FILES do -- a command line holds 3,600 of them
      local rows, err = self.database:ask(("SELECT id, %s FROM lpfm_recordings WHERE id IN (%s)"):format(tables.newest,
         table.concat(texts, ", ", from, math.min(from + FILES - 1, #texts))))
      if not rows then return nil, err end
      for _, row in ipairs(rows) do out[row[1]] = true end
   end
   return out
end

-- Like present(), but first makes missing tables, or adds missing columns.
local function present_or_made(self, ids)
   local there, err = present(self, ids)
   if there or self.ready then return there, err end
   local made, why = self.database:prepare()
   if not made then return nil, why end
   self.ready = true
   return present(self, ids)
end

local attempts = 0

-- Returns a number for an attempt to load a recording: no two attempts have the same.
local function load_number(id)
   local file, random = io.open("/dev/urandom", "rb"), ""
   if file then
      random = file:read(16) or ""
      file:close()
   end
   attempts = attempts + 1
   return client.hash(("%s %d %d %.9f %s"):format(id, unistd.getpid(), attempts, proc.clock(), random))
end

-- Waits until the database answers; returns nil and the given error if it does not in time.
local function await(self, deadline, err)
   local step = FIRST_NAP
   while true do
      if self.database:ask("SELECT 1") then return true end
      local left = deadline - proc.clock()
      if left <= 0 then return nil, err end
      nap(math.min(step, left))
      step = math.min(step * 2, LAST_NAP)
   end
end

-- Calls fn until it succeeds, at most TRIES times while the database answers; while the database
-- does not, waits for it, until options.patience ends.
local function persist(self, options, fn)
   local refused, patience, warned = 0, tonumber(options.patience) or PATIENCE, false
   while true do
      local result, err = fn()
      if result then return result end
      local answered = self.database:ask("SELECT 1")
      refused = answered and refused + 1 or 0
      if refused == TRIES then return nil, err end
      if not answered and not warned and options.waiting then options.waiting(err, patience) end
      warned = warned or not answered
      local back, why = await(self, proc.clock() + patience, err)
      if not back then return nil, why end
   end
end


local function flush(self, batch)
   if #batch.recordings == 0 then return true end
   local done, err = self.database:load(batch)
   if not done then return nil, err end
   batch:done()
   return true
end

-- Returns the recordings in a file by their ids; a damaged one as far as it can be read.
local function sources_in(item)
   local self, err = recording.open(item.path)
   if not self then
      item.why = err
      return {}
   end
   item.warnings = self:warnings()
   if not self.sources then return { [item.id] = self } end
   local out = {}
   for _, source in ipairs(self.sources) do out[source.id] = source end
   return out
end

-- Adds those recordings of a file to a batch that the database does not have.
local function add(self, batch, item, there, given)
   local sources, ids = sources_in(item), {}
   for id in pairs(sources) do ids[#ids + 1] = id ~= item.id and id or nil end
   local within, err = present(self, ids)
   if not within then return nil, err end
   for id, source in pairs(sources) do
      if not within[id] and (id == item.id or not there[id]) then
         there[id] = true -- another file may hold the same recording
         local ok, result = pcall(batch.add, batch, source, id, load_number(id), given)
         if not ok then error(("%s: %s"):format(item.path, result), 0) end
         item.loaded[id] = result
      end
   end
   return true
end

-- Loads the recordings that the database does not have. The database is asked for them in each
-- call, since a call that failed may have loaded some.
local function load_missing(self, items, given)
   local ids = {}
   for _, item in ipairs(items) do ids[#ids + 1] = item.id end
   local there, err = present_or_made(self, ids)
   if not there then return nil, err end
   local batch = batches.new(self.known, self.database.list)
   for _, item in ipairs(items) do
      local done, why = true, nil
      if item.id and not there[item.id] then
         there[item.id] = true
         done, why = add(self, batch, item, there, given)
      end
      if done and #batch.samples >= ROWS then
         done, why = flush(self, batch)
         batch = batches.new(self.known, self.database.list)
      end
      if not done then return nil, why end
   end
   return flush(self, batch)
end

local function account(result, items)
   for _, item in ipairs(items) do
      if not item.id or item.why then
         result.refused[#result.refused + 1] = { path = item.path, why = item.why or "cannot read " .. item.path }
      elseif not next(item.loaded) then
         result.there = result.there + 1
      else
         for _, warning in ipairs(item.warnings) do
            result.warnings[#result.warnings + 1] = ("%s: %s"):format(item.path, warning)
         end
      end
      for _, samples in pairs(item.loaded) do
         result.files, result.samples = result.files + 1, result.samples + samples
      end
   end
end

local LOADING = { "version", "host", "command", "kernel", "arch", "job", "patience", "progress",
   "waiting" }

--- Loads recordings that are not there already, as their content tells. A batch becomes visible as
-- a whole; the database sets the pace.
-- @tparam table paths files
-- @tparam[opt] table options of `store.given`, attributes of the recordings; and:
-- @number[opt=60] options.patience s to wait for a database that does not answer
-- @func[opt] options.progress called now and then with the number of files done
-- @func[opt] options.waiting called once when the database does not answer: `(why, seconds)`, how
-- long it is waited for
-- @treturn table `files` (recordings) and `samples` that were loaded, `there` (files that were
-- there already), `refused`: list of `path` and `why`; `warnings` about those loaded; `left` files
-- that were not loaded since the database failed, `why`
-- @usage local ok, why = pcall(function()
--    return store.open("postgresql://127.0.0.1:1/x"):load({ "lpfm.data" }, { patience = 0 }).why
-- end)
function store:load(paths, options)
   options = options or {}
   expect.fields("load", options, LOADING, "option")
   expect.number("patience", options.patience)
   local result = { files = 0, samples = 0, there = 0, refused = {}, warnings = {}, left = 0 }
   local from, done, err = 1, true, nil
   while done and from <= #paths do
      local items, chosen = {}, {}
      for i = from, math.min(from + FILES - 1, #paths) do chosen[#chosen + 1] = paths[i] end
      local ids = ids_of(chosen)
      for i, path in ipairs(chosen) do items[i] = { path = path, id = ids[i], loaded = {} } end
      done, err = persist(self, options, function() return load_missing(self, items, options) end)
      if done then
         account(result, items)
         from = from + #items
         if options.progress then options.progress(from - 1) end
      end
   end
   result.left, result.why = #paths - from + 1, not done and err or nil
   return result
end

-- --- querying the database -----------------------------------------------------------------------

-- Returns true if the error says that lpfm's tables do not exist in the database.
local function is_no_table(err)
   return (err:find('relation "lpfm_recordings" does not exist', 1, true)
      or err:find("lpfm_recordings[^\n]- doesn't exist")) ~= nil
end

local function ask(self, sql)
   local rows, err = self.database:ask(sql)
   if not rows and is_no_table(err) then
      fail("%s: no recordings have been loaded there", self.name)
   end
   if not rows then fail("%s: %s", self.name, err) end
   return rows
end

local function tests_of(self, texts)
   return where.read(expect.kind("where", texts or {}, "[string|table]"), self.database.literal, os.time())
end

-- Returns a summary of the recordings of each side: the selected samples, and those to compare
-- with.
local function summaries(self, sides)
   local out = {}
   for _, row in ipairs(ask(self, query.recordings(self.database, sides))) do
      local n = tonumber(row[2])
      out[tonumber(row[1])] = { events = {}, samples = 0, recordings = n, hosts = tonumber(row[3]),
         from = n > 0 and tonumber(row[4]) or nil, to = n > 0 and tonumber(row[5]) or nil, chained = row[6] == "1" }
   end
   return out
end

local function add_total(sum, event, samples, events)
   local total = sum.events[event] or { samples = 0, events = 0 }
   sum.events[event] = total
   total.samples, total.events = total.samples + tonumber(samples), total.events + tonumber(events)
   sum.samples = sum.samples + tonumber(samples)
end

local function add_totals(self, sums, sides)
   for _, row in ipairs(ask(self, query.totals(self.database, sides))) do
      if tonumber(row[3]) > 0 then add_total(sums[tonumber(row[1])], row[2], row[3], row[4]) end
   end
end

local function share(part, whole)
   return whole > 0 and part / whole * 100 or 0
end

local function numbers(total, cells, at, children)
   local whole = total.events
   local out = { samples = tonumber(cells[at]), events = tonumber(cells[at + 1]) }
   out.percent = share(out.events, whole)
   if children then
      out.total = { samples = tonumber(cells[at + 2]), events = tonumber(cells[at + 3]) }
      out.total.percent = share(out.total.events, whole)
   end
   return out
end

local NONE = { samples = 0, events = 0 }

-- Makes a row of a report from a row of the database.
local function row_of(wanted, columns, cells, sums, children)
   local named, sides = {}, {}
   for i, name in ipairs(columns) do named[name] = query.shown(name, cells[i]) end
   for side, sum in ipairs(sums) do
      sides[side] = numbers(sum.events[named.event] or NONE, cells, #columns + (side - 1) * 4 + 1, children)
   end
   local row = sides[#sides]
   row.old, row.event, row.cells = #sides > 1 and sides[1] or nil, named.event, {}
   for i, name in ipairs(wanted) do row.cells[i], row[name] = named[name], named[name] end
   return row
end

local ASKING = { "where", "against", "children", "limit" }

--- Sorts the samples of all selected recordings; the database counts them.
-- @string[opt="symbol"] by keys of `store.keys`, with commas
-- @tparam[opt] table options
-- @tparam[opt] {string,...} options.where conditions, see `pfm.fleet.store.where`; all must hold
-- @tparam[opt] {string,...} options.against others: of older samples, to compare with
-- @bool[opt] options.children with call stacks, count samples in their callers, too
-- @int[opt] options.limit most rows
-- @treturn table `rows` as of `analyze.by`, greatest first, with `old` (`samples`, `events`,
-- `percent`) where compared; `titles`; `more`, how many rows are left out;
-- `totals`: `samples`, `recordings`, `hosts`, `events` by name, `from`, `to` (s since 1970); `old`,
-- the same of the older ones
-- @raise on unknown keys and conditions, and where the database fails
-- @usage local s = pcall(store.open, "postgresql:///profiles")
-- local ok = s and pcall(function() return store.open("postgresql://127.0.0.1:1/"):report("host,symbol") end)
function store:report(by, options)
   options = options or {}
   expect.fields("report", options, ASKING, "option")
   local wanted = query.read_keys(by or "symbol")
   local sides = { tests_of(self, options.where) }
   if options.against then table.insert(sides, 1, tests_of(self, options.against)) end
   local sums = summaries(self, sides)
   local chained = options.children and (sums[1].chained or sums[#sums].chained) or false
   local columns = query.columns(self.database.words, wanted)
   local out = { rows = {}, titles = wanted, totals = sums[#sums], old = sums[2] and sums[1], more = 0 }
   local rows = ask(self, query.report(self.database, wanted, sides, chained, self.most))
   if #rows < self.most then
      for _, cells in ipairs(rows) do
         for side, sum in ipairs(sums) do
            local at = #columns + (side - 1) * 4 + 1
            if tonumber(cells[at]) > 0 then add_total(sum, cells[1], cells[at], cells[at + 1]) end
         end
      end
   else
      add_totals(self, sums, sides)
   end
   for i, cells in ipairs(rows) do
      if i > (options.limit or self.most) then break end
      out.rows[i] = row_of(wanted, columns, cells, sums, chained)
   end
   out.more = #rows - #out.rows
   return out
end

-- --- stacks --------------------------------------------------------------------------------------

local PICTURE = { "where", "event", "weight" }

local function event_of(self, tests, name)
   local sums = summaries(self, { tests })[1]
   add_totals(self, { sums }, { tests })
   local names = sorted_keys(sums.events)
   if #names == 0 then fail("%s: no samples match", self.name) end
   if name and not sums.events[name] then fail("'%s' was not recorded: %s", name, table.concat(names, ", ")) end
   return name or names[1], sums
end

local KINDS = { ["function"] = "symbol", inlined = "inlined", object = "object" }

local function frames_of(places, row)
   local out = { { kind = "process", name = row[1] }, { kind = "thread", name = row[2] } }
   local numbers_in = client.numbers(row[3])
   for i = #numbers_in, 1, -1 do
      local place = places[numbers_in[i]] or { kind = "symbol", name = "?" }
      out[#out + 1] = place
   end
   return out
end

--- Lists each stack of all selected recordings once, with its weight, as flame graphs need it.
-- @tparam[opt] table options
-- @tparam[opt] {string,...} options.where as for `store:report`
-- @string[opt] options.event the event to show
-- @string[opt="samples"] options.weight "samples" or "events"
-- @treturn table as of `pfm.stacks.collect`
-- @treturn number sum of the weights
-- @treturn string the event
-- @treturn table `totals` as of `store:report`
-- @raise where nothing matches, and where the database fails
-- @usage local ok = pcall(function()
--    return store.open("postgresql://127.0.0.1:1/"):stacks { where = { "host=a" } }
-- end)
function store:stacks(options)
   options = options or {}
   expect.fields("stacks", options, PICTURE, "option")
   local tests, places, out, total = tests_of(self, options.where), {}, {}, 0
   local event, sums = event_of(self, tests, options.event)
   for _, row in ipairs(ask(self, query.places(self.database, tests, event))) do
      local kind = row[4] == "[kernel]" and row[2] ~= "inlined" and "kernel" or KINDS[row[2]]
      places[row[1]] = { kind = kind, name = row[3], object = row[4] }
   end
   local by_name = {}
   for _, row in ipairs(ask(self, query.stacks(self.database, tests, event, options.weight or "samples"))) do
      local frames, weight = frames_of(places, row), tonumber(row[4])
      local name = collected.name(frames)
      if not by_name[name] then
         by_name[name] = { frames = frames, name = name, weight = 0 }
         out[#out + 1] = by_name[name]
      end
      by_name[name].weight, total = by_name[name].weight + weight, total + weight
   end
   table.sort(out, function(a, b) return a.name < b.name end)
   return out, total, event, sums
end

expect.methods("store", store, {
   load = "paths: [path]; options: table?",
   report = "by: string|table?; options: table?",
   stacks = "options: table?",
})

expect.signatures("store", store, {
   open = "url: string",
})

return store
