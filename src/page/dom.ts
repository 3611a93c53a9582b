/** Makes elements. Strings become text nodes, never HTML, which the page's policy forbids. */
import { indentJson, partsOf } from './json.ts';

export type Child = Node | string;

/** Returns a new element with these attributes and this content. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, attributes: Readonly<Record<string, string>> = {}, ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Returns the element of the page with this id, which must be of this type. */
export function byId<Type extends HTMLElement>(id: string, type: abstract new () => Type): Type {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`the page has no ${type.name} #${id}`);
}

export const code = (text: string): HTMLElement => element('code', {}, text);

/** Returns a link to an element of the page. */
export const link = (id: string, ...content: readonly Child[]): HTMLElement =>
  element('a', { href: `#${id}` }, ...content);

/** Returns the attributes of a box that can be scrolled with the keyboard. */
export const scrollable = (label: string) => ({ tabindex: '0', role: 'group', 'aria-label': label });

/** Returns a box with a text, which is indented and coloured if it is JSON, and otherwise as it is. */
export function codeBox(label: string, text: string): HTMLPreElement {
  return element('pre', scrollable(label), element('code', {}, ...highlighted(text)));
}

function highlighted(text: string): Child[] {
  try {
    JSON.parse(text);
  } catch {
    return [text];
  }
  return [...partsOf(indentJson(text))].map(([kind, part]) => {
    return kind === 'space' || kind === 'mark' ? part : element('span', { class: kind }, part);
  });
}

/** Returns the nodes of a text in which parts between backticks are code. */
export function inline(text: string): Child[] {
  return text.split('`').map((part, i) => (i % 2 === 0 ? part : code(part)));
}
