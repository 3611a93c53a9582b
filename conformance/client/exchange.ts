/** One request and its response, as the kit sees them: headers as they came, bytes as they came. */
import { JsonObject, parseJson, shortened, type Json } from './json.ts';
import { pet, type NewPet, type Pet, type PetStatus } from './pet.ts';

export type Operation = 'listPets' | 'createPet' | 'getPet' | 'listOrders' | 'other';

/** What stands in Authorization, and how a shell says it without showing the key. */
export interface Credential {
  /** The value of the Authorization header; undefined: no such header. */
  readonly header: string | undefined;
  /** The same between double quotes of a POSIX shell, the key as $API_KEY. */
  readonly shell: string | undefined;
  /** The key it draws on, or 'none' where it is not valid. */
  readonly key: 'main' | 'exhaust' | 'none';
}

export interface Request {
  readonly operation: Operation;
  readonly method: string;
  /** Path and query, below the base URL. */
  readonly target: string;
  /** `target` for a shell, where the key stands in it. */
  readonly shellTarget?: string;
  readonly credential: Credential;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
  /** The limit asked for, where it is one the specification allows. */
  readonly limit?: number;
  /** The filter asked for, where it is one the specification allows. */
  readonly status?: PetStatus;
  /** The animal asked for, where the path names one. */
  readonly petId?: bigint;
  /** What the body says, where a 201 must return just that. */
  readonly sent?: Partial<NewPet>;
  /** The status that the specification demands, where it leaves no choice. */
  readonly mustBe?: number;
  /** How it is answered is left open: only what every response owes is judged. */
  readonly open?: true;
  /** It draws on no key, whatever it carries: `target` stands at the server's root, not below the base URL. */
  readonly outside?: true;
  /** The whole message as it goes on the wire, each character a byte, where no HTTP library would send it. */
  readonly raw?: string;
}

/** A time of the kit's clock in milliseconds, and its place in the order of all such moments. */
export interface Moment {
  readonly at: number;
  readonly turn: number;
}

/** A response, whole. Headers are looked up in any case. */
export class Response {
  readonly request: Request;
  readonly status: number;
  /** As they came, in order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** The kit's clock, in milliseconds: when the request began to be sent, and when the response was there whole. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The same two moments as numbers that only grow: what came within one millisecond has an order, too. */
  readonly sentTurn: number;
  readonly receivedTurn: number;
  /** What only a connection of its own shows: interim responses (1xx) before this one, and whether the server closed it. */
  readonly wire: { readonly interim: readonly number[]; readonly closed: boolean } | undefined;
  #json: Json | SyntaxError | undefined;

  constructor(
    request: Request,
    status: number,
    headers: readonly (readonly [string, string])[],
    body: Uint8Array,
    sent: Moment,
    received: Moment,
    wire?: Response['wire'],
  ) {
    this.request = request;
    this.status = status;
    this.headers = headers;
    this.body = body;
    this.sentAt = sent.at;
    this.receivedAt = received.at;
    this.sentTurn = sent.turn;
    this.receivedTurn = received.turn;
    this.wire = wire;
  }

  /** The same without most of its body: to be kept by the thousand, as far as it may have to be shown. */
  light(): Response {
    const { request, status, headers, body } = this;
    return new Response(
      request,
      status,
      headers,
      Uint8Array.from(body.subarray(0, 2_500)),
      { at: this.sentAt, turn: this.sentTurn },
      { at: this.receivedAt, turn: this.receivedTurn },
    );
  }

