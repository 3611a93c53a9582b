declare const oneByteEach: unique symbol;

/**
 * A text in UTF-8, as a string with one character (U+0000 to U+00FF) for each byte: faster to write to a socket than a
 * Buffer. The type keeps other strings out, whose characters would lose their upper bytes.
 */
export type ByteText = string & { readonly [oneByteEach]: true };

/** Returns the UTF-8 bytes of a text. */
export function bytesOf(text: string): ByteText {
  return (Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1')) as ByteText;
}

/** Returns the bytes of a Buffer from `start` to `end`. */
export function byteText(bytes: Buffer, start = 0, end = bytes.length): ByteText {
  return bytes.toString('latin1', start, end) as ByteText;
}

/** A body: a text or, if it is long, pieces that will not change. */
export type Body = ByteText | readonly Buffer[];
