/**
 * An element that a header with a list (RFC 9110 section 5.6.1) may have, in upper or lower case. A client may send a
 * list of thousands of elements, so it is not split, and the time is linear in its length.
 */
export class ListElement {
  readonly #somewhere: RegExp;
  readonly #alone: RegExp;

  /** `token` has no characters that are special in a regular expression. */
  constructor(token: string) {
    const element = `[ \\t]*${token}[ \\t]*`;
    this.#somewhere = new RegExp(`(?:^|,)${element}(?:,|$)`, 'i');
    this.#alone = new RegExp(`^[ \\t]*(?:${token}[ \\t]*)?(?:,[ \\t]*(?:${token}[ \\t]*)?)*$`, 'i');
  }

  /** Whether a list has this element. */
  isIn(list: string | undefined): boolean {
    return list !== undefined && this.#somewhere.test(list);
  }

  /** Whether a list has an element other than this one. */
  hasOthersIn(list: string | undefined): boolean {
    return list !== undefined && !this.#alone.test(list);
  }
}
