-- SPDX-License-Identifier: MIT
-- The scripts in scripts/examples run as a user runs them; none is longer than 20 lines.
-- Second interpreter, all: most of it starts the program.

local c = require "support.c"
local commands = require "repl.command.rows"
local handmade = require "support.handmade"
local files = require "support.files"
local topics = require "repl.prompt.topics"

local read = files.read

local program = c.program
local scratch = c.folder()

local function run(line)
   return c.sh(program .. " scripts/examples/" .. line)
end

-- Runs a line, which must succeed; returns what it printed.
local function output(line)
   local out, status = run(line)
   assert.equal(0, status, line .. ": " .. out)
   return out
end

local usage, inlined

setup(function() usage, inlined = c.target("usage"), c.target("inlined") end)

describe("an example", function()
   it("is at most 20 lines, and says how to run it", function()
      local names, n = c.sh("cd scripts/examples && ls *.lua"), 0
      for name in names:gmatch("[^\n]+") do
         local text = read("scripts/examples/" .. name)
         assert.is_true(select(2, text:gsub("\n", "")) <= 20, name .. " is too long")
         assert.truthy(text:match("^[^\n]*\n([^\n]*)"):find("lpfm [%w ]*" .. name), name)
         n = n + 1
      end
      assert.equal(14, n)
   end)
end)

describe("examples with arguments that they cannot use", function()
   it("say what they expect, and measure nothing instead", function()
      local function refused(line, says, with)
         local out, status = c.sh(("timeout 20 %s scripts/examples/%s 2>&1"):format(program, line))
         assert.equal(with or 1, status, line .. ": " .. out)
         assert.truthy(out:find(says, 1, true), line .. ": " .. out)
      end
      refused("processes.lua", "PIDs are expected")
      refused("processes.lua abc", "abc: a PID is expected")
      refused("processes.lua 4194305", "there is no thread 4194305")
      refused("watch.lua abc 1", "a PID is expected")
      refused("watch.lua $$ abc", "a number of seconds")
      refused("watch.lua $$ 0.5", "a number of seconds")
      refused("watch.lua 0 1", "\nlpfm: tids: element 1: expected a whole number")
      refused("watch.lua 4194305 1", "\nlpfm: there is no thread or process 4194305")
      refused("cpus.lua abc", "abc: seconds are expected")
      refused("gate.lua page-faults abc true", "its limit and a command are expected")
      refused("gate.lua page-faults 1000", "its limit and a command are expected")
      refused("gate.lua page-faults,minor-faults 1000 true", "one event is expected")
      refused("faster.lua true", "two commands")
      refused("faster.lua true true 1", "2 or more runs")
      refused("faster.lua true no-such-program 2", "no-such-program: not found\n", 127)
      refused("faults.lua", "commands are expected")
      refused("faults.lua no-such-program", "no-such-program: not found\n", 127)
      refused("nightly.lua " .. scratch, "a folder and a command are expected")
      refused("hotlines.lua", "lpfm script runs this")
      refused("pauses.lua 5", "lpfm script runs this")
   end)

   it("leave no recording behind", function()
      local path, nothing = nil, scratch .. "/nothing"
      c.sh(("echo 'int main(void) { return 0; }' | gcc -static -o %s -xc -"):format(nothing))
      for _ = 1, 20 do -- a command this short seldom has a sample
         path = path or run(("flamegraph.lua %s.svg %s 2>&1"):format(nothing, nothing)):match("to draw in (%S+)")
      end
      assert.is_string(path, "it has samples each time")
      assert.is_nil(io.open(path))
   end)
end)

describe("whatever shows how to print an address", function()
   it("prints it in hex", function()
      local n = 0
      local list = c.sh("ls README.md spec/tasks.md scripts/examples/*.lua repl/prompt/topics.lua "
         .. "repl/prompt/topics/*.lua; "
         .. "find scripts/pfm lpfm kernel repl -name '*.lua' -o -name '*.md' -o -name '*.c' | xargs grep -l @usage")
      for path in list:gmatch("[^\n]+") do
         for line in read(path):gmatch("[^\n]+") do
            if line:find("%f[%w]print%(.*[.]ip%f[^%w_]") then
               n = n + 1
               assert.truthy(line:find("%#x", 1, true) or line:find("hex", 1, true), path .. ": " .. line)
            end
         end
      end
      assert.is_true(n >= 5, n .. " places")
   end)
end)

