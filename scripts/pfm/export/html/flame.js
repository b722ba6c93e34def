// SPDX-License-Identifier: MIT
// The page's script: trees as flame graphs. Frames are buttons, of which the Tab key reaches one at
// a time; the arrow keys go from frame to frame.

const ROW = 18, THINNEST = 1, TEXT = 24; // px

const HUES = [[38, 16], [18, 10], [58, 8], [135, 40], [250, 0]];
function hue(node) {
   if (node.frame < 0) return 220;
   let hash = 0;
   for (const c of nameOf(node)) hash = (hash * 31 + c.codePointAt(0)) % 9973;
   const [base, range] = HUES[frames.kind[node.frame]];
   return base + range * (hash % 101) / 100;
}

function describe(flame, node) {
   const lines = [], object = node.frame >= 0 && objects[frames.object[node.frame]];
   if (object) lines.push("in " + object + (frames.kind[node.frame] === INLINED ? ", inlined" : ""));
   const part = (what, n, samples) => what + " " + percent(n, sums.events) + ", " + weight(n) + ", " + group(samples)
      + (samples === 1 ? " sample" : " samples");
   lines.push(part("total", node.total, node.samples));
   if (!flame.inverted()) lines.push(part("self", node.self, node.selfSamples));
   return lines;
}

const matchesFrame = (frame) => state.word !== ""
   && frames.name[frame].toLowerCase().includes(state.word.toLowerCase());
const matches = (node) => node.frame >= 0 && matchesFrame(node.frame);

// Returns the weight of all frames with a matching name; a match below a match is not counted
// again.
function found() {
   let sum = 0;
   const inside = new Uint8Array(nodes);
   for (let node = 1; node < nodes; node++) {
      inside[node] = inside[parent[node]];
      if (!inside[node] && matchesFrame(frameOf[node])) { inside[node] = 1; sum += sums.total[node]; }
   }
   return sum;
}

// Makes a graph in the element `id`. `tree()` makes what the graph shows; `upward()`: the root is
// at the bottom; `inverted()`: a frame's children called it; `choose(node)`: what a click does
// instead of zooming; `rootless`: the root is not drawn.
function newFlame(id, more) {
   const flame = Object.assign({ box: by(id), zoomed: [], inverted: () => false, order: [], drawn: new Map() }, more);
   const node = (event) => event.target.node;
   flame.box.addEventListener("click", (event) => { if (node(event)) pick(flame, node(event)); });
   flame.box.addEventListener("keydown", (event) => onFlameKey(flame, event));
   flame.box.addEventListener("pointermove", (event) => {
      if (node(event)) showTip(flame, node(event), event.clientX, event.clientY); else hideTip();
   });
   flame.box.addEventListener("pointerleave", hideTip);
   flame.box.addEventListener("focusin", (event) => {
      const box = event.target.getBoundingClientRect();
      const byKey = node(event) && event.target.matches(":focus-visible");
      if (byKey) showTip(flame, node(event), box.left, box.bottom - 10);
   });
   flame.box.addEventListener("focusout", hideTip);
   return flame;
}

// Makes the tree anew, zoomed to the same frame if the new tree has it.
function plant(flame) {
   flame.root = flame.zoom = flame.tree();
   for (const frame of flame.zoomed) {
      flame.zoom = flame.zoom && flame.zoom.children.get(frame);
   }
   if (!flame.zoom) { flame.zoom = flame.root; flame.zoomed = []; }
   flame.current = flame.zoom;
   drawFlame(flame);
}

// Returns the zoomed frame with its descendants, and its ancestors over the whole width: node, left
// and width (0 to 1), depth.
function layout(flame, width) {
   const out = [], above = [];
   for (let node = flame.zoom; node.above; node = node.above) above.unshift(node.above);
   above.forEach((node, depth) => out.push({ node, left: 0, width: 1, depth, above: true }));
   const scale = 1 / flame.zoom.total;
   const place = (node, left, depth) => {
      const share = node.total * scale;
      if (share * width < THINNEST) return;
      out.push({ node, left, width: share, depth });
      for (const child of childrenOf(node)) { place(child, left, depth + 1); left += child.total * scale; }
   };
   if (flame.zoom.total > 0) place(flame.zoom, 0, above.length);
   return flame.rootless ? out.filter((box) => box.node.above) : out;
}

