-- SPDX-License-Identifier: MIT
-- Pages for a browser: their sums are the report's, and names cannot break them; and what they show
-- and do in a browser, where there is one.
-- One interpreter: the subject is the program as a process.

local analyze = require "pfm.analyze"
local stored = require "lpfm.samples"
local browser = require "support.browser"
local c = require "support.c"
local cjson = require "cjson"
local data = require "pfm.export.html.data"
local export = require "pfm.export"
local files = require "support.files"
local handmade = require "support.handmade"
local recording = require "pfm.recording"

local int = handmade.int
local program = c.program
local scratch = c.folder()
local page = scratch .. "/page.html"

-- --- a recording by hand -------------------------------------------------------------------------

local LESS, END, HUGE = "operator<", "</script><b onclick=\"x\">&amp;<!--", ("long"):rep(200)
local FUNCTIONS = { path = "/bin/prog", count = 5, segments = { { 0, 0x10000, 0 } }, files = {}, lines = {},
   frames = {}, functions = { { 0x1000, 0x100, "main" }, { 0x2000, 0x100, LESS }, { 0x3000, 0x100, END },
      { 0x4000, 0x100, "recursive" }, { 0x5000, 0x100, HUGE } } }

-- Frames as they are recorded, the innermost first; a caller's is the address behind its call.
local STACKS = { { 0x1000 }, { 0x2000, 0x1011 }, { 0x3000, 0x2011, 0x1011 }, { 0x4000, 0x4011, 0x4011, 0x1011 },
   { 0x5000, 0x1011 } }
local TIMES = { 10, 20, 30, 5, 1 } -- samples of each stack

