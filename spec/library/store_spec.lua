-- SPDX-License-Identifier: MIT
-- Recordings in a database, as far as no server is needed: conditions, URLs, clients, and what
-- command lines refuse.

local c = require "support.c"
local files = require "support.files"
local client = require "pfm.fleet.store.client"
local where = require "pfm.fleet.store.where"

local DAY = 86400

local program = c.program

describe("a condition", function()
   local function literal(text) return "'" .. text .. "'" end
   local NOW = 1763510400 + 3600 -- a Wednesday, 2025-11-19, at one

   local function read(text)
      local tests = where.read({ text }, literal, NOW)
      return table.concat(tests.recordings, " & "), table.concat(tests.rows, " & ")
   end

   it("is of recordings or of their rows", function()
      assert.same({ "(host = 'a' OR host LIKE 'web%') & NOT (version = '1')", "(comm = 'x')" },
         { read("host=a|web*, version!=1,comm=x") })
      assert.equal([[place IN (SELECT id FROM lpfm_places WHERE (symbol LIKE 'a\_x_'))]],
         select(2, read("symbol=a_x?")))
   end)

   it("keeps the commas in names of functions", function()
      local PLACE = "place IN (SELECT id FROM lpfm_places WHERE (symbol = '%s'))"
      for _, name in ipairs { "f(int, char)", "std::map<int, long>::at", "operator<", "operator->" } do
         assert.same({ "(host = 'a')", PLACE:format(name) .. " & (comm = 'x')" },
            { read(("host=a,symbol=%s, comm=x"):format(name)) })
      end
      assert.same({ ("time < %d & (host = 'a')"):format(NOW), "(comm = 'x')" }, { read("time<now,host=a,comm=x") })
   end)

   it("of time takes days, hours and minutes, names of days, and how long ago", function()
      local day = NOW - 3600
      for text, span in pairs { ["time=today"] = { day, day + DAY }, ["time=yesterday"] = { day - DAY, day },
         ["time=tuesday"] = { day - DAY, day },
         ["time=wednesday"] = { day - 7 * DAY, day - 6 * DAY },
         ["time=2024-02-29"] = { 1709164800, 1709164800 + DAY }, ["time=2025-11-19T00:30"] = { day + 1800, day + 1860 },
         ["time=2025-11-19 01"] = { NOW, NOW + 3600 } } do
         assert.equal(("time >= %d AND time < %d"):format(span[1], span[2]), (read(text)))
      end
      assert.equal(("time >= %d"):format(NOW - 7200), (read("time>=-2h")))
      assert.equal(("time >= %d"):format(day + DAY), (read("time>2025-11-19")))
      assert.equal(("time < %d"):format(day + DAY), (read("time<=today")))
   end)

   it("that is none is refused by name", function()
      for text, why in pairs { ["hots=a"] = "unknown name 'hots'; did you mean 'host'", host = "'host' is no condition",
         ["time=2025-02-29"] = "'2025-02-29' is no time", ["host<a"] = "texts are compared with = and !=" } do
         local ok, err = pcall(read, text)
         assert.is_false(ok)
         assert.truthy(err:find(why, 1, true), err)
      end
   end)
end)

describe("a URL", function()
   it("is taken apart, and shown without its password", function()
      local url = client.parse("postgres://me:a%40b@db.example:77/profiles")
      assert.same({ kind = "postgresql", user = "me", password = "a@b", host = "db.example", port = "77",
         database = "profiles", name = "postgres://me@db.example:77/profiles" }, url)
      assert.same({ kind = "clickhouse", host = "::1", name = "clickhouse://[::1]/" },
         client.parse("clickhouse://[::1]/"))
   end)

   it("of another kind is refused", function()
      for _, text in ipairs { "mysql://x/y", "db.example", "postgresql://h:port/x", "clickhouse://h/a/b" } do
         local ok, err = pcall(client.parse, text)
         assert.is_false(ok)
         assert.truthy(err:find(text, 1, true), err)
      end
   end)
end)