function frameButton(flame, box, y, width) {
   const thin = box.width * width < TEXT;
   const label = nameOf(box.node) + ", " + describe(flame, box.node).join(", ");
   const e = make("button", { type: "button", class: "frame" + (thin ? " thin" : "") + (box.above ? " above" : "")
      + (matches(box.node) ? " hit" : ""), tabindex: box.node === flame.current ? 0 : -1, "aria-label": label,
      text: thin ? "" : nameOf(box.node) });
   e.style.cssText = "left:" + (box.left * 100).toFixed(4) + "%;width:" + (box.width * 100).toFixed(4) + "%;top:"
      + y * ROW + "px;--hue:" + hue(box.node).toFixed(0);
   e.node = box.node;
   return e;
}

function drawFlame(flame) {
   const width = flame.box.clientWidth, order = flame.order = layout(flame, width), upward = flame.upward();
   const depths = order.map((box) => box.depth);
   const shallowest = depths.reduce((a, b) => Math.min(a, b), Infinity);
   const deepest = depths.reduce((a, b) => Math.max(a, b), 0);
   if (order.length > 0 && !order.some((box) => box.node === flame.current)) flame.current = order[0].node;
   const rows = make("div", { class: "rows" });
   rows.style.height = order.length > 0 ? (deepest - shallowest + 1) * ROW + "px" : 0;
   flame.drawn = new Map();
   for (const box of order) {
      const e = frameButton(flame, box, upward ? deepest - box.depth : box.depth - shallowest, width);
      flame.drawn.set(box.node, e);
      rows.append(e);
   }
   flame.box.replaceChildren(rows);
   flame.box.scrollTop = upward ? flame.box.scrollHeight : 0;
   if (flame.onDraw) flame.onDraw();
}

function zoom(flame, node) {
   const had = flame.box.contains(document.activeElement);
   hideTip();
   flame.zoom = flame.current = node;
   flame.zoomed = [];
   for (let at = node; at.above; at = at.above) flame.zoomed.unshift(at.frame);
   drawFlame(flame);
   if (had) flame.drawn.get(node).focus({ preventScroll: false });
}

function pick(flame, node) {
   if (flame.choose) { hideTip(); flame.choose(node); } else zoom(flame, node);
}

function go(flame, node) {
   if (!node || !flame.drawn.has(node)) return;
   flame.drawn.get(flame.current).tabIndex = -1;
   flame.current = node;
   flame.drawn.get(node).tabIndex = 0;
   flame.drawn.get(node).focus();
}

// Returns the node `step` places to the right at the same depth, or the node itself at the edge.
function beside(flame, node, step) {
   const depth = flame.order.find((box) => box.node === node).depth;
   const same = flame.order.filter((box) => box.depth === depth);
   const at = same.findIndex((box) => box.node === node) + step;
   return same[at] ? same[at].node : node;
}

function onFlameKey(flame, event) {
   const outwards = flame.upward() ? "ArrowUp" : "ArrowDown", at = flame.current;
   const widest = () => childrenOf(at).sort((a, b) => b.total - a.total)[0];
   if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      go(flame, event.key === outwards ? widest() : at.above);
   } else if (event.key === "ArrowLeft") go(flame, beside(flame, at, -1));
   else if (event.key === "ArrowRight") go(flame, beside(flame, at, 1));
   else if (event.key === "Home") go(flame, flame.zoom);
   else if (event.key === "Escape") zoom(flame, flame.root);
   else return;
   event.preventDefault();
}

// --- tooltips

function showTip(flame, node, x, y) {
   const tip = by("tip");
   const name = make("b", { class: "mono", text: nameOf(node) });
   tip.replaceChildren(name, ...describe(flame, node).map((text) => make("div", { text })));
   tip.hidden = false;
   const left = Math.min(x + 12, window.innerWidth - tip.offsetWidth - 8);
   const top = y + 18 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 12 : y + 18;
   tip.style.left = Math.max(4, left) + "px";
   tip.style.top = Math.max(4, top) + "px";
}
function hideTip() { by("tip").hidden = true; }