local function stack_table(stacks)
   local words = { 1 }
   for _, frames in ipairs(stacks) do
      words[#words + 1] = #frames
      for _, frame in ipairs(frames) do words[#words + 1] = frame end
   end
   for i, word in ipairs(words) do words[i] = int(word, 8) end
   local t = stored.stack_table()
   assert(t:load(table.concat(words)))
   return t
end

-- Makes a recording of ten seconds: of thread 7 alone in the first, then of 7 and 8 in turn.
local function made(chained, stacks, times)
   local list = {}
   stacks, times = stacks or STACKS, times or TIMES
   for stack, n in ipairs(times) do
      for i = 1, n do
         local second = i % 10
         list[#list + 1] = { tid = second > 0 and i % 2 == 0 and 8 or 7, pid = 7, ip = stacks[stack][1],
            period = 1000000, tstamp = 1e9 * (1 + second), values = { chained and stack or nil } }
      end
   end
   return recording.of {
      head = { events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000000 } }, fixed = true,
         what = "a <b>'program'</b>", time = 1700000000, stacks = chained and "frame pointers" or nil,
         machine = { name = "perf", pmu = "software", host = "here & there", kernel = "6.1" } },
      blocks = { handmade.block(list) }, stack_table = chained and stack_table(stacks) or nil,
      comms = { [7] = "prog", [8] = 'w"<1>' }, ends = { samples = #list, lost = 3, elapsed = 10.5 },
      maps = { { pid = 7, maps = { { 0, 0x10000, 0, "/bin/prog" } } } }, symbols = { ["/bin/prog"] = FUNCTIONS },
   }
end

local function written(self, options)
   export.write(self, "html", page, options)
   return files.read(page)
end

local function json_of(text)
   return cjson.decode(text:match('<script type="application/json" id="data">(.-)</script>'))
end

-- --- what the data say ---------------------------------------------------------------------------

-- Adds up, as the page has to, each function's samples without and with callees, each sample once.
local function by_function(d)
   local own, all = {}, {}
   for _, event in ipairs(d.events) do
      for i, node in ipairs(event.cells.node) do
         local n, seen, inner = event.cells.samples[i], {}, true
         while node > 0 do
            local frame = d.tree.frame[node + 1] + 1
            local name = d.frames.name[frame]
            if d.frames.kind[frame] <= 1 then
               if inner then own[name] = (own[name] or 0) + n end
               if not seen[name] then all[name] = (all[name] or 0) + n end
               inner, seen[name] = false, true
            end
            node = d.tree.parent[node + 1]
         end
      end
   end
   return own, all
end

local function report_of(self)
   local own, all = {}, {}
   for _, row in ipairs(analyze.by(self, "symbol", { children = true }).rows) do
      own[row.symbol] = row.samples > 0 and row.samples or nil
      all[row.symbol] = (row.total or row).samples
   end
   return own, all
end

-- Returns the counts with the name "long" for any that the page shortens.
local function shortened(counts)
   local out = {}
   for name, n in pairs(counts) do out[#name > 300 and "long" or name] = n end
   return out
end

-- Calls fn with lower limits of what a page holds.
local function bounded(most, fn)
   local before = {}
   for name, n in pairs(most) do before[name], data.most[name] = data.most[name], n end
   local ok, err = pcall(fn)
   for name, n in pairs(before) do data.most[name] = n end
   if not ok then error(err, 0) end
end

local function sum(list)
   local n = 0
   for _, v in ipairs(list) do n = n + v end
   return n
end

describe("a page", function()
   for _, chained in ipairs { true, false } do
      it("has the sums of the report" .. (chained and ", with the callers'" or ""), function()
         local own, all = by_function(json_of(written(made(chained))))
         for name in pairs(own) do if name:find("^longlong") then own.long, own[name] = own[name], nil end end
         for name in pairs(all) do if name:find("^longlong") then all.long, all[name] = all[name], nil end end
         local report_own, report_all = report_of(made(chained))
         assert.same(shortened(report_own), own)
         assert.same(shortened(report_all), all)
         assert.equal(30, own[END])
         assert.equal(chained and 66 or 10, all.main)
      end)
   end

   it("has each stack once, parents first", function()
      local d, seen = json_of(written(made(true))), {}
      assert.equal(#d.tree.parent, #d.tree.frame)
      assert.equal(1 + 7, #d.tree.parent)
      for i = 2, #d.tree.parent do
         assert.is_true(d.tree.parent[i] < i - 1)
         local id = d.tree.parent[i] .. " " .. d.tree.frame[i]
         assert.is_nil(seen[id])
         seen[id] = true
      end
   end)

   it("has every sample in its slice and thread", function()
      local d = json_of(written(made(true)))
      local cells, threads, early = d.events[1].cells, {}, 0
      for i, n in ipairs(cells.samples) do
         local name = d.threads[cells.thread[i] + 1].name
         threads[name] = (threads[name] or 0) + n
         if cells.slice[i] * d.step < 0.5 then early = early + n end
      end
      assert.equal(66, sum(cells.samples))
      assert.same({ ["7 prog"] = 40, ['8 w"<1>'] = 26 }, threads)
      assert.equal(6, early) -- every tenth is in the first second, by thread 7 alone
      assert.near(9, d.step * d.slices, 0.1)
   end)

   it("has no time line where no two moments are known, and says why", function()
      local function timeline(self) return written(self):match('id="h%-time">(.-)</section>') end
      local unordered = made(true)
      unordered.head.no_time = true
      unordered.path = "old.data"
      for why, self in pairs { ["None: there are no samples of two moments."] = made(false, { { 0x1000 } }, { 1 }),
         ["None: the samples in old.data have no times."] = unordered } do
         local text = timeline(self)
         assert.truthy(text:find(why, 1, true) and text:find("<div hidden>", 1, true), text)
      end
      local text = timeline(made(true))
      assert.falsy(text:find("None", 1, true) or text:find("<div hidden>", 1, true), text)
   end)

   it("loads nothing", function()
      local text = written(made(true))
      assert.is_nil(text:find("https?:"))
      assert.is_nil(text:find("@import", 1, true))
      assert.is_nil(text:find("url(", 1, true))
      for attribute, value in text:gmatch("[%s](%l+)=\"([^\"]*)\"") do
         if attribute == "src" or attribute == "href" then assert.equal("#", value:sub(1, 1)) end
      end
      assert.truthy(text:find("default-src 'none'", 1, true))
   end)

   it("is not broken by any name", function()
      local text = written(made(true), { title = "<i>" .. END })
      local opened, closed = select(2, text:gsub("<script", "")), select(2, text:gsub("</script", ""))
      assert.same({ 2, 2 }, { opened, closed })
      assert.is_nil(text:find("<b onclick", 1, true))
      assert.is_nil(text:find("<i>", 1, true))
      assert.is_nil(text:find("<b>'program'", 1, true))
      assert.is_nil(text:match('id="data">(.-)</script>'):find("<", 1, true))
      assert.truthy(text:find("here &amp; there", 1, true))
      local names = {}
      for _, name in ipairs(json_of(text).frames.name) do names[name] = true end
      assert.is_true(names[LESS] and names[END])
   end)

   it("says what was run, when, where, and what was lost", function()
      local text = written(made(true))
      for _, words in ipairs { "a &lt;b&gt;'program'&lt;/b&gt;", os.date("%Y-%m-%d %H:%M:%S", 1700000000), "kernel 6.1",
         "cpu-clock every 1.000 ms", "<dd>66</dd>", "3 while recording", "10.500 s", "by frame pointers" } do
         assert.truthy(text:find(words, 1, true), words)
      end
   end)

   it("is bounded: slices, then rarer stacks, then threads give way, and it says so", function()
      bounded({ cells = 20 }, function()
         local d = json_of(written(made(true)))
         assert.is_true(d.slices < 240)
         assert.is_true(#d.events[1].cells.node <= 20)
         assert.equal(66, sum(d.events[1].cells.samples))
         assert.near(9, d.step * d.slices, 0.1)
      end)
      bounded({ stacks = 3 }, function()
         local self = made(true)
         local text = written(self)
         local own = by_function(json_of(text))
         assert.truthy(text:find("the callers in 2 rare stacks with 9.09% of the samples", 1, true))
         assert.same({ 30, 20, 10, 5 }, { own[END], own[LESS], own.main, own.recursive })
      end)
      bounded({ threads = 1 }, function()
         local text = written(made(true))
         assert.same({ { name = "2 others" } }, json_of(text).threads)
         assert.truthy(text:find("the names of 2 threads with few samples", 1, true))
      end)
      bounded({ nodes = 1, cells = 1 }, function()
         local d = json_of(written(made(true)))
         assert.equal(66, sum(d.events[1].cells.samples))
         assert.same({ 1, 1 }, { d.slices, #d.threads })
      end)
   end)

   it("is made of a recording without samples, too", function()
      local self = made(false)
      self.blocks = {}
      assert.same({}, json_of(written(self)).events[1].cells.node)
   end)
end)

-- --- the command ---------------------------------------------------------------------------------

describe("lpfm report --html", function()
   local file = scratch .. "/x.data"

   setup(function()
      handmade.write(file, { events = { { name = "cpu-clock", pmd = 65, unit = "ns", period = 1000 },
         { name = "page-faults", pmd = 66, period = 1 } }, what = "x", fixed = true, machine = {} },
         { samples = { { tid = 7, ip = 4096 }, { tid = 7, ip = 4096, pmd = 66 } } })
   end)

   local function run(words)
      return c.sh(("%s report %s"):format(program, words))
   end

   it("writes the page, of every event", function()
      local out, status = run(("--html %s -e page-faults %s"):format(page, file))
      assert.same({ "", 0 }, { out, status })
      local d = json_of(files.read(page))
      assert.same({ "cpu-clock", "page-faults", 1 }, { d.events[1].name, d.events[2].name, d.event })
   end)

   it("refuses what the page cannot show, and names it", function()
      assert.truthy(run("--html x.html -s object " .. file):find("--html and --sort exclude each other", 1, true))
      assert.truthy(run("--html x.html --derive a=b " .. file):find("--html and --derive exclude each other", 1, true))
      assert.truthy(run(("--html %s -e nothing %s"):format(page, file)):find("'nothing' was not recorded", 1, true))
   end)
end)

-- --- in a browser --------------------------------------------------------------------------------

-- Runs a script in the page, in a browser; returns what the script leaves in `seen`.
local function browsed(self, script)
   local text = written(self)
   local more = ('<pre id="seen"></pre><script>const seen = [], by = (id) => document.getElementById(id);\n%s\n'
      .. 'by("seen").textContent = JSON.stringify(seen);</script>\n</body>'):format(script)
   local at = text:find("</body>", 1, true)
   files.write(page, text:sub(1, at - 1) .. more .. text:sub(at + #"</body>"))
   local dom = browser.dom(page, scratch)
   local found = dom:match('<pre id="seen">(.-)</pre>')
   assert(found, "the page was not drawn: " .. dom:sub(1, 200))
   return cjson.decode((found:gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&amp;", "&")))
end

describe("a browser", function()
   it("shows the report's table, and draws every frame", function()
      if browser.missing() then return pending(browser.missing()) end
      local seen = browsed(made(true), [[
         for (const row of document.querySelectorAll("#functions tbody tr")) {
            seen.push(Array.from(row.cells).map((cell) => cell.textContent));
         }
         seen.push(document.querySelectorAll("#flame .frame").length, by("selected").textContent);
      ]])
      assert.same({ "100.00%", "15.15%", "10", "main", "prog" }, seen[1])
      assert.same({ "75.76%", "30.30%", "20", LESS, "prog" }, seen[2])
      assert.same({ "45.45%", "45.45%", "30", END, "prog" }, seen[3])
      assert.same({ "7.58%", "7.58%", "5", "recursive", "prog" }, seen[4])
      -- recursion is folded
      assert.same({ 6, "everything: 66 samples, 66.000 ms" }, { seen[6], seen[7] })
   end)

   it("zooms, searches, sorts, filters and selects", function()
      if browser.missing() then return pending(browser.missing()) end
      local seen = browsed(made(true), [[
         const frames = () => Array.from(document.querySelectorAll("#flame .frame"));
         const press = (key) =>
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
         const type = (e, text) => {
            e.value = text;
            e.dispatchEvent(new Event(e.type === "number" ? "change" : "input"));
         };
         const names = () => Array.from(document.querySelectorAll("#functions td.name")).map((e) => e.textContent);
         frames().find((e) => e.textContent === "operator<").click();
         seen.push(frames().length);                                    // all, main, it, and what it called
         type(by("search"), "SCRIPT");
         seen.push(by("found").textContent);
         type(by("search"), "");
         by("unzoom").click();
         seen.push(frames().length);
         document.querySelector("#flame .frame[tabindex='0']").focus();
         press("ArrowDown");
         press("ArrowDown");
         seen.push(document.activeElement.getAttribute("aria-label"));
         document.activeElement.click();
         press("Escape");
         seen.push(frames().length);
         document.querySelectorAll("#functions th button")[3].click();  // by name
         seen.push(document.querySelector("#functions th[aria-sort=ascending]").textContent, names()[0]);
         type(document.querySelector("#functions input"), "recurs");
         seen.push(names());
         type(by("to"), "0.5");
         seen.push(by("selected").textContent);
         by("clear").click();
         document.querySelector("#threads td.name button").click();
         seen.push(by("selected").textContent);
      ]])
      assert.same({ 4, "found in 45.45%", 6 }, { seen[1], seen[2], seen[3] })
      assert.truthy(seen[4]:find("operator<, in prog, total 75.76%, 50.000 ms, 50 samples, self 30.30%", 1, true))
      assert.same({ 6, "function \226\150\180" }, { seen[5], seen[6] })
      assert.equal(END, seen[7])
      assert.same({ "recursive" }, seen[8])
      assert.truthy(seen[9]:find("^0.000 s to .*: 6 samples"), seen[9])
      assert.truthy(seen[10]:find("^thread 7 prog: 40 samples"), seen[10])
   end)

   it("begins with the flame graph, its root in view; it is turned over, and recursion unfolded", function()
      if browser.missing() then return pending(browser.missing()) end
      local seen = browsed(made(true), [[
         const topOf = (name) => Array.from(document.querySelectorAll("#flame .frame"))
            .find((e) => e.textContent === name).getBoundingClientRect().top;
         const box = by("flame").getBoundingClientRect();
         const set = (id, value) => {
            if (typeof value === "boolean") by(id).checked = value; else by(id).value = value;
            by(id).dispatchEvent(new Event("change"));
         };
         const count = () => document.querySelectorAll("#flame .frame").length;
         seen.push(document.querySelector("h2").textContent, topOf("all") < window.innerHeight);
         seen.push(Math.abs(topOf("all") - box.top) < 3, topOf("main") > topOf("all"));
         set("upward", true);
         seen.push(topOf("main") < topOf("all"));
         set("fold", false);
         seen.push(count());
         set("fold", true);
         set("view", "leaves");
         seen.push(Array.from(document.querySelectorAll("#flame .frame"), (e) => e.getAttribute("aria-label"))
            .filter((label) => label.startsWith("operator<")).sort().join("; "));
         seen.push(count());
      ]])
      assert.same({ "Flame graph", true, true, true, true, 8 }, { unpack(seen, 1, 6) })
      assert.equal("operator<, in prog, total 30.30%, 20.000 ms, 20 samples; "
         .. "operator<, in prog, total 45.45%, 30.000 ms, 30 samples", seen[7])
      -- all; five leaves; the callers of four of them; and main, which called the caller of END
      assert.equal(1 + 5 + 4 + 1, seen[8])
   end)

   -- Returns each function's total, callers and callees; in recursion, of the outermost call alone.
   local function expected_of(stacks, times)
      local out, all = {}, 0
      for i, stack in ipairs(stacks) do
         local path, seen = {}, {}
         for k = #stack, 1, -1 do path[#path + 1] = "f" .. math.floor(stack[k] / 0x1000) end
         all = all + times[i]
         for k, name in ipairs(path) do
            local f = out[name] or { total = 0, callers = {}, callees = {} }
            out[name] = f
            if not seen[name] then
               seen[name], f.total = true, f.total + times[i]
               local caller, callee = path[k - 1], path[k + 1]
               if caller then f.callers[caller] = (f.callers[caller] or 0) + times[i] end
               if callee then f.callees[callee] = (f.callees[callee] or 0) + times[i] end
            end
         end
      end
      return out, all
   end

   it("shows of any function its callers and callees, and folds no function away", function()
      if browser.missing() then return pending(browser.missing()) end
      local stacks, times = {}, {}
      while #stacks < 25 do
         local stack = {}
         for k = 1, math.random(1, 7) do stack[k] = 0x1000 * math.random(1, 5) + (k > 1 and 0x11 or 0) end
         local id = table.concat(stack, " ")
         if not stacks[id] then
            stacks[#stacks + 1], stacks[id], times[#times + 1] = stack, true, math.random(1, 4)
         end
      end
      local functions = FUNCTIONS.functions
      FUNCTIONS.functions = {}
      for i = 1, 5 do FUNCTIONS.functions[i] = { 0x1000 * i, 0x100, "f" .. i } end
      local ok, seen = pcall(browsed, made(true, stacks, times), [==[
         const frames = (id) => Array.from(document.querySelectorAll("#" + id + " .frame"));
         const shares = (list) => list.map((e) => {
            const label = e.getAttribute("aria-label");
            return [label.split(",")[0], label.match(/total ([0-9.]+)%/)[1]];
         });
         const nearest = (id, sign) => {
            const all = frames(id), y = (e) => sign * parseInt(e.style.top);
            const first = Math.min(...all.map(y));
            return shares(all.filter((e) => y(e) === first));
         };
         const all = () => {
            const out = {};
            for (const { value } of Array.from(by("function").options)) {
               by("function").value = value;
               by("function").dispatchEvent(new Event("change"));
               const below = frames("callees").filter((e) => e.style.top === "18px");
               out[value] = { share: by("share").textContent, callers: nearest("callers", -1), callees: shares(below) };
            }
            return out;
         };
         const widths = () => frames("flame").filter((e) => e.style.top === "18px").map((e) => e.textContent).join(" ");
         seen.push(all(), widths());
         by("fold").checked = false;
         by("fold").dispatchEvent(new Event("change"));
         seen.push(all(), widths());
      ]==])
      FUNCTIONS.functions = functions
      assert(ok, seen)
      local expected, all = expected_of(stacks, times)
      local function as_list(counts)
         local out = {}
         for name, n in pairs(counts) do out[#out + 1] = ("%s %.2f"):format(name, n / all * 100) end
         table.sort(out)
         return out
      end
      local function shown(list)
         local out = {}
         for i, pair in ipairs(list) do out[i] = pair[1] .. " " .. pair[2] end
         table.sort(out)
         return out
      end
      for name, f in pairs(expected) do
         local folded, unfolded = seen[1][name], seen[3][name]
         assert.truthy(folded.share:find(("^total %.2f%%%%"):format(f.total / all * 100)), name .. ": " .. folded.share)
         assert.equal(folded.share, unfolded.share)
         assert.same(as_list(f.callers), shown(unfolded.callers), "callers of " .. name)
         assert.same(as_list(f.callees), shown(unfolded.callees), "callees of " .. name)
         assert.same(shown(unfolded.callers), shown(folded.callers), "callers of " .. name .. ", folded")
      end
      assert.equal(seen[4], seen[2])
   end)

   it("has ticks on its time line, wherever they fit, at round times", function()
      if browser.missing() then return pending(browser.missing()) end
      local seen = browsed(made(true), [[
         const axis = () => Array.from(by("axis").children);
         const box = by("cover").getBoundingClientRect();
         for (const e of axis()) {
            seen.push([e.textContent, (e.getBoundingClientRect().left - box.left) / box.width]);
         }
      ]])
      assert.equal("0", seen[1][1])
      assert.is_true(#seen >= 3, "ticks: " .. #seen)
      for i = 2, #seen do
         local s = tonumber(seen[i][1]:match("^([%d.]+) s$"))
         assert.near(s / 9, seen[i][2], 0.01)
         assert.near(tonumber(seen[2][1]:match("[%d.]+")) * (i - 1), s, 1e-6)
      end
   end)
end)
