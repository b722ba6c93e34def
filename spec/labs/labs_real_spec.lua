-- SPDX-License-Identifier: MIT
-- The labs' second parts, on this computer by perf_event: real programs with a known number of page
-- faults. One interpreter: what is measured is the kernel, and labs_spec.lua has the course under
-- both.

local c = require "support.c"
local files = require "support.files"
local kit = require "labs.kit"
local lpfm = require "lpfm"
local catalog = require "repl.lab.catalog"
local sheet = require "repl.lab.sheet"
local session = require "repl.lab.session"
local validate = require "repl.lab.validate"

local build = os.getenv("LPFM_BUILD") or "build"
local program = ("%s/%s/lpfm"):format(build, os.getenv("LPFM_LUA") or "luajit")
local scratch = c.folder()
local before

-- Returns why nothing real can be measured here, or nil if it can.
local function obstacle()
   local machine, err = lpfm.machine "perf"
   if not machine then return err end
   local cpu = io.popen("uname -m"):read "*l"
   return cpu ~= "x86_64" and cpu ~= "aarch64" and "labs make no programs for " .. cpu or nil
end

setup(function() before = lpfm.machine().name end)
teardown(function() assert(lpfm.machine(before)) end)

local function here_it(name, fn)
   it(name, function()
      local why = obstacle()
      if why then return pending(why) end
      fn()
   end)
end

-- Returns the fewest faults of several runs, as a reclaimed page adds one; and the known number.
local function faults_of(functions)
   local least, known = math.huge, nil
   for _ = 1, 5 do
      local ctx = kit.context()
      kit.here.counter(ctx, "page-faults")
      known = kit.here.run(ctx, functions)
      least = math.min(least, kit.value(ctx, kit.here.pmds["page-faults"]))
      ctx:close()
   end
   return least, known
end

