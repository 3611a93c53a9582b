/** Test support: whether markup is well-formed, by rules that are stricter than those of any parser. */

/**
 * Returns the first error in XML, or in HTML with the syntax of XML, whose elements in `empty` have no end tag. Returns
 * undefined if there is none.
 */
export function malformed(markup: string, empty: readonly string[] = []): string | undefined {
  const open: string[] = [];
  for (const [piece] of markup.matchAll(/<[^>]*>?|[^<]+/g)) {
    if (!piece.startsWith('<')) {
      if (badText.test(piece)) return `text: ${piece}`;
      continue;
    }
    if (/^<(\?xml [^<]*\?|!doctype html)>$/.test(piece)) continue;
    const tag = /^<(\/?)([a-z][a-z0-9-]*)((?: [a-zA-Z0-9-]+="[^"<]*")*)(\/?)>$/.exec(piece);
    if (tag === null) return `tag: ${piece}`;
    const [, end, name = '', attributes = '', closed] = tag;
    const names = [...attributes.matchAll(/ ([a-zA-Z0-9-]+)="/g)].map(([, attribute]) => attribute);
    if (new Set(names).size < names.length) return `an attribute twice: ${piece}`;
    if (badText.test(attributes)) return `attribute: ${piece}`;
    if (end === '/') {
      const expected = open.pop();
      if (expected !== name) return `${piece} where </${expected ?? ''}> was expected`;
    } else if (closed === '' && !empty.includes(name)) {
      open.push(name);
    }
  }
  return open.length > 0 ? `not closed: ${open.join(', ')}` : undefined;
}

/** The characters in `text` that must be escaped in every report. Line feeds need not be. */
export function rawCharacters(text: string): readonly string[] {
  return (
    text.match(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\p{Cs}]/gu,
    ) ?? []
  );
}

const badText = /&(?!(amp|lt|gt|quot|#39);)/;
