-- SPDX-License-Identifier: MIT
-- Samples are named by what was mapped at their time: libraries that lie at one address in turn,
-- before and after forks and execs, as records and /proc tell of them.

local c = require "support.c"
local files = require "support.files"
local recording = require "pfm.recording"
local samples = require "pfm.recording.samples"
local block = require("support.samples").block

local PAGE = 4096
local root = c.folder()
local program = (os.getenv("LPFM_BUILD") or "build") .. "/lpfm"

describe("the number of a process that is used again", function()
   -- Checks programs that run one after the other, `booted` ns after the computer began.
   local function stands(booted)
      local list, prog = {}, {}
      for i, name in ipairs { "spA", "spB", "spC" } do
         local from = booted + i * 1000
         for _, row in ipairs { { "FORK", from, 7, 7, 1, 1 }, { "EXEC", from + 2, 7, 7, name },
            { "MAP", from + 4, 7, 7, 0x400000, 0x410000, 0, "/nowhere/" .. name }, { "EXIT", from + 900, 7, 7 } } do
            prog[#prog + 1] = row
         end
         for k = 1, 10 * i do list[#list + 1] = { tid = 7, pid = 7, ip = 0x400100, tstamp = from + 100 + 2 * k } end
      end
      local path = root .. "/again"
      local w = assert(recording.create(path, { events = { { name = "cpu-clock", pmd = 65, period = 1 } },
         clock = { seconds = 0, ns = 0, samples = booted } }))
      w:json("MAPS", { pid = 8, time = booted, maps = { { 4096, 8192, 0, "/nowhere/spD" } } })
      w:json("COMM", { { tid = 8, pid = 8, comm = "spD", time = booted } })
      w:json("PROG", prog)
      list[#list + 1] = { tid = 8, pid = 8, ip = 5000, tstamp = booted + 5000 }
      w:block(block(list), #list)
      w:close { lost = 0, full = 0, missed = 0 }
      local self = assert(recording.open(path))
      assert.same({}, self:warnings())
      local rows, times = {}, {}
      for _, row in ipairs(require("pfm.analyze").by(self, "comm,object").rows) do
         rows[#rows + 1] = table.concat(row.cells, " ") .. " " .. row.samples
      end
      table.sort(rows)
      assert.same({ "spA spA 10", "spB spB 20", "spC spC 30", "spD spD 1" }, rows)
      for s in samples.each(self) do times[#times + 1] = s.time end
      assert.equal((booted + 1102) / 1e9, times[1])
      assert.equal((booted + 5000) / 1e9, times[61])
   end

   it("stands for each program in its time", function() stands(0) end)

   -- a Lua number holds 2^53 ns, 104 days, exactly
   it("does so on a computer that has run for 116 days, and for years", function()
      stands(1e16)
      stands(1e18)
   end)
end)

-- Returns where each sample lies, in the order of time: "path offset".
local function places(fields)
   local out = {}
   fields.head = { events = { { name = "cpu-clock", pmd = 65 } } }
   for s in samples.each(recording.of(fields)) do
      local known = s.where.object:find("^/")
      out[#out + 1] = known and s.where.object .. " " .. s.where.offset or s.where.object
   end
   return out
end

local function assert_places(expected, fields)
   assert.same(table.concat(expected, "\n"), table.concat(places(fields), "\n"))
end

-- A model of what is mapped, page by page, with which the records are compared.
local machine = {}
machine.__index = machine

function machine:map(pid, first, pages, path, offset)
   self[pid] = self[pid] or {}
   for i = 0, pages - 1 do self[pid][first + i] = { path = path, offset = (offset + i) * PAGE } end
end

function machine:place(pid, address)
   local page = self[pid] and self[pid][math.floor(address / PAGE)]
   return page and ("%s %d"):format(page.path, page.offset + address % PAGE) or "[unknown]"
end

function machine:fork(pid, from)
   self[pid] = {}
   for page, what in pairs(self[from] or {}) do self[pid][page] = what end
end

describe("mappings that are recorded", function()
   -- Returns records and samples at random, and what each sample should be in.
   local function draw(steps)
      local its, records, list, expected = setmetatable({}, machine), {}, {}, {}
      for t = 1, steps do
         local pid, kind = math.random(3), math.random(20)
         local first, pages = math.random(12), math.random(4)
         if kind <= 6 then
            local path, offset = ("/nowhere/lib%d"):format(math.random(4)), math.random(0, 2)
            its:map(pid, first, pages, path, offset)
            records[#records + 1] = { "MAP", t, pid, pid, first * PAGE, (first + pages) * PAGE, offset * PAGE, path }
         elseif kind == 7 then
            its[pid] = nil
            records[#records + 1] = { "EXEC", t, pid, pid, "prog" }
         elseif kind == 8 then
            local from = pid % 3 + 1
            its:fork(pid, from)
            records[#records + 1] = { "FORK", t, pid, pid, from, from }
         else
            local ip = first * PAGE + math.random(0, PAGE - 1)
            list[#list + 1] = { tid = pid, pid = pid, ip = ip, tstamp = t }
            expected[#expected + 1] = its:place(pid, ip)
         end
      end
      return { records = records, blocks = { block(list) } }, expected
   end

   it("hold from their record on, until others take their place, as in a model of single pages", function()
      for _ = 1, 60 do
         local fields, expected = draw(math.random(300))
         assert_places(expected, fields)
      end
   end)

   it("hold in whatever order buffers were emptied", function()
      for _ = 1, 20 do
         local fields, expected = draw(200)
         for i = #fields.records, 2, -1 do
            local k = math.random(i)
            fields.records[i], fields.records[k] = fields.records[k], fields.records[i]
         end
         assert_places(expected, fields)
      end
   end)

   it("of code that was made and of files are told apart", function()
      assert_places({ "[unknown]", "/nowhere/a 16", "//anon 16", "/nowhere/a 16" }, { records = {
         { "MAP", 10, 1, 1, PAGE, 2 * PAGE, 0, "/nowhere/a" }, { "MAP", 20, 1, 1, PAGE, 2 * PAGE, 0, "//anon" },
         { "MAP", 30, 1, 1, PAGE, 2 * PAGE, 0, "/nowhere/a" },
      }, blocks = { block { { tid = 1, ip = PAGE + 16, tstamp = 9 }, { tid = 1, ip = PAGE + 16, tstamp = 10 },
         { tid = 1, ip = PAGE + 16, tstamp = 29 }, { tid = 1, ip = PAGE + 16, tstamp = 31 } } } })
   end)
end)

describe("mappings that /proc told", function()
   -- Returns looks at /proc, samples and their places; a changed page is unknown until a look.
   local function draw(changes)
      local its, maps, list, expected = setmetatable({}, machine), {}, {}, {}
      local pages, t = {}, 0
      for page = 1, 6 do pages[page] = { page * PAGE, (page + 1) * PAGE, 0, "/nowhere/lib0" } end
      local function look(before)
         local copy = {}
         for i, row in ipairs(pages) do
            its:map(7, row[1] / PAGE, 1, row[4], 0)
            copy[i] = row
         end
         maps[#maps + 1] = { pid = 7, maps = copy, time = t, before = before }
      end
      local function sample(n, doubtful)
         for _ = 1, math.random(n) do
            t = t + 1
            local ip = math.random(6) * PAGE + math.random(0, PAGE - 1)
            list[#list + 1] = { tid = 7, ip = ip, tstamp = t }
            expected[#expected + 1] = doubtful == math.floor(ip / PAGE) and "[unknown]" or its:place(7, ip)
         end
      end
      look()
      for i = 1, changes do
         sample(9)
         local before, page = t, math.random(6)
         pages[page] = { page * PAGE, (page + 1) * PAGE, 0, "/nowhere/lib" .. i }
         sample(9, page)
         t = t + 1
         look(before)
      end
      sample(9)
      return { maps = maps, blocks = { block(list) } }, expected
   end

   it("hold between two looks that agree; between others it is said that it is not known", function()
      for _ = 1, 30 do
         local fields, expected = draw(math.random(20))
         assert_places(expected, fields)
      end
   end)

   it("hold before the first look, too", function()
      assert_places({ "/nowhere/a 16", "/nowhere/a 16" }, {
         maps = { { pid = 1, time = 50, maps = { { PAGE, 2 * PAGE, 0, "/nowhere/a" } } } },
         blocks = { block { { tid = 1, ip = PAGE + 16, tstamp = 9 }, { tid = 1, ip = PAGE + 16, tstamp = 60 } } } })
   end)
end)

describe("libraries at one address in turn", function()
   local N = 8

   local function must(command) return c.must("export LD_PRELOAD=; " .. command) end

   local plugin = [[
      #include <time.h>
      #include <stdint.h>
      int f%d(void)
      {
         struct timespec t;
         volatile int s = 0;
         do {
            for (int i = 0; i < 100000; i++)
               s += i;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
         } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < %d);
         return s;
      }
   ]]

   -- Loads each library, runs it and unloads it; prints where it lay, and from when to when it ran.
   local loader = [[
      #include <dlfcn.h>
      #include <stdio.h>
      #include <time.h>
      static double now(void)
      {
         struct timespec t;
         clock_gettime(CLOCK_MONOTONIC, &t);
         return t.tv_sec + t.tv_nsec / 1e9;
      }
      int main(int argc, char **argv)
      {
         for (int i = 1; i < argc; i++) {
            void *lib = dlopen(argv[i], RTLD_NOW);
            char name[16];
            snprintf(name, sizeof(name), "f%d", i);
            int (*f)(void) = (int (*)(void))dlsym(lib, name);
            double from = now();
            f();
            printf("%p %.9f %.9f\n", (void *)f, from, now());
            dlclose(lib);
         }
         return 0;
      }
   ]]

   local function write(name, text) files.write(root .. "/" .. name, text) end

   -- Records the loader; returns where each library lay, and when it ran, as the loader prints.
   local function run(options)
      local paths, ran = {}, {}
      for i = 1, N do
         paths[i] = ("%s/lib%d.so"):format(root, i)
         write("f.c", plugin:format(i, i * 40))
         must(("gcc -O1 -g -shared -fPIC -o %s %s/f.c"):format(paths[i], root))
      end
      write("loader.c", loader)
      must(("gcc -O1 -o %s/loader %s/loader.c"):format(root, root))
      local out = must(("%s record -q %s -o %s/data -- %s/loader %s"):format(program, options, root, root,
         table.concat(paths, " ")))
      for at, from, to in out:gmatch("(0x%x+) ([%d.]+) ([%d.]+)") do
         ran[#ran + 1] = { at = at, from = tonumber(from), to = tonumber(to) }
      end
      return ran
   end

   for _, options in ipairs { "", "-g" } do
      it(("are told apart by 'record %s': each function's samples lie in the time in which it ran"):format(options),
         function()
            local ran, seen, counts = run(options), {}, {}
            assert.equal(N, #ran)
            for s in samples.each(assert(recording.open(root .. "/data"))) do
               local i = tonumber(s.symbol:match("^f(%d+)$"))
               if i then
                  assert.is_true(s.time >= ran[i].from and s.time <= ran[i].to, s.symbol)
                  assert.equal(("%s/lib%d.so"):format(root, i), s.object)
                  counts[i] = (counts[i] or 0) + 1
               end
            end
            for i, one in ipairs(ran) do
               seen[one.at] = true
               assert.is_true((counts[i] or 0) > 0, "samples in f" .. i)
            end
            local places_of = 0
            for _ in pairs(seen) do places_of = places_of + 1 end
            assert.is_true(places_of < N, "the loader reuses addresses")
         end)
   end
end)