describe("a program that a lab makes", function()
   here_it("touches as many pages as it says, and has its marks where they are touched", function()
      kit.here.machine { machine = "perf" }
      local one = { { name = "main", { touch = true, mark = "a" } } }
      local many = { { name = "main", { loop = 20, { loop = 5, { touch = true, mark = "b" }, { spin = 3 } } } } }
      local few, known_few = faults_of(one)
      local more, known = faults_of(many)
      assert.equal(1, known_few.touches)
      assert.equal(100, known.touches)
      assert.equal(99, more - few)
      local marks = kit.here.sample(kit, many, "page-faults", { period = 10 })
      assert.equal(10, #marks)
      assert.equal("b", marks[1])
   end)

   here_it("calls its functions, sleeps, and ends", function()
      kit.here.machine { machine = "perf" }
      local ctx = kit.context()
      kit.here.counter(ctx, "context-switches", {}, { kernel = true })
      local _, outcome = kit.here.run(ctx, { { name = "main", { loop = 3, { call = "nap" } } },
         { name = "nap", { sleep = 1e6 } } })
      assert.equal(0, outcome.status)
      assert.is_true(kit.value(ctx, kit.here.pmds["context-switches"]) >= 3)
      kit.finish()
   end)
end)

describe("the second part of a lab", function()
   for _, name in ipairs { "periods", "bias", "multiplex", "sets", "stacks", "costs", "waiting", "statistics" } do
      here_it("shows what there is to see, and takes right answers alone: " .. name, function()
         local lab = assert(catalog.find(name .. "-perf"))
         if c.missing(lab.needs) then return pending(c.missing(lab.needs) .. " is missing") end
         assert.equal(lab, catalog.on(assert(catalog.find(name)), "perf"))
         -- on a busy machine a run may be later than a lab allows, so one failure is no proof
         local complaints
         for _ = 1, 3 do
            complaints = validate.lab(lab)
            if #complaints == 0 then break end
         end
         assert.same({}, complaints)
         assert.truthy(sheet.handout(lab):find("<code>perf</code>", 1, true))
      end)
   end

   here_it("has figures of this computer: half of a loop is never seen with a period in step", function()
      local shares
      for _ = 1, 5 do -- if the kernel reclaims a page, it adds a fault, and shifts the period
         local s = session.new(assert(catalog.find "bias-perf"), { params = { rounds = 50 } })
         s:run_up_to(1)
         shares = {}
         for _, n in ipairs(s.figures.fixed_shares) do shares[n] = (shares[n] or 0) + 1 end
         if shares[0] == 3 and shares[50] == 3 then break end
      end
      assert.same({ [0] = 3, [50] = 3 }, shares)
   end)

   it("is named where a lab ends, and in the list", function()
      local bias = assert(catalog.find "bias")
      assert.truthy(catalog.more_of(bias):find("--machine", 1, true))
      assert.is_nil(catalog.more_of(assert(catalog.find "width")))
      assert.truthy(catalog.more_of(assert(catalog.find "waiting")):find("lpfm lab waiting --machine perf", 1, true))
      assert.is_nil(catalog.more_of(assert(catalog.find "bias-perf")))
      local s = session.new(bias, { kept = { page = #bias.pages, answers = {} }, more = catalog.more_of(bias) })
      s:enter()
      assert.truthy(table.concat(s:reply "", " "):find(catalog.more_of(bias), 1, true))
   end)

   local function lab(arguments, environment)
      return c.sh(("env -u LPFM_SCRIPTS XDG_STATE_HOME=%s %s %s lab %s 2>&1 </dev/null"):format(scratch,
         environment or "", program, arguments))
   end

   it("is refused where there is none, and the machine is named", function()
      for arguments, text in pairs { ["width --machine perf"] = "lab width runs on the simulated computer alone",
         ["formats --machine perf"] = "lab formats does not run on perf",
         ["bias --machine nosuch"] = "--machine: expected sim, perf or linux, got 'nosuch'",
         ["bias-perf --machine linux"] = "lab bias-perf runs on perf, and not on linux",
         ["--machine perf"] = "--machine: expected the name of a lab" } do
         local out, status = lab(arguments)
         assert.equal(2, status, out)
         assert.truthy(out:find(text, 1, true), out)
      end
      assert.truthy(lab "":find("bias* ", 1, true))
   end)

   it("needs its machine, and says so without a traceback", function()
      if io.open("/dev/perfmon") then return pending("perfmon.ko is here") end
      for _, arguments in ipairs { "bias --machine linux", "formats-linux --sheet", "sets --machine linux --grade" } do
         local out, status = lab(arguments)
         assert.equal(2, status, out)
         assert.truthy(out:find("there is no /dev/perfmon", 1, true), out)
         assert.is_nil(out:find("traceback", 1, true), out)
      end
   end)

   it("is what LPFM_MACHINE asks for where a lab has it, and keeps progress of its own", function()
      assert.truthy(lab("bias", "LPFM_MACHINE=perf"):find("'lpfm lab bias-perf' goes on from here", 1, true)
         or obstacle())
      assert.truthy(lab("width", "LPFM_MACHINE=perf"):find("'lpfm lab width' goes on from here", 1, true))
      assert.truthy(lab("bias --machine sim", "LPFM_MACHINE=perf"):find("'lpfm lab bias' goes on from here", 1, true))
   end)

   it("tells a file of it that cannot be read", function()
      c.sh(("mkdir -p %s/own/real && cp scripts/labs/template/mylab.lua %s/own/"):format(scratch, scratch))
      files.write(scratch .. "/own/real/mylab.lua", "return {")
      local out, status = lab("--check " .. scratch .. "/own --machine perf")
      assert.equal(2, status)
      assert.truthy(out:find("real/mylab.lua", 1, true), out)
   end)
end)

-- Lab 14's formats are kernel modules. The same C runs on machine perf, with HEADER in the place of
-- perfmon_module.h.
describe("lab 14's check of a format in C", function()
   local HEADER = [[
#include <stdint.h>
#include "fmt.h"
#include "perfmon/uuid.h"
typedef uint64_t u64;
typedef uint32_t u32;
#define PFM_FORMAT_INIT(fmt) \
   int add(void *L) { pfm_add_format(fmt); return 0; } int take_away(void *L) { pfm_remove_format(fmt); return 0; }
#define PFM_FMT_ALIAS(prefix) struct alias
#define MODULE_LICENSE(text) struct license
#define MODULE_DESCRIPTION(text) struct description
]]
   local page, s
   local loaded, removals = 0, {}

   -- Compiles a format, perhaps changed, and registers it, as loading its module would.
   local function load(path, changes)
      local source = files.read(path)
      for from, to in pairs(changes or {}) do
         local n
         source, n = source:gsub(from, to)
         assert(n > 0, from)
      end
      loaded = loaded + 1
      files.write(("%s/%d.c"):format(scratch, loaded), source)
      local out, status = c.sh(("cc -shared -fPIC -w -I%s -Ikernel/core -Ikernel/user -Ikernel/include -o %s/%d.so "
         .. "%s/%d.c -L%s -lperfmon 2>&1"):format(scratch, scratch, loaded, scratch, loaded, build))
      assert.equal(0, status, out)
      local library = ("%s/%d.so"):format(scratch, loaded)
      removals[loaded] = assert(package.loadlib(library, "take_away"))
      assert(package.loadlib(library, "add"))()
   end

   local function judged(script)
      local right, why = s:judge_value(page, assert(loadstring(script))())
      return right, (why:gsub("%s+", " "))
   end

   setup(function()
      if obstacle() then return end
      local lab = assert(catalog.on(assert(catalog.find "formats"), "linux"))
      page = lab.pages[2]
      assert(lpfm.machine "perf")
      files.write(scratch .. "/perfmon_module.h", HEADER)
      load "spec/vm/format/tally.c"
      s = session.new(lab, { params = { machine = "perf" } })
      s:run_up_to(1)
      load "spec/vm/halves/halves.c"
      load("spec/vm/format/tally.c", { ['"tally"'] = '"renamed"', ["3b, 0e"] = "3b, 0f" })
   end)
   teardown(function() for _, remove in ipairs(removals) do remove() end end)

   here_it("takes the solution, which counts every second overflow", function()
      local right, why = judged(page.solution)
      assert.is_true(right, why)
      assert.truthy(why:find("^halves counted %d+ of %d+ overflows%.$"), why)
   end)

   here_it("does not take what comes with lpfm, by whatever it is asked for, and says why", function()
      local uuid = "3b0e558d-4c21-4f9e-8a6d-90c7125bee04"
      for asked, name in pairs { tally = "tally", [uuid] = "tally", ["n-way"] = "n-way", default = "default" } do
         local right, why = judged(("return { format = %q }"):format(asked))
         assert.is_false(right)
         assert.truthy(why:find(("That is %s, which comes with lpfm"):format(name), 1, true), why)
         assert.truthy(name ~= "tally" or why:find(uuid, 1, true), why)
      end
   end)

   here_it("does not take a copy of tally by another name, nor what is no such format", function()
      local right, why = judged 'return { format = "renamed" }'
      assert.is_false(right)
      assert.truthy(why:find("^renamed counted (%d+) of %1 overflows%. Every second one, that is %d+%.$"), why)
      for script, text in pairs { ['{ format = "{mine}" }'] = "No format {mine} is registered here",
         ['"halves"'] = "The script returns no table with a format." } do
         right, why = judged("return " .. script)
         assert.is_false(right)
         assert.truthy(why:find(text, 1, true), why)
      end
   end)
end)
