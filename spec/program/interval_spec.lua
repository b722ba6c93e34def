-- SPDX-License-Identifier: MIT
-- lpfm stat -I: what it prints while it counts.

local c = require "support.c"
local cjson = require "cjson"
local stat_text = require "repl.command.text.stat"

local program = c.program

local COLUMNS = { { title = "count", right = true }, { title = "event" } }

local function lines_of(t, n, count)
   local out = {}
   for _ = 1, n do
      for _, line in ipairs(t:lines { { count, "page-faults" }, { "0", "cs" } }) do out[#out + 1] = line end
   end
   return out
end

describe("the table of intervals", function()
   it("has a header above its first lines and with each screenful: 24 lines where no terminal tells", function()
      local since, headers = 0, 0
      for _, line in ipairs(lines_of(stat_text.growing(COLUMNS, true), 40, "17")) do
         since = since + 1
         if line:find("count", 1, true) then
            assert.is_true(headers == 0 or since > 20, line)
            since, headers = 0, headers + 1
         end
         assert.is_true(since < 24)
      end
      assert.is_true(headers >= 4, tostring(headers))
   end)

   it("has one header where it goes to a file", function()
      local headers = 0
      for _, line in ipairs(lines_of(stat_text.growing(COLUMNS, false), 40, "17")) do
         if line:find("count", 1, true) then headers = headers + 1 end
      end
      assert.equal(1, headers)
   end)

   it("keeps its columns where a longer number made room for itself", function()
      local t = stat_text.growing(COLUMNS, false)
      local first = t:lines { { "1,000,000", "page-faults" } }
      local second = t:lines { { "1", "page-faults" } }
      assert.equal(first[2]:find("page", 1, true), second[1]:find("page", 1, true))
      assert.equal(first[2]:find("page", 1, true), first[1]:find("event", 1, true))
   end)
end)

-- Counts a shell that ends when stat has written eight lines; to read them it makes no process.
local function counted(form)
   local file = os.tmpname()
   local script = ("n=0; while [ $n -lt 8 ]; do n=0; while read -r l; do n=$((n + 1)); done <%s; done"):format(file)
   local out, status = c.sh(("%s stat %s -I 10 -o %s -e page-faults,task-clock -- sh -c '%s'"):format(
      program, form, file, script))
   assert.equal(0, status, out)
   local lines = {}
   for line in io.lines(file) do lines[#lines + 1] = line end
   os.remove(file)
   return lines
end

describe("lpfm stat -I", function()
   it("prints aligned columns", function()
      local lines = counted ""
      local at = lines[1]:find("event", 1, true)
      for i = 2, #lines do
         assert.equal(at, lines[i]:find("page%-faults") or lines[i]:find("task%-clock"), table.concat(lines, "\n"))
      end
   end)

   it("prints the time before what -x prints, and no header", function()
      for _, line in ipairs(counted "-x ,") do
         local _, commas = line:gsub(",", "")
         assert.truthy(line:find("^%d+%.%d%d%d%d%d%d%d%d%d,[%d.]+,"), line)
         assert.equal(7, commas, line)
      end
   end)

   it("prints an object a line for --json, with the time and the length of the interval", function()
      local last = 0
      for _, line in ipairs(counted "--json") do
         local row = cjson.decode(line)
         assert.is_true(math.abs(row.time - last - row.elapsed) < 1e-6, line)
         assert.equal("page-faults", row.events[1].event)
         last = row.time
      end
   end)
end)
