/**
 * The frame of an HTML report: one file without scripts and network access, which its Content-Security-Policy enforces.
 */
import { attribute, html, Markup } from './markup.ts';
import { styleSheet } from './style.ts';

const contentSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

export interface Page {
  readonly title: string;
  /** Added to the style sheet of all reports. */
  readonly style?: string;
  readonly header: Markup;
  readonly main: Markup;
  readonly footer: Markup;
}

/** A complete HTML document. */
export function pageHtml({ title, style = '', header, main, footer }: Page): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(contentSecurityPolicy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${attribute(title)}</title>
<style>${new Markup(styleSheet + style)}</style>
</head>
<body>
<header>
${header}
</header>
<main>
${main}
</main>
<footer>
${footer}
</footer>
</body>
</html>
`;
  return page.text;
}
