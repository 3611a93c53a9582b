/** A reporter for node:test that prints nothing, because run.ts prints the results. */
export default async function* silent(events: AsyncIterable<unknown>): AsyncGenerator<never> {
  for await (const _ of events);
}
