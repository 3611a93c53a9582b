/**
 * The style sheet of report.html, for narrow screens first: table rows are stacked blocks, and become columns where
 * there is room. html.test.ts verifies the contrast of the colours.
 */
import { verdicts } from './words.ts';

/** Colours for light and dark mode. Text colours are readable (WCAG AA) on `paper`, `sheet` and `code`. */
export const palettes = {
  light: {
    paper: '#faf9f6', sheet: '#ffffff', code: '#f2f0eb', line: '#dedad2', ink: '#1e1d1b', soft: '#5d5951',
    link: '#1d5a9e', passed: '#1a7042', failed: '#b02319', known: '#6b3fa0',
    inconclusive: '#855200', skipped: '#625e57',
  },
  dark: {
    paper: '#151618', sheet: '#1c1e21', code: '#25282c', line: '#363a3f', ink: '#e7e5e1', soft: '#a9a69f',
    link: '#8fbdf0', passed: '#6cc795', failed: '#ff9388', known: '#c3a3f0',
    inconclusive: '#e3b45c', skipped: '#a5a29b',
  },
} as const;

function tokens(palette: Readonly<Record<string, string>>): string {
  return Object.entries(palette).map(([name, colour]) => `--${name}:${colour};`).join('');
}

/** Hides rows that the filter does not select, and sections in which none is selected; never the target of a link. */
const filters = verdicts.map((verdict) => {
  const others = `:not(:has(.verdict.${verdict}),:has(:target),:target)`;
  return `section:has([value=${verdict}]:checked) :is(.group,.results tbody tr)${others}{display:none}`;
}).join('\n');

