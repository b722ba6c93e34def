-- SPDX-License-Identifier: MIT
-- The names that the prompt has: the same as in files and in the documentation. And what lies
-- where: the library knows neither the program nor its command line.

local c = require "support.c"
local doc = require "pfm.manual"
local files = require "support.files"
local namespace = require "repl.prompt.namespace"
local tokens = require "repl.prompt.tokens"

local program = c.program
local scratch = c.folder()

-- Returns what the prompt prints for lines that are typed.
local function prompt(text)
   files.write(scratch .. "/typed", text .. "\n")
   return c.sh(("cd %s && LPFM_MACHINE=perf %s <typed"):format(scratch, program))
end

-- Runs a script, which has nothing of the prompt; returns what it prints.
local function script(text)
   files.write(scratch .. "/script.lua", text)
   return c.sh(("cd %s && LPFM_MACHINE=perf %s script.lua"):format(scratch, program))
end

describe("the prompt", function()
   it("has the library's modules as globals under their last names", function()
      local text = {}
      for _, name in ipairs(namespace.modules()) do
         if name ~= "ffi" or rawget(_G, "jit") then
            text[#text + 1] = ("for k, v in pairs(require 'pfm.%s') do assert(%s[k] == v) end"):format(name, name)
            text[#text + 1] = ("_ = assert(pfm.%s == require 'pfm.%s')"):format(name, name)
         end
      end
      text[#text + 1] = "print 'all'"
      local out, status = prompt(table.concat(text, "\n"))
      assert.equal("all\n", out)
      assert.equal(0, status)
   end)

   it("has the modules in C that are documented, unless the library has one of that name", function()
      local documented = {}
      for _, module in ipairs(doc) do
         local name = module.name:match("^lpfm%.(%w+)$")
         -- lpfm.cdef has nothing but declarations for pfm.ffi
         if name and name ~= "cdef" and pcall(require, module.name) then documented[#documented + 1] = name end
      end
      table.sort(documented)
      assert.same(documented, namespace.c_modules)
      assert.equal("true\ttrue\n", (prompt "print(proc == require 'lpfm.proc', symbols == require 'pfm.symbols')"))
   end)

   it("has commands that are modules, too, as both", function()
      local out = prompt [[
         print(record("seq 500000 >/dev/null").samples ~= nil, type(record.run), type(record.begin))
         print(pcall(plot, "bars"), type(plot.bars), type(bias.test), type(export.write), type(cascade.run))]]
      assert.truthy(out:find("^true\tfunction\tfunction\ntrue\tfunction\tfunction\tfunction\tfunction\n"), out)
   end)

   it("loads no module before it is named", function()
      assert.equal("nil\nfunction\ntrue\n", (prompt [[
         package.loaded["pfm.jitmap"]
         print(type(jitmap.start))
         print(package.loaded["pfm.jitmap"] == jitmap)]]))
   end)

   it("offers their names and fields before they are loaded", function()
      local out = prompt [[
         w = require("repl.prompt.complete").words
         print(w("jitm", "", "")[1], w("jitmap.sta", "", "")[1], w("record.ru", "", "")[1], w("plot.ba", "", "")[1])]]
      assert.equal("jitmap\tjitmap.start\trecord.run\tplot.bars\n", out)
   end)

   it("leaves other names as they are", function()
      local out = prompt "nosuch\npfm.nosuch\ncount = 5\ncount\nprint(rawget(_G, 'tabulate'))"
      assert.equal("nil\nnil\n5\nnil\n", out)
   end)

   it("goes on when all of Lua's own names are assigned to", function()
      local names = script "for name in pairs(_G) do if name ~= 'lpfm' then print(name .. ' = 5') end end"
      assert.truthy(("\n" .. names):find("\ntype = 5\n", 1, true))
      local out, status = prompt(names .. "{ 1 }\n{ a = 2 }\n1 +* 1\nnil + 1\nlocal u = 7\nu\nevents\ntype, u")
      assert.truthy(out:find("^{1}\na  2\n.*\n7\n.*\n5\t7\n$"), out)
      assert.equal(1, status)
   end)

   it("goes on when what is in Lua's libraries is taken away", function()
      for _, text in ipairs { "string.find = nil", "getmetatable('').__index = nil", "string.format = error",
         "for k in pairs(table) do table[k] = nil end", "getmetatable(io.stdout).__index = nil",
         "debug.setmetatable('', nil)", "debug.sethook = nil string.find = nil",
         "local r = debug.getregistry() for k in pairs(r) do r[k] = nil end string.find = nil",
         "for k in pairs(require 'pfm.render') do require('pfm.render')[k] = nil end string.find = nil",
         "for k in pairs(require 'repl.prompt.loop') do require('repl.prompt.loop')[k] = nil end string.find = nil",
         "for _, n in ipairs { 'host', 'line' } do n = require('repl.' .. n) for k in pairs(n) do n[k] = nil end end",
         "debug.sethook(error, '', 1)", "debug.sethook(function() error({}) end, 'crl')" } do
         local out, status = prompt(text .. "\n{ 1 }\nnil + 1\nu = ('x'):rep(2)\nu\nlocal v = #u\nv")
         assert.truthy(out:find("the prompt needs what a statement has changed: Lua's libraries are as they were", 1,
            true), text .. ": " .. out)
         assert.truthy(out:find("2\n$"), text .. ": " .. out)
         assert.equal(1, status)
      end
   end)

   it("calls measurements in the background jobs; sessions are the same by their former name", function()
      assert.equal("true\ttrue\tnil\n", (prompt [[
         print(job == session, jobs == sessions, rawget(_G, "recordings"))]]))
   end)
end)

describe("a script", function()
   it("has lpfm as its only global", function()
      local out = script [[
         for _, name in ipairs { "count", "record", "plot", "events", "pfm", "stat", "job", "proc" } do
            assert(_G[name] == nil, name)
         end
         print(getmetatable(_G), lpfm == require "lpfm")]]
      assert.equal("nil\ttrue\n", out)
   end)
end)

-- The examples of all that is public, as ?NAME shows them.
describe("an example of the documentation", function()
   local function usages()
      local out = {}
      for _, module in ipairs(doc) do
         local public = module.name:find("^lpfm") or module.name:find("^pfm%.[%w_]+$") or not module.name:find("%.")
         for _, item in ipairs(public and module.items or {}) do
            for _, usage in ipairs(item.usages) do out[#out + 1] = { item = item.name, text = usage } end
         end
      end
      return out
   end

   it("runs at the prompt as it is", function()
      local lines = { "require('repl.prompt.globals').provide()", "local say = io.stdout",
         "assert(record('i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done').samples > 0)",
         "os.execute 'cp lpfm.data kept'", "print = function() end", "local function run(name, text)",
         "   local code = loadstring('return ' .. text) or assert(loadstring(text))",
         "   local ok, err = pcall(code)", "   if not ok then say:write(name, ': ', tostring(err), '\\n') end",
         "   assert(lpfm.machine 'perf'); os.execute 'cp kept lpfm.data'", "end" }
      local all = usages()
      for _, usage in ipairs(all) do
         if rawget(_G, "jit") or not (usage.text:find("ffi", 1, true) or usage.item:find("ffi", 1, true)) then
            lines[#lines + 1] = ("run(%q, %q)"):format(usage.item, usage.text)
         end
      end
      assert.is_true(#all > 200)
      local out, status = script(table.concat(lines, "\n"))
      assert.equal("", out)
      assert.equal(0, status)
   end)
end)

-- --- layers --------------------------------------------------------------------------------------

local function sources(folders)
   return c.sh("git ls-files -co --exclude-standard -- " .. folders):gmatch("[^\n]+")
end

describe("the library", function()
   it("knows neither the program nor its command line", function()
      local wrong = {}
      for path in sources "'scripts/pfm/*.lua' 'lpfm/*.lua'" do
         local source = files.read(path)
         if source:find("usage = true", 1, true) then wrong[#wrong + 1] = path .. ": usage = true" end
         for _, token in ipairs(tokens.code(source)) do
            -- strings in [==[ ]==] hold code in other languages; objdump has options of its own
            local foreign = token.text:find("^%[==%[") or token.text:find('^"objdump ')
            local text = token.kind == "string" and not foreign and token.text or ""
            if text:find("^.repl%.") or text:find("%f[%w-]%-%-%l%l+") or text:find("'lpfm %l+") then
               wrong[#wrong + 1] = path .. ": " .. text
            end
         end
      end
      assert.same({}, wrong)
   end)

   it("says in words what it refuses", function()
      local analyze, recording = require "pfm.analyze", require "pfm.recording"
      local made = recording.of { head = { events = { { name = "cs", pmd = 1 } } }, blocks = {} }
      local function refusal(call, ...)
         local ok, err = pcall(call, ...)
         assert.is_false(ok)
         return err
      end
      assert.truthy(refusal(analyze.by, made, "colour"):find("^unknown sort key 'colour'"))
      local function filtered(filter) return refusal(analyze.by, made, "symbol", { filter = filter }) end
      assert.truthy(filtered { colour = "red" }:find("filter 'colour'", 1, true))
      assert.truthy(filtered { from = "x" }:find("'x' is not a time", 1, true))
      assert.truthy(refusal(analyze.histogram, made, "misses"):find("^the samples hold no value 'misses'"))
      assert.truthy(refusal(analyze.histogram, made, "misses"):find("there are: interval, period", 1, true))
      local rows = { rows = {}, totals = {}, keys = {} }
      assert.truthy(refusal(analyze.derive, made, rows, { x = "1 +" }):find("^the formula of x: "))
   end)
end)
