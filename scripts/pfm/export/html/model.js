// SPDX-License-Identifier: MIT
// The page's script, first part: the data, what is selected of it, and the sums over that.

const data = JSON.parse(document.getElementById("data").textContent);
const list = (x) => Array.isArray(x) ? x : [];
const KERNEL = 1, INLINED = 2, OBJECT = 3, REST = 4;
const parent = list(data.tree.parent), frameOf = list(data.tree.frame), nodes = parent.length;
const frames = { name: list(data.frames.name), object: list(data.frames.object), kind: list(data.frames.kind) };
const objects = list(data.objects), threads = list(data.threads), slices = data.slices;
const events = list(data.events).map((e) => {
   const cells = {};
   for (const key of ["node", "thread", "slice", "samples", "events"]) cells[key] = list(e.cells[key]);
   if (e.period) cells.events = cells.samples.map((n) => n * e.period);
   return Object.assign({}, e, { cells });
});

// Functions by name, as the report's symbols: inlined ones belong to the function around them.
const functions = [], functionOf = new Int32Array(frames.name.length).fill(-1);
(function () {
   const known = new Map();
   frames.name.forEach((name, f) => {
      if (frames.kind[f] > KERNEL) return;
      if (!known.has(name)) { known.set(name, functions.length); functions.push(name); }
      functionOf[f] = known.get(name);
   });
})();

// Of each node: the frame of its function, and whether no node above has that function, or object.
const owner = new Int32Array(nodes).fill(-1), newFunction = new Uint8Array(nodes), newObject = new Uint8Array(nodes);
(function () {
   const above = (node, same) => {
      for (let p = parent[node]; p > 0; p = parent[p]) {
         if (functionOf[frameOf[p]] >= 0 && same(frameOf[p])) return true;
      }
      return false;
   };
   for (let node = 1; node < nodes; node++) {
      const f = frameOf[node];
      owner[node] = functionOf[f] >= 0 ? f : owner[parent[node]];
      if (functionOf[f] < 0) continue;
      newFunction[node] = !above(node, (other) => functionOf[other] === functionOf[f]);
      newObject[node] = !above(node, (other) => frames.object[other] === frames.object[f]);
   }
})();

const state = { event: 0, from: 0, to: slices, thread: -1, word: "", fold: true, around: -1 };
let sums = null;

function zeros(n) { return new Float64Array(n); }

// Sums up the cells that are selected, in one pass.
function count() {
   const cells = events[state.event].cells;
   const s = { self: zeros(nodes), selfSamples: zeros(nodes), total: zeros(nodes), totalSamples: zeros(nodes),
      thread: zeros(threads.length), threadSamples: zeros(threads.length), events: 0, samples: 0 };
   for (let i = 0; i < cells.node.length; i++) {
      const slice = cells.slice[i], t = cells.thread[i];
      if (slice < state.from || slice >= state.to) continue;
      s.thread[t] += cells.events[i];
      s.threadSamples[t] += cells.samples[i];
      if (state.thread >= 0 && t !== state.thread) continue;
      s.self[cells.node[i]] += cells.events[i];
      s.selfSamples[cells.node[i]] += cells.samples[i];
      s.events += cells.events[i];
      s.samples += cells.samples[i];
   }
   for (let node = nodes - 1; node >= 0; node--) {
      s.total[node] += s.self[node];
      s.totalSamples[node] += s.selfSamples[node];
      if (node > 0) {
         s.total[parent[node]] += s.total[node];
         s.totalSamples[parent[node]] += s.totalSamples[node];
      }
   }
   return s;
}

function row(name, more) { return Object.assign({ name, self: 0, total: 0, samples: 0 }, more); }

function functionRows() {
   const rows = functions.map((name) => row(name, { object: "" })), from = zeros(functions.length).fill(-1);
   for (let node = 1; node < nodes; node++) {
      if (owner[node] < 0) continue;
      const r = rows[functionOf[owner[node]]];
      r.self += sums.self[node];
      r.samples += sums.selfSamples[node];
      if (newFunction[node]) r.total += sums.total[node];
      const at = functionOf[owner[node]];
      if (sums.total[node] > from[at]) { from[at] = sums.total[node]; r.object = objects[frames.object[owner[node]]]; }
   }
   return rows.filter((r) => r.total > 0 || r.self > 0);
}

function objectRows() {
   const rows = objects.map((name) => row(name));
   for (let node = 1; node < nodes; node++) {
      if (owner[node] < 0) continue;
      const r = rows[frames.object[owner[node]]];
      r.self += sums.self[node];
      r.samples += sums.selfSamples[node];
      if (newObject[node]) r.total += sums.total[node];
   }
   return rows.filter((r) => r.total > 0 || r.self > 0);
}

function threadRows() {
   return threads.map((t, i) => row(t.name, { thread: i, process: t.process || "", self: sums.thread[i],
      samples: sums.threadSamples[i] })).filter((r) => r.samples > 0);
}

// --- numbers as people read them

const group = (n) => Math.round(n).toLocaleString("en-US");
const percent = (part, whole) => (whole > 0 ? part / whole * 100 : 0).toFixed(2) + "%";
function time(s) {
   if (s >= 1 || s === 0) return s.toFixed(3) + " s";
   if (s >= 1e-3) return (s * 1e3).toFixed(3) + " ms";
   return (s * 1e6).toFixed(3) + " us";
}
function weight(n) {
   const e = events[state.event];
   return e.unit === "ns" ? time(n / 1e9) : group(n) + " " + e.name;
}

// --- elements

function make(tag, attributes, ...children) {
   const e = document.createElement(tag);
   for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "text") e.textContent = value;
      else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else if (value !== undefined) e.setAttribute(name, value);
   }
   e.append(...children);
   return e;
}
const by = (id) => document.getElementById(id);
