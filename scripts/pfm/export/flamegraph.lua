-- SPDX-License-Identifier: MIT
--- Flame graphs: SVG to hover over, zoom (click) and search in a browser.
-- @module pfm.export.flamegraph

local escape = require "pfm.export.escape"
local render = require "pfm.render"
local stacks = require "pfm.recording.stacks"
local tables = require "pfm.util.tables"

local flamegraph = { summary = "a picture (SVG) to zoom and search in a browser", extensions = { "svg" },
   one_event = true }

local WIDTH, ROW, MARGIN = 1200, 17, 10 -- px
local HEAD, FOOT = 60, 30               -- px, above and below the frames
local CHAR, INSET = 7.2, 3              -- px: a character of 12 px monospace, the gap before a text
local WIDE, BUTTON = 9.7, 120           -- px: a character of the heading, a button beside it
local THINNEST = 0.1                    -- px: narrower frames are not drawn
local PARTED = 3                        -- px: narrower frames touch their neighbours

-- The first hue and the range of hues, in degrees, by kind of frame.
local hues = { all = { 220, 0 }, process = { 210, 15 }, thread = { 195, 15 }, object = { 130, 40 },
   kernel = { 20, 12 }, symbol = { 38, 15 }, inlined = { 55, 10 } }

-- --- the tree ------------------------------------------------------------------------------------

local function child_of(node, frame)
   local id = frame.kind .. "\0" .. frame.name
   local child = node.by_id[id] or tables.enter(node.by_id, id,
      { name = frame.name, kind = frame.kind, weight = 0, by_id = {}, children = {} }, node.children)
   return child
end

local function tree_of(list, total)
   local root = { name = "all", kind = "all", weight = total, by_id = {}, children = {} }
   for _, stack in ipairs(list) do
      local node = root
      for _, frame in ipairs(stack.frames) do
         node = child_of(node, frame)
         node.weight = node.weight + stack.weight
      end
   end
   return root
end

-- Notes by how many percentage points each node's share has changed since the old tree.
local function compare(node, old, scale, old_scale)
   node.delta = node.weight * scale - (old and old.weight * old_scale or 0)
   for id, child in pairs(node.by_id) do compare(child, old and old.by_id[id], scale, old_scale) end
end

