// SPDX-License-Identifier: MIT
// The page's script: samples over time, of all threads and of each; a range of time selects.

const LINES = 16; // threads shown
const LABEL = 70; // px of an instant

// Counts samples by slice: of all threads, then of each thread.
function courses() {
   const cells = events[state.event].cells, all = zeros(slices), each = threads.map(() => null);
   const sum = zeros(threads.length);
   for (let i = 0; i < cells.node.length; i++) {
      const t = cells.thread[i];
      each[t] = each[t] || zeros(slices);
      each[t][cells.slice[i]] += cells.samples[i];
      all[cells.slice[i]] += cells.samples[i];
      sum[t] += cells.samples[i];
   }
   const order = threads.map((_, i) => i).filter((i) => each[i]).sort((a, b) => sum[b] - sum[a]);
   return { all, each, order };
}

function track(values, kind, label) {
   const most = values.reduce((a, b) => Math.max(a, b), 1);
   let path = "M0 1";
   values.forEach((n, i) => { path += "V" + (1 - n / most).toFixed(3) + "H" + (i + 1); });
   const holder = make("div"); // its HTML is made of numbers alone
   holder.innerHTML = '<svg preserveAspectRatio="none" viewBox="0 0 ' + slices + ' 1"><path d="' + path
      + 'V1Z"/></svg>';
   const svg = holder.firstChild;
   svg.setAttribute("class", "track " + kind);
   svg.setAttribute("role", "img");
   svg.setAttribute("aria-label", label);
   return svg;
}

function timeLine(name, values, kind, t) {
   const choose = make("button", { type: "button", class: "link", text: name, title: name,
      "aria-pressed": state.thread === t, onclick: () => chooseThread(t) });
   if (state.thread === t && t >= 0) choose.classList.add("chosen");
   const dim = state.thread >= 0 && state.thread !== t ? " dim" : "";
   const most = group(values.reduce((a, b) => Math.max(a, b), 0));
   const label = name + ": samples over time, at most " + most + " in " + time(data.step);
   return make("div", { class: "line" }, choose, track(values, kind + dim, label));
}

function drawTimeLine() {
   const c = courses(), box = by("lines");
   const shown = c.order.slice(0, LINES);
   if (state.thread >= 0 && !shown.includes(state.thread) && c.each[state.thread]) shown.push(state.thread);
   const out = [timeLine("all threads", c.all, "all", -1)];
   if (c.order.length > 1) for (const t of shown) out.push(timeLine(threads[t].name, c.each[t], "", t));
   out.push(make("div", { class: "line" }, make("span"), make("div", { class: "axis", id: "axis" })));
   box.replaceChildren(...out);
   by("unseen").textContent = c.order.length > shown.length
      ? group(c.order.length - shown.length) + " threads with fewer samples are in the table of threads." : "";
   drawTicks();
   drawBrush();
}

// Draws ticks, 1, 2 or 5 of a unit that suits the whole apart, as many as have room for labels.
function drawTicks() {
   const span = slices * data.step, width = by("cover").clientWidth;
   const [unit, size] = span >= 1 ? ["s", 1] : span >= 1e-3 ? ["ms", 1e-3] : ["us", 1e-6];
   const least = span / size / Math.max(1, Math.floor(width / LABEL));
   const power = Math.pow(10, Math.floor(Math.log10(least)));
   const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least * 0.999);
   const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), labels = [], lines = [];
   for (let i = 0; i * step <= span / size; i++) {
      const left = "left:" + (i * step * size / span * 100).toFixed(3) + "%";
      lines.push(make("div", { class: "tick", style: left }));
      const fits = (1 - i * step * size / span) * width > LABEL / 2;
      const text = i === 0 ? "0" : (i * step).toFixed(decimals) + " " + unit;
      if (fits) labels.push(make("span", { style: left, text }));
   }
   by("axis").replaceChildren(...labels);
   by("ticks").replaceChildren(...lines);
}

function drawBrush() {
   const on = state.from > 0 || state.to < slices, brush = by("brush");
   brush.hidden = !on;
   brush.style.left = state.from / slices * 100 + "%";
   brush.style.width = (state.to - state.from) / slices * 100 + "%";
   by("from").value = Number((state.from * data.step).toPrecision(4));
   by("to").value = Number((state.to * data.step).toPrecision(4));
   by("whole").disabled = !on;
}

function chooseThread(t) { state.thread = state.thread === t ? -1 : t; draw(); }

function chooseTime(from, to) {
   state.from = Math.max(0, Math.min(slices - 1, from));
   state.to = Math.max(state.from + 1, Math.min(slices, to));
   draw();
}

// Dragging over the tracks selects; a click alone takes the selection back. The names beside them stay clickable.
function listenToTimeLine() {
   const cover = by("cover");
   let start = null, at = null;
   const slice = (event) => {
      const box = cover.getBoundingClientRect();
      return Math.max(0, Math.min(slices - 1, Math.floor((event.clientX - box.left) / box.width * slices)));
   };
   cover.addEventListener("pointerdown", (event) => {
      start = at = slice(event);
      cover.setPointerCapture(event.pointerId);
   });
   cover.addEventListener("pointermove", (event) => {
      if (start === null) return;
      at = slice(event);
      state.from = Math.min(start, at);
      state.to = Math.max(start, at) + 1;
      drawBrush();
   });
   cover.addEventListener("pointerup", () => {
      if (start === null) return;
      if (start === at) chooseTime(0, slices); else chooseTime(Math.min(start, at), Math.max(start, at) + 1);
      start = null;
   });
   cover.addEventListener("pointercancel", () => { start = null; draw(); });
   const typedIn = (id) => Math.round(Number(by(id).value) / data.step);
   const typed = () => chooseTime(typedIn("from"), typedIn("to"));
   by("from").addEventListener("change", typed);
   by("to").addEventListener("change", typed);
   by("whole").addEventListener("click", () => chooseTime(0, slices));
}
