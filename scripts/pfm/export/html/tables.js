// SPDX-License-Identifier: MIT
// The page's script: tables that sort by the column that is clicked, and show the rows that a text is in.

const FIRST = 100; // rows
const tables = [];

function shareCell(n, whole) {
   const cell = make("td", { class: "n share", text: percent(n, whole) });
   cell.style.setProperty("--part", (whole > 0 ? Math.min(100, n / whole * 100) : 0).toFixed(1) + "%");
   return cell;
}
const numberCell = (n) => make("td", { class: "n", text: group(n) });

function nameCell(table, r) {
   const choose = { type: "button", class: "link", text: r.name, title: table.hint, onclick: () => table.choose(r) };
   const name = table.choose ? make("button", choose)
      : document.createTextNode(r.name);
   return make("td", { class: "name" }, name);
}

// Makes a table of columns with `key`, `title`, and what makes their cells.
function newTable(id, columns, more) {
   const table = Object.assign({ id, columns, sort: columns[0].key, down: true, all: false, filter: "" }, more);
   const root = by(id);
   table.heads = columns.map((c) => {
      const th = make("th", { scope: "col", class: c.text ? "" : "n" });
      th.append(make("button", { type: "button", text: c.title, onclick: () => {
         table.down = table.sort === c.key ? !table.down : !c.text;
         table.sort = c.key;
         drawTable(table);
      } }));
      return th;
   });
   table.body = make("tbody");
   table.more = make("button", { type: "button", class: "more" });
   table.more.addEventListener("click", () => { table.all = true; drawTable(table); });
   const filter = make("input", { type: "search", placeholder: "filter", "aria-label": "filter " + more.noun });
   filter.addEventListener("input", () => { table.filter = filter.value.trim().toLowerCase(); drawTable(table); });
   root.append(make("div", { class: "tools" }, filter), make("div", { class: "scroll", tabindex: 0, role: "region",
      "aria-label": more.noun }, make("table", {}, make("caption", { class: "hidden", text: more.noun }),
      make("thead", {}, make("tr", {}, ...table.heads)), table.body)), table.more);
   tables.push(table);
   return table;
}

function sorted(table) {
   const key = table.sort, sign = table.down ? -1 : 1;
   const words = (r) => (r.name + " " + (r.object || r.process || "")).toLowerCase();
   const shown = table.rows.filter((r) => words(r).includes(table.filter));
   return shown.sort((a, b) => (a[key] < b[key] ? -sign : a[key] > b[key] ? sign : 0) || b.self - a.self
      || (a.name < b.name ? -1 : 1));
}

function drawTable(table) {
   const rows = sorted(table), shown = table.all ? rows : rows.slice(0, FIRST);
   table.heads.forEach((th, i) => {
      const on = table.columns[i].key === table.sort;
      th.setAttribute("aria-sort", on ? (table.down ? "descending" : "ascending") : "none");
      th.firstChild.textContent = table.columns[i].title + (on ? (table.down ? " \u25be" : " \u25b4") : "");
   });
   const kind = (r) => ({ class: table.isChosen && table.isChosen(r) ? "chosen" : "" });
   table.body.replaceChildren(...shown.map((r) => make("tr", kind(r), ...table.columns.map((c) => c.cell(r, table)))));
   const none = () => make("tr", {}, make("td", { colspan: table.columns.length, text: "none" }));
   if (rows.length === 0) table.body.append(none());
   table.more.hidden = shown.length === rows.length;
   table.more.textContent = "show all " + group(rows.length);
}

const selfColumn = { key: "self", title: "self", cell: (r) => shareCell(r.self, sums.events) };
const totalColumn = { key: "total", title: "total", cell: (r) => shareCell(r.total, sums.events) };
const samplesColumn = { key: "samples", title: "samples", cell: (r) => numberCell(r.samples) };
const nameColumn = (title) => ({ key: "name", title, text: true, cell: (r, table) => nameCell(table, r) });
const textCell = (text) => make("td", { class: "text soft", text });
const textColumn = (key, title) => ({ key, title, text: true, cell: (r) => textCell(r[key]) });

function makeTables() {
   const shares = data.chained ? [totalColumn, selfColumn] : [selfColumn];
   newTable("functions", [...shares, samplesColumn, nameColumn("function"), textColumn("object", "object")], {
      noun: "functions", count: functionRows, hint: "mark it in the flame graph, show its callers",
      choose: (r) => {
         by("search").value = state.word = state.word === r.name ? "" : r.name;
         state.around = functions.indexOf(r.name);
         draw();
      },
      isChosen: (r) => r.name === state.word });
   newTable("objects", [...shares, samplesColumn, nameColumn("object")], { noun: "objects", count: objectRows });
   const threadShare = { key: "self", title: "share", cell: (r) => {
      return shareCell(r.self, sums.thread.reduce((a, b) => a + b, 0));
   } };
   newTable("threads", [threadShare, samplesColumn, nameColumn("thread"), textColumn("process", "process")], {
      noun: "threads", count: threadRows, hint: "show this thread alone", choose: (r) => chooseThread(r.thread),
      isChosen: (r) => r.thread === state.thread });
}

function fillTables() {
   for (const table of tables) { table.rows = table.count(); drawTable(table); }
}
