/** Renders schemas, and the fields that have one: parameters, headers and properties. */
import { nameOf, type Description, type Field, type Schema } from './description.ts';
import { code, element, inline, link, type Child } from './dom.ts';
import { writeJson, type Json } from './json.ts';

/** The keywords of a schema that are shown elsewhere than in its list of constraints. */
const structure = ['$ref', 'type', 'format', 'description', 'properties', 'required', 'items'];

/** The bounds that a format implies. They are not shown. */
const bounds: Readonly<Record<string, object>> = {
  int32: { minimum: -(2n ** 31n), maximum: 2n ** 31n - 1n },
  int64: { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n },
};

/** Returns the type of a value, as a link if it has a name: `integer int64`. */
export function typeOf(schema: Schema): HTMLElement {
  const { $ref, items, type = '', format = '' } = schema;
  const name: Child[] = $ref !== undefined ? [link(`schema-${nameOf($ref)}`, nameOf($ref))]
    : items !== undefined ? ['array of ', typeOf(items)] : [`${type} ${format}`.trim()];
  return element('span', { class: 'type' }, ...name);
}

/** Lists every keyword that restricts the value more than its type does, and the example. */
export function constraintsOf(schema: Schema, example?: Json): Child[] {
  const implied = Object.entries(bounds[schema.format ?? ''] ?? {});
  const keywords = Object.entries({ ...schema, ...(example !== undefined && { example }) }).filter(([keyword, value]) =>
    !structure.includes(keyword) && !implied.some(([name, bound]) => name === keyword && bound === value));
  const items = keywords.map(([keyword, value]) => {
    const values = [value as Json].flat() as Json[];
    const shown = values.map((one) => code(typeof one === 'string' && one !== '' ? one : writeJson(one)));
    return element('li', {}, keyword, ...shown.flatMap((one) => [' ', one]));
  });
  return items.length === 0 ? [] : [element('ul', { class: 'constraints' }, ...items)];
}

/** Returns the entry of a parameter, a header or a property in a list. */
export function fieldOf(api: Description, name: string, field: Field, id?: string): HTMLElement {
  const { schema, required, example, in: place } = field;
  const resolved = api.resolve<Schema>(schema);
  const text = field.description ?? schema.description ?? resolved.description ?? '';
  return element('div', {},
    element('dt', id === undefined ? {} : { id }, code(name), ' ', typeOf(schema),
      ...(place === undefined ? [] : [element('span', { class: 'type' }, ` in ${place}`)]),
      ...(required ? [' ', element('b', { class: 'required' }, 'required')] : [])),
    element('dd', {}, element('p', {}, ...inline(text)), ...constraintsOf(resolved, example)));
}

/** Returns the list of an object's properties. */
export function propertiesOf(api: Description, { properties = {}, required = [] }: Schema): Child[] {
  const fields = Object.entries(properties).map(([name, schema]) =>
    fieldOf(api, name, { schema, required: required.includes(name) }));
  return fields.length === 0 ? [] : [element('dl', {}, ...fields)];
}
