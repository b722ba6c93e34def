-- SPDX-License-Identifier: MIT
--- How the page looks: narrow and wide, light and dark, on paper.
-- @module pfm.export.html.style

return [==[
:root { --bg: #fcfcfa; --panel: #fff; --ink: #1b1d21; --soft: #5a606a; --line: #d9dbe0; --accent: #1f5fbf;
   --mark: #c026d3; --bar: #cfe0f7; --light: 78%; --rich: 62%; --note: #fff4d6; --label: 12rem; color-scheme: light; }
@media screen and (prefers-color-scheme: dark) { :root { --bg: #14161a; --panel: #1c1f25; --ink: #e6e8ec;
   --soft: #a2a9b5; --line: #353a44; --accent: #7fb0ff; --mark: #e879f9; --bar: #2a4368;
   --light: 34%; --rich: 42%; --note: #3a3114;
   color-scheme: dark; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
main, header, footer { max-width: 1500px; margin: 0 auto; padding: 0 1.25rem; }
h1 { font-size: 1.35rem; margin: 1.1rem 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .6rem; } h3 { font-size: 1rem; margin: 0; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem;
   margin: 0 0 1rem; min-width: 0; }
.soft, .by { color: var(--soft); margin: 0 0 .8rem; }
code, .mono, .frame, .code, td.name { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
button, input, select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line);
   border-radius: 4px; padding: .2rem .5rem; }
button { cursor: pointer; } button:hover { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.link { border: 0; background: none; padding: 0; text-align: left; color: inherit; font: inherit;
   overflow-wrap: anywhere; }
.link:hover { text-decoration: underline; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 0; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
.warnings { margin: .8rem 0 0; padding: .5rem .8rem .5rem 1.8rem; background: var(--note); border-radius: 4px; }
.tools { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: center; margin: 0 0 .6rem; }
.tools input[type=search] { flex: 1 1 11rem; max-width: 24rem; min-width: 8rem; }
.tools input[type=number] { width: 6.5rem; }
.tools .soft { margin: 0; }
.tools .found { color: var(--mark); }
.bar { position: sticky; top: 0; z-index: 5; background: var(--bg); border-bottom: 1px solid var(--line);
   padding: .5rem 0; margin-bottom: 1rem; }
.bar .tools { margin: 0; }
.chosen { font-weight: 600; }
.flame { position: relative; overflow-x: hidden; overflow-y: auto; max-height: 70vh; border: 1px solid var(--line);
   border-radius: 4px; }
.flame .rows { position: relative; }
.frame { position: absolute; height: 18px; border: 0; border-radius: 2px; padding: 0 3px; margin: 0; font-size: 12px;
   line-height: 18px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; text-align: left;
   color: var(--ink); background: hsl(var(--hue) var(--rich) var(--light)); box-shadow: inset -1px -1px 0 var(--panel);
   cursor: pointer; }
.frame.thin { padding: 0; }
.frame:hover { filter: brightness(1.12); }
.frame:focus-visible { outline-offset: -2px; z-index: 2; }
.frame.above { opacity: .6; } .frame.hit { background: var(--mark); color: #fff; }
.tip { position: fixed; z-index: 9; max-width: min(34rem, calc(100vw - 1rem)); background: var(--ink); color: var(--bg);
   padding: .4rem .6rem; border-radius: 4px; font-size: 13px; pointer-events: none; overflow-wrap: anywhere; }
.tip b { display: block; }
.line { display: grid; grid-template-columns: var(--label) 1fr; align-items: center; column-gap: .6rem; }
.line .link { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; font-size: 13px; }
.tracks { position: relative; }
.track { display: block; width: 100%; height: 20px; border-bottom: 1px solid var(--line); }
.track.all { height: 54px; } .track path { fill: var(--accent); } .track.dim path { opacity: .3; }
.brush { position: absolute; top: 0; bottom: 0; background: var(--accent); opacity: .16; pointer-events: none; }
.cover { position: absolute; inset: 0 0 0 calc(var(--label) + .6rem); touch-action: pan-y; cursor: crosshair; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1rem; align-items: start; }
.scroll { overflow: auto; max-height: 34rem; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { position: sticky; top: 0; background: var(--panel); text-align: left; padding: .15rem .5rem .15rem 0;
   border-bottom: 1px solid var(--line); white-space: nowrap; }
th button { border: 0; padding: .1rem 0; font-weight: 600; background: none; }
td { padding: .1rem .5rem .1rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.n.share { background: linear-gradient(to right, var(--bar) var(--part), transparent var(--part));
   padding: .1rem .3rem; min-width: 4.6rem; }
th.n { padding-right: .3rem; } td.n + td:not(.n) { padding-left: .6rem; } th.n + th:not(.n) { padding-left: .6rem; }
td.text { white-space: nowrap; }
td.name { width: 70%; font-size: 13px; overflow-wrap: anywhere; min-width: 9rem; }
td.heat { padding: 0; min-width: .5rem; height: 1.3rem; border: 1px solid var(--panel);
   background: color-mix(in srgb, var(--accent) var(--heat), var(--bg)); }
th.heat { font-weight: 400; font-size: 11px; padding: 0; height: 6rem; vertical-align: bottom; }
th.heat span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 6rem; overflow: hidden;
   text-overflow: ellipsis; }
th.func { position: static; font-weight: 400; font-size: 13px; max-width: 18rem; overflow: hidden;
   text-overflow: ellipsis; }
.heats { width: auto; } .heats td, .heats .heat { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
tr.chosen td.name { color: var(--accent); }
.more { margin-top: .5rem; }
details { border-top: 1px solid var(--line); padding: .4rem 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
.code { font-size: 12.5px; line-height: 1.4; border: 0; width: auto; } .code td { border: 0; padding: 0 .8rem 0 0;
   white-space: pre; } .code .src td { color: var(--soft); } .code .hot td { background: var(--bar); }
.code .gap td { color: var(--soft); text-align: center; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; z-index: 10; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
footer { padding-bottom: 1rem; }
button:disabled { opacity: .5; cursor: default; }
@media (max-width: 760px) { main, header, footer { padding: 0 .6rem; } section { padding: .7rem .6rem; }
   .pair { grid-template-columns: 1fr; } .facts { grid-template-columns: 1fr; gap: 0; }
   .facts dd { margin-bottom: .35rem; } :root { --label: 6rem; }
   td.n.share { min-width: 3.7rem; } td.name { min-width: 7rem; } table { font-size: 13px; } }
@media print { :root { color-scheme: light; } .bar, .tools, .more, .skip, .cover { display: none; }
   .flame, .scroll { max-height: none; overflow: visible; } section { border: 0; padding: 0; break-inside: auto; }
   h2 { break-after: avoid; } th { position: static; } body { background: #fff; } .frame { print-color-adjust: exact;
   -webkit-print-color-adjust: exact; } }
]==]
