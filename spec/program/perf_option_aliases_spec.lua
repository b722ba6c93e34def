-- SPDX-License-Identifier: MIT
-- What one option of perf does takes one option of lpfm, with the same name where possible.
-- One interpreter: the subject is the program as a process.

local c = require "support.c"
local cjson = require "cjson"

local scratch = c.folder()
local file = scratch .. "/habits.data"
local shares, usage
local run = c.lpfm

setup(function() shares, usage = c.target("shares"), c.target("usage") end)

local function names(result)
   local out = {}
   for i, row in ipairs(result.events) do out[i] = row.event end
   return table.concat(out, " ")
end

describe("stat", function()
   it("counts at one level, but for events that name theirs: --all-user, --all-kernel", function()
      for flag, plm in pairs { ["--all-user"] = "u", ["--all-kernel"] = "k" } do
         local out, status = run(("stat -j -o - %s -e page-faults,task-clock,minor-faults:uk -- true"):format(flag))
         assert.equal(0, status, out)
         local note = ("lpfm stat: task-clock:%s: Linux counts clocks at all levels together\n"):format(plm)
         assert.equal(note, out:sub(1, #note))
         out = out:sub(#note + 1)
         assert.equal(("page-faults:%s task-clock:%s minor-faults:uk"):format(plm, plm), names(cjson.decode(out)))
      end
      assert.truthy(run("stat --all-user --all-kernel -- true"):find("exclude each other", 1, true))
   end)

   it("counts in detail: -d", function()
      local some = cjson.decode((run("stat -j -o - -- true 2>/dev/null")))
      local more = cjson.decode((run("stat -j -o - -d -- true 2>/dev/null")))
      assert.truthy(names(more):find(names(some) .. " minor-faults major-faults", 1, true), names(more))
      some = cjson.decode((run("stat -j -o - -d -e cs,minor-faults -- true 2>/dev/null")))
      -- the events of the PMU come after these
      assert.truthy(names(some):find("^cs minor%-faults major%-faults"), names(some))
   end)

   it("stops after so many intervals: --interval-count", function()
      local out, status = run(("stat -I 50 --interval-count 2 -x, -e task-clock -o - -- %s 400 1 0"):format(usage))
      assert.equal(0, status, out)
      local intervals = select(2, out:gsub("task%-clock", ""))
      -- There are two intervals, or one if the machine is slow.
      assert.is_true(intervals == 2 or intervals == 1, out)
      assert.truthy(run("stat --interval-count 2 -- true"):find("--interval-count needs -I", 1, true))
   end)

   it("refuses what it would not follow: --append without a file, -x beside --json", function()
      for line, words in pairs { ["stat --append -- true"] = "--append needs -o",
         ["stat -x, --json -- true"] = "-x and --json exclude each other",
         ["list -x, --json"] = "-x and --json exclude each other",
         ["diff -x, --json old new"] = "-x and --json exclude each other",
         ["report -x, --json"] = "-x and --json exclude each other" } do
         local out, status = run(line)
         assert.equal(2, status, out)
         assert.truthy(out:find(words, 1, true), out)
      end
   end)

   it("refuses periods, which are for what is sampled", function()
      for _, event in ipairs { "cs/period=5/", "page-faults,cs/freq=5/u" } do
         local out, status = run(("stat -e %s -- true"):format(event))
         assert.equal(2, status, out)
         assert.truthy(out:find("'cs[:u]*' is not sampled here"), out)
      end
   end)

   it("counts once what a wildcard finds that is there already", function()
      local out = run "stat -j -o - -e '{page-faults,cs},page-*' -- true 2>/dev/null"
      assert.equal("page-faults cs", names(cjson.decode(out)))
      assert.truthy(run("stat -e cs,cs -- true"):find("'cs' is given twice", 1, true))
   end)
end)

describe("record and top", function()
   local function event_of(options)
      local out, status = run(("record -q -o %s %s -- %s 0.1 1"):format(file, options, shares))
      assert.equal(0, status, out)
      return cjson.decode((run("report --json " .. file))).head.events[1]
   end

   it("sample at one level: --all-user, -K, --all-kernel, -U", function()
      assert.equal("cpu-clock:u", event_of("--all-user").name)
      assert.equal("cpu-clock:u", event_of("-K").name)
      assert.equal("cpu-clock:k", event_of("-U").name)
      assert.equal("page-faults:u", event_of("--all-user -e page-faults:u -c 1").name)
      assert.truthy(run("top --once -d 0.1 -K -- " .. shares .. " 0.1 1"):find("samples? of cpu%-clock:u"))
   end)

   it("sample as often as the kernel allows: -F max", function()
      local file_of_kernel = assert(io.open("/proc/sys/kernel/perf_event_max_sample_rate"))
      local rate = file_of_kernel:read("*n")
      file_of_kernel:close()
      assert.equal(math.max(1, math.floor(1e9 / rate + 0.5)), event_of("-F max").period)
   end)

   it("take call stacks in the way that is asked for: --call-graph", function()
      local out, status = run(("top --once -d 0.2 --call-graph fp -- %s 0.3 1"):format(shares))
      assert.equal(0, status, out)
      assert.truthy(out:find("children", 1, true), out)
   end)
end)

describe("report and annotate", function()
   setup(function()
      local out, status = run(("record -q -g fp -o %s -- %s 0.3 1"):format(file, shares))
      assert.equal(0, status, out)
   end)

   it("show the tree of calls for -g alone, -G, and with what perf has behind it", function()
      local tree, status = run("report -g caller " .. file)
      assert.equal(0, status, tree)
      for _, options in ipairs { "-G -f " .. file, "-f " .. file .. " -g", "-g --file " .. file,
         "-g graph,0.5,caller " .. file, "--call-graph=caller " .. file } do
         assert.equal(tree, (run("report " .. options)), options)
      end
   end)

   it("take a part of the time as perf has it: 10%-20%", function()
      assert.equal((run("report --time 10%,60% " .. file)), (run("report --time 10%-60% " .. file)))
      assert.are_not.equal((run("report " .. file)), (run("report --time 10%-60% " .. file)))
   end)

   it("take the function by -s", function()
      local wanted, status = run("annotate --asm -f " .. file .. " heavy")
      assert.equal(0, status, wanted)
      assert.equal(wanted, (run("annotate --asm -f " .. file .. " -s heavy")))
      assert.equal(wanted, (run("annotate --asm -f " .. file .. " --symbol=heavy")))
   end)
end)

describe("What is had otherwise", function()
   it("is told for each", function()
      for line, words in pairs {
         ["stat --topdown -- true"] = "-M topdown", ["stat --no-big-num -- true"] = "print plain numbers",
         ["stat --log-fd 2 -- true"] = "/dev/fd/", ["record -m 128 -- true"] = "--buffer",
         ["record -b -- true"] = "list --pmu", ["record -u root -- true"] = "pgrep",
         ["record -z -- true"] = "gzip",
         ["top -u root"] = "pgrep",
      } do
         local out, status = run(line)
         assert.equal(2, status, line .. ": " .. out)
         assert.truthy(out:find(words, 1, true), line .. ": " .. out)
      end
   end)

   it("needs no word where it is done anyway", function()
      for _, line in ipairs { "stat -v -B -e cs -- true",
         "record -T -P -s -B --sample-cpu -o " .. file .. " -- true" } do
         local out, status = run(line)
         assert.equal(0, status, line .. ": " .. out)
      end
   end)
end)

-- --- how often each event is sampled -------------------------------------------------------------

-- Returns, by a recording's events, the period, or "a second" and the frequency.
local function rates_of(path)
   local out = {}
   for _, e in ipairs(assert(require("pfm.recording").open(path)).head.events) do
      out[e.name] = e.frequency and "a second: " .. e.frequency or e.period
   end
   return out
end

describe("record's -c and -F", function()
   local kinds = { { "-c", "period", 20000 }, { "-F", "freq", 500 } }

   -- Returns a rate as rates_of() does, or nil without a kind.
   local function given(kind, n)
      return kind and (kind[1] == "-c" and n or "a second: " .. n) or nil
   end

   it("are those of the -e before them, or else of all, and names have their own", function()
      for _ = 1, 12 do
         local line, expected, list = {}, {}, { "page-faults", "cpu-clock", "minor-faults", "cs" }
         local all = kinds[math.random(2)]
         local n = all[3] + math.random(100)
         line[1] = ("%s %d"):format(all[1], n)
         for _, name in ipairs(list) do
            local kind = kinds[math.random(3)]
            local m = kind and kind[3] + math.random(100)
            if kind and math.random(2) == 1 then
               line[#line + 1] = ("-e %s/%s=%d/"):format(name, kind[2], m)
            else
               line[#line + 1] = ("-e %s %s"):format(name, kind and ("%s %d"):format(kind[1], m) or "")
            end
            expected[name] = given(kind, m) or given(all, n)
         end
         line = table.concat(line, " ")
         local out, status = run(("record -q %s -o %s -- true"):format(line, file))
         assert.equal(0, status, line .. "\n" .. out)
         local rates = rates_of(file)
         for name, rate in pairs(expected) do
            if name == "cpu-clock" and type(rate) == "string" then rate = rates[name] end
            assert.equal(rate, rates[name], line .. ": " .. name)
         end
      end
   end)

   it("hold for each event of their -e, and samples stand for their event's period", function()
      local faults = math.random(2, 9)
      local out, status = run(("record -q -e page-faults,minor-faults -c %d -e cpu-clock -c 100000 -o %s -- %s 20 1 0")
         :format(faults, file, usage))
      assert.equal(0, status, out)
      assert.same({ ["page-faults"] = faults, ["minor-faults"] = faults, ["cpu-clock"] = 100000 }, rates_of(file))
      local n = 0
      for event, period in run(("script -f %s -F event,period"):format(file)):gmatch("(%S+):%s+(%d+)\n") do
         assert.equal(event == "cpu-clock" and 100000 or faults, tonumber(period), event)
         n = n + 1
      end
      assert.is_true(n > 10, n .. " samples")
   end)

   it("are refused where they do not say of which event they are, twice, and where they cannot be", function()
      for line, words in pairs {
         ["-e cs -e page-faults -c 5"] = "-c 5: for 'page-faults' alone, or for 'cs', too?",
         ["-e cs -c 5 -c 6"] = "-c 6: -e cs has '-c 5' already",
         ["-e cs -c 5 -F 6"] = "-c and -F exclude each other: -e cs",
         ["-c 5 -c 6"] = "-c 6: the command has '-c 5' already",
         ["-e cs/period=5/ -c 6"] = "'cs/period=5/' has a period or frequency of its own",
         ["-e cs/period=5,freq=6/"] = "one period or frequency expected",
         ["-e cs/period=0/"] = "period: expected a whole number",
         ["-e cs/freq=-1/"] = "freq: expected samples a second",
         ["-e cs/perod=5/"] = "did you mean 'period'?",
         ["-e cs --with page-faults/period=5/"] = "'page-faults' is not sampled here",
         ["-F 1e9"] = "-F: 'cpu-clock' cannot be sampled 1,000,000,000 times a second",
         ["-e cpu-clock/period=9999/"] = "-c: 'cpu-clock' cannot be sampled every 9,999 ns",
      } do
         local out, status = run(("record %s -o %s -- true"):format(line, file))
         assert.equal(2, status, line .. ": " .. out)
         assert.truthy(out:find(words, 1, true), line .. ": " .. out)
      end
   end)
end)

describe("record --max-size", function()
   it("ends the recording, not the command, when the file has grown to it", function()
      local busy = "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; exit 3"
      local line = ("record -F 5000 %%s -o %s -- sh -c '%s'"):format(file, busy)
      local whole = run(line:format "")
      local out, status = run(line:format "--max-size 8K")
      assert.equal(3, status, out)
      assert.truthy(out:find("it ended when the file had grown to --max-size", 1, true), out)
      assert.truthy(out:find("looked at when the buffer is read; names of functions came on top", 1, true), out)
      assert.truthy(run("record --help"):find("what came until then is in the file, too", 1, true))
      assert.is_nil(whole:find("--max-size", 1, true), whole)
      local function samples(text) return tonumber((text:match("([%d,]+) samples? in"):gsub(",", ""))) end
      assert.is_true(samples(out) < samples(whole), out .. whole)
      for text, words in pairs { ["8X"] = "--max-size: '8X' is not a size", ["0"] = "--max-size: " } do
         out, status = run(("record --max-size %s -- true"):format(text))
         assert.equal(2, status, out)
         assert.truthy(out:find(words, 1, true), out)
      end
   end)
end)

describe("an option of perf's", function()
   it("has its value behind = where ours is a letter", function()
      for _, line in ipairs { "--field-separator=, ", "--field-separator , ", "-x, ", "-x , " } do
         local out, status = run(("stat -o - -e task-clock,cs %s -- true"):format(line))
         assert.equal(0, status, out)
         assert.truthy(out:find("\n?[%d.]+,msec,task%-clock,"), line .. ": " .. out)
      end
      assert.truthy(run("stat -o - -e task-clock -x '\\t' -- true"):find("^[%d.]+\tmsec\ttask%-clock\t"))
      assert.truthy(run("stat -o - -e task-clock -x . -- true"):find('^"%d+%.%d+"%.msec%.task%-clock%.%d+%."100%.00"'))
      for _, line in ipairs { "--input=", "--input ", "-i ", "-i" } do
         assert.truthy(run(("report %s%s/none.data"):format(line, scratch)):find("none.data", 1, true), line)
      end
   end)

   it("may be written as it was before it had one meaning", function()
      assert(select(2, run(("record -q -e page-faults -c 1 -o %s -- true"):format(file))) == 0)
      for _, line in ipairs { "--file=", "--file ", "-f ", "-f" } do
         for _, name in ipairs { "report --plain", "script", "annotate", "plot", "export --format folded" } do
            local out, status = run(("%s %s%s"):format(name, line, file))
            assert.equal(0, status, name .. " " .. line .. ": " .. out)
            assert.equal(run(("%s -i %s"):format(name, file)), out)
         end
      end
      assert.truthy(run("report --from none --html x"):find("--from and --html exclude each other", 1, true))
      assert.truthy(run("report --db none --html x"):find("--db and --html exclude each other", 1, true))
      local line = "annotate --source -i " .. file .. " "
      assert.equal(run(line .. "--functions 3"), run(line .. "--top 3"))
      for _, name in ipairs { "report", "export" } do
         for _, url in ipairs { "none", "postgresql://" } do
            local line_of = name .. " %s=" .. url .. " %s=host=a"
            local out, status = run(line_of:format("--from", "--where"))
            assert.equal((run(line_of:format("--db", "--select")):gsub("%-%-db", "--from")), out)
            assert.is_true(status ~= 0, out)
         end
         assert.is_nil(run(name .. " --help"):find("--from", 1, true))
      end
   end)

   it("may stand for nothing more than once: -vvv", function()
      assert.equal(0, select(2, run(("report -vvv --plain -i %s"):format(file))))
      assert.equal(2, select(2, run(("report -vx --plain -i %s"):format(file))))
   end)

   it("takes a number for its value, and is not guessed from a letter", function()
      local out, status = run "stat -p -5"
      assert.equal(2, status, out)
      assert.truthy(out:find("--pid: '-5' is not a list of process IDs", 1, true), out)
      out = run "stat -u -- true"
      assert.truthy(out:find("unknown option '-u'\n", 1, true), out)
      assert.truthy(run("stat --evnt cs -- true"):find("did you mean", 1, true))
   end)
end)
