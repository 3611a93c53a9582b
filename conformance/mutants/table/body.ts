/** Section 4.2: bodies that are not a JSON object, which createPet accepts. */
import { attempt, base } from '../server/hooks.ts';
import { Digits, readJson, type Json } from '../server/json.ts';
import { failing, noting, table, unnamed, type Change } from './changes.ts';

/** Reads text that is not JSON after a repair. */
const repaired = (repair: (text: string) => string): Change => ({
  read: (text) => base.read(text) ?? attempt(() => readJson(repair(text))),
});

/** Converts a value that is not an object. */
const objectFrom = (convert: (value: Json) => Json | undefined): Change => ({
  object: (value) => {
    const converted = convert(value);
    return base.object(value) ?? (converted === undefined ? undefined : base.object(converted));
  },
});

export const bodyMutants = table([
  ['json-accepts-comma', 'create.not-json', 'A trailing comma in an object is accepted.',
    repaired((text) => text.replace(/,(\s*})/, '$1'))],
  ['json-accepts-single-quotes', 'create.not-json', 'Strings in single quotes are accepted.',
    repaired((text) => text.replaceAll("'", '"'))],
  ['json-accepts-bare-names', 'create.not-json', 'Field names without quotes are accepted.',
    repaired((text) => text.replace(/([{,]\s*)(\w+)(?=\s*:)/g, '$1"$2"'))],
  ['json-accepts-garbage', 'create.not-json', 'Text after the last brace is ignored.',
    repaired((text) => text.slice(0, text.lastIndexOf('}') + 1))],
  ['json-accepts-second-document', 'create.not-json', 'A second document after the first is ignored.',
    repaired((text) => text.replace(/(?<=\})\s*\{[^]*$/, ''))],
  ['json-accepts-unclosed', 'create.not-json', 'A missing closing brace is added.',
    repaired((text) => `${text}}`)],
  ['json-accepts-leading-zeros', 'create.not-json', 'Numbers with leading zeros are accepted.',
    repaired((text) => text.replace(/(:\s*-?)0+(?=\d)/g, '$1'))],
  ['json-accepts-nan', 'create.fraction', 'NaN and Infinity are accepted as a categoryId, as 0.',
    repaired((text) => text.replace(/(:\s*)-?(NaN|Infinity)\b/g, '$10'))],
  ['json-accepts-plus', 'create.not-json', 'A plus sign before a number is accepted.',
    repaired((text) => text.replace(/(:\s*)\+(?=\d)/g, '$1'))],
  ['json-accepts-raw-control', 'create.not-json', 'Line breaks in strings are accepted.',
    repaired((text) => text.replace(/\n/g, '\\n'))],
  ['json-accepts-form', 'create.not-json', 'A form (name=...&categoryId=...) is accepted.',
    {
      read: (text) => {
        const form = new URLSearchParams(text);
        const [name, category] = [form.get('name'), form.get('categoryId')];
        const read: Json | undefined = base.read(text);
        if (read !== undefined || name === null || category === null) return read;
        return new Map<string, Json>([['name', name], ['categoryId', new Digits(category)]]);
      },
    }],

  ['body-empty-array', 'create.not-object', 'An empty array is accepted, as an animal without a name.',
    objectFrom((value) => (Array.isArray(value) && value.length === 0 ? unnamed() : undefined))],
  ['body-array', 'create.not-object', 'An array with one NewPet is accepted as that NewPet.',
    objectFrom((value) => (Array.isArray(value) && value.length === 1 ? value[0] : undefined))],
  ['body-string', 'create.not-object', 'A string that contains JSON is parsed again.',
    objectFrom((value) => (typeof value === 'string' ? attempt(() => readJson(value)) : undefined))],
  ['body-null', 'create.not-object', 'null is accepted, as an animal without a name.',
    objectFrom((value) => (value === null ? unnamed() : undefined))],

  ['body-empty', 'create.empty', 'An empty body is accepted, as an animal without a name.',
    { read: (text) => (text === '' ? unnamed() : base.read(text)) }],
  ['body-empty-500', 'create.empty', 'An empty body gets 500.',
    {
      read: (text) => (text === '' ? new Map<string, Json>([['name', '\0empty']]) : base.read(text)),
      ...noting('name', (value) => value === '\0empty', 'empty'),
      ...failing((_response, { world }) => world.notes.delete('empty'), 500, 'Internal error.'),
    }],
]);