-- Places every frame: from left to right by name, as the stacks are sorted; returns them and how
-- many rows they take.
local function place(node, x, scale, depth, out)
   local width, deepest = node.weight * scale, depth
   if width < THINNEST then return depth - 1 end
   out[#out + 1] = { node = node, x = x, width = width, depth = depth }
   for _, child in ipairs(node.children) do
      deepest = math.max(deepest, place(child, x, scale, depth + 1, out))
      x = x + child.weight * scale
   end
   return deepest
end

-- --- drawing -------------------------------------------------------------------------------------

local DEEPEST = 10 -- points of difference that have the full colour

-- Returns red if the share has grown, blue if it has shrunk, grey if it is the same.
local function colour_of_delta(delta)
   local depth = math.min(math.abs(delta) / DEEPEST, 1)
   return ("hsl(%d,%d%%,%d%%)"):format(delta > 0 and 8 or 215, 85 * math.sqrt(depth), 90 - 28 * depth)
end

-- Returns a node's colour, which is always the same for a name, or shows how the share has changed.
local function colour_of(node)
   if node.delta then return colour_of_delta(node.delta) end
   local hash, hue = 0, hues[node.kind]
   for i = 1, #node.name do hash = (hash * 31 + node.name:byte(i)) % 9973 end
   return ("hsl(%d,%d%%,%d%%)"):format(hue[1] + hue[2] * (hash % 101) / 100, 45 + hash % 30, 72 + hash % 7)
end

-- Cuts a name between characters, not within a UTF-8 sequence.
local function fit(name, width, char)
   local room = math.floor((width - 2 * INSET) / (char or CHAR))
   if room < 3 then return "" end
   if render.width(name) <= room then return name end
   return (name:sub(1, room - 2):gsub("[\192-\255][\128-\191]*$", "")) .. ".."
end

local function weight_text(weight, unit)
   if unit == "ns" then return render.time(weight / 1e9) end
   return render.plural(weight, unit)
end

local function draw_frame(f, rows, total, options)
   local node = f.node
   local y = HEAD + (options.icicle and f.depth or rows - 1 - f.depth) * ROW
   local weight = weight_text(node.weight, options.unit or "sample")
   local title = ("%s (%s, %s, %.2f%%%s)"):format(node.name, node.kind, weight, node.weight / total * 100,
      node.delta and (", %+.2f points"):format(node.delta) or "")
   return ('<g class="frame%s" data-name="%s"><title>%s</title>'
      .. '<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>'
      .. '<text x="%.2f" y="%d">%s</text></g>\n'):format(
      f.width >= PARTED and " parted" or "", escape(node.name), escape(title), f.x, y, f.width, ROW - 1,
      colour_of(node), f.x + INSET, y + ROW - 5, escape(fit(node.name, f.width)))
end

local STYLE = [[
text { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12px; fill: #111; }
.frame { cursor: pointer; } .frame text { pointer-events: none; }
.parted rect { stroke: #fdfdf8; stroke-width: 0.6; }
.frame:hover rect { stroke: #000; stroke-width: 0.8; }
.heading { font-size: 16px; text-anchor: middle; } .note { fill: #555; }
.button { cursor: pointer; fill: #0645ad; } .button:hover { text-decoration: underline; }
.off { display: none; } .behind rect { opacity: 0.45; } .found rect { fill: #d63bd6; } .found text { fill: #fff; }
]]

-- The script finds frames by the numbers they were drawn with; zooming stretches a part of the
-- picture to its whole width.
local SCRIPT = [[
(function () {
   "use strict";
   var svg = document.currentScript ? document.currentScript.ownerSVGElement : document.documentElement;
   var left = @LEFT@, width = @WIDTH@, charWidth = @CHAR@, inset = @INSET@, up = @UP@;
   var details = svg.querySelector(".details"), matched = svg.querySelector(".matched");
   var reset = svg.querySelector(".reset"), search = svg.querySelector(".search"), current = null;
   var frames = Array.prototype.map.call(svg.querySelectorAll(".frame"), function (g) {
      var rect = g.querySelector("rect");
      return { g: g, rect: rect, text: g.querySelector("text"), name: g.getAttribute("data-name"),
         title: g.querySelector("title").textContent, x: +rect.getAttribute("x"), y: +rect.getAttribute("y"),
         w: +rect.getAttribute("width") };
   });
   function draw(f, x, w) {
      var room = Math.floor((w - 2 * inset) / charWidth), name = f.name;
      f.rect.setAttribute("x", x);
      f.rect.setAttribute("width", w);
      f.text.setAttribute("x", x + inset);
      f.text.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 2) + "..";
   }
   function show(f, shown, behind) {
      f.g.classList.toggle("off", !shown);
      f.g.classList.toggle("behind", behind);
   }
   function zoom(to) {
      var slack = 0.02, scale = width / to.w;
      frames.forEach(function (f) {
         var above = (to.y - f.y) * up;
         var inside = f.x >= to.x - slack && f.x + f.w <= to.x + to.w + slack && above >= 0;
         var below = above < 0 && f.x <= to.x + slack && f.x + f.w >= to.x + to.w - slack;
         show(f, inside || below, below);
         if (inside) draw(f, left + (f.x - to.x) * scale, f.w * scale);
         else if (below) draw(f, left, width);
      });
      reset.classList.toggle("off", to === frames[0]);
   }
   function mark(expression) {
      var spans = [], end = -1, sum = 0;
      frames.forEach(function (f) {
         var hit = expression !== null && expression.test(f.name);
         f.g.classList.toggle("found", hit);
         if (hit) spans.push([f.x, f.x + f.w]);
      });
      spans.sort(function (a, b) { return a[0] - b[0]; });
      spans.forEach(function (s) {
         sum += Math.max(0, s[1] - Math.max(s[0], end));
         end = Math.max(end, s[1]);
      });
      matched.textContent = expression ? "found in " + (sum / frames[0].w * 100).toFixed(2) + "%" : "";
      search.textContent = expression ? "end search" : "search";
      current = expression;
   }
   function ask() {
      var word = window.prompt("Names to search for (a regular expression):", "");
      if (!word) return;
      try { mark(new RegExp(word)); } catch (error) { window.alert(error.message); }
   }
   frames.forEach(function (f) {
      f.g.addEventListener("click", function () { zoom(f); });
      f.g.addEventListener("mouseover", function () { details.textContent = f.title; });
      f.g.addEventListener("mouseout", function () { details.textContent = ""; });
   });
   reset.addEventListener("click", function () { zoom(frames[0]); });
   search.addEventListener("click", function () { if (current) mark(null); else ask(); });
   window.addEventListener("keydown", function (event) {
      if (event.key === "Escape") { mark(null); zoom(frames[0]); }
      else if (event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
         event.preventDefault();
         ask();
      }
   });
})();
]]

local function script(icicle)
   local values = { LEFT = MARGIN, WIDTH = WIDTH - 2 * MARGIN, CHAR = CHAR, INSET = INSET, UP = icicle and -1 or 1 }
   return (SCRIPT:gsub("@(%u+)@", values))
end

local function heading(title, note)
   return ('<text class="heading" x="%d" y="24">%s</text>\n<text class="note" x="%d" y="44">%s</text>\n'
      .. '<text class="button reset off" x="%d" y="24">reset zoom</text>\n'
      .. '<text class="button search" x="%d" y="24">search</text>\n'):format(
      WIDTH / 2, escape(fit(title, WIDTH - 2 * BUTTON, WIDE)), MARGIN, escape(note), MARGIN, WIDTH - MARGIN - 10 * CHAR)
end

--- Draws stacks.
-- @tparam table list of `stacks.collect`
-- @number total of the weights, more than 0
-- @tparam[opt] table options `title`, `note` (a line below it), `unit` of the weights: "ns", or a
-- noun ("sample"); `icicle` (the root on top); `old`, `old_total`: older stacks; colours show how
-- shares changed
-- @treturn string SVG
function flamegraph.draw(list, total, options)
   options = options or {}
   local placed, tree = {}, tree_of(list, total)
   if options.old then compare(tree, tree_of(options.old, options.old_total), 100 / total, 100 / options.old_total) end
   local rows = place(tree, MARGIN, (WIDTH - 2 * MARGIN) / total, 0, placed) + 1
   local height = HEAD + rows * ROW + FOOT
   local size = ('width="%d" height="%d" viewBox="0 0 %d %d"'):format(WIDTH, height, WIDTH, height)
   local out = {
      '<svg xmlns="http://www.w3.org/2000/svg" class="flamegraph" ', size, ">\n<style>\n", STYLE,
      '</style>\n<rect width="100%" height="100%" fill="#fdfdf8"/>\n',
      heading(options.title or "Flame graph", options.note or ""),
   }
   for _, f in ipairs(placed) do out[#out + 1] = draw_frame(f, rows, total, options) end
   out[#out + 1] = ('<text class="details" x="%d" y="%d"> </text>\n'):format(MARGIN, height - 10)
   out[#out + 1] = ('<text class="matched" x="%d" y="44"> </text>\n'):format(WIDTH - MARGIN - 20 * CHAR)
   out[#out + 1] = "<script><![CDATA[\n" .. script(options.icicle) .. "]]></script>\n</svg>\n"
   return table.concat(out)
end

local CALLS = "Functions lie above those that called them; inlined functions on top of theirs."
local PLACES = "Above the threads lie objects and functions, not callers; inlined functions on top of theirs."
local CHANGES = ("Red: its share has grown since the older recording; blue: it has shrunk; by %d points and more "
   .. "where the colour is full."):format(DEEPEST)

local function collect(self, wanted)
   local list, total = stacks.collect(self, wanted)
   if total == 0 then error(("there are no samples of '%s' to draw in %s"):format(wanted.event, self.path), 0) end
   return list, total
end

-- Returns the first of the warnings about a recording and its base, with their number; nil if there
-- are none.
local function warning_of(self, base)
   local list = tables.slice(self:warnings())
   for _, warning in ipairs(base and base:warnings() or {}) do list[#list + 1] = warning end
   return list[1] and ("Warning%s: %s"):format(#list > 1 and (" 1 of %d"):format(#list) or "", list[1])
end

--- Draws an event of a recording.
-- @tparam table self of `recording.open`
-- @param out a file
-- @tparam[opt] table options of `stacks.collect`, and `title`, `icicle`, `base` (an older
-- recording: the colours show how shares have changed since); the weight is "events" by default
function flamegraph.write(self, out, options)
   options = options or {}
   local event, weight = stacks.event(self, options.event), options.weight or "events"
   local wanted = { event = event.name, ids = options.ids, inlined = options.inlined, weight = weight }
   local list, total = collect(self, wanted)
   local old, old_total
   if options.base then old, old_total = collect(options.base, wanted) end
   local unit = weight == "samples" and "sample" or event.unit == "ns" and "ns" or "event"
   local warning = warning_of(self, options.base)
   local text = options.base and CHANGES or warning and "" or self:has_stacks() and CALLS or PLACES
   local note = ("%s: %s. %s%s"):format(event.name, weight_text(total, unit), text, warning or "")
   out:write(flamegraph.draw(list, total, {
      title = options.title or render.what(self.head.what or self.path),
      note = warning and fit(note, WIDTH - 2 * MARGIN - 20 * CHAR) or note, unit = unit,
      icicle = options.icicle, old = old, old_total = old_total,
   }))
end

return flamegraph