/** The style sheet of report.html. */
export const styleSheet = `
:root{color-scheme:light dark;${tokens(palettes.light)}
  --sans:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Helvetica Neue",Arial,sans-serif;
  --mono:ui-monospace,"SF Mono",SFMono-Regular,Menlo,Consolas,"Noto Sans Mono","DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){:root{${tokens(palettes.dark)}}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0 auto;max-width:70rem;padding:1.75rem 1rem 4rem;background:var(--paper);color:var(--ink);
  font:1rem/1.5 var(--sans);font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1,h2,h3,h4,p,dl,dd,ul,pre,table{margin:0;padding:0}
h2{font-size:1.375rem;line-height:1.25;font-weight:650;letter-spacing:-.01em;margin:3.5rem 0 .375rem}
h3{font-size:1.0625rem;line-height:1.35;font-weight:650}
h4{font-size:.875rem;font-weight:650}
a{color:var(--link);text-underline-offset:.2em;text-decoration-thickness:1px}
:focus-visible{outline:2px solid var(--link);outline-offset:3px;border-radius:2px}
code,pre,.id{font-family:var(--mono);font-size:.8125rem;line-height:1.5;font-variant-ligatures:none}
code,pre{white-space:pre-wrap;unicode-bidi:isolate}
.card{background:var(--sheet);border:1px solid var(--line);border-left:4px solid;border-radius:4px;
  padding:1rem;margin-top:1rem}
.card>*{color:var(--ink)}
.soft{color:var(--soft)}
.lead{color:var(--soft);max-width:46rem;margin-bottom:1.25rem}
.unseen{font-family:var(--mono);font-size:.92em;color:var(--inconclusive);background:var(--code);border-radius:2px;
  outline:1px solid var(--line);
  display:inline-block;line-height:1.2}
.passed{color:var(--passed)}.failed{color:var(--failed)}.known{color:var(--known)}
.inconclusive{color:var(--inconclusive)}.skipped{color:var(--skipped)}
.verdict{font-weight:600;white-space:nowrap}
.sign{display:inline-block;width:1.25em;font-weight:700}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}

header .eyebrow{font-size:.875rem;color:var(--soft)}
h1{font-size:clamp(1.625rem,1.1rem + 2.4vw,2.375rem);line-height:1.15;font-weight:680;letter-spacing:-.02em;
  margin:.375rem 0 .625rem;max-width:28em;text-wrap:balance}
.target{font-family:var(--mono);font-size:.9375rem}
.bar{display:flex;gap:2px;height:.625rem;margin:1.75rem 0 .75rem;border-radius:3px;overflow:hidden}
.bar span{min-width:4px;background:currentColor;-webkit-print-color-adjust:exact;print-color-adjust:exact}
.bar .inconclusive{background:repeating-linear-gradient(135deg,currentColor 0 5px,transparent 5px 7px)}
.bar .skipped{opacity:.45}
.counts{list-style:none;color:var(--soft);display:flex;flex-wrap:wrap;gap:.25rem 1.5rem}
.counts strong{font-size:1.25rem;font-weight:680}
.failing{margin-top:.75rem}
header h2{font-size:.8125rem;font-weight:400;letter-spacing:0;color:var(--soft);margin:1rem 0 0}
.unjudged{list-style:none;font-size:.9375rem}
.unjudged li{display:grid;grid-template-columns:2em 1fr}
.failing a{display:inline-block;margin-right:.75rem;color:var(--failed)}
.facts{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1rem 1.25rem;margin-top:1.75rem;
  padding-top:1.25rem;border-top:1px solid var(--line)}
.facts dt,.case dt{font-size:.8125rem;color:var(--soft)}
nav{margin-top:1.75rem;padding:.625rem 0;border:solid var(--line);border-width:1px 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.5rem}

.card .id{color:var(--soft)}
.meta{display:flex;flex-wrap:wrap;gap:0 1rem;font-size:.875rem;margin-bottom:.25rem}
.card h4{margin-top:1.25rem}
.case{display:grid;gap:.125rem;margin-top:.75rem}
.case dt{margin-top:.5rem}
.case+.case{margin-top:1.25rem;padding-top:1.25rem;border-top:1px solid var(--line)}
.case dd:has(pre){display:flex;flex-direction:column;position:relative}
pre{order:-1;background:var(--code);border-radius:3px;padding:.5rem .75rem}
/* Six lines of 1.5 em, and the padding. */
.cut:not([open])+pre{max-height:calc(9em + .5rem);padding-bottom:0;overflow:hidden;
  mask-image:linear-gradient(#000 calc(100% - 2em),transparent)}
button{position:absolute;right:0;bottom:100%;font:inherit;font-size:.8125rem;color:var(--link);background:none;border:0;
  padding:.125rem 0;cursor:pointer}

.list{list-style:none;border-top:1px solid var(--line)}
.list li{padding:.625rem 0;border-bottom:1px solid var(--line)}

.filter{border:0;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.5rem}
.filter label{border:1px solid var(--line);border-radius:1rem;padding:.125rem .75rem .125rem .5rem;font-size:.875rem;
  cursor:pointer;background:var(--sheet);display:flex;align-items:center;gap:.375rem}
.filter label:has(:checked){border-color:currentColor}
.filter input{accent-color:currentColor;color:inherit;margin:0}
${filters}
.section{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;gap:0 1rem;margin:2rem 0 .5rem}
.section p{font-size:.8125rem;color:var(--soft)}
table,thead,tbody,tr,th,td{display:block;padding:0;text-align:left;font-weight:inherit}
table{border-top:1px solid var(--line)}
tr{padding:.5rem 0;border-bottom:1px solid var(--line)}
tr:target,li:target{background:var(--code);box-shadow:-.75rem 0 var(--code),.75rem 0 var(--code)}
.results tr{display:grid;grid-template-columns:1fr auto;gap:.125rem 1rem}
.results .id,.results .what{grid-column:1/-1}
.results .verdict,.results .judged{grid-row:1;font-size:.875rem}
.results .judged{color:var(--soft);grid-column:2}
.results .id{color:var(--soft)}
.results .what{font-size:.9375rem}
.reason{color:var(--soft);font-size:.875rem;margin-top:.25rem}
details{font-size:.8125rem;margin-top:.125rem}
summary{color:var(--soft);cursor:pointer;width:fit-content;padding:.125rem 0}
details ul{list-style:none;margin:.25rem 0 .25rem}
details li{padding:.125rem 0 .125rem .75rem;border-left:2px solid var(--line)}
.pairs{border-top:0;margin-top:1.75rem}
.pairs thead th+th{display:none}
.pairs thead th:first-child{font-size:1.0625rem;line-height:1.35;font-weight:650}
.pairs tbody{font-size:.9375rem}
.pairs td{margin-top:.125rem}
.pairs .label{font-size:.8125rem;color:var(--soft)}
footer{margin-top:4rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.8125rem;color:var(--soft)}

/* A4 with usual margins is wider than this. */
@media (min-width:44rem){
  .narrow{display:none}
  .narrow:not([open])+pre{max-height:none;padding-bottom:.5rem;mask:none}
  body{padding:3rem 2rem 6rem}
  .facts{grid-template-columns:repeat(4,minmax(0,1fr))}
  .card{padding:1.25rem 1.5rem 1.5rem}
  .case{grid-template-columns:7.5rem minmax(0,1fr);gap:.625rem 1rem;align-items:baseline}
  .case dt{margin:0}
  .case pre{margin-right:5.5rem}
  button{top:.375rem;bottom:auto}
  .results tr{grid-template-columns:7.75rem minmax(0,1fr) 6.5rem;gap:0 1rem;align-items:baseline}
  .results .verdict{grid-column:1}
  .results .id{grid-column:2}
  .results .what{grid-column:2}
  .results .judged{grid-column:3;text-align:right}
  .pairs tr{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,4fr) minmax(0,6fr);gap:0 1.5rem;
    align-items:baseline}
  .pairs.two tr{grid-template-columns:minmax(0,5fr) minmax(0,10.4fr)}
  .pairs td{margin-top:0}
  .pairs thead th+th{display:block;font-size:.8125rem;color:var(--soft)}
  .pairs .label{display:none}
}
@media (min-width:64rem){
  .results tr{grid-template-columns:7.75rem 14.5rem minmax(0,1fr) 6.5rem}
  .results .what{grid-column:3;grid-row:1}
  .results .judged{grid-column:4}
}
@media print{
  :root{color-scheme:light;${tokens({ ...palettes.light, paper: '#ffffff' })}}
  html{font-size:9.5pt}
  body{padding:0;max-width:none}
  nav{display:none}
  a{color:inherit;text-decoration:none}
  .card{-webkit-print-color-adjust:exact;print-color-adjust:exact}
  tr,.list li{break-inside:avoid}
  h2,h3,h4,.lead,.section,thead{break-after:avoid}
  pre{border:1px solid var(--line)}
  .cut,.filter,button{display:none}
  .cut:not([open])+pre{max-height:none;padding-bottom:.5rem;mask:none}
  details:not([open])::details-content{content-visibility:visible;block-size:auto}
}
`;
