import { createHash } from 'node:crypto';
import { ApiError } from '../http/api-error.ts';
import { acceptsHtml } from '../http/media-type.ts';
import type { Reply } from '../http/reply.ts';
import type { Operation } from './operation.ts';

/** The name of both operations. */
const name = 'docs';

/** `GET /docs`: the reference page. */
export function docs(reply: Reply): Operation {
  return { name, takesJson: false, begin: () => () => reply };
}

/** `GET /`: the same page for a browser, and 404 for other clients. */
export function docsForBrowsers(reply: Reply): Operation {
  return {
    name,
    takesJson: false,
    responseHeaders: () => ['Vary', 'Accept'],
    begin: ({ headers }) => {
      if (acceptsHtml(headers.accept)) return () => reply;
      throw new ApiError('not_found', 'There is nothing at this path.');
    },
  };
}

/** Returns the response with a page, whose only style and script are in its HTML. Throws if it lacks one of them. */
export function pageReply(html: string): Reply {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(html, 'script')}`,
    `style-src ${hashOf(html, 'style')}`,
    'img-src data:', // the icon: without one, browsers request /favicon.ico
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  const headers = ['Content-Security-Policy', policy.join('; '), 'Referrer-Policy', 'no-referrer'];
  return { status: 200, headers, type: 'text/html; charset=utf-8', body: [Buffer.from(html)] };
}

/** The hash of the content of the only element with this name (CSP level 3, section 2.3.1). */
function hashOf(html: string, element: string): string {
  const [, content] = new RegExp(`<${element}\\b[^>]*>(.*?)</${element}>`, 's').exec(html) ?? [];
  if (content === undefined) throw new Error(`the reference page has no ${element}`);
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
