/** What a run shows while it is under way, on stderr: one line that is written anew on a terminal, elsewhere a line now and then. */
import { duration, grouped } from '../../conformance/report/words.ts';
import { isAdmitted, isRefused, type Answer } from './answer.ts';

/** Hears what the bench is doing. */
export interface Watcher {
  doing(what: string): void;
  waiting(why: string, ms: number): void;
  answered(answer: Answer, withKey: boolean): void;
}

/** Where the progress goes: stderr, or a test. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** On a terminal the line is written so often, elsewhere a line comes so often. */
const [liveMs, plainMs] = [250, 10_000];

export class Progress implements Watcher {
  readonly #screen: Screen;
  readonly #now: () => number;
  readonly #live: boolean;
  #timer: NodeJS.Timeout | undefined;
  #name = '';
  #what = '';
  #until: number | undefined;
  #admitted = 0;
  #refused = 0;
  #strangers = 0;
  /** When everything is about to be done. */
  #end = 0;

  constructor(screen: Screen, now: () => number = Date.now) {
    this.#screen = screen;
    this.#now = now;
    this.#live = screen.isTTY === true;
  }

  /** A scenario begins; all that is left takes about so many seconds. */
  begin(name: string, secondsLeft: number): void {
    [this.#name, this.#what, this.#until] = [name, 'sending', undefined];
    [this.#admitted, this.#refused, this.#strangers] = [0, 0, 0];
    this.#end = this.#now() + secondsLeft * 1_000;
    if (!this.#live) this.#screen.write(`  ${name}: begins, ${this.#left()}\n`);
    this.#timer ??= setInterval(() => this.#show(), this.#live ? liveMs : plainMs).unref();
  }

  doing(what: string): void {
    [this.#what, this.#until] = [what, undefined];
  }

  waiting(why: string, ms: number): void {
    [this.#what, this.#until] = [why, this.#now() + ms];
    if (!this.#live && ms > 2_000) this.#screen.write(`  ${this.line()}\n`);
  }

  answered(answer: Answer, withKey: boolean): void {
    if (!withKey) this.#strangers++;
    else if (isAdmitted(answer)) this.#admitted++;
    else if (isRefused(answer)) this.#refused++;
    if (this.#until !== undefined) [this.#what, this.#until] = ['sending', undefined];
  }

  /** Leaves the line empty for what comes next. */
  clear(): void {
    if (this.#live && this.#timer !== undefined) this.#screen.write('\r\u001b[K');
  }

  end(): void {
    this.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** `exact: 12 admitted, 3 refused; about 1 min 40 s left; waiting 23 s: a fresh window of the key`. */
  line(): string {
    const waiting = this.#until === undefined ? undefined : Math.max(0, Math.ceil((this.#until - this.#now()) / 1_000));
    const strangers = this.#strangers > 0 ? `, ${grouped(this.#strangers)} without a key` : '';
    return [
      `${this.#name}: ${grouped(this.#admitted)} admitted, ${grouped(this.#refused)} refused${strangers}`,
      this.#left(),
      waiting === undefined ? this.#what : `waiting ${waiting} s: ${this.#what}`,
    ].join('; ');
  }

  #left(): string {
    const ms = Math.max(this.#end, this.#until ?? 0) - this.#now();
    return `about ${duration(Math.max(1, Math.ceil(ms / 1_000))).replace('.0 s', ' s')} left`;
  }

  #show(): void {
    if (!this.#live) this.#screen.write(`  ${this.line()}\n`);
    else this.#screen.write(`\r\u001b[K${`  ${this.line()}`.slice(0, (this.#screen.columns ?? 80) - 1)}`);
  }
}
