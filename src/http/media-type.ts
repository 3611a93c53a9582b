const token = "[!#$%&'*+.^_`|~0-9a-z-]+";
const quotedString = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';
/** The value of `charset`; a backslash may be before any character of a quoted string (RFC 9110 section 5.6.4). */
const utf8 = `utf-8|"${[...'utf-8'].map((character) => `\\\\?${character}`).join('')}"`;
const parameter = `(?:charset=(?:${utf8})|(?!charset=)${token}=(?:${token}|${quotedString}))`;
/** The parameters are those of RFC 9110 section 5.6.6. No text matches in two ways, so the time is linear. */
const jsonInUtf8 = new RegExp(`^application/json[ \\t]*(?:;[ \\t]*(?:${parameter}[ \\t]*)?)*$`, 'i');

/** Whether an `Accept` header names `text/html` (RFC 9110 section 12.5.1), as browsers do when they open a page. */
export function acceptsHtml(accept: string | undefined): boolean {
  return accept !== undefined && /(^|,)[ \t]*text\/html[ \t]*(;(?![ \t]*q=0(\.0*)?[ \t]*(,|$))|,|$)/i.test(accept);
}

/**
 * Whether a Content-Type is `application/json` in UTF-8: a charset must be utf-8, other parameters are ignored. Case
 * and quotes follow RFC 9110 section 8.3.1. A value that violates its grammar is refused.
 */
export function isJsonInUtf8(contentType: string): boolean {
  return contentType === 'application/json' || jsonInUtf8.test(contentType);
}
