/** A page as it is answered. */
export interface LinkedPage {
  /** A JSON array, as in a reply. */
  readonly body: string | readonly Buffer[];
  /** The value of `Link`, or null on the last page. */
  readonly link: string | null;
}

const maxPages = 100;
const maxQueryLength = 100;

/**
 * The first pages that were asked for lately, by the query as it was sent: what most clients ask for, time and again.
 * A page that others follow never changes, as records are only added behind all others; any other is not kept.
 */
export class FirstPages {
  readonly #pages = new Map<string, LinkedPage>();

  /** The first page that this query asks for, or undefined. */
  get(query: string): LinkedPage | undefined {
    return this.#pages.get(query);
  }

  /** Keeps a first page, if it is final and not large. */
  keep(query: string, page: LinkedPage): void {
    if (page.link === null || typeof page.body !== 'string' || query.length > maxQueryLength) return;
    if (this.#pages.size >= maxPages) this.#pages.clear();
    this.#pages.set(query, page);
  }
}
