/** Section 4.2: names must be kept exactly. */
import { names, shown, stored, table, type Change } from './changes.ts';

/** Replaces characters of names in the response and in the store. */
const replaced = (pattern: RegExp, by: string): Change => names((name) => name.replace(pattern, by));

/** Changes names in the store only. */
const storedName = (change: (name: string) => string): Change => stored((pet) => ({ name: change(pet.name) }));

/** Replaces characters of names in lists only. */
const replacedInList = (pattern: RegExp, by: (match: string) => string): Change =>
  shown('list', (fields, pet) => void fields.set('name', pet.name.replace(pattern, by)));

const fromHex = (_match: string, hex: string): string => String.fromCharCode(parseInt(hex, 16));

export const nameMutants = table([
  ['name-trimmed', 'create.name', 'White space around a name is lost.', names((name) => name.trim())],
  ['name-trimmed-store', 'create.stored', 'White space at the end of a name is not stored.',
    storedName((name) => name.trimEnd())],
  ['name-collapsed', 'create.name', 'Two spaces in a name become one.', replaced(/ {2,}/g, ' ')],

  ['name-tab', 'create.name', 'A tab becomes a space.', replaced(/\t/g, ' ')],
  ['name-crlf', 'create.name', 'CR LF becomes LF.', replaced(/\r\n/g, '\n')],
  ['name-delete', 'create.name', 'U+007F to U+009F are removed.', replaced(/[\x7f-\x9f]/g, '')],
  ['name-nul', 'create.name', 'A name ends before its first U+0000.', names((name) => name.split('\0')[0] ?? '')],

  ['name-nfc', 'create.name', 'Names are normalized to NFC.', names((name) => name.normalize('NFC'))],
  ['name-nfd-store', 'create.stored', 'Names are stored in NFD.', storedName((name) => name.normalize('NFD'))],
  ['name-fullwidth', 'create.name', 'Names that are in NFC are normalized to NFKC.',
    names((name) => (name.normalize('NFC') === name ? name.normalize('NFKC') : name))],
  ['name-accents', 'create.name', 'Letters lose their accents.',
    names((name) => name.normalize('NFD').replace(/[\u0300-\u036f]/g, ''))],

  ['name-lower', 'create.name', 'Names are in lower case.', names((name) => name.toLowerCase())],
  ['name-capital-store', 'create.stored', 'The first letter of a name is stored as a capital.',
    storedName((name) => name.charAt(0).toUpperCase() + name.slice(1))],

  ['name-html-escaped', 'create.name', 'Ampersands and angle brackets are escaped as in HTML.',
    names((name) => name.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'))],
  ['name-tags', 'create.name', 'HTML tags are removed.', replaced(/<[a-z/][^>]*>/gi, '')],
  ['name-entities-store', 'create.stored', 'The entity &amp; is stored as an ampersand.',
    storedName((name) => name.replace(/&amp;/g, '&'))],

  ['name-percent', 'create.name', 'Names are percent-decoded.',
    names((name) => name.replace(/%([2-7][0-9a-f])/gi, fromHex))],
  ['name-plus', 'create.name', 'A plus sign becomes a space.', replaced(/\+/g, ' ')],
  ['name-escapes-twice', 'create.name', 'A backslash followed by n becomes a line break.', replaced(/\\n/g, '\n')],

  ['name-backslash', 'create.name', 'Backslashes are doubled.', replaced(/\\/g, '\\\\')],
  ['name-quote-store', 'create.stored', 'Quotation marks are stored as apostrophes.',
    storedName((name) => name.replace(/"/g, "'"))],
  ['name-smart-quotes', 'create.name', 'Typographic quotation marks become straight.',
    names((name) => name.replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"'))],
  ['name-apostrophe', 'create.name', 'Apostrophes are doubled, as in SQL.', replaced(/'/g, "''")],

  ['name-64-store', 'create.stored', 'Names are truncated to 64 characters in the store.',
    storedName((name) => name.slice(0, 64))],
  ['name-255', 'create.name', 'Names are truncated to 255 characters.', names((name) => name.slice(0, 255))],
  ['name-1000-store', 'create.stored', 'Names are truncated to 1,000 characters in the store.',
    storedName((name) => name.slice(0, 1000))],
  ['name-parts', 'create.name', 'Each part of a body is decoded alone, so a character in two parts is lost.',
    { join: (chunks) => Buffer.from(chunks.map((chunk) => chunk.toString()).join('')) }],
  ['name-bytes-store', 'create.stored', 'Names are truncated to 96 bytes of UTF-8 in the store.',
    storedName((name) => new TextDecoder().decode(Buffer.from(name).subarray(0, 96), { stream: true }))],
  ['name-length-32', 'create.name', 'Names of exactly 32 characters lose the last one.',
    names((name) => (name.length === 32 ? name.slice(0, -1) : name))],

  ['name-line-separator', 'create.name', 'U+2028 and U+2029 are removed.', replaced(/[\u2028\u2029]/g, '')],
  ['name-joiner', 'create.name', 'Zero-width spaces and joiners are removed.', replaced(/[\u200b-\u200d]/g, '')],
  ['name-soft-hyphen-store', 'create.stored', 'Soft hyphens are not stored.',
    storedName((name) => name.replace(/\u00ad/g, ''))],
  ['name-mark-list', 'animals.agree', 'Lists omit U+FEFF.', replacedInList(/\ufeff/g, () => '')],
  ['name-bidi', 'create.name', 'Direction marks are removed.',
    replaced(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')],
  ['name-nbsp', 'create.name', 'A no-break space becomes a space.', replaced(/\u00a0/g, ' ')],
  ['name-variation-selector', 'create.name', 'Variation selectors are removed.', replaced(/[\ufe00-\ufe0f]/g, '')],

  ['name-astral', 'create.name', 'Characters beyond U+FFFF become U+FFFD.',
    replaced(/[\u{10000}-\u{10ffff}]/gu, '\ufffd')],
  ['name-astral-store', 'create.stored', 'Characters beyond U+FFFF lose their high bits in the store.',
    storedName((name) =>
      name.replace(/[\u{10000}-\u{10ffff}]/gu, (match) => String.fromCharCode(match.codePointAt(0) ?? 0)))],
  ['name-astral-list', 'animals.agree', 'Lists show characters beyond U+FFFF as question marks.',
    replacedInList(/[\u{10000}-\u{10ffff}]/gu, () => '?')],
  ['name-plane-2', 'create.name', 'Characters beyond U+1FFFF become U+FFFD.',
    replaced(/[\u{20000}-\u{10ffff}]/gu, '\ufffd')],
  ['name-mojibake-list', 'animals.agree', 'Lists show U+0080 to U+00FF as their two bytes of UTF-8.',
    replacedInList(/[\u0080-\u00ff]/g, (match) => Buffer.from(match).toString('latin1'))],

  ['name-private', 'create.name', 'Private-use characters become U+FFFD.', replaced(/[\ue000-\uf8ff]/g, '\ufffd')],
  ['name-noncharacter', 'create.name', 'U+FFFE and U+FFFF become U+FFFD.', replaced(/[\ufffe\uffff]/g, '\ufffd')],

  ['name-digits', 'create.name', 'A name of digits loses its leading zeros.',
    names((name) => (/^0+\d+$/.test(name) ? name.replace(/^0+(?=\d)/, '') : name))],
  ['name-number-store', 'create.stored', 'A name that looks like a number, such as 1e3, is stored as that number.',
    storedName((name) =>
      /^-?[\d.]+(e\d+)?$/.test(name) && Number.isFinite(Number(name)) ? String(Number(name)) : name)],
  ['name-null', 'create.name', 'The names null, undefined, true and false become empty.',
    names((name) => (/^(null|undefined|true|false)$/.test(name) ? '' : name))],
  ['name-prototype-store', 'create.stored', 'The names __proto__ and constructor are stored as [object Object].',
    storedName((name) => (/^(__proto__|constructor)$/.test(name) ? '[object Object]' : name))],
  ['name-dollar', 'create.name', 'Templates such as ${x} and {{x}} are removed.',
    replaced(/\$\{[^}]*\}|\{\{[^}]*\}\}/g, '')],
  ['name-semicolon-store', 'create.stored', 'A name is stored up to its first semicolon.',
    storedName((name) => name.split(';')[0] ?? '')],
]);
