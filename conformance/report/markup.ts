/** HTML that is safe by construction: only the template makes `Markup`, and it escapes every string. */
import { visible, visibleLines } from './visible.ts';

/** A piece of HTML that needs no escaping. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Markup | undefined | false | readonly Part[];

/**
 * ``html`<p>${text}</p>` ``: escapes strings, inserts pieces of HTML, joins lists, and ignores undefined and false. Use
 * it for text, and `attribute` for attributes.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...parts.map(written)));
}

/** The value of an attribute, for use between double quotes. */
export function attribute(text: string): Markup {
  return new Markup(visible(escaped(text)));
}

/** Text that keeps its line breaks. */
export function lines(text: string): Markup {
  return new Markup(visibleLines(escaped(text), mark));
}

function written(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(written).join('');
  return visible(escaped(String(part)), mark);
}

function mark(written: string): string {
  return `<span class="unseen">${written}</span>`;
}

/** Escapes text for HTML and XML, also in quoted attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
