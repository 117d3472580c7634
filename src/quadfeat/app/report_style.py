"""The style sheet of the report: light and dark, wide and on a phone, in grey and in print."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #ffffff;
  --card: #f6f8fa; --rule: #d0d7de; --link: #0550ae; --front: #0b3c5d; --back: #a9b4bf;
  --accent: #b3541e; --good: #116329; --bad: #a40e26; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b3; --paper: #0d1117;
  --card: #161b22; --rule: #30363d; --link: #79b8ff; --front: #7cc4f5; --back: #4d5966;
  --accent: #f0a070; --good: #56d364; --bad: #ff8f87; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.1rem; font-weight: 600; color: var(--soft); margin: .5rem 0 0; }
h2 { font-size: 1.2rem; line-height: 1.25; margin: 0 0 .4rem; }
h3 { font-size: .95rem; margin: 0 0 .2rem; }
.verdict { font-size: 1.5rem; line-height: 1.3; margin: .3rem 0 1rem; font-weight: 600;
  border-left: .35rem solid var(--good); padding-left: .8rem; text-wrap: pretty; }
.verdict.none { border-left: .35rem double var(--bad); }
.facts { display: flex; flex-wrap: wrap; gap: .3rem 1.8rem; margin: 0 0 1rem; padding: 0; }
.facts div { min-width: 6rem; } .facts dt { color: var(--soft); font-size: .85rem; }
.facts dd { margin: 0; font-variant-numeric: tabular-nums; }
main { columns: 2; column-gap: 1rem; }
section { break-inside: avoid; margin: 0 0 1rem; padding: .9rem 1rem; background: var(--card);
  border: 1px solid var(--rule); border-radius: .5rem; }
section.wide { column-span: all; margin-top: 1rem; }
section p { margin: .3rem 0; }
.panels { display: grid; gap: .8rem 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 17.5rem), 1fr)); }
figure { margin: .3rem 0; min-width: 0; }
svg { display: block; width: 100%; max-width: 30rem; height: auto; overflow: hidden; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .label { fill: var(--soft); }
svg .grid { stroke: var(--rule); } svg .axis { stroke: var(--soft); fill: none; }
svg .line { fill: none; stroke: var(--front); stroke-width: 2.2; stroke-linejoin: round; }
svg .rule { fill: none; stroke: var(--soft); stroke-dasharray: 4 4; }
svg .band { fill: var(--front); opacity: .18; }
svg .bar { fill: var(--back); } svg .front { fill: var(--front); }
svg .dot { fill: var(--front); } svg .cloud { fill: var(--back); opacity: .7; }
svg .crowd { fill: var(--back); opacity: .55; }
svg .whisker { stroke: var(--accent); stroke-width: 1.8; fill: none; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; margin: .4rem 0; }
th, td { padding: .15rem .6rem; text-align: left; border-bottom: 1px solid var(--rule);
  overflow-wrap: break-word; }
td.n, th.n { text-align: right; }
.table.short { white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; }
.confusion td { text-align: right; background: color-mix(in srgb,
  var(--front) calc(var(--share) * 55%), transparent); }
tr.chosen td:first-child { font-weight: 600; }
pre { margin: .4rem 0; padding: .7rem; border: 1px solid var(--rule); border-radius: .3rem;
  background: var(--paper); font-size: .85rem; overflow-x: auto; }
pre.wrap { white-space: pre-wrap; }
code { font-size: .9em; }
summary { cursor: pointer; color: var(--link); margin: .4rem 0; }
.note, footer { color: var(--soft); font-size: .9rem; }
@media (max-width: 46rem) { main { columns: 1; }
  .verdict { font-size: 1.2rem; } }
@media print { :root { --paper: #fff; --card: #fff; --ink: #000; } }
"""
