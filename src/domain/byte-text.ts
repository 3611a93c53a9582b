declare const oneByteEach: unique symbol;

/**
 * A text in UTF-8, as a string with one character (U+0000 to U+00FF) for each byte: faster to write to a socket than a
 * Buffer. The type keeps other strings out, whose characters would lose their upper bytes.
 */
export type ByteText = string & { readonly [oneByteEach]: true };

/** For texts of usual length: a new Buffer for each of them would be garbage that is expensive to collect. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
const maxBytesOfUnit = 3;

/** Returns the UTF-8 bytes of a text. */
export function bytesOf(text: string): ByteText {
  const bytes = text.length * maxBytesOfUnit > scratch.length ? Buffer.from(text) : scratch;
  const length = bytes === scratch ? scratch.write(text) : bytes.length;
  return (length === text.length ? text : bytes.toString('latin1', 0, length)) as ByteText;
}

/** Returns the bytes of a Buffer from `start` to `end`. */
export function byteText(bytes: Buffer, start = 0, end = bytes.length): ByteText {
  return bytes.toString('latin1', start, end) as ByteText;
}

/** A body: a text or, if it is long, pieces that will not change. */
export type Body = ByteText | readonly Buffer[];
