-- SPDX-License-Identifier: MIT
-- Files of perf: report has the numbers of perf report, and script --format perf the lines of perf
-- script. One interpreter: the subject is the program as a process.

local c = require "support.c"

local lpfm = (os.getenv("LPFM_BUILD") or "build") .. "/" .. (os.getenv("LPFM_LUA") or "luajit") .. "/lpfm"
local dir = c.folder()

-- Returns a copy of a program: if another spec replaced the program during the test, it would have
-- no names.
local function target(name)
   local copy = dir .. "/" .. name
   local file = io.open(copy)
   if file then file:close() else c.sh(("cp %s %s"):format(c.target(name), copy)) end
   return copy
end

local function need_perf()
   local out, status = c.sh("perf record -o /dev/null -e cpu-clock true")
   if status ~= 0 then pending("perf cannot record here: " .. out:match("[^\n]*")) end
end

local function command()
   return ("sh -c '%s 0.05 2 >/dev/null; %s 1 2 50 >/dev/null'"):format(target("shares"), target("tree"))
end

local function add(to, key, n, events)
   to[key] = to[key] or { 0, 0 }
   to[key][1], to[key][2] = to[key][1] + n, to[key][2] + events
end

-- Returns an object's name, with one for the kernel and one for all generated code.
local function object_of(name, symbol)
   if symbol:find("^%[k%]") then return "[kernel]" end
   if name:find("^%[JIT%]") or name:find("^//anon") or name:find("memfd") then return "made" end
   return name
end

-- perf 6.1 ends by SIGABRT ("stack smashing detected") in some runs, and then it is started again
local TRIES = 20

-- Returns what perf prints, or nil if a signal ended it each time.
local function perf_prints(line)
   for _ = 1, TRIES do
      local text, status = c.sh(("perf %s 2>/dev/null"):format(line))
      if status < 128 then return text end
   end
end

-- Returns samples and events by event, command and object; those of our programs by function, too.
local function by_perf(file)
   local out, event = {}, nil
   local text = perf_prints(("report -i %s --stdio --stdio-color never -F sample,period,comm,dso,sym -t '|' -g none "
      .. "--no-children --no-group -w 0,0,40"):format(file))
   if not text then return nil end
   for line in text:gmatch("[^\n]+") do
      event = line:match("of events? '(.*)'$") or event
      local n, events, comm, object, symbol = line:match("^%s*(%d+)%s*|%s*(%d+)%s*|%s*(.-)%s*|%s*(.-)%s*|%s*(.-)%s*$")
      if tonumber(n or 0) > 0 then
         add(out, ("%s, %s, %s"):format(event, comm, object_of(object, symbol)), n, events)
         if object == "shares" or object == "tree" then add(out, event .. ", " .. symbol:sub(5), n, events) end
      end
   end
   return out
end

