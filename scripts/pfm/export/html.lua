-- SPDX-License-Identifier: MIT
--- A recording as a page for a browser: flame graph, callers and callees, time line, tables, code,
-- summary. The page is one file and loads nothing; its script consists of `html/*.js`.
-- @module pfm.export.html

local analyze = require "pfm.analyze"
local code = require "pfm.export.html.code"
local data = require "pfm.export.html.data"
local escape = require "pfm.export.escape"
local lpfm = require "lpfm"
local render = require "pfm.render"
local samples = require "pfm.recording.samples"
local stacks = require "pfm.recording.stacks"
local summary = require "pfm.recording.summary"
local tables = require "pfm.util.tables"

local html = { summary = "a page for a browser: flame graph, time line, tables, code; it needs nothing else",
   extensions = { "html", "htm" } }

local SCRIPTS = { "model", "tree", "flame", "graphs", "tables", "heat", "timeline", "begin" }

-- Forbids the browser to load anything, whatever the data are.
local POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

local PAGE = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="@POLICY@">
<title>@TITLE@</title>
<style>
@STYLE@</style>
</head>
<body>
<a class="skip" href="#functions">To the table of functions</a>
<header><h1>@TITLE@</h1><p class="by">@BY@</p>
@WARNINGS@</header>
<main>
<noscript><section><p>Graph and tables need JavaScript; the code below does not.</p></section></noscript>
<div class="bar"><div class="tools" role="group" aria-label="What is shown">
<label id="choice">event <select id="event"></select></label>
<span id="selected" role="status"></span> <button type="button" id="clear" hidden>show everything</button></div></div>
<section aria-labelledby="h-flame"><h2 id="h-flame">Flame graph</h2>
<div class="tools"><input type="search" id="search" placeholder="search" aria-label="search for functions">
<span class="found" id="found" role="status"></span>
<label class="chained">begin <select id="view"><option value="root">at the root: what it called</option>
<option value="leaves">from the leaves: what called them</option></select></label>
<label class="chained"><input type="checkbox" id="fold" checked> fold recursion</label>
<label><input type="checkbox" id="upward"> root at the bottom</label>
<button type="button" id="unzoom">reset zoom</button></div>
<p class="soft">@HOW@ Click, or Enter, zooms; the arrow keys go from frame to frame, Escape shows all again.</p>
<div class="flame" id="flame" role="group" aria-label="Flame graph"></div></section>
<section aria-labelledby="h-around" class="around chained"><h2 id="h-around">Callers and callees</h2>
<div class="tools"><label>of <select id="function"></select></label>
<span class="soft" id="share" role="status"></span></div>
<p class="soft">Above the function lie its callers, below it what it called. A click goes to that function.</p>
<div class="flame" id="callers" role="group" aria-label="Callers"></div>
<div class="flame" id="callees" role="group" aria-label="The function and its callees"></div></section>
<section aria-labelledby="h-time"><h2 id="h-time">Time line</h2>
<p class="soft">@UNTIMED@</p><div@TIMELINE@>
<div class="tools"><span class="soft">Drag over it, or:</span>
<label>from <input type="number" id="from" min="0"></label> <label>to <input type="number" id="to" min="0"></label> s
<button type="button" id="whole">whole run</button></div>
<div class="tracks"><div id="lines"></div><div class="cover" id="cover"><div id="ticks"></div>
<div class="brush" id="brush" hidden></div></div></div>
<p class="soft" id="unseen"></p></div></section>
@RECORDINGS@
<section aria-labelledby="h-functions"><h2 id="h-functions">Functions</h2><div id="functions"></div></section>
<div class="pair">
<section aria-labelledby="h-objects"><h2 id="h-objects">Programs and libraries</h2><div id="objects"></div></section>
<section aria-labelledby="h-threads"><h2 id="h-threads">Threads</h2><div id="threads"></div></section>
</div>
<section aria-labelledby="h-code"><h2 id="h-code">Code</h2>
<p class="soft">Of the functions with the most events, over the whole run; percentages are of the function.</p>
@CODE@</section>
<section aria-labelledby="h-summary"><h2 id="h-summary">Recording</h2>
<dl class="facts">
@FACTS@</dl></section>
</main>
<footer><p class="by">@FOOT@</p></footer>
<div class="tip" id="tip" hidden></div>
<script type="application/json" id="data">@DATA@</script>
<script>
(function () {
"use strict";
@SCRIPT@})();
</script>
</body>
</html>
]]

