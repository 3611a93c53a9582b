/** The style sheet of HTML reports. html.test.ts verifies the contrast of the colours. */
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

/** The style sheet of HTML reports, for screens of any width and for paper. */
export const styleSheet = `
:root{color-scheme:light dark;${tokens(palettes.light)}}
@media (prefers-color-scheme:dark){:root{${tokens(palettes.dark)}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:2rem 1rem 4rem;background:var(--paper);color:var(--ink);
  font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1,h2,h3,h4,p,dl,dd,ul,pre,table{margin:0;padding:0}
h1{font-size:clamp(1.625rem,1.1rem + 2.4vw,2.375rem);line-height:1.15;margin:.375rem 0 .625rem;text-wrap:balance}
h2{font-size:1.375rem;margin:3rem 0 .375rem}
h3{font-size:1.0625rem}
h4{font-size:.875rem;margin-top:1.25rem}
ul{list-style:none}
a{color:var(--link)}
code,pre,.id{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.8125rem}
code,pre{white-space:pre-wrap;unicode-bidi:isolate}
pre{background:var(--code);border-radius:3px;padding:.5rem .75rem}
.card{background:var(--sheet);border:1px solid var(--line);border-left:4px solid;border-radius:4px;
  padding:1rem;margin-top:1rem}
.card>*{color:var(--ink)}
.soft,.lead,dt,summary,footer{color:var(--soft)}
.meta,dt,details{font-size:.875rem}
.unseen{font-family:monospace;color:var(--inconclusive);background:var(--code);outline:1px solid var(--line)}
${verdicts.map((verdict) => `.${verdict}{color:var(--${verdict})}`).join('')}
.verdict{font-weight:600;white-space:nowrap}
.counts,.meta,nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem}
.counts,nav{margin-top:1.75rem}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:1rem 1.25rem;margin-top:1.75rem}
.case{display:grid;gap:.25rem 1rem;margin-top:.75rem}
.list>li:not(.card){padding:.625rem 0;border-bottom:1px solid var(--line)}
summary{cursor:pointer;width:fit-content}
.cut:not([open])+pre{max-height:calc(9em + .5rem);padding-bottom:0;overflow:hidden}
table,thead,tbody,tr,th,td{display:block;padding:0;text-align:left;font-weight:inherit}
footer{margin-top:4rem;font-size:.8125rem}
@media (min-width:44rem){.case{grid-template-columns:7.5rem minmax(0,1fr)}}
@media screen{main:has(h2:target)>section:not(:has(:target)){display:none}}
@media print{
  button,.cut{display:none}
  .cut:not([open])+pre{max-height:none}
  .list>li{break-inside:avoid}
  details:not([open])::details-content{content-visibility:visible;block-size:auto}
}
`;
