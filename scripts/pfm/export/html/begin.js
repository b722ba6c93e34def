// SPDX-License-Identifier: MIT
// The page's script, last part: what is selected, and all parts drawn together.

function selection() {
   const out = [], at = (slice) => time(slice * data.step);
   if (state.from > 0 || state.to < slices) out.push(at(state.from) + " to " + at(state.to));
   if (state.thread >= 0) out.push("thread " + threads[state.thread].name);
   const what = out.length ? out.join(", ") : "everything";
   return what + ": " + group(sums.samples) + " samples, " + weight(sums.events);
}

function draw() {
   sums = count();
   by("selected").textContent = selection();
   by("clear").hidden = state.from === 0 && state.to === slices && state.thread < 0;
   drawGraphs();
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
   for (const id of ["from", "to"]) { by(id).max = slices * data.step; by(id).step = data.step; }
   makeTables();
   makeGraphs();
   listenToTimeLine();
   draw();
   let width = window.innerWidth;
   window.addEventListener("resize", () => { // a phone's keyboard changes the height alone
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      fitGraphs();
      drawTicks();
   });
}
begin();
