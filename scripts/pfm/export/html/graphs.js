// SPDX-License-Identifier: MIT
// The page's script: the flame graph of all that is selected, and the callers and callees of one function.

let whole = null, callers = null, callees = null;

const MOST = 200; // functions to choose from

// Returns the function to show between its callers and callees: the chosen one, else the hottest.
function around() {
   const rows = functionRows();
   if (state.around >= 0) return { f: state.around, rows };
   const hottest = rows.reduce((a, b) => !a || b.self > a.self ? b : a, null);
   return { f: hottest ? functions.indexOf(hottest.name) : -1, rows };
}

function drawAround() {
   if (!data.chained) return;
   const { f, rows } = around();
   rows.sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
   const names = rows.slice(0, MOST).map((r) => r.name);
   if (f >= 0 && !names.includes(functions[f])) names.unshift(functions[f]);
   by("function").replaceChildren(...names.map((name) => make("option", { text: name, value: name })));
   if (f >= 0) by("function").value = functions[f];
   const known = rows.find((r) => f >= 0 && r.name === functions[f]);
   by("share").textContent = !known ? "no samples" : "total " + percent(known.total, sums.events) + ", self "
      + percent(known.self, sums.events);
   callers.tree = () => callersOf(f);
   callees.tree = () => calleesOf(f);
   plant(callers);
   plant(callees);
}

function chooseFunction(name) {
   state.around = functions.indexOf(name);
   drawAround();
}

function drawGraphs() {
   plant(whole);
   drawAround();
}

// Draws the graphs again after the width has changed.
function fitGraphs() {
   drawFlame(whole);
   if (data.chained) { drawFlame(callers); drawFlame(callees); }
}

function makeGraphs() {
   const inverted = () => by("view").value === "leaves";
   whole = newFlame("flame", { tree: () => inverted() ? fromLeaves() : fromRoot(), inverted,
      upward: () => by("upward").checked, onDraw: () => {
         by("unzoom").disabled = whole.zoom === whole.root;
         by("found").textContent = state.word === "" ? "" : "found in " + percent(found(), sums.events);
      } });
   const choose = (node) => {
      const f = node.frame < 0 ? -1 : functionOf[node.frame];
      if (f >= 0) chooseFunction(functions[f]);
   };
   callers = newFlame("callers", { upward: () => true, inverted: () => true, rootless: true, choose });
   callees = newFlame("callees", { upward: () => false, choose });
   by("unzoom").addEventListener("click", () => zoom(whole, whole.root));
   by("upward").addEventListener("change", () => drawFlame(whole));
   by("view").addEventListener("change", () => { whole.zoomed = []; plant(whole); });
   by("fold").addEventListener("change", () => { state.fold = by("fold").checked; drawGraphs(); });
   by("function").addEventListener("change", () => chooseFunction(by("function").value));
   by("search").addEventListener("input", () => { state.word = by("search").value.trim(); fitGraphs(); });
   for (const e of document.querySelectorAll(".chained")) e.hidden = !data.chained;
}