describe("examples that count", function()
   it("faults.lua shows which command touches most memory", function()
      local out = output(("faults.lua '%s 1 100 0' '%s 1 5000 0'"):format(usage, usage))
      local few, many = out:match("1 100 0 .- ([%d,]+)\n.-1 5000 0 .- ([%d,]+)\n")
      few, many = tonumber((few:gsub(",", ""))), tonumber((many:gsub(",", "")))
      assert.is_true(many >= 5000 and few >= 100 and few < many, out)
   end)

   it("faster.lua tells the slower of two commands", function()
      local out = output(("faster.lua '%s 150 0 0' '%s 5 0 0' 3"):format(usage, usage))
      assert.truthy(out:find("the first takes [%d.]+ times as long\n"), out)
   end)

   it("gate.lua passes or fails", function()
      assert.truthy(output("gate.lua page-faults 1000000 true"):find("1,000,000 allowed", 1, true))
      assert.equal(1, select(2, run(("gate.lua page-faults 200 %s 1 1000 0"):format(usage))))
      assert.equal(3, select(2, run("gate.lua page-faults 1000000 sh -c 'exit 3'")))
   end)

   it("functions.lua counts pieces of Lua", function()
      local out = output("functions.lua")
      for _, name in ipairs { "s = s %.%. x", "table%.concat", "string%.rep" } do
         assert.truthy(out:find(name .. " +[%d.]+ %a+ +[%d,]+ page faults\n"), out)
      end
   end)

   it("regions.lua measures its regions, or lets itself be measured", function()
      local out = output("regions.lua")
      for _, name in ipairs { "fill", "sort", "join" } do
         assert.truthy(out:find(name .. " +[%d.]+ %a+ +%d+ page faults\n"), out)
      end
      out = c.sh(("%s stat --regions -o - -x, -e page-faults -- %s scripts/examples/regions.lua"):format(program,
         program))
      assert.truthy(out:find("^fill,all,1,%d+,,page%-faults,[^\n]*\nfill,%d+,1,[^\n]*\nsort,all,1,"), out)
   end)

   it("watch.lua follows a process, second by second", function()
      local out, status = c.sh(("%s 60000 0 0 >/dev/null & %s scripts/examples/watch.lua $! 1; s=$?; kill $!; exit $s")
         :format(usage, program))
      assert.equal(0, status, out)
      assert.truthy(out:find("CPU +faults +switches +moves\n +[%d.]+%% +[%d,]+ +[%d,]+ +[%d,]+\n"), out)
   end)
end)

describe("examples that program contexts", function()
   it("processes.lua shows processes until the last has ended", function()
      local out, status = c.sh(([[cd %s && mkfifo go && (read x <go; exec %s 20 2000 0) & one=$!
         cd %s && sleep 1000 & two=$!
         cd %s && %s %s/scripts/examples/processes.lua $one $two | {
            read first; echo "$first"; echo >go; grep -m 1 "^$one: [1-9]"; kill $two; cat; }]]):format(scratch, usage,
         scratch, scratch, program, c.sh("pwd"):gsub("\n", "")))
      assert.equal(0, status, out)
      assert.truthy(out:find("%d+: [%d.]+ %l*s of CPU time, [%d,]+ page faults\n"), out)
      assert.truthy(out:find("%d+: %d[%d.]+ %l+ of CPU time, 2,%d%d%d page faults\n"), out)
   end)

   it("reservoir.lua keeps five samples of all", function()
      local out = output("reservoir.lua")
      local list = assert(out:match("^[%d,]+ samples, of which these were kept:\n(.*)$"), out)
      assert.equal(5, select(2, list:gsub("0x%x+ after [%d,]+ page faults\n", "")), out)
   end)
end)

