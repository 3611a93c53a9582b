const token = "[!#$%&'*+.^_`|~0-9a-z-]+";
const mediaType = new RegExp(`^(${token}/${token})`, 'i');
/** `OWS ";" OWS [ parameter ]` (RFC 9110 section 5.6.6), at one place in the text. */
const parameter = new RegExp(`[ \\t]*;[ \\t]*(?:(${token})=(?:(${token})|"((?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*)"))?`, 'iy');

/**
 * Whether a Content-Type says `application/json` in UTF-8: other parameters than a charset are ignored, a charset must
 * be utf-8; case and quotes as in RFC 9110 section 8.3.1. What does not fit its grammar is refused.
 */
export function isJsonInUtf8(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  const type = mediaType.exec(contentType)?.[1];
  if (type?.toLowerCase() !== 'application/json') return false;
  parameter.lastIndex = type.length;
  while (parameter.lastIndex < contentType.length) {
    const match = parameter.exec(contentType);
    if (match === null) return false;
    const [, name, value, quoted] = match;
    const text = value ?? quoted?.replace(/\\(.)/gs, '$1');
    if (name?.toLowerCase() === 'charset' && text?.toLowerCase() !== 'utf-8') return false;
  }
  return true;
}