local function by_lpfm(file)
   local out, titles = {}, nil
   local text = c.sh(("%s report -i %s -x '|' -s event,comm,object,symbol 2>/dev/null"):format(lpfm, file))
   for line in text:gmatch("[^\n]+") do
      local cells = {}
      for cell in (line .. "|"):gmatch("([^|]*)|") do cells[#cells + 1] = cell end
      if titles then
         local function cell(name) return cells[titles[name]] end
         local n, events, event, object = cell "samples", cell "events", cell "event", cell "object"
         local made = object == "[generated code]" or object:find("^memfd") or object:find("^//anon")
         if tonumber(n) > 0 then
            add(out, ("%s, %s, %s"):format(event, cell "comm", made and "made" or object), n, events)
            if object == "shares" or object == "tree" then add(out, event .. ", " .. cell "symbol", n, events) end
         end
      else
         titles = {}
         for i, cell in ipairs(cells) do titles[cell] = i end
      end
   end
   return out
end

-- Returns false for the addresses that perf leaves unnamed, and for names that the linker made.
local function is_named(key)
   return not (key:find(", 0x") or key:find(", [[@_]") or key:find("@plt") or key:find(", _"))
end

-- Returns the differences. With -a only our programs are compared, as perf may lack names of other
-- threads; with -C only their functions, as it lacks names of threads made on other CPUs.
local function differences(theirs, own, options)
   local function is_known(key)
      if not is_named(key) then return false end
      if options:find("^%-C") then return not key:find(", .*, ") end
      return not options:find("^%-a") or key:find(", shares") or key:find(", tree")
   end
   local out = {}
   for key, row in pairs(theirs) do
      local other = own[key] or { 0, 0 }
      if is_known(key) and (row[1] ~= other[1] or row[2] ~= other[2]) then
         out[#out + 1] = ("%s: perf %d (%d), lpfm %d (%d)"):format(key, row[1], row[2], other[1], other[2])
      end
   end
   for key in pairs(own) do
      if is_known(key) and not theirs[key] then out[#out + 1] = key .. ": lpfm alone" end
   end
   return out
end

-- Compares the numbers; returns false if perf cannot read what it has written.
local function same_numbers(file, options)
   local theirs, own = by_perf(file), by_lpfm(file)
   if not theirs then return false end
   assert.truthy(next(theirs), "perf report says nothing of " .. options)
   assert.same({}, differences(theirs, own, options), "perf record " .. options)
   return true
end

-- Records with perf, again if a signal ended it; returns false if it does not take the options.
-- If the samples have no times, their order on several CPUs is not known. So perf is bound to one
-- CPU then, and so is the program, which perf starts.
local function record(file, options, prog)
   local where = options:find("--no-timestamp", 1, true) and "taskset -c 0 " or ""
   for _ = 1, TRIES do
      local _, status = c.sh(("%sperf record -q -o %s %s -- %s"):format(where, file, options, prog))
      if status < 128 then return status == 0 end
      c.sh(("rm -rf %s*"):format(file))
   end
   return false
end

local OPTIONS = { "-g", "--call-graph dwarf", "--call-graph dwarf,2048 -z", "-e cpu-clock,page-faults,cs",
   "-d -e cpu-clock,page-faults", "-a -e cpu-clock", "-a -g --all-cgroups", "-C 0 -e cpu-clock", "-z -g",
   "-z -e cpu-clock,page-faults", "--buildid-all", "--buildid-mmap", "-B", "-T", "--no-timestamp", "--sample-cpu",
   "-W -e cpu-clock", "--phys-data -e page-faults -c 1", "--data-page-size --code-page-size -d -e page-faults -c 1",
   "-I -e cpu-clock", "--user-regs=ip,sp -e cpu-clock", "-i -e cpu-clock", "-s", "-P -c 500000 -e cpu-clock",
   "--per-thread", "--switch-events", "--namespaces", "-e '{cpu-clock,page-faults}:S' -i", "-k CLOCK_MONOTONIC",
   "--threads", "--synth no", "-e cpu-clock:u", "-e cpu-clock:k", "-F 499 -g", "--no-buffering", "--aio",
   "-e dummy -e cpu-clock", "-D 5", "--running-time -e '{cpu-clock,page-faults}:S' -i" }

-- Returns of each sample that perf script or lpfm prints the line, and the frames in our programs.
-- In other code, and in what the linker made, perf and lpfm may give different names: the line is
-- cut behind the address, and the frame is left out.
local function script_samples(text)
   local out = {}
   for line in text:gmatch("[^\n]+") do
      line = line:gsub("%s+$", "")
      local object = line:match("%((.*)%)$")
      local name = line:match("%x+ (%S+) %([^()]*%)$") or ""
      local own = object and (object:find("/shares$") or object:find("/tree$"))
         and not (name:find("^_") or name:find("@plt") or name == "[unknown]")
      if not line:find("^\t") then
         out[#out + 1] = { line = own and line or line:match("^(.-: +%d+ +.-: +%x+) ") or line, frames = {} }
      elseif own then
         table.insert(out[#out].frames, line)
      end
   end
   return out
end

-- Compares frames; of an unwound stack only as many as perf has, which may lose its way.
local function check_frames(theirs, own, unwound, where)
   if unwound then own = { unpack(own, 1, #theirs) } end
   assert.same(theirs, own, where)
end

describe("script --format perf", function()
   it("prints what perf script prints", function()
      need_perf()
      local file = dir .. "/s.data"
      for _, options in ipairs { "-e cpu-clock,page-faults", "-g -e cpu-clock", "--call-graph dwarf -e cpu-clock",
         "--sample-cpu -e cpu-clock -c 1000000" } do
         assert.is_true(record(file, options, command()), options)
         local theirs = script_samples(assert(perf_prints("script --no-inline -i " .. file)))
         local own = script_samples(c.sh(("%s script --format perf -i %s 2>/dev/null | grep -v '(inlined)'"):format(
            lpfm, file)))
         assert.is_true(#theirs > 20, options)
         assert.equal(#theirs, #own, options)
         for i, s in ipairs(theirs) do
            local where = options .. ", sample " .. i
            assert.equal(s.line, own[i].line, where)
            check_frames(s.frames, own[i].frames, options:find("dwarf", 1, true), where)
         end
      end
   end)
end)

describe("a file of perf", function()
   it("is taken by every command that reads recordings", function()
      need_perf()
      local file = dir .. "/all.data"
      assert.is_true(record(file, "-g -e cpu-clock", command()))
      for line, wanted in pairs { report = "heavy", script = "heavy", ["export --format folded"] = "heavy",
         annotate = "heavy", ["annotate --asm"] = "heavy in ", plot = "heavy", ["diff " .. file] = "# new: ",
         ["export --format firefox"] = '"heavy"', ["export --format pprof -o /dev/null"] = "" } do
         local out, status = c.sh(("%s %s %s%s"):format(lpfm, line, file, line == "annotate" and " heavy" or ""))
         assert.equal(0, status, line .. ": " .. out)
         assert.truthy(out:find(wanted, 1, true), line .. ": " .. out)
      end
   end)
end)

describe("report", function()
   it("has the numbers of perf report, with each option of perf record that works here", function()
      need_perf()
      local prog, tried = command(), 0
      for i, options in ipairs(OPTIONS) do
         local file = ("%s/o%d.data"):format(dir, i)
         if record(file, options, prog) then
            tried = tried + (same_numbers(file, options) and 1 or 0)
         end
         c.sh("rm -rf " .. file)
      end
      assert.is_true(tried > #OPTIONS / 2, "options that perf took: " .. tried)
   end)

   it("has the numbers of a process that runs, of files that perf switches, and of a pipe", function()
      need_perf()
      local file = dir .. "/p.data"
      -- The process may have to wait for a processor: perf records it until it has run for ten
      -- ticks of the clock.
      c.sh(([[ %s 600 1 >/dev/null & pid=$!
         for try in $(seq %d); do
            end=$(($(cut -d ' ' -f 14 /proc/$pid/stat) + 10))
            perf record -q -o %s -p $pid -- sh -c \
               'until [ $(cut -d " " -f 14 /proc/$0/stat) -ge $1 ]; do sleep 0.02; done' $pid $end
            [ $? -ge 128 ] || break
         done
         kill $pid ]]):format(target("shares"), TRIES, file))
      same_numbers(file, "-p")
      if record(dir .. "/s.data", "--switch-output=1s", command()) then
         same_numbers(c.sh(("ls %s/s.data.*"):format(dir)):match("[^\n]+"), "--switch-output")
      end
      for _, options in ipairs { "-g", "-z", "-e cpu-clock,page-faults" } do
         local _, status = c.sh(("perf record -q -o - %s -- %s >%s"):format(options, command(), file))
         if status == 0 then same_numbers(file, "-o - " .. options) end
      end
      local through = c.sh(("cat %s | %s report -i - -x , -s event"):format(file, lpfm))
      assert.equal(c.sh(("%s report -i %s -x , -s event"):format(lpfm, file)), through)
   end)
end)
