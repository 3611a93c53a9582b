/** The histories of all keys of a run, and the verdicts on them. */
import type { Credential } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import { exchangeOf, type Exchange } from './exchange.ts';
import { judge, type Verdicts } from './judge.ts';

type Key = Credential['key'];

/** The verdicts on the first `count` exchanges of a key. */
interface Judged {
  readonly count: number;
  readonly isExclusive: boolean;
  readonly verdicts: Verdicts;
}

export class LimitHistory {
  readonly #exchanges = new Map<Key, Exchange[]>();
  readonly #judged = new Map<Key, Judged>();

  /** Adds a response, unless one of its headers is missing, repeated or not an integer. */
  add(response: Response): void {
    const exchange = exchangeOf(response);
    if (exchange === undefined) return;
    const known = this.#exchanges.get(exchange.key);
    if (known === undefined) this.#exchanges.set(exchange.key, [exchange]);
    else known.push(exchange);
  }

  /** The exchanges of a key, in the order in which the responses arrived. */
  of(key: Key): readonly Exchange[] {
    return this.#exchanges.get(key) ?? [];
  }

  /** The verdicts on the history of a key. `isExclusive`: no other client uses the key. */
  verdicts(key: Key, isExclusive: boolean): Verdicts {
    const exchanges = this.of(key);
    const known = this.#judged.get(key);
    if (known?.count === exchanges.length && known.isExclusive === isExclusive) return known.verdicts;
    const verdicts = judge(exchanges, isExclusive);
    this.#judged.set(key, { count: exchanges.length, isExclusive, verdicts });
    return verdicts;
  }
}
