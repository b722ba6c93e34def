-- SPDX-License-Identifier: MIT
-- lpfm as a kernel of Jupyter's notebooks, through jupyter's own client.
-- One interpreter: its client takes the time.

local c = require "support.c"
local files = require "support.files"
local cjson = require "cjson"

local build, interpreter = os.getenv("LPFM_BUILD") or "build", os.getenv("LPFM_LUA") or "luajit"
local program = ("%s/%s/lpfm"):format(build, interpreter)
local home = c.folder()

local function has(module)
   return select(2, c.sh(("/usr/bin/python3 -c 'import %s'"):format(module))) == 0
end
local ready = has "ipykernel" and has "jupyter_client"

-- Hands cells, and questions about code, to support/notebook.py; returns the outcome of each.
local function session(steps)
   local lines, out = {}, {}
   for i, step in ipairs(steps) do lines[i] = cjson.encode(step) end
   local path = home .. "/steps"
   files.write(path, table.concat(lines, "\n") .. "\n")
   local text = c.sh(("HOME=%s /usr/bin/python3 -Xfrozen_modules=off spec/support/notebook.py <%s 2>%s/said"):format(
      home, path, home))
   for line in text:gmatch("[^\n]+") do out[#out + 1] = cjson.decode(line) end
   assert.equal(#steps, #out, (c.sh("cat " .. home .. "/said")))
   return out
end

describe("lpfm jupyter", function()
   it("says what it can do, and refuses the rest", function()
      local out, status = c.sh(program .. " jupyter instal")
      assert.equal(2, status)
      assert.truthy(out:find("did you mean 'install'?", 1, true), out)
      out, status = c.sh(("HOME=%s %s jupyter remove --user"):format(home, program))
      assert.equal(1, status)
      assert.truthy(out:find("kernel.json: No such file or directory", 1, true), out)
   end)

   it("installs the kernel for one user, or below a folder, and removes it", function()
      if not ready then return pending("python3-ipykernel is not installed") end
      local folder = home .. "/env/share/jupyter/kernels/lpfm"
      assert.equal(0, select(2, c.sh(("%s jupyter install --prefix %s/env"):format(program, home))))
      local text = c.sh(("cat %s/kernel.json"):format(folder))
      assert.equal("lpfm", cjson.decode(text).display_name)
      assert.equal(0, select(2, c.sh(("%s jupyter remove --prefix %s/env"):format(program, home))))
      assert.equal("", (c.sh("ls -d " .. folder .. " 2>/dev/null")))
      local out, status = c.sh(("HOME=%s %s jupyter install --user"):format(home, program))
      assert.equal(0, status, out)
   end)
end)

describe("a notebook", function()
   local function it_can(what, fn)
      it(what, function()
         if not ready then return pending("python3-ipykernel and python3-jupyter-client are not installed") end
         fn()
      end)
   end

   it_can("shows values, tables and figures, and keeps variables", function()
      local out = session {
         { run = "x = 20 + 22; x" }, { run = "print('said') y = x + 1" }, { run = "y" },
         { run = "{ { num = 1, name = 'a<b' }, { num = 2, name = 'c' } }" },
         { run = "require('pfm.plot').bars({ { 'parse', 80 }, { 'hash', 15 } })" },
         { run = "for i = 1, 3 do\n   print(i)\nend" }, { run = "x = 2\n-- two lines\nx\n  * 21" },
         { run = "x = 1\nmath.max(x,\n   2)\n\n" },
      }
      assert.equal("42", out[1].data["text/plain"])
      assert.equal("said\n", out[2].printed.stdout)
      assert.equal("43", out[3].data["text/plain"])
      assert.truthy(out[4].data["text/html"]:find("<td style=\"text-align:left\">a&lt;b</td>", 1, true))
      assert.truthy(out[5].data["image/svg+xml"]:find("^<svg.*parse.*</svg>"))
      assert.truthy(out[5].data["text/plain"]:find("hash", 1, true))
      assert.equal("1\n2\n3\n", out[6].printed.stdout)
      assert.equal("42", out[7].data["text/plain"])
      assert.equal("2", out[8].data["text/plain"])
   end)

   it_can("counts, and what commands print goes to the cell", function()
      local out = session { { run = "r = stat('echo from a command', 'page-faults')" }, { run = "r.events[1].value" } }
      assert.equal("from a command\n", out[1].printed.stdout)
      assert.is_true(tonumber((out[2].data["text/plain"]:gsub(",", ""))) > 0)
   end)

   it_can("tells errors as the prompt does, and goes on", function()
      local out = session { { run = "x = = 2" }, { run = "lpfm.create{fromat = 1}" }, { run = "error('boom')" },
         { run = "os.exit(3)" }, { run = "1 + 1" } }
      for i = 1, 4 do assert.equal("error", out[i].status) end
      assert.truthy(out[1].error:find("x = = 2\n       ^", 1, true), out[1].error)
      assert.truthy(out[2].error:find("did you mean 'format'?", 1, true), out[2].error)
      assert.truthy(out[3].error:find("boom$"), out[3].error)
      assert.truthy(out[4].error:find("lpfm ended", 1, true), out[4].error)
      assert.equal("2", out[5].data["text/plain"])
   end)

   it_can("can be interrupted: a loop, and a measurement with its command", function()
      local out = session { { run = "kept = 7 print('begun') while true do end", interrupt_at = "begun" },
         { run = "print('begun') r = stat('sleep 1000')", interrupt_at = "begun" },
         { run = "r == nil and 'before' or r.interrupted and 'in its midst'" }, { run = "kept" } }
      assert.equal("interrupted", out[1].error)
      -- The interrupt comes before the measurement has begun, or during it; then r has the counts.
      assert.equal(out[2].error == "interrupted" and "before" or "in its midst", out[3].data["text/plain"])
      assert.equal("7", out[4].data["text/plain"])
   end)

   it_can("goes on when a cell takes away what it needs", function()
      local out = session { { run = "package.loaded = nil" }, { run = "string.match = nil string.sub = nil" },
         { run = "debug.setmetatable('', nil)" }, { run = "io.stdout = nil" }, { run = "6 * 7" } }
      assert.equal("42", out[5].data["text/plain"])
   end)

   it_can("ends with its kernel, whatever it is at", function()
      local out = session { { kill = "print(require('posix.unistd').getpid()) while true do end" } }
      assert.is_true(out[1].ended)
   end)

   it_can("completes, explains, and knows when a cell is complete", function()
      local out = session { { complete = "-- ö\nlpfm.crea" }, { complete = "stat('ls', 'page-f" },
         { inspect = "lpfm.create" },
         { inspect = "nothing_of_that_name" }, { ready = "for i = 1, 2 do" }, { ready = "x = 1" },
         { ready = "x = = 1" } }
      assert.same({ "lpfm.create" }, out[1].matches)
      assert.equal(5, out[1].cursor_start)
      assert.same({ "page-faults" }, out[2].matches)
      assert.truthy(out[3].data["text/plain"]:find("specification 3.1.1", 1, true))
      assert.is_false(out[4].found)
      assert.same({ "incomplete", "complete", "invalid" }, { out[5].status, out[6].status, out[7].status })
      assert.equal("   ", out[5].indent)
   end)
end)