describe("a client program", function()
   it("leaves no files, even where what is done with it is broken off", function()
      local names, tmpname = {}, os.tmpname
      os.tmpname = function() -- luacheck: ignore 122
         names[#names + 1] = tmpname()
         return names[#names]
      end
      local read, why = client.read("sh -c 'exit 3'")
      local text, wrote = client.read("echo text"), client.write("cat", { "text" })
      local long, unstarted = client.read("echo " .. ("x"):rep(2e5))
      local ok = pcall(client.write, "cat", { {} }) -- {} is no text: it raises
      os.tmpname = tmpname -- luacheck: ignore 122
      assert.same({ nil, "sh failed (3)", "text\n", true, false }, { read, why, text, wrote, ok })
      assert.same({ nil, "echo cannot be started with a command of this length" }, { long, unstarted })
      assert.is_true(#names > 0)
      for _, name in ipairs(names) do assert.is_nil(io.open(name)) end
   end)
end)

describe("a database that does not answer", function()
   it("is waited for, and that is said at once, in plain words", function()
      local path = os.tmpname()
      files.write(path, "#!/bin/sh\necho 'Poco::Exception. Code: 1000, e.code() = 0, e.displayText() = Host not found: "
         .. "here, e.what() = Host not found' >&2; exit 1\n")
      os.execute(("mkdir -p %s.d && mv %s %s.d/clickhouse-client && chmod +x %s.d/*"):format(path, path, path, path))
      assert.equal(0, select(2, c.sh(("%s record -q -e page-faults -c 1 -o %s.d/one -- true"):format(program, path))))
      local line = "PATH=%s.d:$PATH %s -e 'print(require(\"pfm.fleet.store\").open(\"clickhouse://here/x\")"
         .. ":load({ arg[1] }, { patience = 0, waiting = print }).why)' %s.d/one"
      local out = c.sh(line:format(path, program, path))
      os.execute("rm -r " .. path .. ".d")
      assert.equal("Host not found: here\t0\nHost not found: here\n", out)
   end)
end)

describe("the commands", function()
   it("refuse what does not go together", function()
      for line, why in pairs {
         ["report --select host=a"] = "--select: expected --db URL",
         ["export --set version=1"] = "--set: expected --to URL",
         ["export --to postgresql:///x --set colour=red"] = "'colour=red' is not NAME=VALUE",
         ["report --db mysql://x"] = "unknown kind of database 'mysql'",
         ["export --to postgresql:///x --set version"] = "'version' is not NAME=VALUE (names:",
         ["export --to postgresql:///x --db postgresql:///y"] = "--to and --db exclude each other",
         ["export --to postgresql:///x --format csv"] = "--to and --format exclude each other",
         ["export --to postgresql:///x -o out.csv"] = "--to and --output exclude each other",
         ["export --db postgresql:///x lpfm.data"] = "--db and a recording exclude each other",
         ["report --db postgresql:///x --rank 3-1"] = "the range '3-1' is reversed: expected 1-3",
         ["report --db postgresql:///x --select 'rank=1|x'"] = "'1|x' is not a list of ranks",
         ["report --db postgresql:///x --select 'rank<x'"] = "'rank<x': 'x' is not a number",
         ["export --to postgresql:///x --ids"] = "--to and --ids exclude each other",
         ["export --to postgresql:///x --select host=a"] = "--to and --select exclude each other",
         ["export --to postgresql:///x -x,"] = "--to and -x exclude each other",
         ["export --db postgresql:///x --ids"] = "--db and --ids exclude each other",
         ["export --db postgresql:///x --no-inline"] = "--db and --no-inline exclude each other",
         ["export --db postgresql:///x --base a"] = "--db and --base exclude each other",
         ["export --db postgresql:///x --set host=a"] = "--db and --set exclude each other",
         ["export --db postgresql:///x --icicle"] = "--format folded and --icicle exclude each other",
         ["report --db postgresql:///x --histogram interval"] = "--db and --histogram exclude each other",
         ["export --db postgresql:///x --format pprof"] = "its formats are flamegraph and folded",
      } do
         local out, status = c.sh(program .. " " .. line)
         assert.truthy(out:find(why, 1, true), out)
         assert.equal(2, status)
      end
   end)
end)
