-- SPDX-License-Identifier: MIT
-- Recordings in a database: each is there once, whatever happens to the database, and reports are
-- those of the files. All recordings are made by hand, so that every number is known.
-- Engine: PostgreSQL and ClickHouse.

local analyze = require "pfm.analyze"
local c = require "support.c"
local cjson = require "cjson"
local collector = require "pfm.fleet.collector"
local databases = require "support.databases"
local files = require "support.files"
local lpfm = require "lpfm"
local merge = require "pfm.jobs.merge"
local proc = require "lpfm.proc"
local recording = require "pfm.recording"
local samples = require "support.samples"
local stacks = require "pfm.recording.stacks"
local store = require "pfm.fleet.store"
local tables = require "pfm.fleet.store.tables"
local PATIENCE = require "support.patience"

local program = c.program
local scratch = c.folder()
local DAY = 86400
local TODAY = math.floor(os.time() / DAY) * DAY

local BASE, FUNCTIONS = 0x400000, { "alpha", "beta", "ga'm\\a" }
local test_number = 0 -- a part of host names: each test has hosts of its own
local clock = { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000000 }
local faults = { name = "page-faults", pmd = 66, period = 10 }

local function at(which)
   return BASE + which * 0x100 + 4
end

-- Makes a recording of a program with three functions, and returns its path. Options:
--    time, host of the recording
--    counts     how many samples each function has, without callers
--    calls      instead of counts: a call stack for each sample, the innermost function first
--    faults     how many samples of page faults alpha has
--    job        what the program's launcher said
local function make(name, options)
   local path, list, words = scratch .. "/" .. name, {}, { samples.int(1, 8) }
   local function sample(ip, event, stack)
      list[#list + 1] = { tid = 7, pid = 7, ip = ip, tstamp = #list * 1e6, pmd = event.pmd, period = event.period,
         values = stack and { stack } or nil }
   end
   for which, n in ipairs(options.counts or {}) do
      for _ = 1, n do sample(at(which), clock) end
   end
   for i, chain in ipairs(options.calls or {}) do
      words[#words + 1] = samples.int(#chain, 8)
      for _, which in ipairs(chain) do words[#words + 1] = samples.int(at(which), 8) end
      sample(at(chain[1]), clock, i)
   end
   for _ = 1, options.faults or 0 do sample(at(1), faults) end
   local w = assert(recording.create(path, { what = "prog --x", time = options.time or TODAY, fixed = true,
      command = { "prog", "--x" }, events = { clock, options.faults and faults or nil },
      stacks = options.calls and "frame pointers" or nil, job = options.job,
      machine = { name = "perf", pmu = "software", host = test_number .. (options.host or "here"), kernel = "6.1",
         arch = "riscv" } }))
   w:json("MAPS", { pid = 7, maps = { { BASE, BASE + 0x10000, 0, "/opt/bin/prog" } } })
   w:json("COMM", { { tid = 7, pid = 7, comm = "prog" } })
   if options.calls then w:chunk("STKS", table.concat(words)) end
   w:block(samples.block(list), #list)
   local functions = {}
   for i, f in ipairs(FUNCTIONS) do functions[i] = { i * 0x100, 0x100, f } end
   w:json("SYMS", { path = "/opt/bin/prog", build_id = "c0ffee", count = 3, segments = { { 0, 0x10000, 0 } },
      functions = functions, files = { "/src/prog.c" }, lines = { { 0x104, 1, 12 } }, frames = {} })
   w:close { lost = 0, full = 0, missed = 0 }
   return path
end

-- Returns the rows of a report, in its order: their cells and samples.
local function table_of(report)
   local out = {}
   for i, row in ipairs(report.rows) do out[i] = table.concat(row.cells, " ") .. " " .. row.samples end
   return out
end

-- Makes a client program that runs `script` once, in place of the first command with `word` in its
-- arguments or input, and else the real client. Returns the setting of PATH that finds it.
local function wrapped(kind, word, script)
   local name = kind == "postgresql" and "psql" or "clickhouse-client"
   local real = c.sh("command -v " .. name):gsub("%s", "")
   c.sh(("mkdir -p %s/bin; rm -f %s/done"):format(scratch, scratch))
   files.write(scratch .. "/bin/" .. name, ([[#!/bin/sh
input=$(mktemp %s/input.XXXXXX)
cat >"$input"
if [ ! -e %s/done ] && { echo "$*"; cat "$input"; } | grep -q '%s'; then
   touch %s/done
%s
else
   exec %s "$@" <"$input"
fi
]]):format(scratch, scratch, word, scratch, script:gsub("REAL", real), real))
   c.sh(("chmod +x %s/bin/%s"):format(scratch, name))
   return ("PATH=%s/bin:$PATH "):format(scratch)
end

for _, kind in ipairs(databases.kinds) do
   describe(kind, function()
      local server, self
      local missing = databases.missing(kind)

      setup(function()
         if missing then return end
         server = databases.start(kind)
         self = store.open(server.url)
      end)
      teardown(function()
         if server then server:stop() end
      end)

      local function test(name, fn)
         it(name, function()
            if missing then return pending(missing) end
            test_number = test_number + 1
            fn()
         end)
      end

      -- Returns the condition for what this test has loaded.
      local function mine()
         return ("host=%d*"):format(test_number)
      end

      local function total()
         local sums = self:report("event", { where = { mine() } }).totals
         return sums.samples, sums.recordings
      end

      test("is no mistake in the command line where it has no tables, is not there or has nothing", function()
         local function fails(line, url, why)
            local out, status = c.sh(("%s %s --db '%s'"):format(program, line, url))
            assert.equal(1, status, out)
            assert.truthy(out:lower():find(why, 1, true), out)
            assert.falsy(out:find("--help", 1, true), out)
         end
         fails("report", server.url, "no recordings have been loaded there")
         fails("report", kind .. "://127.0.0.1:1/x", "refused")
         self:load { make("a.data", { counts = { 1 } }) }
         fails("export --format folded --select host=nowhere", server.url, "no samples match")
         fails("report --select host=nowhere", server.url, "no samples match")
         fails("report --json --select host=nowhere", server.url, "no samples match")
      end)

      test("has each recording once, whatever its name and however often it is loaded", function()
         local a, b = make("a.data", { counts = { 3, 1 } }), make("b.data", { counts = { 1, 1 }, host = "there" })
         c.sh(("cp %s '%s/it'\\''s a.data'"):format(a, scratch))
         local first = self:load { a, b, scratch .. "/it's a.data" }
         assert.same({ 2, 6, 1 }, { first.files, first.samples, first.there })
         local again = store.open(server.url):load { b, a }
         assert.same({ 0, 0, 2 }, { again.files, again.samples, again.there })
         -- recordings in a merged file may be in the database already
         make("c.data", { counts = { 0, 0, 5 } })
         merge.files({ a, scratch .. "/c.data", b }, scratch .. "/all.data")
         local merged = self:load { scratch .. "/all.data", scratch .. "/c.data" }
         assert.same({ 1, 5, 1 }, { merged.files, merged.samples, merged.there })
         assert.same({ 11, 3 }, { total() })
         -- files that are no recordings are left out and named; the rest of a damaged one is taken
         files.write(scratch .. "/foreign", "PERFILE2")
         files.write(scratch .. "/cut", files.read(a):sub(1, -20))
         local result = self:load { scratch .. "/foreign", scratch .. "/none", scratch .. "/cut" }
         assert.same({ 1, 4, 2 }, { result.files, result.samples, #result.refused })
         assert.truthy(result.refused[1].why:find("foreign", 1, true))
         assert.truthy(result.refused[2].why:find("none", 1, true))
         assert.truthy(result.warnings[1]:find("cut", 1, true))
         assert.same({ 15, 4 }, { total() })
      end)

      test("has all recordings of a merged file, however many these are", function()
         local paths, path = {}, scratch .. "/thousands"
         for i = 1, not io.open(path) and 4000 or 0 do
            paths[i] = make(("%d.data"):format(i), { counts = { 1 }, time = TODAY + i })
         end
         if #paths > 0 then merge.files(paths, path) end
         local result = self:load({ path }, { patience = 0 })
         assert.same({ 4000, 4000 }, { result.files, result.samples }, result.why)
         assert.equal(1, self:load({ path }).there)
      end)

      test("gives the tables that the file gives", function()
         local path = make("s.data", { calls = { { 1, 2 }, { 1, 2 }, { 1, 1, 2 }, { 2 }, { 3, 2 } } })
         self:load { path }
         local file = assert(recording.open(path))
         for _, by in ipairs { "symbol", "comm,line", "event" } do
            local expected = analyze.by(file, by, { children = true })
            local got = self:report(by, { children = true, where = { mine() } })
            local function flat(rows)
               local out = {}
               for i, row in ipairs(rows) do
                  out[i] = { row.cells, row.samples, row.events, row.percent, row.event,
                     by ~= "event" and row.total or nil }
               end
               return out
            end
            for _, row in ipairs(expected.rows) do
               if row.total then row.total.sums = nil end
            end
            assert.same(flat(expected.rows), flat(got.rows))
         end
         local expected, all = stacks.collect(file)
         local got, sum = self:stacks { where = { mine() } }
         assert.equal(5, sum)
         assert.equal(all, sum)
         for i, stack in ipairs(expected) do
            assert.equal(stack.name, got[i].name)
            assert.equal(stack.weight, got[i].weight)
            for k, frame in ipairs(stack.frames) do assert.equal(frame.kind, got[i].frames[k].kind) end
         end
      end)

      test("chooses recordings and samples, sorts by what they are known by, and compares", function()
         make("1.data", { counts = { 3, 1 }, host = "web1", time = TODAY - 1, faults = 2 })
         make("2.data", { counts = { 1, 1, 2 }, host = "web2", time = TODAY + 1 })
         make("3.data", { counts = { 0, 5 }, host = "db", time = TODAY - 1 })
         self:load({ scratch .. "/1.data", scratch .. "/3.data" }, { version = "1" })
         self:load({ scratch .. "/2.data" }, { version = "2" })
         local function rows(by, ...)
            return table_of(self:report(by, { where = { "event=cpu-clock", mine(), ... } }))
         end
         local n = test_number
         assert.same({ n .. "db 5", n .. "web1 4", n .. "web2 4" }, rows("host"))
         assert.same({ "1 beta 1", "2 beta 1" }, rows("version,symbol", "host=*web*", "symbol=beta"))
         assert.same({ os.date("!%Y-%m-%d ", TODAY - 1) .. "9", os.date("!%Y-%m-%d ", TODAY) .. "4" }, rows("day"))
         assert.same({ "ga'm\\a 2" }, { (rows("symbol", { "symbol", { "ga'm\\a" } })[1]) })
         assert.same({ "prog.c:12 4" }, { rows("line", "build=c0ffee", "object=prog", "line=prog.c:*")[1] })
         local both = self:report("symbol", { where = { "time=today", mine() },
            against = { "time=yesterday", "event=cpu-clock", mine() } })
         local changes = {}
         for _, row in ipairs(both.rows) do changes[row.symbol] = { row.old.samples, row.old.percent, row.percent } end
         assert.same({ 3, 3 / 9 * 100, 25 }, changes.alpha)
         assert.same({ 6, 6 / 9 * 100, 25 }, changes.beta)
         assert.same({ 0, 0, 50 }, changes["ga'm\\a"])
         -- where a report has `most` rows or more, the database adds up the totals
         local few = store.open(server.url)
         few.most = 1
         local one = few:report("symbol", { where = { "time=yesterday", "event=cpu-clock", mine() } })
         assert.same({ "beta", 6, 6 / 9 * 100, 9 }, { one.rows[1].symbol, one.rows[1].samples, one.rows[1].percent,
            one.totals.samples })
      end)

      test("knows rank, node, job and step as launchers told them, and tells as a file does who has none", function()
         local function rank(number, node, step)
            return { rank = number, host = node, id = "77", step = step, launcher = "Slurm" }
         end
         local list = { make("r2.data", { counts = { 1 }, job = rank(2, "n1", "0") }),
            make("r3.data", { counts = { 0, 2 }, job = rank(3, "n1", "0") }),
            make("r10.data", { counts = { 0, 4 }, job = rank(10, "n2", "1") }), make("none.data", { counts = { 8 } }) }
         self:load(list)
         local function rows(by, ...) return table_of(self:report(by, { where = { mine(), ... } })) end
         local all = recording.together { recording.open(list[1]), recording.open(list[2]), recording.open(list[3]),
            recording.open(list[4]) }
         for _, by in ipairs { "rank", "rank,symbol", "node", "job,step", "host" } do
            assert.same(table_of(analyze.by(all, by)), rows(by))
         end
         assert.same({ "3 2", "2 1" }, rows("rank", "rank=0-3"))
         assert.same({ "10 4", "2 1" }, rows("rank", "rank=2|10"))
         assert.same({ "- 8", "10 4" }, rows("rank", "rank!=0-3"))
         assert.same({ "10 4", "3 2" }, rows("rank", "rank>2"))
         assert.same({ "n1 3" }, rows("node", "node=n1"))
         assert.same({ "1 4" }, rows("step", "step=1,job=77"))
         local out, status = c.sh(("%s report --db '%s' --select '%s' --rank 0-3,9 --node n1 -s rank -x,"):format(
            program, server.url, mine()))
         assert.equal(0, status, out)
         assert.truthy(out:find("\n66.6667,2,2000000,cpu-clock,3\n33.3333,1,1000000,cpu-clock,2\n", 1, true), out)
      end)

      test("takes conditions on the file and the content of a recording", function()
         local a, b = make("a.data", { counts = { 1 } }), make("b.data", { counts = { 0, 2 } })
         self:load { a, b }
         assert.same({ "beta 2" }, table_of(self:report("symbol", { where = { mine(), "file=b.*" } })))
         assert.same({ "alpha 1" }, table_of(self:report("symbol", { where = { mine(), "id=" .. merge.id(a) } })))
      end)

      test("made by the first versions gets what it has not got, and keeps what it has", function()
         self:load { make("a.data", { counts = { 3 }, host = "old" }) }
         for _, column in ipairs { "rank", "node", "step" } do
            for _, name in ipairs(kind == "clickhouse" and { "lpfm_recordings", "lpfm_samples" }
               or { "lpfm_recordings" }) do
               server:ask(("ALTER TABLE %s DROP COLUMN %s"):format(name, column))
            end
         end
         store.open(server.url):load { make("b.data", { counts = { 0, 4 }, job = { rank = 5, host = "n1" } }) }
         assert.same({ "5 n1 4", "- - 3" }, table_of(self:report("rank,node", { where = { mine() } })))
      end)

      test("loads, answers and draws on command lines", function()
         local path = make("a.data", { counts = { 3, 1 } })
         local out, status = c.sh(("%s export --to '%s' --set version=7 %s"):format(program, server.url, path))
         assert.equal(0, status)
         assert.truthy(out:find("1 recording with 4 samples into " .. kind, 1, true), out)
         out = c.sh(("%s export --to '%s' '%s/a.dat[a]'"):format(program, server.url, scratch))
         assert.truthy(out:find("; 1 there already", 1, true), out)
         out, status = c.sh(("%s report --db '%s' -s version,symbol --json --top 1 --select '%s'"):format(program,
            server.url, mine()))
         assert.equal(0, status)
         local found = cjson.decode(out)
         assert.same({ "7", "alpha", 75 }, { found.rows[1].version, found.rows[1].symbol, found.rows[1].percent })
         out = c.sh(("%s report --db '%s' --host %dhere -x,"):format(program, server.url, test_number))
         assert.truthy(out:find("\n75.0000,3,", 1, true), out)
         out = c.sh(("%s report --db '%s' --select time=today,'%s' --against '%s'"):format(program, server.url,
            mine(), mine()))
         assert.truthy(out:find("75.00%%  75.00%%   %+0.00        3  alpha"), out)
         local folded = c.sh(("%s export --format folded %s"):format(program, path))
         assert.equal(folded, (c.sh(("%s export --db '%s' --select '%s'"):format(program, server.url, mine()))))
         assert.truthy(folded:find("prog;prog;prog;alpha 3", 1, true), folded)
      end)

      test("has each once where two load the same at the same time", function()
         local list = {}
         for i = 1, 40 do list[i] = make(("n%d.data"):format(i), { counts = { i }, host = "h" .. i }) end
         local command = ("%s export --to '%s' %s"):format(program, server.url, table.concat(list, " "))
         local one, other = c.background(command), c.background(command)
         assert.equal(0, select(2, one()))
         assert.equal(0, select(2, other()))
         assert.same({ 820, 40 }, { total() })
      end)

      -- Loads 20 recordings, while a client program kills the server; all must be there once.
      local function interrupted(word, script)
         local list = {}
         for i = 1, 20 do list[i] = make(("n%d.data"):format(i), { counts = { i }, host = "h" .. i }) end
         local path = wrapped(kind, word, script:gsub("PID", tostring(server.pid)))
         local exported = c.background(("%s %s export --to '%s' %s"):format(path, program, server.url,
            table.concat(list, " ")))
         local deadline = proc.clock() + PATIENCE
         while not io.open(scratch .. "/killed") do
            assert(proc.clock() < deadline, "was not killed")
            lpfm.poll({}, 0.02)
         end
         os.remove(scratch .. "/killed")
         server:restart()
         local out, status = exported()
         assert.equal(0, status, out)
         assert.same({ 210, 20 }, { total() })
      end

      local SAMPLES = kind == "postgresql" and "COPY lpfm_samples" or "INSERT INTO lpfm_samples"
      local LAST = kind == "postgresql" and "COMMIT;$" or "INSERT INTO lpfm_recordings"
      local KILL = "kill -KILL PID; while kill -0 PID 2>/dev/null; do :; done; touch " .. scratch .. "/killed\n"

      test("has all of them once where it is killed in the midst of a load", function()
         interrupted(SAMPLES, ([[
            before=$(($(wc -c <"$input") * 9 / 10))
            { head -c $before "$input"; %s tail -c +$((before + 1)) "$input"; } | REAL "$@"
            exit]]):format(KILL:gsub("\n", ";")))
      end)

      test("has all of them once where it is killed after it, and no one has been told", function()
         interrupted(LAST, ("REAL \"$@\" <\"$input\"\n%sexit 1"):format(KILL))
      end)

      if kind == "clickhouse" then
         test("does not show samples whose recording did not come, nor two attempts at one", function()
            local path = make("a.data", { counts = { 3, 1 } })
            self:load { path }
            local function again(name, names)
               server:ask(("INSERT INTO %s (%s) SELECT %s FROM %s"):format(name, names, names:gsub("load", "load + 1"),
                  name))
            end
            again("lpfm_samples", tables.of.wide_samples)
            assert.equal(4, (total()))
            again("lpfm_recordings", tables.of.recordings)
            assert.same({ 4, 1 }, { total() })
         end)
      end

      -- Makes a recording of n different stacks of the three functions.
      local function deep(name, n)
         local calls = {}
         for i = 1, n do
            calls[i] = {}
            for depth = 1, 12 do calls[i][depth] = math.floor(i / 3 ^ (depth - 1)) % 3 + 1 end
         end
         return make(name, { calls = calls })
      end

      test("whose disk is full says so, and has all once when there is room again; a spool keeps them", function()
         local why_not = databases.no_disk()
         if why_not then return pending(why_not) end
         local small = databases.start(kind, "160M")
         finally(function()
            lpfm.machine("perf")
            small:stop()
         end)
         local command = ("%s export --to '%s' %s %s %s"):format(program, small.url, deep("a.data", 10),
            deep("b.data", 2000), deep("c.data", 1500))
         local function loaded() return small:ask("SELECT count(*) FROM lpfm_recordings") end
         assert.equal(1, store.open(small.url):load({ scratch .. "/a.data" }).files)
         small:fill("64K")
         local out, status = c.sh(command)
         assert.equal(1, status, out)
         assert.truthy(out:find("3 recordings not loaded: ", 1, true), out)
         assert.truthy(out:lower():find("no space left on device", 1, true) or out:find("Not enough space", 1, true),
            out)
         assert.equal("1", loaded())
         -- a collector keeps what it records in its folder until the database has room again
         local machine, said = assert(lpfm.machine("sim:itanium2")), {}
         machine:spawn { program = { { loop = 1e5, { ip = 0x4000, ns = 100 } } }, affinity = { 0 } }
         local spool = ("%s/spool%d"):format(scratch, test_number)
         c.sh(("mkdir %s; cp %s/b.data %s/h-20200101T000000000Z-2000.data"):format(spool, scratch, spool))
         local one = collector.new { folder = spool, every = 0.001, cpu = 1, rounds = 1,
            store = small.url, say = function(text, ...) said[#said + 1] = text:format(...) end,
            spec = { cpus = { 0 }, events = "IA64_INST_RETIRED", period = 1000, seconds = 0.001 } }
         local counts = one:run()
         assert.same({ 1, 0, 0, 2 }, { counts.recordings, counts.delivered, counts.dropped, one.waiting })
         assert.truthy(said[1]:find("recordings wait in " .. spool, 1, true), said[1])
         small:clear()
         counts = one:run()
         assert.same({ 2, 3, 0 }, { counts.recordings, counts.delivered, counts.dropped })
         assert.truthy(said[2]:find("is back", 1, true), said[2])
         out, status = c.sh(command)
         assert.equal(0, status, out)
         assert.truthy(out:find("1 recording with 1,500 samples into", 1, true), out)
         assert.equal("5", loaded())
         local sums = store.open(small.url):report("event", { where = { mine() } }).totals
         assert.same({ 3510, 3 }, { sums.samples, sums.recordings })
      end)

      test("that is not there is waited for as long as asked, and then said", function()
         local result = store.open(kind .. "://127.0.0.1:1/x"):load({ make("a.data", { counts = { 1 } }) },
            { patience = 0 })
         assert.same({ 0, 1 }, { result.files, result.left })
         assert.truthy(result.why:lower():find("refused", 1, true), result.why)
      end)
   end)
end
