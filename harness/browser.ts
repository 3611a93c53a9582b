/**
 * A headless Chromium, driven over two pipes with messages of the DevTools protocol
 * (https://chromedevtools.github.io/devtools-protocol/).
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { temporaryFolder, type Owner } from './owner.ts';

const flags = [
  '--headless', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage',
  '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

/** The parameters of a command, its result, or those of an event. */
export type Values = { readonly [name: string]: unknown };
export type Listener = (method: string, params: Values) => void;

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Values;
  readonly result?: Values;
  readonly error?: { readonly message: string };
}

/** Returns the command of a Chromium, or null if none is installed. */
export function findBrowser(): string | null {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  return names.find((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) ?? null;
}

/** A page in a browser of its own, which ends with its owner. */
export class Page {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #listeners: Listener[] = [];
  #session: string | undefined;
  #lastId = 0;

  /** Starts a browser, with an empty page and an empty profile. */
  static async open(owner: Owner, command: string): Promise<Page> {
    const page = new Page(owner, command);
    const { targetId } = await page.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await page.send('Target.attachToTarget', { targetId, flatten: true });
    page.#session = sessionId as string;
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(`${domain}.enable`);
    return page;
  }

  private constructor(owner: Owner, command: string) {
    let kill = async (): Promise<void> => {};
    owner.after(() => kill()); // registered before the hook that removes the folder: a test's hooks run in this order
    const folder = temporaryFolder(owner);
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] as const;
    // A group of its own, because a browser is several processes.
    this.#child = spawn(command, [...flags, `--user-data-dir=${folder}`], { stdio: [...stdio], detached: true });
    const { pid, stdio: [, , , input, output] } = this.#child;
    kill = async () => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null || pid === undefined) return;
      const exit = once(this.#child, 'exit');
      process.kill(-pid, 'SIGKILL');
      await exit;
    };
    this.#child.on('error', (error) => this.#end(error.message));
    this.#child.on('exit', () => this.#end('the browser has ended'));
    (input as Writable).on('error', () => {}); // its end is reported instead
    let text = '';
    (output as Readable).setEncoding('utf8').on('data', (piece: string) => {
      const messages = (text + piece).split('\0');
      text = messages.pop()!;
      for (const message of messages) this.#receive(JSON.parse(message) as Message);
    });
  }

  /** Calls `listener` with each event of the page. */
  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Sends a command and returns its result. Rejects if the command fails or the browser ends. */
  send(method: string, params: Values = {}): Promise<Values> {
    const id = ++this.#lastId;
    const sessionId = this.#session === undefined ? {} : { sessionId: this.#session };
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result = {}, error }) => {
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error.message}`));
      });
      (this.#child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...sessionId })}\0`);
    });
  }

  /** Opens a URL and resolves when it is loaded. */
  async go(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => {
      this.listen((method) => method === 'Page.loadEventFired' && resolve());
    });
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText !== undefined) throw new Error(`${url}: ${String(errorText)}`);
    await loaded;
  }

  /** Runs an expression in the page, waits if its value is a promise, and returns the value, which must be JSON. */
  async evaluate(expression: string): Promise<unknown> {
    const options = {
      expression, awaitPromise: true, returnByValue: true, userGesture: true, allowUnsafeEvalBlockedByCSP: false,
    };
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', options) as {
      readonly result: { readonly value?: unknown };
      readonly exceptionDetails?: { readonly exception?: { readonly description?: string }; readonly text: string };
    };
    if (exceptionDetails === undefined) return result.value;
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }

  /** Waits until an expression is true in the page, which is asked after each change of its content. */
  async until(expression: string): Promise<void> {
    await this.evaluate(`new Promise((resolve) => {
      const check = () => (${expression}) && (observer.disconnect(), resolve());
      const observer = new MutationObserver(check);
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      check();
    })`);
  }

  /** Presses and releases a key: `Tab`, `Enter` or a character. `more`: modifiers or commands of the editor. */
  async press(key: string, more: Values = {}): Promise<void> {
    const windowsVirtualKeyCode = key === 'Tab' ? 9 : key === 'Enter' ? 13 : 0;
    const text = key === 'Enter' ? '\r' : key.length === 1 && more['commands'] === undefined ? key : '';
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, windowsVirtualKeyCode, text, ...more });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, windowsVirtualKeyCode, ...more });
  }

  #receive(message: Message): void {
    const { id = 0, method, params = {} } = message;
    if (method !== undefined) return this.#listeners.forEach((listener) => listener(method, params));
    this.#waiting.get(id)?.(message);
    this.#waiting.delete(id);
  }

  #end(message: string): void {
    for (const settle of this.#waiting.values()) settle({ error: { message } });
    this.#waiting.clear();
  }
}
