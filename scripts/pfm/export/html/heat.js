// SPDX-License-Identifier: MIT
// The page's script: a map of how much each recording spent in each function, and how unevenly.

const RANKED = 20; // functions shown
const recordings = list(data.recordings);

// Sums up what was selected, by recording: of each function, and of all functions.
function recordingSums() {
   const cells = events[state.event].cells, n = recordings.length, all = zeros(n), each = functions.map(() => null);
   for (let i = 0; i < cells.node.length; i++) {
      const slice = cells.slice[i], at = threads[cells.thread[i]].recording;
      if (at === undefined || slice < state.from || slice >= state.to) continue;
      all[at] += cells.events[i];
      const owned = owner[cells.node[i]], f = owned < 0 ? -1 : functionOf[owned];
      if (f < 0) continue;
      each[f] = each[f] || zeros(n);
      each[f][at] += cells.events[i];
   }
   return { all, each };
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

// A deeper colour is more events; the deepest is the most that any recording has of any function.
function heatCell(name, i, value, all, most) {
   const words = recordings[i] + ", " + name + ": " + weight(value) + ", " + percent(value, all);
   const cell = make("td", { class: "heat", title: words }, make("span", { class: "hidden", text: words }));
   cell.style.setProperty("--heat", (most > 0 ? value / most * 100 : 0).toFixed(1) + "%");
   return cell;
}

function heatRow(name, values, sums, most) {
   const mean = sum(values) / values.length, imbalance = mean > 0 ? Math.max(...values) / mean : 0;
   return make("tr", {}, make("th", { scope: "row", class: "func", text: name }),
      ...Array.from(values, (value, i) => heatCell(name, i, value, sums.all[i], most)),
      make("td", { class: "n", text: imbalance.toFixed(2) }));
}

function drawHeat() {
   if (recordings.length === 0) return;
   const sums = recordingSums();
   const order = functions.map((_, f) => f).filter((f) => sums.each[f]);
   order.sort((a, b) => sum(sums.each[b]) - sum(sums.each[a]));
   const shown = order.slice(0, RANKED), most = shown.reduce((a, f) => Math.max(a, ...sums.each[f]), 0);
   const heads = recordings.map((name) => make("th", { scope: "col", class: "heat", title: name },
      make("span", { text: name })));
   by("heat").replaceChildren(make("table", { class: "heats" },
      make("caption", { class: "hidden", text: "functions by recording" }),
      make("thead", {}, make("tr", {}, make("td", {}), ...heads, make("th", { class: "n", text: "max/mean" }))),
      make("tbody", {}, heatRow("all functions", sums.all, sums, Math.max(...sums.all)),
         ...shown.map((f) => heatRow(functions[f], sums.each[f], sums, most)))));
}
