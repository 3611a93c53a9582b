/** The table of contents, which links to every section and marks the current one, and the search. */
import { byId, element, link, type Child } from './dom.ts';

const main = byId('main', HTMLElement);
const contents = byId('contents', HTMLDetailsElement);
const parts = byId('parts', HTMLElement);

/** From this width on, the contents are beside the text and always open. page.css uses the same width. */
const wide = matchMedia('(min-width: 68.75rem)');

/**
 * Adds a part to the page, and links to it and to its sections to the contents. `before` precedes the sections;
 * `labels` are the texts of their links, by default their titles.
 */
export function addPart(
  title: string, sections: readonly HTMLElement[], before: readonly Child[] = [], labels: readonly Child[][] = [],
  heading: HTMLElement = element('h2', {}, title),
): void {
  const id = title.toLowerCase().replaceAll(' ', '-');
  heading.id = `${id}-title`;
  main.append(element('section', { id, 'aria-labelledby': heading.id }, heading, ...before, ...sections));
  const items = sections.filter((section) => section.id !== '').map((section, i) =>
    element('li', {}, link(section.id, ...labels[i] ?? [titleOf(section)])));
  parts.append(element('p', {}, link(id, title)), ...(items.length === 0 ? [] : [element('ul', {}, ...items)]));
}

/** Returns the title of a section, a row or an entry of a list. */
function titleOf(target: Element): string {
  return target.querySelector('h1, h2, h3, code')?.firstChild?.textContent ?? '';
}

/** Starts to mark the current link, and starts the search. Call it after all parts have been added. */
export function initContents(): void {
  const links = [...parts.querySelectorAll('a')];
  const mark = (): void => {
    // A link leads to the top of the window. Without a link, readers look at what begins above a third of it.
    const line = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) + 8;
    const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 1;
    const topOf = ({ hash }: HTMLAnchorElement): number =>
      document.getElementById(hash.slice(1))!.getBoundingClientRect().top;
    // The last sections are too short to reach the top, even at the end of the page.
    const chosen = links.find((one) =>
      one.hash === location.hash && (isAtEnd || (topOf(one) >= 0 && topOf(one) <= line)));
    const begun = links.filter((one) => isAtEnd || topOf(one) <= Math.max(line, innerHeight / 3));
    const current = chosen ?? begun.at(-1) ?? links[0]!;
    if (current.ariaCurrent !== null) return;
    for (const one of links) one.ariaCurrent = one === current ? 'location' : null;
    const box = contents.querySelector('.contents')!;
    const [{ top, bottom }, around] = [current.getBoundingClientRect(), box.getBoundingClientRect()];
    if (top < around.top || bottom > around.bottom) box.scrollTop += top - (around.top + around.bottom) / 2;
  };
  addEventListener('scroll', mark, { passive: true });
  addEventListener('hashchange', mark);
  mark();

  const openIfWide = (): void => void (contents.open = wide.matches);
  wide.addEventListener('change', openIfWide);
  openIfWide();
  document.addEventListener('click', ({ target }) => {
    const { hash = '' } = target instanceof Element && target.closest<HTMLAnchorElement>('a[href^="#"]') || {};
    openFold(hash); // before the browser scrolls
  });
  const showTarget = (): void => {
    if (openFold(location.hash)) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  };
  addEventListener('hashchange', showTarget);
  showTarget();
  contents.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLAnchorElement) openIfWide();
  });
  initSearch();
}

/** Opens the fold that contains the target of a link, or is its content. Returns false if nothing had to be opened. */
function openFold(hash: string): boolean {
  const target = document.getElementById(hash.slice(1));
  const fold = target?.closest('details') ?? target?.querySelector<HTMLDetailsElement>(':scope > details');
  if (fold == null || fold.open) return false;
  return fold.open = true;
}

function initSearch(): void {
  const search = byId('search', HTMLInputElement);
  const results = byId('results', HTMLElement);
  const targets = [...main.querySelectorAll('section[id]:not(:has(section[id])), tr[id], dt[id]')].map((target) => {
    const part = target.closest('main > section')?.querySelector('h1, h2')?.textContent ?? '';
    const text = target.tagName === 'DT' ? `${target.textContent} ${target.nextElementSibling?.textContent}`
      : target.textContent;
    return { id: target.id, title: titleOf(target), part, text: text.toLowerCase() };
  });
  search.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const found = targets.filter(({ text }) => words.every((word) => text.includes(word)));
    const first = found.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
    const shown = words.length === 0 ? [] : [...new Set([...first, ...found])];
    parts.hidden = words.length > 0;
    byId('found', HTMLElement).textContent = words.length === 0 ? '' : `${shown.length} found`;
    results.replaceChildren(...shown.map(({ id, title, part }) =>
      element('li', {}, link(id, title, ...(part === title ? [] : [' ', element('small', {}, part)])))));
  });
  search.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') results.querySelector('a')?.click();
  });
}
