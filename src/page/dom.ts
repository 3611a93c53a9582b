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

/** Returns a label with the method of an operation. */
export const methodLabel = (method: string): HTMLElement =>
  element('b', { class: `method ${method.toLowerCase()}` }, method);

/** Returns a control with its label. */
export const labelled = (text: string, control: HTMLElement, kind = 'field'): HTMLElement =>
  element('div', { class: kind }, element('label', { for: control.id }, text), control);

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

/** Returns a table in a box that can be scrolled. The first cell of each row is its header. */
export function tableBox(
  label: string, head: readonly string[], rows: readonly { readonly id?: string; readonly cells: readonly Child[][] }[],
): HTMLElement {
  const body = rows.map(({ id, cells: [first = [], ...others] }) => element('tr', id === undefined ? {} : { id },
    element('th', { scope: 'row' }, ...first), ...others.map((cell) => element('td', {}, ...cell))));
  const columns = element('tr', {}, ...head.map((cell) => element('th', { scope: 'col' }, cell)));
  return element('div', { class: 'table', ...scrollable(label) },
    element('table', {}, element('thead', {}, columns), element('tbody', {}, ...body)));
}

/** Returns a button that copies the text of an element, or selects it if the browser does not allow copying. */
export function copyButton(box: HTMLElement): HTMLButtonElement {
  const button = element('button', { type: 'button', class: 'copy' }, 'Copy');
  button.addEventListener('click', () => {
    getSelection()?.selectAllChildren(box);
    const copied = navigator.clipboard?.writeText(box.textContent ?? '') ?? Promise.reject(new Error('not allowed'));
    copied.then(() => 'Copied', () => 'Selected').then((label) => (button.textContent = label));
  });
  button.addEventListener('blur', () => (button.textContent = 'Copy'));
  return button;
}

/** Returns the nodes of a text in which parts between backticks are code. */
export function inline(text: string): Child[] {
  return text.split('`').map((part, i) => (i % 2 === 0 ? part : code(part)));
}
