/**
 * HTML in which everything is escaped that was not written by us as HTML: the only way to a `Markup` is the template, and the
 * template escapes every string put into it.
 */
import { visible, visibleLines } from './visible.ts';

/** A piece of HTML that is safe as it is. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Markup | undefined | readonly Part[];

/** ``html`<p>${text}</p>` ``: strings are escaped, pieces of HTML stay, lists are joined, undefined is nothing. For text, not attributes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...parts.map(written)));
}

/** For the value of an attribute, between double quotes. */
export function attribute(text: string): Markup {
  return new Markup(visible(escaped(text)));
}

/** Text whose line breaks are to stay. */
export function lines(text: string): Markup {
  return new Markup(visibleLines(escaped(text), mark));
}

function written(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(written).join('');
  return visible(escaped(String(part)), mark);
}

function mark(written: string): string {
  return `<span class="unseen">${written}</span>`;
}

/** Escapes for HTML and XML alike, in text and in quoted attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