local CALLS = "A function is next to the one that called it, an inlined function next to its own."
local PLACES = "A function is next to its program or library, an inlined function next to its own; "
   .. "there are no call stacks."

-- --- the parts of the page -----------------------------------------------------------------------

local function machine_words(head)
   local m = head.machine or {}
   return ("%s, kernel %s%s; machine %s (%s)"):format(m.host or "?", m.kernel or "?", m.arch and " " .. m.arch or "",
      m.name or "?", m.pmu or "?")
end

local function lost_words(ends)
   local out = {}
   if (ends.lost or 0) > 0 then out[1] = render.number(ends.lost) .. " while recording" end
   if (ends.missed or 0) > 0 then out[#out + 1] = "about " .. render.number(ends.missed) .. " not taken" end
   return #out > 0 and table.concat(out, ", ") or "none"
end

local function facts(self, result)
   local head, ends = self.head, self.ends or {}
   local out = {
      { "Measured", render.what(head.what or self.path) }, { "When", summary.date(self) },
      { "Where", machine_words(head) },
      { "Events", summary.events(self) },
      { "Samples", render.number(summary.samples(result)) },
      { "Lost", self.ends and lost_words(ends) or "not known" },
      { "Call stacks", self:has_stacks() and "by " .. head.stacks or "none; lpfm record -g takes them" },
   }
   if ends.elapsed then table.insert(out, 3, { "Duration", render.time(ends.elapsed) }) end
   for i, fact in ipairs(out) do out[i] = ("<dt>%s</dt><dd>%s</dd>\n"):format(fact[1], escape(fact[2])) end
   return table.concat(out)
end

local function warnings(list)
   local out = tables.map(list, function(text) return "<li>" .. escape(text) .. "</li>" end)
   return #out > 0 and '<ul class="warnings">' .. table.concat(out) .. "</ul>\n" or ""
end

local function all_warnings(self, result, left)
   local out = summary.warnings(self, result)
   for _, what in ipairs(left) do out[#out + 1] = "left out to keep the page small: " .. what end
   return out
end

local RECORDINGS = [[
<section aria-labelledby="h-recordings"><h2 id="h-recordings">Recordings</h2>
<p class="soft">How much each spent in each function itself: a deeper colour is more; max/mean is the imbalance.</p>
<div class="scroll" id="heat" tabindex="0" role="region" aria-label="functions by recording"></div></section>
]]

-- In a script element, "<" could begin the end tag.
local function json(value)
   return (render.json(value):gsub("<", "\\u003c"))
end

-- Returns why a page has no time line, or nil if it has one.
local function untimed(self)
   local known, why = pcall(samples.need_times, self)
   if not known then return why end
   local first, last = analyze.span(self)
   return first == last and "there are no samples of two moments" or nil
end

-- Reads a file of this folder, which is searched for like a Lua module.
local function part(name)
   for template in package.path:gmatch("[^;]+") do
      local file = io.open((template:gsub("%.lua$", ""):gsub("?", "pfm/export/html/" .. name)))
      if file then
         local text = file:read("*a")
         file:close()
         return text
      end
   end
   error(("%s of the page is not beside the Lua library: %s"):format(name, package.path), 0)
end

local function scripts()
   return table.concat(tables.map(SCRIPTS, function(name) return part(name .. ".js") end))
end

--- Writes the page.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options `event` (a name: it is shown first), `title`
function html.write(self, out, options)
   options = options or {}
   local event, result = stacks.event(self, options.event), analyze.by(self, "symbol")
   local content, left = data.of(self)
   content.event = tables.find(self.head.events, event) - 1
   local why = untimed(self)
   local parts = {
      POLICY = POLICY, TITLE = escape(options.title or render.what(self.head.what or self.path)),
      STYLE = part "style.css",
      BY = escape(("A profile of %s"):format(summary.date(self))), FACTS = facts(self, result),
      WARNINGS = warnings(all_warnings(self, result, left)), HOW = self:has_stacks() and CALLS or PLACES,
      UNTIMED = why and escape("None: " .. why .. ".") or "", TIMELINE = why and " hidden" or "",
      RECORDINGS = self.sources and RECORDINGS or "", CODE = code.html(self, event.name),
      FOOT = escape("Made by " .. lpfm._VERSION), DATA = json(content), SCRIPT = scripts(),
   }
   out:write((PAGE:gsub("@(%u+)@", parts)))
end

return html
