-- SPDX-License-Identifier: MIT
--- The page's script: the flame graph. Frames are buttons, of which one at a time is in the order of the Tab key; the
-- arrow keys go from frame to frame.
-- @module pfm.export.html.flame

return [==[
const ROW = 18, THINNEST = 1, TEXT = 24; // px
let children = null, drawn = new Map(), order = [], current = 0;

function link() {
   children = Array.from({ length: nodes }, () => []);
   for (let node = 1; node < nodes; node++) {
      if (sums.total[node] > 0) children[parent[node]].push(node);
   }
   const name = (node) => frames.name[frameOf[node]];
   for (const c of children) c.sort((a, b) => name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : a - b);
}

const nameOf = (node) => node === 0 ? "all" : frames.name[frameOf[node]];

const HUES = [[38, 16], [18, 10], [58, 8], [135, 40], [250, 0]];
function hue(node) {
   if (node === 0) return 220;
   let hash = 0;
   for (const c of nameOf(node)) hash = (hash * 31 + c.codePointAt(0)) % 9973;
   const [base, range] = HUES[frames.kind[frameOf[node]]];
   return base + range * (hash % 101) / 100;
}

function describe(node) {
   const f = frameOf[node], kind = node > 0 ? frames.kind[f] : REST;
   const lines = [];
   const object = node > 0 && objects[frames.object[f]];
   if (object) lines.push("in " + object + (kind === INLINED ? ", inlined" : ""));
   const part = (what, n, samples) => what + " " + percent(n, sums.events) + ", " + weight(n) + ", " + group(samples)
      + (samples === 1 ? " sample" : " samples");
   lines.push(part("total", sums.total[node], sums.totalSamples[node]));
   lines.push(part("self", sums.self[node], sums.selfSamples[node]));
   return lines;
}

function matches(node) {
   return state.word !== "" && node > 0 && nameOf(node).toLowerCase().includes(state.word.toLowerCase());
}

// What frames that match have together; one below another counts once.
function found() {
   let sum = 0;
   const inside = new Uint8Array(nodes);
   for (let node = 1; node < nodes; node++) {
      inside[node] = inside[parent[node]];
      if (!inside[node] && matches(node)) { inside[node] = 1; sum += sums.total[node]; }
   }
   return sum;
}

// Frames from the zoomed one on, and those below it over the whole width: node, left and width from 0 to 1, depth.
function layout(width) {
   const out = [], above = [];
   for (let node = state.zoom; node > 0; node = parent[node]) above.unshift(parent[node]);
   above.forEach((node, depth) => out.push({ node, left: 0, width: 1, depth, above: true }));
   const scale = 1 / sums.total[state.zoom];
   const place = (node, left, depth) => {
      const share = sums.total[node] * scale;
      if (share * width < THINNEST) return;
      out.push({ node, left, width: share, depth });
      for (const child of children[node]) { place(child, left, depth + 1); left += sums.total[child] * scale; }
   };
   if (sums.total[state.zoom] > 0) place(state.zoom, 0, above.length);
   return out;
}

function frameButton(box, deepest, width, icicle) {
   const y = (icicle ? box.depth : deepest - box.depth) * ROW, thin = box.width * width < TEXT;
   const label = nameOf(box.node) + ", " + describe(box.node).join(", ");
   const e = make("button", { type: "button", class: "frame" + (thin ? " thin" : "") + (box.above ? " above" : "")
      + (matches(box.node) ? " hit" : ""), tabindex: box.node === current ? 0 : -1, "aria-label": label,
      text: thin ? "" : nameOf(box.node) });
   e.style.cssText = "left:" + (box.left * 100).toFixed(4) + "%;width:" + (box.width * 100).toFixed(4) + "%;top:" + y
      + "px;--hue:" + hue(box.node).toFixed(0);
   e.node = box.node;
   return e;
}

function drawFlame() {
   const flame = by("flame"), width = flame.clientWidth, icicle = by("icicle").checked;
   order = layout(width);
   if (!order.some((box) => box.node === current)) current = state.zoom;
   const deepest = order.reduce((most, box) => Math.max(most, box.depth), 0);
   const rows = make("div", { class: "rows" });
   rows.style.height = (deepest + 1) * ROW + "px";
   drawn = new Map();
   for (const box of order) {
      const e = frameButton(box, deepest, width, icicle);
      drawn.set(box.node, e);
      rows.append(e);
   }
   flame.replaceChildren(rows);
   if (!icicle) flame.scrollTop = flame.scrollHeight;
   by("unzoom").disabled = state.zoom === 0;
   by("found").textContent = state.word === "" ? "" : "found in " + percent(found(), sums.events);
}

function zoom(node) {
   const had = by("flame").contains(document.activeElement);
   hideTip();
   state.zoom = node;
   current = node;
   drawFlame();
   if (had) drawn.get(node).focus({ preventScroll: false });
}

function go(node) {
   if (!drawn.has(node)) return;
   drawn.get(current).tabIndex = -1;
   current = node;
   drawn.get(node).tabIndex = 0;
   drawn.get(node).focus();
}

// The frame beside one, or beside what it is in.
function beside(node, step) {
   const depth = order.find((box) => box.node === node).depth;
   const same = order.filter((box) => box.depth === depth);
   const at = same.findIndex((box) => box.node === node) + step;
   return same[at] ? same[at].node : node;
}

function onFlameKey(event) {
   const outwards = by("icicle").checked ? "ArrowDown" : "ArrowUp";
   const widest = () => children[current].slice().sort((a, b) => sums.total[b] - sums.total[a])[0];
   if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      go(event.key === outwards ? widest() : parent[current]);
   } else if (event.key === "ArrowLeft") go(beside(current, -1));
   else if (event.key === "ArrowRight") go(beside(current, 1));
   else if (event.key === "Home") go(state.zoom);
   else if (event.key === "Escape") zoom(0);
   else return;
   event.preventDefault();
}

// --- tooltips

function showTip(node, x, y) {
   const tip = by("tip");
   const name = make("b", { class: "mono", text: nameOf(node) });
   tip.replaceChildren(name, ...describe(node).map((text) => make("div", { text })));
   tip.hidden = false;
   const left = Math.min(x + 12, window.innerWidth - tip.offsetWidth - 8);
   const top = y + 18 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 12 : y + 18;
   tip.style.left = Math.max(4, left) + "px";
   tip.style.top = Math.max(4, top) + "px";
}
function hideTip() { by("tip").hidden = true; }

function listenToFlame() {
   const flame = by("flame"), node = (event) => event.target.node;
   flame.addEventListener("click", (event) => { if (node(event) !== undefined) zoom(node(event)); });
   flame.addEventListener("keydown", onFlameKey);
   flame.addEventListener("pointermove", (event) => {
      if (node(event) === undefined) hideTip(); else showTip(node(event), event.clientX, event.clientY);
   });
   flame.addEventListener("pointerleave", hideTip);
   flame.addEventListener("focusin", (event) => {
      const box = event.target.getBoundingClientRect();
      const byKey = node(event) !== undefined && event.target.matches(":focus-visible");
      if (byKey) showTip(node(event), box.left, box.bottom - 10);
   });
   flame.addEventListener("focusout", hideTip);
   by("unzoom").addEventListener("click", () => zoom(0));
   by("icicle").addEventListener("change", drawFlame);
   by("search").addEventListener("input", () => { state.word = by("search").value.trim(); drawFlame(); });
}
]==]
