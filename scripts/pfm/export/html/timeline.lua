-- SPDX-License-Identifier: MIT
--- The page's script: samples over time, of all threads and of each; a range of time selects.
-- @module pfm.export.html.timeline

return [==[
const LINES = 16; // threads shown

// Samples by slice: of all, then of each thread.
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
   const holder = make("div"); // of numbers alone
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
   box.replaceChildren(...out);
   by("unseen").textContent = c.order.length > shown.length
      ? group(c.order.length - shown.length) + " threads with fewer samples are in the table of threads." : "";
   drawBrush();
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

// --- all together

function selection() {
   const out = [], at = (slice) => time(slice * data.step);
   if (state.from > 0 || state.to < slices) out.push(at(state.from) + " to " + at(state.to));
   if (state.thread >= 0) out.push("thread " + threads[state.thread].name);
   const what = out.length ? out.join(", ") : "everything";
   return what + ": " + group(sums.samples) + " samples, " + weight(sums.events);
}

function draw() {
   sums = count();
   if (sums.total[state.zoom] === 0) state.zoom = 0;
   link();
   by("selected").textContent = selection();
   by("clear").hidden = state.from === 0 && state.to === slices && state.thread < 0;
   drawFlame();
   drawTimeLine();
   fillTables();
   drawHeat();
}

function begin() {
   const select = by("event");
   events.forEach((e, i) => select.append(make("option", { value: i, text: e.name })));
   select.value = state.event = data.event || 0;
   by("choice").hidden = events.length < 2;
   select.addEventListener("change", () => { state.event = Number(select.value); draw(); });
   by("clear").addEventListener("click", () => { state.thread = -1; chooseTime(0, slices); });
   by("icicle").checked = data.icicle === true;
   for (const id of ["from", "to"]) { by(id).max = slices * data.step; by(id).step = data.step; }
   makeTables();
   listenToFlame();
   listenToTimeLine();
   draw();
   let width = window.innerWidth;
   window.addEventListener("resize", () => { // a phone's keyboard changes the height alone
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      drawFlame();
   });
}
begin();
]==]
