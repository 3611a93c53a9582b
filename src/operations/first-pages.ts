/** A page with its link. */
export interface LinkedPage {
  /** A JSON array, as in a reply. */
  readonly body: string | readonly Buffer[];
  /** The value of `Link`, or null on the last page. */
  readonly link: string | null;
}

const maxPages = 100;
const maxQueryLength = 100;

/**
 * A cache of first pages, which most clients request, by the query as it was sent. It holds only pages that are followed
 * by another: they never change, because records are only added at the end.
 */
export class FirstPages {
  readonly #pages = new Map<string, LinkedPage>();

  /** Returns the cached page for a query, or undefined. */
  get(query: string): LinkedPage | undefined {
    return this.#pages.get(query);
  }

  /** Caches the first page for a query if it cannot change and is not large. */
  keep(query: string, page: LinkedPage): void {
    if (page.link === null || typeof page.body !== 'string' || query.length > maxQueryLength) return;
    if (this.#pages.size >= maxPages) this.#pages.clear();
    this.#pages.set(query, page);
  }
}
