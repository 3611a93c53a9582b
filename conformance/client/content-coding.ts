/**
 * Undoes the content codings of a body (RFC 9110, section 8.4). The kit asks for none, but some proxies compress
 * nevertheless.
 */
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

/** A decoded body; or a body as received, with the reason why it cannot be decoded. */
export interface Decoded {
  readonly body: Uint8Array;
  readonly decodingError?: string | undefined;
}

type Decoder = (body: Uint8Array, bound: { readonly maxOutputLength: number }) => Uint8Array;

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  br: brotliDecompressSync,
  // Some servers omit the zlib header, whose first byte ends in 8.
  deflate: (body, bound) => (body[0]! % 16 === 8 ? inflateSync : inflateRawSync)(body, bound),
};

/** Decodes a body according to its Content-Encoding headers. A body with an unknown coding is left as it is. */
export function decode(body: Uint8Array, contentEncoding: readonly string[], maxOutputLength: number): Decoded {
  let decoded = body;
  for (const coding of codingsIn(contentEncoding).reverse()) {
    const decoder = decoders[coding.toLowerCase()];
    if (decoder === undefined || decoded.length === 0) break;
    try {
      decoded = decoder(decoded, { maxOutputLength });
    } catch (error) {
      const reason = (error as Error).message;
      return { body, decodingError: `it has Content-Encoding: ${coding}, but cannot be decoded: ${reason}` };
    }
  }
  return { body: decoded };
}

/** Whether the kit can undo a content coding. */
export function isDecodable(coding: string): boolean {
  return Object.hasOwn(decoders, coding.toLowerCase());
}

/** The content codings in Content-Encoding headers. */
export function codingsIn(contentEncoding: readonly string[]): string[] {
  const codings = contentEncoding.join().split(',').map((coding) => coding.trim());
  return codings.filter((coding) => !['', 'identity'].includes(coding.toLowerCase()));
}
