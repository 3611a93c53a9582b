const token = "[!#$%&'*+.^_`|~0-9a-z-]+";
const mediaType = new RegExp(`^(${token}/${token})`, 'i');
const quotedString = '"((?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*)"';
/** `OWS ";" OWS [ parameter ]` (RFC 9110 section 5.6.6), at one place in the text. */
const parameter = new RegExp(`[ \\t]*;[ \\t]*(?:(${token})=(?:(${token})|${quotedString}))?`, 'iy');

/** Whether an `Accept` header names `text/html` (RFC 9110 section 12.5.1), as browsers do when they open a page. */
export function acceptsHtml(accept: string | undefined): boolean {
  return accept !== undefined && /(^|,)[ \t]*text\/html[ \t]*(;(?![ \t]*q=0(\.0*)?[ \t]*(,|$))|,|$)/i.test(accept);
}

/**
 * Whether a Content-Type is `application/json` in UTF-8: a charset must be utf-8, other parameters are ignored. Case
 * and quotes follow RFC 9110 section 8.3.1. A value that violates its grammar is refused.
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
