/** The value of Content-Type for the text that `Exposition` makes. */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string | number>>;

/** A value, with the labels that tell it from others of its metric. */
export type Sample = readonly [labels: Labels, value: number];

/** Makes a text in the format of Prometheus (version 0.0.4). */
export class Exposition {
  text = '';

  /** Adds a metric: its unit is part of the name, and the name of a counter ends in `_total`. */
  add(type: 'counter' | 'gauge', name: string, help: string, samples: number | readonly Sample[]): void {
    this.#head(type, name, help);
    if (typeof samples === 'number') this.#sample(name, {}, samples);
    else for (const [labels, value] of samples) this.#sample(name, labels, value);
  }

  /** Adds a histogram. `counts` has the number of values up to each of the bounds that are not up to the one before. */
  addHistogram(
    name: string, help: string, bounds: readonly number[],
    series: Iterable<readonly [labels: Labels, counts: readonly number[], count: number, sum: number]>,
  ): void {
    this.#head('histogram', name, help);
    for (const [labels, counts, count, sum] of series) {
      let upTo = 0;
      for (const [i, bound] of bounds.entries()) {
        this.#sample(`${name}_bucket`, { ...labels, le: bound }, (upTo += counts[i]!));
      }
      this.#sample(`${name}_bucket`, { ...labels, le: '+Inf' }, count);
      this.#sample(`${name}_sum`, labels, sum);
      this.#sample(`${name}_count`, labels, count);
    }
  }

  #head(type: string, name: string, help: string): void {
    this.text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  }

  #sample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(String(text))}`);
    this.text += `${name}${pairs.length === 0 ? '' : `{${pairs.join()}}`} ${value === Infinity ? '+Inf' : value}\n`;
  }
}
