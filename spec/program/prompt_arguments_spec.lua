-- SPDX-License-Identifier: MIT
-- Whatever a person gives to the prompt's functions: an answer or a plain message, no traceback of
-- the program's own.

local c = require "support.c"
local files = require "support.files"

local program = c.program
local scratch = c.folder()

-- Returns what the prompt prints for lines.
local function typed(lines)
   files.write(scratch .. "/lines", lines .. "\n")
   return (c.sh(("cd %s && timeout 600 %s <lines"):format(scratch, program)))
end

local function run(line)
   return c.sh(("cd %s && %s %s"):format(scratch, program, line))
end

setup(function()
   assert(select(2, run("record -e page-faults -c 1 -o hot.data -- true")) == 0)
   assert(select(2, run("record -e page-faults -c 1 -- true")) == 0)
end)

describe("a function of the prompt", function()
   it("says what it expects, and how it is called", function()
      for line, words in pairs {
         ["plot{kind='time'}"] = 'expected a figure, got a table: plot("time", "lpfm.data")',
         ["plot('nope')"] = "there is no figure 'nope'", ["cascade('page-faults:1000')"] = "expected stages",
         ["bias()"] = "got nothing: bias(", ["export()"] = "got nothing: export(",
         ["annotate(1)"] = "got a number: annotate(", ["report{sotr='symbol'}"] = "did you mean 'sort'?",
         ["list(5)"] = "got a number: list(", ["diff(1)"] = "got a number: diff(",
         ["record(true)"] = "got a boolean: record(",
         ["list('nosuch')"] = "nothing matches 'nosuch'", ["list('c', 'nope')"] = "unknown PMU model 'nope'",
         ["stat('true', 5)"] = "argument 2: expected a list of events, got a number: stat(",
         ["job('true', 'cs', {})"] = "argument 3: expected metric groups, got a table: job(",
         ["stat{}"] = "nothing to measure", ["stat{cpus={}}"] = "not empty", ["job()"] = "job: expected",
         ["session()"] = "job: expected",
         ["job(5)"] = "job: expected a command line or a table, got a number: job(",
         ["c = lpfm.create{fromat=1}"] = "did you mean 'format'?",
      } do
         local out = typed(line)
         assert.truthy(out:find(words, 1, true), line .. ": " .. out)
         assert.falsy(out:find("traceback") or out:find("%.lua:%d"), line .. ": " .. out)
      end
   end)

   it("shows no insides, whatever it gets", function()
      local values = { "nil", "1", "'x'", "{}", "{1}", "{command=1}", "true", "print" }
      local lines = {}
      for _, name in ipairs { "plot", "cascade", "bias", "export", "annotate", "report", "list", "diff", "watch",
         "show", "jobs", "help" } do
         for _, value in ipairs(values) do
            lines[#lines + 1] = ("%s(%s)"):format(name, value)
            lines[#lines + 1] = ("%s('hot.data', %s)"):format(name, value)
         end
      end
      local out = typed(table.concat(lines, "\n"))
      assert.falsy(out:find("traceback") or out:find("%.lua:%d"), out)
   end)

   it("takes a recording's name where a figure could be", function()
      assert.truthy(typed("plot('hot.data')"):find("page-faults", 1, true))
   end)
end)

describe("a method that is called with a dot", function()
   it("is named as it was typed, whatever its object", function()
      local lines, wanted = {}, {}
      local function try(make, object, methods)
         if make then lines[#lines + 1] = make end
         for method in methods:gmatch("%S+") do
            for _, call in ipairs { "%s.%s{66}", "local _ = %s.%s()", "x = 1; %s.%s(7)", "return %s.%s{}" } do
               lines[#lines + 1] = "print('--') " .. call:format(object, method)
               if call:find("^return") then lines[#lines] = call:format(object, method) end
               wanted[#wanted + 1] = "\n" .. method .. ": "
            end
         end
      end
      try("c = lpfm.create { format = 'default' }", "c", "read_pmds write_pmds write_pmcs load unload start "
         .. "stop restart read close fd buffer getinfo_evtsets create_evtsets delete_evtsets")
      try("u = lpfm.u64(5)", "u", "band hex signed tonumber lshift compare")
      try("b = c:buffer()", "b", "header samples count_by")
      try("r = recording.open 'hot.data'", "r", "warnings each_block has_stacks sizes programs")
      local out, at = "\n" .. typed(table.concat(lines, "\n")), 1
      for i, want in ipairs(wanted) do
         local from, to = out:find(want, at, true)
         assert.truthy(from, ("%d: %s is not named in: %s"):format(i, want, out:sub(at, at + 300)))
         at = to
      end
      assert.is_nil(out:find("'fn'", 1, true) or out:find("'?'", 1, true), out)
   end)

   it("keeps the values and names of what is typed", function()
      local out = typed("1, nil, 3\n=2 + 2 -- said\nreturn 5;\nx = 6; x, x\nlocal y = 7; y\nstring.rep()\nnil")
      assert.equal("1\tnil\t3\n4\n5\n6\t6\n7\nbad argument #1 to 'rep' (string expected, got no value)\n"
         .. "   string.rep()\n          ^\n", (out:gsub("nil\n$", "")))
   end)
end)

describe("a list of CPUs", function()
   it("is refused where a range is reversed", function()
      for _, command in ipairs { "stat", "record" } do
         local out, status = run(command .. " -C 1-0 --timeout 1")
         assert.equal(2, status)
         assert.truthy(out:find("--cpu: the range '1-0' is reversed: expected 0-1", 1, true), out)
      end
   end)
end)

describe("start", function()
   it("tells why the context is not loaded", function()
      local out = typed("c = lpfm.create()\nc:write_pmcs{{num=65, value=9}}\nc:load(4194303); c:start()")
      assert.truthy(out:find("the context is not loaded (load: there is no thread 4194303)", 1, true), out)
   end)
end)

describe("plot", function()
   it("names the figures where one is unknown", function()
      for _, line in ipairs { "plot pie", "plot pie hot.data" } do
         local out, status = run(line)
         assert.equal(2, status)
         assert.truthy(out:find("there is no figure 'pie' (figures: bars, heat, histogram, ranks, time)", 1, true), out)
      end
   end)
end)