describe("examples that sample", function()
   it("nightly.lua leaves a flame graph and a line", function()
      output(("nightly.lua %s %s 200"):format(scratch, inlined))
      local day = os.date("%Y-%m-%d")
      assert.truthy(read(("%s/%s.svg"):format(scratch, day)):find(">outer<", 1, true))
      assert.truthy(read(scratch .. "/profiles.csv"):find("^%d+%-%d+%-%d+,%d+,[%d.]+,outer,[%d.]+\n$"))
   end)

   it("hotlines.lua shows lines and their text", function()
      local file = scratch .. "/lines.data"
      assert.equal(0, select(2, c.sh(("%s record -q -o %s -- %s 200"):format(program, file, inlined))))
      local out, status = c.sh(("%s script -i %s scripts/examples/hotlines.lua"):format(program, file))
      assert.equal(0, status, out)
      assert.truthy(out:find("\n? *[%d.]+%%  inlined%.c:1[78] +%S"), out)
   end)

   it("pauses.lua finds the pauses of threads, exactly", function()
      local file = scratch .. "/pauses.data"
      local list = {}
      for i, ms in ipairs { 0, 1, 2, 40, 41, 60 } do list[i] = { tid = 5, ip = 64 * i, tstamp = ms * 1e6 } end
      handmade.write(file, { fixed = true, events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1e6 } } },
         { comms = { { tid = 5, pid = 5, comm = "five" } }, samples = list })
      local line = "%s script -i %s scripts/examples/pauses.lua %s"
      assert.equal("2 pauses\n    38.0 ms  five (5)  from [unknown] to [unknown]\n"
         .. "    19.0 ms  five (5)  from [unknown] to [unknown]\n", (c.sh(line:format(program, file, ""))))
      assert.truthy((c.sh(line:format(program, file, "30"))):find("^1 pauses\n"))
   end)

   it("flamegraph.lua draws a command, or a lab", function()
      local picture = scratch .. "/flame.svg"
      output(("flamegraph.lua %s %s 200"):format(picture, inlined))
      assert.truthy(read(picture):find(">outer<", 1, true))
      -- The script runs in a folder outside the sources, as installed examples do.
      local out, status = c.sh(("example=$PWD/scripts/examples/flamegraph.lua && cd / && %s $example %s 2>&1"):format(
         program, picture))
      assert.equal(0, status, out)
      assert.truthy(read(picture):find("sim_cursor_move", 1, true))
   end)

   it("cpus.lua draws all CPUs", function()
      local out = output(("cpus.lua 0.5 %s/cpus.svg"):format(scratch))
      assert.truthy(out:find("^all CPUs: cpu%-clock, CPUs busy[^\n]*\n"), out)
      assert.truthy(read(scratch .. "/cpus.svg"):find("<svg", 1, true))
   end)

   it("cpus.lua names programs that begin while it measures", function()
      local out, status = c.sh(([[while :; do %s 0.02 1 >%s/shares.out; done & trap "kill $!" EXIT
         %s scripts/examples/cpus.lua 2]]):format(c.target("shares"), scratch, program))
      assert.equal(0, status, out)
      local named, nameless = out:find("\n *shares "), out:find("\n *%? ")
      assert.truthy(named and (not nameless or named < nameless), out)
   end)

   it("misses.lua samples a simulated program: three misses here for one there", function()
      assert.truthy(output("misses.lua"):find("^samples of L2 misses\n0x1000 [^\n]* 147\n0x1020 [^\n]* 428\n$"))
   end)
end)

-- --- documents -----------------------------------------------------------------------------------

local write = files.write

-- Checks that the paths in a text that begin with a folder of the sources exist.
local function check_paths(text, where)
   for path in text:gmatch("%f[%w]([%w_]+/[%w_./-]*%w)%f[^%w_/.]") do
      local first = path:match("^%w+")
      if first == "spec" or first == "scripts" or first == "kernel" or first == "repl" then
         local found = io.open(path) or io.open((path:gsub("/$", "")))
         assert(found, where .. ": " .. path):close()
      end
   end
end

-- Checks that a command line of lpfm names a command that exists, and options of this command.
local function check_command(line, where)
   local name, rest = line:match("lpfm (%a+)(.*)")
   if name == "help" then return end
   assert.truthy(commands.rows[name], where .. ": " .. line)
   local known = commands.module(name).options().known
   local own = (rest:gsub(" %-%- .*", ""):gsub("  .*", ""):gsub("'[^']*'", "X"))
   for flag in own:gmatch("%s(%-%-?%a[%w-]*)") do
      local cluster = flag:match("^%-%a%a")
      assert.truthy(known[flag] or cluster and known[flag:sub(1, 2)], where .. ": " .. flag .. " in " .. line)
   end
end