  /** Every value of a header, in order. */
  all(name: string): string[] {
    return this.headers.filter(([n]) => n.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }

  /** The value of a header that stands there once and is a decimal integer, else undefined. */
  integer(name: string): number | undefined {
    const [value, ...more] = this.all(name);
    return value !== undefined && more.length === 0 && /^-?\d+$/.test(value) ? Number(value) : undefined;
  }

  /** The time of the Date header in milliseconds, or undefined. */
  get date(): number | undefined {
    const time = Date.parse(this.all('date')[0] ?? '');
    return Number.isNaN(time) ? undefined : time;
  }

  /** The body as JSON, or why it is none. */
  get json(): Json | SyntaxError {
    if (this.#json === undefined) {
      try {
        this.#json = parseJson(this.body);
      } catch (error) {
        this.#json = error as SyntaxError;
      }
    }
    return this.#json;
  }

  /** The objects that must be Pets: of a list, or the one of a 201 or a get. Empty where the response has none. */
  get petObjects(): readonly JsonObject[] {
    const { operation } = this.request;
    const { json } = this;
    if (operation === 'listPets' && this.status === 200)
      return Array.isArray(json) ? json.filter((e) => e instanceof JsonObject) : [];
    const one = (operation === 'createPet' && this.status === 201) || (operation === 'getPet' && this.status === 200);
    return one && json instanceof JsonObject ? [json] : [];
  }

  /** The animals in it, as far as they are whole. */
  get pets(): readonly Pet[] {
    return this.petObjects.map(pet).filter((p) => p !== undefined);
  }
}

/** A request in two words, without a key: `GET /pets?limit=1`. */
export function nameOf({ method, target, shellTarget }: Request): string {
  return `${method} ${shellTarget ?? target}`;
}

/** A request and its response in one line: `GET /pets?limit=1 → 200, 1 animal`. */
export function inWords(response: Response): string {
  const { request } = response;
  const body = request.body === undefined ? '' : ` ${shortened(Buffer.from(request.body).toString(), 80)}`;
  const animals =
    request.operation === 'listPets' && response.status === 200
      ? `, ${response.petObjects.length} animal${response.petObjects.length === 1 ? '' : 's'}`
      : '';
  return `${nameOf(request)}${body} → ${response.status}${animals}`;
}

/** The response as one would read it on the wire, its body cut. */
export function transcript(response: Response): string {
  const headers = response.headers.map(([name, value]) => `${name}: ${value}`);
  const body = shortened(Buffer.from(response.body).toString(), 2000);
  return [`HTTP ${response.status}`, ...headers, ...(body === '' ? [] : ['', body])].join('\n');
}

/** A line for a POSIX shell that sends the request again; the key is `$API_KEY`. */
export function curlLine(request: Request, baseUrl: string): string {
  const { method, credential, body } = request;
  if (request.raw !== undefined) return rawLine(request.raw, credential, baseUrl);
  // With -X HEAD, curl would wait for a body.
  const parts = [method === 'HEAD' ? 'curl -I' : 'curl -i'];
  if (method !== 'HEAD' && method !== (body === undefined ? 'GET' : 'POST')) parts.push(`-X ${method}`);
  // A header without a value ends in a semicolon in curl's language.
  if (credential.shell !== undefined)
    parts.push(credential.shell === '' ? "-H 'Authorization;'" : `-H "Authorization: ${credential.shell}"`);
  for (const [name, value] of request.headers) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  const url =
    request.shellTarget === undefined
      ? quoted(baseUrl + request.target)
      : `"${baseUrl.replaceAll('$', '\\$')}${request.shellTarget}"`;
  if (body === undefined) return [...parts, url].join(' ');
  if (!request.headers.some(([name]) => name.toLowerCase() === 'content-type')) parts.push("-H 'Content-Type:'");
  const text = Buffer.from(body).toString();
  const fitsAWord = Buffer.from(text).equals(body) && !/^@|[\u0000-\u001f\u007f\ufeff]/.test(text);
  if (fitsAWord) return [...parts, '--data-binary', quoted(text), url].join(' ');
  const octal = Array.from(body, (byte, i) =>
    byte < 0x20 || (i === 0 && byte === 0x2d) || byte > 0x7e || "\\%'".includes(String.fromCharCode(byte))
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : String.fromCharCode(byte),
  );
  return `printf '${octal.join('')}' | ${[...parts, '--data-binary @-', url].join(' ')}`;
}

/** Where a request goes. */
export function urlOf({ outside, target }: Request, baseUrl: string): string {
  return (outside === true ? new URL(baseUrl).origin : baseUrl) + target;
}

/** A line for a POSIX shell that sends a message byte by byte: what curl would not send. */
function rawLine(raw: string, { header, shell }: Credential, baseUrl: string): string {
  const words: string[] = [];
  const mark = '\u0100'; // no byte: where a word of the shell goes
  const places = new RegExp(header === undefined ? '0{200,}' : `0{200,}|${header.replace(/[^\w ]/g, '\\$&')}`, 'g');
  const text = raw.replace(places, (found) => {
    words.push(found === header ? `"${shell}"` : `"$(printf %0${found.length}d 0)"`);
    return mark;
  });
  const format = Array.from(text, (c) => {
    if (c === mark) return '%s';
    if (c === '\r' || c === '\n') return c === '\r' ? '\\r' : '\\n';
    if (c === '%') return '%%';
    return c < ' ' || c > '~' || c === '\\' || c === "'" ? `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}` : c;
  }).join('');
  const { protocol, hostname, port } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  const to = protocol === 'https:' ? `openssl s_client -quiet -connect ${hostname}:${port || 443}` : `nc ${host} ${port || 80}`;
  return [`printf '${format}'`, ...words, '|', to].join(' ');
}

/** The text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
