/** Which bodies that are no JSON object create accepts: section 4.2. */
import { attempt, base, type Hooks } from '../hooks.ts';
import { Digits, readJson, type Json } from '../json.ts';
import { answers, unnamed, type Fault } from './fault.ts';

/** Mends a text that is no JSON. */
const mended = (mend: (text: string) => string): Partial<Hooks> => ({
  read: (text) => base.read(text) ?? attempt(() => readJson(mend(text))),
});

/** Takes for an object what is none. */
const objectFrom = (convert: (value: Json) => Json | undefined): Partial<Hooks> => ({
  object: (value) => {
    const converted = convert(value);
    return base.object(value) ?? (converted === undefined ? undefined : base.object(converted));
  },
});

export const bodyFaults: readonly Fault[] = [
  {
    id: 'json-accepts-comma',
    requirement: 'create.not-json',
    text: 'A comma before the closing brace is accepted.',
    shares: 'JSON5',
    hooks: mended((text) => text.replace(/,(\s*})/, '$1')),
  },
  {
    id: 'json-accepts-comments',
    requirement: 'create.not-json',
    text: 'Comments are accepted.',
    shares: 'JSON5',
    hooks: mended((text) => text.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, '')),
  },
  {
    id: 'json-accepts-single-quotes',
    requirement: 'create.not-json',
    text: 'Single quotes are accepted around strings.',
    shares: 'JSON5',
    hooks: mended((text) => text.replaceAll("'", '"')),
  },
  {
    id: 'json-accepts-bare-names',
    requirement: 'create.not-json',
    text: 'Field names without quotes are accepted.',
    shares: 'JSON5',
    hooks: mended((text) => text.replace(/([{,]\s*)(\w+)(?=\s*:)/g, '$1"$2"')),
  },
  {
    id: 'json-accepts-garbage',
    requirement: 'create.not-json',
    text: 'Whatever follows the last brace is ignored.',
    shares: 'JSON cut',
    hooks: mended((text) => text.slice(0, text.lastIndexOf('}') + 1)),
  },
  {
    id: 'json-accepts-second-document',
    requirement: 'create.not-json',
    text: 'A second document after the first is ignored.',
    shares: 'JSON cut',
    hooks: mended((text) => text.replace(/(?<=\})\s*\{[^]*$/, '')),
  },
  {
    id: 'json-accepts-unclosed',
    requirement: 'create.not-json',
    text: 'A missing last brace is added.',
    shares: 'JSON cut',
    hooks: mended((text) => `${text}}`),
  },
  {
    id: 'json-accepts-leading-zeros',
    requirement: 'create.not-json',
    text: 'Numbers with leading zeros are accepted.',
    shares: 'JSON numbers',
    hooks: mended((text) => text.replace(/(:\s*-?)0+(?=\d)/g, '$1')),
  },
  {
    id: 'json-accepts-nan',
    requirement: 'create.not-json',
    text: 'NaN and Infinity are accepted as numbers, as 0.',
    shares: 'JSON numbers',
    hooks: mended((text) => text.replace(/(:\s*)-?(NaN|Infinity)\b/g, '$10')),
  },
  {
    id: 'json-accepts-plus',
    requirement: 'create.not-json',
    text: 'A plus sign before a number is accepted.',
    shares: 'JSON numbers',
    hooks: mended((text) => text.replace(/(:\s*)\+(?=\d)/g, '$1')),
  },
  {
    id: 'json-accepts-raw-control',
    requirement: 'create.not-json',
    text: 'Line breaks are accepted within strings.',
    hooks: mended((text) => text.replace(/\n/g, '\\n')),
  },
  {
    id: 'json-accepts-form',
    requirement: 'create.not-json',
    text: 'A form (name=...&categoryId=...) is accepted.',
    hooks: {
      read: (text) => {
        const form = new URLSearchParams(text);
        const [name, category] = [form.get('name'), form.get('categoryId')];
        const read: Json | undefined = base.read(text);
        if (read !== undefined || name === null || category === null) return read;
        return new Map<string, Json>([
          ['name', name],
          ['categoryId', new Digits(category)],
        ]);
      },
    },
  },
  {
    id: 'body-empty-array',
    requirement: 'create.not-object',
    text: 'An empty array is taken as an animal without a name.',
    shares: 'not an object',
    hooks: objectFrom((value) => (Array.isArray(value) && value.length === 0 ? unnamed() : undefined)),
  },
  {
    id: 'body-array',
    requirement: 'create.not-object',
    text: 'An array with one NewPet is taken as the NewPet.',
    shares: 'not an object',
    hooks: objectFrom((value) => (Array.isArray(value) && value.length === 1 ? value[0] : undefined)),
  },
  {
    id: 'body-string',
    requirement: 'create.not-object',
    text: 'A string that holds JSON is read once more.',
    shares: 'not an object',
    hooks: objectFrom((value) => (typeof value === 'string' ? attempt(() => readJson(value)) : undefined)),
  },
  {
    id: 'body-null',
    requirement: 'create.not-object',
    text: 'null is taken as an animal without a name.',
    shares: 'not an object',
    hooks: objectFrom((value) => (value === null ? unnamed() : undefined)),
  },
  {
    id: 'body-empty',
    requirement: 'create.empty',
    text: 'An empty body is taken as an animal without a name.',
    shares: 'empty body',
    hooks: { read: (text) => (text === '' ? unnamed() : base.read(text)) },
  },
  {
    id: 'body-empty-500',
    requirement: 'create.empty',
    text: 'An empty body is answered with 500.',
    shares: 'empty body',
    hooks: {
      read: (text) => (text === '' ? new Map<string, Json>([['name', '\0empty']]) : base.read(text)),
      name: (value, exchange) => {
        if (value === '\0empty') exchange.world.notes.set('empty', 'yes');
        return base.name(value, exchange);
      },
      ...answers(
        (_answer, { world }) => world.notes.delete('empty'),
        (answer, exchange) => Object.assign(answer, { status: 500, body: base.error(500, 'Internal error.', exchange) }),
      ),
    },
  },
];