describe("the README", function()
   local text = read("README.md")

   local function block_after(title)
      return assert(text:match("\n## " .. title .. "[^\n]*\n.-```%a*\n(.-)```"), title)
   end

   it("can be read in five minutes", function()
      assert.is_true(select(2, text:gsub("\n", "")) <= 120)
   end)

   it("names only files, commands and options that there are", function()
      check_paths(text, "README.md")
      local n = 0
      for line in text:gmatch("build/(lpfm %l[^\n]*)") do
         if not line:find("^lpfm/") then
            check_command((line:gsub("  +#.*", "")), "README.md")
            n = n + 1
         end
      end
      assert.is_true(n >= 14)
   end)

   it("has ten commands that can be pasted into a shell", function()
      local lines, n = {}, 0
      for line in block_after("Five minutes"):gmatch("%$ ([^\n]+)") do lines[#lines + 1] = line end
      for line in block_after("Ten commands"):gmatch("[^\n]+") do
         lines[#lines + 1], n = line, n + 1
      end
      assert.equal(10, n)
      local here = c.sh("pwd"):gsub("\n", "")
      local absolute = program:sub(1, 1) == "/" and program or here .. "/" .. program
      write(scratch .. "/pasted.sh", table.concat(lines, "\n") .. "\n")
      local out, status = c.sh(([[cd %s && mkdir -p build && ln -sfn %s/spec spec && ln -sf %s build/lpfm || exit
      { echo "trap 'echo FAILED: \"\$BASH_COMMAND\"' ERR"; cat pasted.sh; } | bash]]):format(scratch, here, absolute))
      assert.equal(0, status, out)
      assert.is_nil(out:find("FAILED", 1, true), out)
      for _, words in ipairs { "page%-faults", "heavy in [^\n]*shares", "<0.0001", "task%-clock", "from%-c" } do
         assert.truthy(out:find(words), words .. " not in " .. out)
      end
      assert.truthy(read(scratch .. "/build/page.html"):find("<html", 1, true))
      assert.truthy(read(scratch .. "/build/out.svg"):find(">heavy<", 1, true))
   end)

   it("has a script that prints what it says, from a file and pasted line by line", function()
      local script = block_after("A script")
      local like = script:match("%-%-> ([^\n]+)"):gsub("%p", "%%%0"):gsub("%d+", "%%d+")
      write(scratch .. "/script.lua", script)
      for _, line in ipairs { "%s %s/script.lua", "LPFM_INIT= %s < %s/script.lua" } do
         local out, status = c.sh(line:format(program, scratch))
         assert.equal(0, status, out)
         assert.equal(3, select(2, ("\n" .. out):gsub("\n" .. like .. "%f[\n]", "")), out)
      end
   end)
end)

describe("a topic of help", function()
   it("is listed, has a title, and is shown in a shell", function()
      local list = c.sh(program .. " help topics")
      for name in pairs(topics.pages) do
         assert.truthy(topics.titles[name], name)
         assert.truthy(list:gsub(" +", " "):find(("\n %s %s"):format(name, topics.titles[name]), 1, true), name)
      end
      assert.equal(#topics.names, select(2, list:gsub("\n   ", "")))
      assert.truthy(c.sh(program .. " help where"):find("An expression about an overflow", 1, true))
      local out, status = c.sh(program .. " help wheer")
      assert.equal(2, status)
      assert.truthy(out:find("no command and no topic is called 'wheer'; did you mean 'where'?", 1, true), out)
   end)

   it("names only files, commands and options that there are", function()
      local n = 0
      for name, page in pairs(topics.pages) do
         check_paths(page, name)
         for line in ("\n" .. page):gmatch("\n   (lpfm %l[^\n]*)") do
            check_command(line, name)
            n = n + 1
         end
      end
      assert.is_true(n > 50)
   end)

   it("has Lua that runs, block after block", function()
      local blocks = 0
      for _, name in ipairs(topics.names) do
         local code = { name == "ffi" and "if not jit then return end" or "" }
         for block in (topics.pages[name] .. "\n\n"):gmatch("(.-)\n\n+") do
            if block:find("^   local ") or block:find("^   assert%(lpfm") then
               code[#code + 1], blocks = "do\n" .. block:gsub("local lpfm = ", "lpfm = ") .. "\nend", blocks + 1
            end
         end
         local out, status = c.sh(program .. " " .. write(scratch .. "/topic.lua", table.concat(code, "\n")))
         assert.equal(0, status, name .. ": " .. out)
         if name == "formats" or name == "sampling" then assert.truthy(out:find("^0x%x+%s+%d+"), out) end
      end
      assert.is_true(blocks >= 8)
   end)
end)
