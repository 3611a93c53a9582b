/** One answer, as far as the bench looks at it: what its status and its headers of section 8 say, when it came, and how long it took. */

/** The three headers that every answer carries. */
export interface Standing {
  readonly limit: number;
  readonly remaining: number;
  /** In Unix seconds, by the server's clock. */
  readonly reset: number;
}

export interface Answer {
  readonly status: number;
  /** By the bench's clock, in milliseconds since 1970. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** When it was sent and came, in the order of all such moments. */
  readonly sentTurn: number;
  readonly receivedTurn: number;
  readonly latencyMs: number;
  /** The first on its connection: its latency holds the connection's opening, too. */
  readonly opening: boolean;
  /** Undefined where one of the three is missing or no integer. */
  readonly standing: Standing | undefined;
  /** The server's clock when it wrote the answer, in milliseconds, as far as its Date tells: whole seconds. */
  readonly date: number | undefined;
  /** Retry-After as it stands there. */
  readonly retryAfter: string | undefined;
}

/** An answer that says where its key stands. */
export type Told = Answer & { readonly standing: Standing };

/** When an answer was under way. */
export type Timing = Pick<Answer, 'sentAt' | 'receivedAt' | 'sentTurn' | 'receivedTurn' | 'latencyMs' | 'opening'>;

/** The answer that a status and raw headers (name, value, name, value, …) make. */
export function answerOf(status: number, headers: readonly string[], timing: Timing): Answer {
  const value = (name: string): string | undefined => {
    const at = headers.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name);
    return at < 0 ? undefined : headers[at + 1];
  };
  const [limit, remaining, reset] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) =>
    integerOf(value(name)),
  );
  const whole = limit !== undefined && remaining !== undefined && reset !== undefined;
  const date = Date.parse(value('date') ?? '');
  return {
    ...timing,
    status,
    standing: whole ? { limit, remaining, reset } : undefined,
    date: Number.isNaN(date) ? undefined : date,
    retryAfter: value('retry-after'),
  };
}

export function isAdmitted({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

export function isRefused({ status }: Answer): boolean {
  return status === 429;
}

/** How long Retry-After says to wait, in milliseconds from a moment of the server's clock; undefined if it is missing or neither form. */
export function retryAfterMs({ retryAfter }: Answer, serverNow: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000;
  // An HTTP date begins with the day's name; Date.parse alone would take nearly anything.
  const date = /^[A-Z][a-z]{2}/.test(retryAfter) ? Date.parse(retryAfter) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - serverNow);
}

/** `2 answered 503, 1 answered 504`; undefined where there are no answers. */
export function statusesOf(answers: readonly Answer[]): string | undefined {
  const counts = new Map<number, number>();
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts.size === 0 ? undefined : [...counts].map(([status, n]) => `${n} answered ${status}`).join(', ');
}

/** What is wrong with each of these answers, however many of them were due to be refused: another status, or headers that lack. */
export function wrongOf(answers: readonly Answer[]): readonly string[] {
  const other = statusesOf(answers.filter((answer) => !isAdmitted(answer) && !isRefused(answer)));
  const bare = statusesOf(answers.filter(({ standing }) => standing === undefined));
  return [
    ...(other === undefined ? [] : [`${other}, where only 2xx and 429 were due`]),
    ...(bare === undefined ? [] : [`${bare} without the X-RateLimit headers, which every response carries`]),
  ];
}

function integerOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
