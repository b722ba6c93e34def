-- SPDX-License-Identifier: MIT
-- Tasks of labs, tried with scripts that come near: each does what students do wrong, or what looks
-- right and is not. One interpreter: the subject is programs as processes, which the judge starts.

local c = require "support.c"
local lpfm = require "lpfm"
local catalog = require "repl.lab.catalog"
local effort = require "support.effort"
local judge = require "repl.lab.judge"
local session = require "repl.lab.session"
local validate = require "repl.lab.validate"

local machine

setup(function()
   machine = lpfm.machine().name
   judge.limit = 600 -- s for each script, so that none fails because the computer is busy
end)
teardown(function() assert(lpfm.machine(machine)) end)

-- Judges scripts as solutions of a task; returns the verdicts, by the scripts' names, and the page.
local function verdicts(lab_name, id, sources)
   local lab = assert(catalog.find(lab_name))
   local s = session.new(lab)
   for i, page in ipairs(lab.pages) do
      if page.task == id then
         s:run_up_to(i)
         local out, names, list = {}, {}, {}
         for name, source in pairs(sources) do names[#names + 1], list[#list + 1] = name, source end
         for k, verdict in ipairs(assert(judge.scripts(s, page, list))) do out[names[k]] = verdict end
         return out, page
      end
   end
   error(("lab %s has no task '%s'"):format(lab_name, id))
end

-- Checks that none of the scripts solves the task, and that each verdict says what is wrong.
local function refuses(lab_name, id, sources, reasons)
   for name, verdict in pairs(verdicts(lab_name, id, sources)) do
      assert.is_false(verdict.right, name)
      assert.truthy(verdict.say:find(reasons[name] or "%w"), name .. ": " .. verdict.say)
   end
end

-- make check tries some of the labs, make check-all each.
local labs = catalog.all()
local step = math.floor(#labs / effort(#labs))
for i = 1, #labs, step do
   local lab = labs[i]
   describe("lab " .. lab.name, function()
      it("is whole with the parameters that a seed chooses", function()
         if c.missing(lab.needs) then return pending(c.missing(lab.needs) .. " is missing") end
         local drawn = session.draw(lab, "anna")
         assert.same({}, validate.lab(lab, drawn), session.list_parameters(drawn))
      end)
   end)
end

describe("lab waiting: off-cpu", function()
   local LOOP = [[
return function(list)
   local waits, left = {}, {}
   for _, s in ipairs(list) do
      local key = %s
      local before = left[key]
      if s.what == "in" and before then waits[before.stack] = %s end
      left[key] = %s or nil
   end
   return waits
end]]
   local ADD, WAITS = "(waits[before.stack] or 0) + s.time - before.time", 's.what == "out" and s'

   it("wants the waits of each thread, added up", function()
      refuses("waiting", "off-cpu", {
         ["one variable for all threads"] = LOOP:format("1", ADD, WAITS),
         ["the last wait alone"] = LOOP:format("s.tid", "s.time - before.time", WAITS),
         ["counts in place of times"] = LOOP:format("s.tid", "(waits[before.stack] or 0) + 1", WAITS),
         ["ms in place of ns"] = LOOP:format("s.tid", "(" .. ADD .. ") / 1e6", WAITS),
         ["preemptions, too"] = LOOP:format("s.tid", ADD, 's.what ~= "in" and s'),
         ["preemptions alone"] = LOOP:format("s.tid", ADD, 's.what == "preempted" and s'),
         ["a wait that a preemption begins again"] = LOOP:format("s.tid", ADD, 's.what == "out" and s or before'),
         ["what is not over at the end"] = LOOP:format("s.tid", ADD, WAITS):gsub("return waits", [[
   for _, s in pairs(left) do waits[s.stack] = (waits[s.stack] or 0) + list[#list].time - s.time end
   return waits]]),
      }, { ["counts in place of times"] = "waited in main;%w+ for %d+ ns; the function says %d+" })
   end)

   it("takes another way of writing it", function()
      local all = verdicts("waiting", "off-cpu", { again = [[
return function(list)
   local out = {}
   for i, s in ipairs(list) do
      if s.what == "out" then
         for k = i + 1, #list do
            if list[k].tid == s.tid then
               out[s.stack] = (out[s.stack] or 0) + list[k].time - s.time
               break
            end
         end
      end
   end
   return out
end]] })
      assert.is_true(all.again.right, all.again.say)
   end)
end)

describe("lab statistics: plan", function()
   local PLAN = [[
local statistics = require "pfm.statistics"
return function(values, percent)
   local mean, of_mean = statistics.mean(values)
   local half = 100 * statistics.interval(values) / mean
   return %s
end]]

   it("wants the runs that the interval takes, not fewer and not many more", function()
      refuses("statistics", "plan", {
         ["as many more as it is to be narrower"] = PLAN:format "math.ceil(#values * half / percent)",
         ["as many as before"] = PLAN:format "#values",
         ["very many"] = PLAN:format "100000",
         ["four times"] = PLAN:format "math.ceil(#values * (half / percent) ^ 2 * 4)",
         ["a quarter"] = PLAN:format "math.ceil(#values * (half / percent) ^ 2 / 4)",
         ["the deviation of the mean, not of a run"] = PLAN:format "math.ceil((200 * of_mean / mean / percent) ^ 2)",
         ["no number"] = PLAN:format "0 / 0",
      }, { ["very many"] = "It says 100,000 runs" })
   end)

   it("takes the square of how much narrower it is to be", function()
      local all = verdicts("statistics", "plan", { square = PLAN:format "math.ceil(#values * (half / percent) ^ 2)" })
      assert.is_true(all.square.right, all.square.say)
   end)
end)

describe("lab statistics: compare", function()
   -- A format of scripts. Its arguments are the number of runs of each program, and the condition
   -- on which the script returns "same".
   local COMPARE = [[
local statistics = require "pfm.statistics"
return function(first, second)
   local a, b = {}, {}
   for i = 1, %d do a[i], b[i] = first(), second() end
   local x, y = statistics.mean(a), statistics.mean(b)
   if %s then return "same" end
   return x < y and "first" or "second"
end]]

   it("wants a test with enough runs", function()
      refuses("statistics", "compare", {
         ["one run of each"] = COMPARE:format(1, "false"),
         ["the means, without a test"] = COMPARE:format(30, "x == y"),
         ["three runs"] = COMPARE:format(3, "statistics.means(a, b) > 0.05"),
         ["ten runs"] = COMPARE:format(10, "statistics.means(a, b) > 0.05"),
         ["a threshold of a percent"] = COMPARE:format(30, "math.abs(x - y) < 0.01 * x"),
         ["a threshold that misses most"] = COMPARE:format(30, "math.abs(x - y) < 0.03 * x"),
         ["a threshold that finds too much"] = COMPARE:format(30, "math.abs(x - y) < 0.001 * x"),
         ["always the same"] = COMPARE:format(1, "true"),
         ["at random"] = [[local n = 0
            return function() n = n + 1 return ({ "same", "first", "second" })[n % 3 + 1] end]],
         ["more runs than there are"] = COMPARE:format(31, "statistics.means(a, b) > 0.02"),
         ["another word"] = [[return function() return "equal" end]],
      }, { ["more runs than there are"] = "more than 30 runs of a program",
         ["another word"] = "not equal" })
   end)

   local function warm(left_out, level)
      return ([[
local statistics = require "pfm.statistics"
local function series(run)
   local out = {}
   for _ = 1, %d do run() end
   for i = 1, 30 - %d do out[i] = run() end
   return out
end
return function(first, second)
   local a, b = series(first), series(second)
   if statistics.means(a, b) > %g then return "same" end
   return statistics.mean(a) < statistics.mean(b) and "first" or "second"
end]]):format(left_out, left_out, level)
   end

   it("takes warm runs in two series, compared by a test", function()
      local all = verdicts("statistics", "compare", { ["three left out"] = warm(3, 0.02), ["one"] = warm(1, 0.02),
         ["of 5 %"] = warm(3, 0.05), ["of 1 %"] = warm(3, 0.01) })
      for name, verdict in pairs(all) do assert.is_true(verdict.right, name .. ": " .. verdict.say) end
   end)

   it("gives the same verdict on the same script each time", function()
      local source = warm(3, 0.05)
      local all = verdicts("statistics", "compare", { first = source, second = source, third = source })
      assert.same({ all.first.say, all.first.say }, { all.second.say, all.third.say })
   end)
end)

describe("lab faster", function()
   local function c_it(name, fn)
      it(name, function()
         local missing = c.missing(assert(catalog.find "faster").needs)
         if missing then return pending(missing .. " is missing") end
         fn()
      end)
   end

   -- Returns scripts that return the C sources in `list`.
   local function sources(list)
      local out = {}
      for name, source in pairs(list) do out[name] = "return [==[" .. source .. "]==]" end
      return out
   end

   local MULTIPLY = "void multiply(long *c, const long *a, const long *b) { %s }"
   local TILES = [[for (int i = 0; i < 48 * 48; i++) c[i] = 0;
      for (int i0 = 0; i0 < 48; i0 += 8) for (int j0 = 0; j0 < 48; j0 += 8) for (int k0 = 0; k0 < %d; k0 += 8)
         for (int i = i0; i < i0 + 8; i++) for (int k = k0; k < k0 + 8; k++) for (int j = j0; j < j0 + 8; j++)
            c[i * 48 + j] += a[i * 48 + k] * b[k * 48 + j]; ]]

   c_it("wants tiles that compute all of the product, and no way around the count", function()
      refuses("faster", "tile", sources {
         ["nothing"] = MULTIPLY:format "",
         ["all but the last tiles"] = MULTIPLY:format(TILES:format(40)),
         ["sums that begin with what was there"] = MULTIPLY:format(TILES:format(48):gsub("^[^;]+;[^;]+;[^;]+;", "")),
         ["a crash"] = MULTIPLY:format "*(volatile int *)8 = 1;",
         ["another function"] = "void divide(long *c) { }",
         ["a header"] = "#include <unistd.h>\n" .. MULTIPLY:format(TILES:format(48)),
         ["a header, by a digraph"] = "%:include <unistd.h>\n" .. MULTIPLY:format(TILES:format(48)),
         ["a macro"] = "#define called 0\n" .. MULTIPLY:format(TILES:format(48)),
         ["a macro behind a comment"] = "/* */ #define called 0\n" .. MULTIPLY:format(TILES:format(48)),
         ["a macro behind a long comment"] = "/*\n*/ #define called 0\n" .. MULTIPLY:format(TILES:format(48)),
         ["a system call"] = MULTIPLY:format [[__asm__ volatile("syscall" : : "a"(57));]],
         ["a pasted word"] = "_Pragma(\"GCC unroll 4\")" .. MULTIPLY:format "",
         ["a library"] = "int fork(void); " .. MULTIPLY:format "fork();",
         ["an end that it makes itself"] = MULTIPLY:format "__builtin_trap();",
         ["a brace left open"] = "void multiply(long *c, const long *a, const long *b) {",
      }, { ["nothing"] = "result is not right", ["a crash"] = "ended with signal 11", ["a header"] = "may begin",
         ["a system call"] = "'asm'", ["another function"] = "multiply", ["a library"] = "undefined reference to" })
   end)

   c_it("takes tiles of other shapes", function()
      local all = verdicts("faster", "tile", sources { square = MULTIPLY:format(TILES:format(48)),
         wide = MULTIPLY:format [[for (int i = 0; i < 48 * 48; i++) c[i] = 0;
            for (int k0 = 0; k0 < 48; k0 += 12) for (int j0 = 0; j0 < 48; j0 += 16)
               for (int i = 0; i < 48; i++) for (int k = k0; k < k0 + 12; k++) for (int j = j0; j < j0 + 16; j++)
                  c[i * 48 + j] += a[i * 48 + k] * b[k * 48 + j];]] })
      for name, verdict in pairs(all) do assert.is_true(verdict.right, name .. ": " .. verdict.say) end
   end)

   c_it("wants a structure that keeps every value", function()
      refuses("faster", "pack", sources {
         ["as it was"] = "struct star { char kind; double mass; char near; long id; short links; };",
         ["in another order"] = "struct star { double mass; long id; short links; char kind, near; };",
         ["masses of a byte"] = "struct star { unsigned char kind, near, mass; short links; int id; };",
         ["signed masses of two bytes"] = "struct star { short mass, links; int id; char kind, near; };",
         ["ids of sixteen bits"] = "struct star { unsigned short mass, links, id; char kind, near; };",
         ["a part that is missing"] = "struct star { unsigned short mass, links; char kind, near; };",
      }, { ["as it was"] = "misses; at most", ["masses of a byte"] = "result is not right" })
   end)

   c_it("takes floats and bytes of half the size", function()
      local all = verdicts("faster", "pack", sources { floats = [[struct star { float mass; int id; short links;
         char kind, near; };]] })
      assert.is_true(all.floats.right, all.floats.say)
   end)

   c_it("wants vectors that count the last numbers, too", function()
      local LESS = "int less(const int *v, int n, int limit) { int count = 0; %s return count; }"
      local FOUR = "typedef int four __attribute__((vector_size(16), aligned(4), may_alias));"
      refuses("faster", "vector", sources {
         ["a loop"] = LESS:format "for (int i = 0; i < n; i++) count += v[i] < limit;",
         ["whole vectors alone"] = FOUR .. LESS:format [[four l = { limit, limit, limit, limit }, s = { 0 };
            for (int i = 0; i + 4 <= n; i += 4) s -= *(const four *)(v + i) < l; count = s[0] + s[1] + s[2] + s[3];]],
         ["a guess"] = LESS:format "count = n * limit / 1000;",
         ["every fourth"] = LESS:format "for (int i = 0; i < n; i += 4) count += v[i] < limit; count *= 4;",
         ["the limit, too"] = FOUR .. LESS:format [[four l = { limit, limit, limit, limit }, s = { 0 }; int i = 0;
            for (; i + 4 <= n; i += 4) s -= *(const four *)(v + i) <= l; count = s[0] + s[1] + s[2] + s[3];
            for (; i < n; i++) count += v[i] <= limit;]],
         ["all but the first"] = FOUR .. LESS:format [[four l = { limit, limit, limit, limit }, s = { 0 }; int i = 1;
            for (; i + 4 <= n; i += 4) s -= *(const four *)(v + i) < l; count = s[0] + s[1] + s[2] + s[3];
            for (; i < n; i++) count += v[i] < limit;]],
      }, { ["a loop"] = "instructions; at most", ["whole vectors alone"] = "result is not right" })
   end)
end)

describe("lab topdown: split", function()
   local SPLIT = [[
return function(c)
   local bad, frontend, cycles = %s, %s, %s
   local out = { retiring = c.instructions, bad = bad, frontend = frontend, backend = %s }
   for kind, value in pairs(out) do out[kind] = %s * value / cycles end
   return out
end]]
   local REST = "c.cycles - c.instructions - bad - frontend"

   it("wants the price of each cause, and of all cycles", function()
      refuses("topdown", "split", {
         ["shares, not percent"] = SPLIT:format("11 * c.branch_misses", "12 * c.l1i_misses", "c.cycles", REST, "1"),
         ["misses for cycles"] = SPLIT:format("c.branch_misses", "c.l1i_misses", "c.cycles", REST, "100"),
         ["the price of memory"] = SPLIT:format("11 * c.branch_misses", "150 * c.l1i_misses", "c.cycles", REST, "100"),
         ["the price with the branch itself"] = SPLIT:format("12 * c.branch_misses", "12 * c.l1i_misses", "c.cycles",
            REST, "100"),
         ["no front end"] = SPLIT:format("11 * c.branch_misses", "0", "c.cycles", REST, "100"),
         ["of what is lost alone"] = SPLIT:format("11 * c.branch_misses", "12 * c.l1i_misses",
            "(c.cycles - c.instructions)", REST, "100"),
         ["kinds exchanged"] = SPLIT:format("12 * c.l1i_misses", "11 * c.branch_misses", "c.cycles", REST, "100"),
         ["no back end"] = SPLIT:format("11 * c.branch_misses", "12 * c.l1i_misses", "c.cycles", "0", "100"),
         ["no kinds"] = "return function() return { 25, 25, 25, 25 } end",
         ["nothing known"] = SPLIT:format("0 / 0", "0 / 0", "c.cycles", REST, "100"),
         ["a quarter each"] = [[return function()
            return { retiring = 25, bad = 25, frontend = 25, backend = 25 } end]],
      }, { ["a quarter each"] = "%%, and not 25 %%" })
   end)

   it("takes the prices as they were measured", function()
      local all = verdicts("topdown", "split", { measured = SPLIT:format("11 * c.branch_misses", "12 * c.l1i_misses",
         "c.cycles", REST, "100") })
      assert.is_true(all.measured.right, all.measured.say)
   end)
end)
