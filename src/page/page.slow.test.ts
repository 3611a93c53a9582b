/** The reference page of the built server, in a headless Chromium. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { axeSource, noAxe } from '../../harness/axe.ts';
import type { Values } from '../../harness/browser.ts';
import { certificateFlags, makeCertificate } from '../../harness/certificates.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { Program } from '../../harness/program.ts';
import { scriptedServer } from '../../harness/proxy.ts';
import { distFolder, makeKey } from '../../harness/server.ts';
import {
  formText, open, openBrowser, options, prefer, rendered, resize, sendFrom, statusOf, submit, valueOf,
} from '../testing/reference-page.ts';

const text = readFileSync(join(distFolder, 'operations/openapi.json'), 'utf8');

/** The parts of the description that the tests use. */
interface OpenApi {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
  readonly tags: unknown;
  readonly paths: Record<string, Record<string, {
    readonly operationId: string; readonly parameters?: { readonly $ref: string }[]; readonly responses: object;
  }>>;
  readonly components: {
    readonly parameters: Record<string, { readonly name: string }>;
    readonly schemas: Record<string, {
      readonly properties?: Record<string, { readonly enum?: string[] }>; readonly required?: string[];
    }>;
  };
}

const openDetails = 'document.querySelectorAll("details").forEach((one) => (one.open = true))';

test('shows every text, constraint, example and error code of the description, digit by digit', options, async (t) => {
  const { page, address, problems, requested } = await open(t);
  await page.evaluate(openDetails);
  const examples = await valueOf(page, `[...document.querySelectorAll('select[id$="-response"]')].flatMap((one) =>
    [...one.options].map(({ value }) => {
      one.value = value;
      one.dispatchEvent(new Event('input'));
      return one.closest('.card').innerText;
    })).join()`);
  const shown = (await valueOf(page, 'document.body.innerText') + examples).replace(/\s+/g, ' ');
  const missing = new Set<string>();
  const visit = (value: unknown, name: string): void => {
    if (value instanceof Object) for (const [inner, member] of Object.entries(value)) visit(member, inner);
    if (typeof value !== 'string' || ['$ref', 'openapi', 'url', 'identifier', 'name'].includes(name)) return;
    for (const part of value.split(/\n#* ?|\||-{3}/)) {
      const words = part.replaceAll('`', '').trim();
      if (!shown.includes(words) && !shown.includes(JSON.stringify(words))) missing.add(words);
    }
  };
  const { info, paths, components, tags } = JSON.parse(text) as OpenApi;
  for (const part of [info.title, info.summary, info.description, paths, components, tags]) visit(part, '');
  assert.deepEqual([...missing], []);
  const integers = new Set(text.replace(/"(\\.|[^"\\])*"/g, '').match(/-?\d{3,}/g));
  assert.ok(integers.has('9223372036854775807') && integers.has('-9223372036854775808'));
  integers.delete('2147483647'); // the bounds that a format implies are not shown
  for (const digits of integers) assert.ok(shown.includes(digits), digits);
  assert.doesNotMatch(await valueOf(page, 'document.querySelector("#listPets dl").innerText'), /imum -?922/);
  assert.doesNotMatch(shown, /9223372036854776|[^-]9223372036854775808/);

  const shared = '408, 413, 417, 431, 500, 503, 505';
  const errors = await valueOf(page, 'document.getElementById("shared-errors").innerText');
  for (const status of shared.split(', ')) assert.match(errors, new RegExp(`^${status}$`, 'm'));
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { operationId, parameters = [], responses }] of Object.entries(operations)) {
      const section = await valueOf(page, `document.getElementById('${operationId}').innerText`);
      assert.ok(section.replace(/\s+/g, ' ').includes(`${method.toUpperCase()} /v1${path}`), path);
      assert.ok(section.includes(`Every operation can also return ${shared}: `), operationId);
      const own = [...section.matchAll(/^(\d{3})$/gm)].map(([status]) => status);
      assert.deepEqual([...own, ...shared.split(', ')].sort(), Object.keys(responses).sort());
      for (const { $ref } of parameters) {
        const { name } = components.parameters[$ref.split('/').at(-1)!]!;
        assert.equal(await page.evaluate(`document.getElementById('${operationId}-${name}').labels.length`), 1);
      }
    }
  }
  for (const [name, { properties = {}, required = [] }] of Object.entries(components.schemas)) {
    const fields = await page.evaluate(`[...document.querySelectorAll('#schema-${name} dt')].map((one) =>
      [one.querySelector('code').textContent, one.querySelector('.required') !== null])`);
    assert.deepEqual(fields, Object.keys(properties).map((field) => [field, required.includes(field)]));
  }
  for (const code of components.schemas['ErrorBody']!.properties!['code']!.enum!) {
    assert.equal(await page.evaluate(`document.querySelector('#error-${code} th').innerText`), code);
  }
  assert.match(await valueOf(page, 'document.querySelector("#getPet .notice").innerText'), /Thu, 05 Dec 2030/);
  // Every link within the page leads somewhere, and every id is there once.
  assert.deepEqual(await page.evaluate(`[...document.querySelectorAll('a[href^="#"]')].map(({ hash }) => hash.slice(1))
    .filter((id) => document.getElementById(id) === null)`), []);
  assert.deepEqual(await page.evaluate(`[...document.querySelectorAll('[id]')].map(({ id }) => id)
    .filter((id, i, all) => all.indexOf(id) !== i)`), []);
  assert.deepEqual(await page.evaluate(`[...document.querySelectorAll('input, select, textarea')]
    .filter(({ labels }) => labels.length !== 1).map(({ id }) => id)`), []);
  assert.deepEqual([problems, requested], [[], [`${address}/docs`, `${address}/openapi.json`]]);
});

test('sends requests by keyboard alone, shows int64 values exactly, and leaves the key nowhere', options, async (t) => {
  const { page, address, folder, problems, requested } = await open(t);
  const key = await makeKey(t, folder);
  /** Presses Tab until the element with the focus matches; each on the way shows that it has the focus. */
  const tabTo = async (selector: string, modifiers = 0): Promise<void> => {
    for (let presses = 0; presses < 200; presses++) {
      await page.press('Tab', { modifiers });
      const [isThere, style, width] = await page.evaluate(`(() => {
        const { activeElement } = document;
        const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
        return [activeElement.matches(${JSON.stringify(selector)}), outlineStyle, parseFloat(outlineWidth)];
      })()`) as [boolean, string, number];
      assert.ok(style !== 'none' && width >= 2, 'the focus is invisible');
      if (isThere) return;
    }
    assert.fail(`${selector} cannot be reached`);
  };
  await tabTo('.skip');
  await tabTo('#key');
  for (const character of key) await page.press(character);
  const shift = 8;
  for (const [id, digits] of ['9223372036854775807', '9007199254740993', '-9223372036854775808'].entries()) {
    await tabTo('#createPet-body', id === 0 ? 0 : shift);
    await page.press('a', { modifiers: 2, commands: ['selectAll'] });
    for (const character of `{"name":"é'\\n","categoryId":${digits}}`) await page.press(character);
    await tabTo('#createPet button[type=submit]');
    await page.press('Enter');
    await page.until(`document.querySelector('#createPet form [aria-label="Body of the response"]')?.innerText
      .includes('"id": ${33 + id},')`);
    const result = await formText(page, 'createPet');
    assert.match(result, /^201 Created · \d+ ms$/m);
    assert.ok(result.includes(`"categoryId": ${digits},`), result);
    assert.match(result, /^\d+ of 1000 requests remain until \d{4}-\d\d-\d\d \d\d:\d\d:00 UTC, in \d+ s\.$/m);
    assert.match(result, /^location\s+\/v1\/pets\/3\d$/m);
    assert.match(result, /^x-ratelimit-limit\s+1000$/m);
    const stored = await fetch(`${address}/v1/pets/${33 + id}`, { headers: { Authorization: `Bearer ${key}` } });
    assert.ok((await stored.text()).includes(`"categoryId":${digits},`));
  }
  const traces = await valueOf(page, `(async () => JSON.stringify([
    document.documentElement.outerHTML, document.body.innerText, location.href, document.cookie, history.state,
    { ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), await caches.keys(), window.name,
  ]))()`);
  assert.equal(traces.includes(key), false);
  assert.match(traces, /\[\],\[\],""\]$/);
  assert.deepEqual(await page.evaluate('[document.cookie, localStorage.length, sessionStorage.length]'), ['', 0, 0]);
  await page.go(`${address}/docs`);
  assert.equal(await page.evaluate('document.getElementById("key").value'), '');
  const pets = `${address}/v1/pets`;
  const both = [`${address}/docs`, `${address}/openapi.json`];
  assert.deepEqual([problems, requested.slice(0, 6)], [[], [...both, pets, pets, pets, both[0]]]);
});

test('shows refusals: 401 with an unknown key, 404, and 429 with the time to wait', options, async (t) => {
  const { page, folder, problems } = await open(t);
  await sendFrom(page, 'listPets', 'unknown');
  assert.match(await formText(page, 'listPets'),
    /^401 Unauthorized[^]*"code": "invalid_api_key"[^]*^www-authenticate\s+Bearer/m);
  await page.evaluate(`document.getElementById('getPet-petId').value = '9223372036854775807'`);
  const key = await makeKey(t, folder, 'enterprise', '--per-minute', '1', '--per-day', '1');
  let refused = '';
  // At midnight, UTC, another request is admitted.
  do {
    await sendFrom(page, 'getPet', key);
    refused = await formText(page, 'getPet');
  } while (/^404/m.test(refused));
  assert.match(refused, /^429 Too Many Requests/m);
  const [, wait] = /Wait (\d+) s before the next attempt/.exec(refused) ?? [];
  assert.match(refused, new RegExp(`^0 of 1 requests remain until .*[^]*^retry-after\\s+${wait}$`, 'm'));
  assert.match(refused, /^sunset\s+Thu, 05 Dec 2030 00:00:00 GMT$/m);
  assert.deepEqual(problems, []);
});

test('the curl lines work in a shell, and are copied', options, async (t) => {
  const { page, address, folder } = await open(t);
  const key = await makeKey(t, folder);
  await page.evaluate(`(() => {
    document.getElementById('key').value = ${JSON.stringify(key)};
    const body = document.getElementById('createPet-body');
    body.value = JSON.stringify({ name: "'; $(id) \\\\ \\"é", categoryId: 1 }, null, 2);
    document.getElementById('listPets-limit').value = '1';
    document.getElementById('listPets-after').value = '32&x=[1-2]';
    for (const { form } of [body, document.getElementById('listPets-limit')]) form.dispatchEvent(new Event('input'));
  })()`);
  const curlOf = (operation: string) =>
    valueOf(page, `document.querySelector('#${operation} form pre code').textContent`);
  const create = await curlOf('createPet');
  assert.ok(create.startsWith(`echo "Authorization: Bearer $KEY" | \\
  curl -i -H @- '${address}/v1/pets' \\
  -H 'Content-Type: application/json' \\
  --data-raw '{`), create);
  assert.equal(create.includes(key), false);
  const origin = new URL(address).origin;
  const permissions = ['clipboardReadWrite', 'clipboardSanitizedWrite'];
  await page.send('Browser.grantPermissions', { origin, permissions });
  await page.evaluate('document.querySelector("#createPet .copy").click()');
  await page.until('document.querySelector("#createPet .copy").textContent === "Copied"');
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), create);

  if ((await new Program(t, ['curl', '--version']).ended).code !== 0) return t.diagnostic('curl is not installed');
  const run = (script: string) => new Program(t, ['sh', '-c', script], { KEY: key }).ended;
  assert.match((await run(create)).stdout, /^HTTP\/1\.1 201 [^]*\{"id":33,"name":"'; \$\(id\) \\\\ \\"é",/);
  assert.match((await run(await curlOf('listPets'))).stdout, /^HTTP\/1\.1 400 [^]*after must be/);
  const shop = `${address}/v1/store/orders`;
  assert.equal(await curlOf('listOrders'), `echo "Authorization: Bearer $KEY" | \\\n  curl -i -H @- '${shop}'`);
});

test('the light and dark themes differ, and all text has a contrast of at least 4.5', options, async (t) => {
  const { page, folder } = await open(t);
  await sendFrom(page, 'listPets', await makeKey(t, folder));
  await sendFrom(page, 'createPet', 'unknown');
  await submit(page, 'listOrders', '');
  await page.evaluate(openDetails);
  const backgrounds: unknown[] = [];
  for (const value of ['light', 'dark'] as const) {
    await prefer(page, value);
    const [background, texts, low] = await page.evaluate(`(${contrasts.toString()})()`) as [string, number, string[]];
    assert.ok(texts > 1_000, String(texts));
    assert.deepEqual(low, [], value);
    backgrounds.push(background);
  }
  assert.notEqual(backgrounds[0], backgrounds[1]);
});

/** Runs in the page: the background, the number of texts, and the texts with too low a contrast (WCAG 2.2). */
function contrasts(): [string, number, string[]] {
  interface TextNode { readonly data: string; readonly parentElement: Element }
  interface Style { readonly color: string; readonly backgroundColor: string }
  interface Element { readonly parentElement: Element | null; readonly innerText: string; checkVisibility(): boolean }
  const { document, getComputedStyle, NodeFilter } = globalThis as unknown as {
    readonly document: {
      readonly body: Element;
      querySelectorAll(selector: string): Iterable<Element>;
      createTreeWalker(root: Element, what: number): { nextNode(): TextNode };
    };
    readonly NodeFilter: { readonly SHOW_TEXT: number };
    getComputedStyle(element: Element, pseudo?: string): Style;
  };
  const luminance = (color: string): number => {
    const linear = color.match(/[\d.]+/g)!.slice(0, 3).map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
  };
  const backgroundOf = (element: Element): string => {
    const { backgroundColor } = getComputedStyle(element);
    const isTransparent = backgroundColor === 'rgba(0, 0, 0, 0)' && element.parentElement !== null;
    return isTransparent ? backgroundOf(element.parentElement) : backgroundColor;
  };
  let texts = 0;
  const low: string[] = [];
  const judge = (element: Element, color: string, text: string): void => {
    const [one, other] = [luminance(color), luminance(backgroundOf(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    texts++;
    if (!(contrast >= 4.5)) low.push(`${contrast.toFixed(2)} ${text.slice(0, 40)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const { data, parentElement } = node;
    const isShown = data.trim() !== '' && parentElement.checkVisibility();
    if (isShown) judge(parentElement, getComputedStyle(parentElement).color, data);
  }
  for (const input of document.querySelectorAll('input')) {
    judge(input, getComputedStyle(input).color, 'an input');
    judge(input, getComputedStyle(input, '::placeholder').color, 'a placeholder');
  }
  return [getComputedStyle(document.body).backgroundColor, texts, low];
}

test('axe finds no violation, light and dark, at 390 and 1280 px', options, async (t) => {
  const axe = await axeSource();
  if (axe === null) return t.skip(noAxe);
  const { page, folder } = await open(t);
  const key = await makeKey(t, folder);
  for (const width of [390, 1280]) {
    for (const theme of ['light', 'dark'] as const) {
      await prefer(page, theme);
      await resize(page, width, 844);
      for (const operation of ['createPet', 'getPet', 'listOrders']) await sendFrom(page, operation, key);
      await submit(page, 'listPets', '');
      await page.evaluate(axe.concat('; null'));
      const run = async (): Promise<void> => {
        const [passed, violated] = await page.evaluate(`axe.run().then(({ passes, violations }) =>
          [passes.length, violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])])`) as
          [number, string[][]];
        assert.ok(passed > 20, String(passed));
        assert.deepEqual(violated, [], `${theme} at ${width} px`);
      };
      await run();
      await page.evaluate(openDetails);
      await page.evaluate(`document.getElementById('search').value = 'page',
        document.getElementById('search').dispatchEvent(new Event('input'))`);
      await run();
    }
  }
});

test('fits into 360 px with everything open; only code and tables scroll', options, async (t) => {
  const { page, folder } = await open(t);
  await resize(page, 360, 740);
  assert.equal(await page.evaluate('document.getElementById("contents").open'), false);
  await page.evaluate(`(() => {
    const body = document.getElementById('createPet-body');
    body.value = JSON.stringify({ name: 'x'.repeat(500), categoryId: 1 });
    body.form.dispatchEvent(new Event('input'));
  })()`);
  const key = await makeKey(t, folder);
  for (const operation of ['listPets', 'createPet', 'listOrders', 'getPet']) await sendFrom(page, operation, key);
  await page.evaluate(openDetails);
  const [width, tooWide] = await page.evaluate(`[document.scrollingElement.scrollWidth,
    [...document.querySelectorAll('body *')].filter((one) => one.closest('pre, .table') === null)
      .filter((one) => one.getBoundingClientRect().right > 360).map((one) => one.outerHTML.slice(0, 80))]`) as
    [number, string[]];
  assert.deepEqual([width, tooWide], [360, []]);
  const scrolled = await page.evaluate(`[...document.querySelectorAll('main .table')]
    .filter((one) => one.closest('form') === null && one.scrollWidth > one.clientWidth)
    .map((one) => one.ariaLabel)`);
  assert.deepEqual(scrolled, [], 'a table of the text scrolls');
});

test('begins with the base address, how to get a key, a first call that works, and the plans', options, async (t) => {
  const { page, address, folder } = await open(t);
  const parts = await page.evaluate(`[...document.querySelectorAll('main > section')].map(({ id }) => id)`);
  assert.deepEqual(parts, ['overview', 'guide', 'authentication', 'pets', 'store', 'shared-errors', 'response-headers',
    'schemas']);
  const overview = await valueOf(page, 'document.getElementById("overview").innerText');
  assert.match(overview, /petstore keys create --name NAME --plan free/);
  assert.match(overview, /^Free\s+60\s+1,000$[^]*^Enterprise/m);
  assert.ok(overview.includes(`${address}/v1\n`), overview);
  const first = await valueOf(page, 'document.querySelector("#overview pre").textContent');
  assert.deepEqual(await page.evaluate(`[...document.querySelectorAll('pre')].filter((one) => {
    const { paddingTop, paddingBottom } = getComputedStyle(one);
    return paddingTop !== paddingBottom || /^\\s*\\n/.test(one.textContent);
  }).length`), 0, 'a code block begins with a blank line');
  if ((await new Program(t, ['curl', '--version']).ended).code !== 0) return t.diagnostic('curl is not installed');
  const shell = `${first}\ncurl -sw '%{http_code}' -o /dev/null -H "Authorization: Bearer $KEY" '${address}/v1/pets'`;
  const key = await makeKey(t, folder);
  const { stdout } = await new Program(t, ['sh', '-c', `sh -c "$SHELL_LINES" <<END\n${key}\nEND`],
    { SHELL_LINES: shell }).ended;
  assert.match(stdout, /^API key: HTTP\/1\.1 200 OK[^]*Mittens[^]*200$/);
});

test('from 1100 px on, the request, the response and the button are visible beside the text', options, async (t) => {
  const { page } = await open(t);
  for (const [width, height] of [[1100, 800], [1280, 720], [1600, 800]] as const) {
    await resize(page, width, height);
    await page.evaluate('document.documentElement.style.scrollBehavior = "auto"');
    for (const operation of ['listPets', 'createPet', 'getPet', 'listOrders']) {
      const hidden = await page.evaluate(`(() => {
        const section = document.getElementById('${operation}');
        section.scrollIntoView();
        const { right } = section.firstElementChild.getBoundingClientRect();
        const shown = [...section.querySelectorAll('form pre, [type=submit], .aside > :last-child pre')];
        if (shown.length !== 3) return 'not three';
        return shown.map((one) => [one.tagName, one.getBoundingClientRect()])
          .filter(([, box]) => box.left < right || box.top < 0 || box.top + 24 > innerHeight).map(([name]) => name);
      })()`);
      assert.deepEqual(hidden, [], `${operation} at ${width} px`);
    }
  }
});

test('beside the text, nothing that scrolls is in a box that scrolls', options, async (t) => {
  const { page, folder } = await open(t);
  await resize(page, 1280, 720);
  const key = await makeKey(t, folder);
  for (const operation of ['listPets', 'createPet', 'getPet', 'listOrders']) await sendFrom(page, operation, key);
  await page.evaluate(openDetails);
  const [boxes, nested] = await page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll('main *')].filter((one) => one.scrollHeight > one.clientHeight
      && ['auto', 'scroll'].includes(getComputedStyle(one).overflowY));
    return [boxes.length, boxes.filter((one) => boxes.some((box) => box !== one && box.contains(one)))
      .map((one) => one.outerHTML.slice(0, 80))];
  })()`) as [number, string[]];
  assert.ok(boxes > 0);
  assert.deepEqual(nested, []);
});

test('searches everything, and marks the current section', options, async (t) => {
  const { page, problems } = await open(t);
  await resize(page, 1280);
  const search = (text: string) => page.evaluate(`(() => {
    const search = document.getElementById('search');
    search.value = ${JSON.stringify(text)};
    search.dispatchEvent(new Event('input'));
    return [...document.querySelectorAll('#results a')].map(({ hash }) => hash);
  })()`) as Promise<string[]>;
  assert.equal((await search('ADD animal'))[0], '#createPet');
  assert.equal((await search('key_banned'))[0], '#error-key_banned');
  assert.equal((await search('retry-after'))[0], '#header-Retry-After');
  assert.ok((await search('percent-escape')).includes('#listPets'));
  assert.deepEqual(await search('no such thing'), []);
  assert.equal(await valueOf(page, 'document.getElementById("found").textContent'), '0 found');
  assert.deepEqual(await page.evaluate('[document.getElementById("parts").hidden]'), [true]);
  await search('list orders');
  await page.evaluate('document.documentElement.style.scrollBehavior = "auto"');
  await page.evaluate('document.getElementById("search").focus()');
  await page.press('Enter');
  assert.equal(await valueOf(page, 'location.hash'), '#listOrders');
  await page.until(`document.querySelector('#parts [aria-current]').hash === '#listOrders'`);
  await search('');
  for (const id of ['createPet', 'overview', 'shared-errors']) {
    await page.evaluate(`document.getElementById('${id}').scrollIntoView()`);
    await page.until(`document.querySelector('#parts [aria-current]').hash === '#${id}'`);
  }
  // What fills the window is marked, even if the end of the section before is above it.
  await page.evaluate(`scrollBy(0, document.getElementById('listPets').getBoundingClientRect().top - 200)`);
  await page.until(`document.querySelector('#parts [aria-current]').hash === '#listPets'`);
  assert.equal(await page.evaluate('document.querySelectorAll("[aria-current]").length'), 1);
  await page.evaluate('document.querySelector("#parts a[href=\'#auth-apiKey\']").click()');
  await page.until(`document.querySelector('#parts [aria-current]').hash === '#auth-apiKey'`);
  await page.evaluate('document.querySelector("#parts li:last-child a[href=\'#schema-ErrorBody\']").click()');
  await page.until(`document.querySelector('#parts [aria-current]').hash === '#schema-ErrorBody'`);
  assert.deepEqual(problems, []);
});

test('the guide is folded, and links, the search and the address open it', options, async (t) => {
  const { page, address, problems } = await open(t);
  await resize(page, 1280);
  assert.equal(await page.evaluate('document.querySelectorAll("#guide details[open]").length'), 0);
  assert.equal(await page.evaluate('document.querySelectorAll("#guide details").length'), 10);
  const y = await page.evaluate('document.getElementById("listPets").getBoundingClientRect().top + scrollY') as number;
  assert.ok(y < 2_000, String(y));
  const plans = await page.evaluate(`document.getElementById('main').textContent.split('Enterprise').length - 1`);
  assert.equal(plans, 1, 'the plans are not there once');
  /** Waits until an element is visible at the top of the window, in an open fold. */
  const isShown = (id: string) => page.evaluate(`new Promise((resolve) => {
    const check = () => {
      const { top, height } = document.getElementById('${id}').getBoundingClientRect();
      const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 1;
      if (height > 0 && top >= 0 && (top <= 80 || isAtEnd)) resolve();
      else requestAnimationFrame(check);
    };
    check();
  })`);
  const foldOf = (id: string) => `document.querySelector('#${id} > details')`;
  await page.evaluate(`document.querySelector('#parts a[href="#guide-limits"]').click()`);
  await isShown('guide-limits');
  await page.until(`document.querySelector('#parts [aria-current]').hash === '#guide-limits'`);
  assert.equal(await page.evaluate(`${foldOf('guide-limits')}.open`), true);
  // The same link again, although the address does not change.
  await page.evaluate(`${foldOf('guide-limits')}.open = false,
    document.querySelector('#parts a[href="#guide-limits"]').click()`);
  assert.equal(await page.evaluate(`${foldOf('guide-limits')}.open`), true);
  await page.evaluate(`(() => {
    const search = document.getElementById('search');
    search.value = 'key_banned';
    search.dispatchEvent(new Event('input'));
    search.focus();
  })()`);
  await page.press('Enter');
  await isShown('error-key_banned');
  await page.evaluate(`${foldOf('guide-errors')}.open = false, location.hash = '#error-not_ready'`);
  await isShown('error-not_ready');
  await page.go('about:blank');
  await page.go(`${address}/docs#error-not_found`);
  await rendered(page);
  await isShown('error-not_found');
  assert.deepEqual(problems, []);
});

test('the theme can be switched, and the choice remains after a reload', options, async (t) => {
  const { page, address } = await open(t);
  const background = () => valueOf(page, 'getComputedStyle(document.body).backgroundColor');
  await prefer(page, 'dark');
  const dark = await background();
  await page.evaluate('document.getElementById("theme").click()');
  const light = await background();
  assert.notEqual(light, dark);
  await page.go(`${address}/docs`);
  await rendered(page);
  assert.equal(await background(), light);
  await page.evaluate('document.getElementById("theme").click()');
  assert.equal(await background(), dark);
  await prefer(page, 'light');
  assert.equal(await background(), dark);
  assert.deepEqual(await page.evaluate('Object.entries(localStorage)'), [['theme', 'dark']]);
});

test('without a key, it sends nothing, and says so at the field, without a jump', options, async (t) => {
  const { page, folder, address, requested, problems } = await open(t);
  for (const width of [390, 1280]) {
    await resize(page, width, 844);
    for (const operation of ['listPets', 'createPet']) {
      await page.evaluate(`document.documentElement.style.scrollBehavior = 'auto',
        document.querySelector('#${operation} [type=submit]').scrollIntoView({ block: 'center' })`);
      const sent = requested.length;
      const y = await page.evaluate('scrollY');
      await submit(page, operation, '');
      const message = 'Nothing was sent: enter an API key first.';
      assert.equal(await statusOf(page, operation), message);
      const state = await page.evaluate(`(() => {
        const { activeElement: { id, ariaInvalid } } = document;
        const visible = ['key', 'key-note'].map((id) => document.getElementById(id)).filter((one) => {
          const { top, bottom, left } = one.getBoundingClientRect();
          return document.elementFromPoint(left + 9, (top + bottom) / 2) === one;
        });
        return [id, ariaInvalid, visible.length, visible.at(-1)?.textContent, scrollY];
      })()`);
      assert.deepEqual(state, ['key', 'true', 2, message, y], `${operation} at ${width} px`);
      assert.equal(requested.length, sent);
    }
  }
  await page.press('x');
  assert.deepEqual(await page.evaluate(`[document.getElementById('key').ariaInvalid,
    document.getElementById('key-note').textContent]`), [null, 'kept only in the memory of this page']);
  assert.match(await formText(page, 'createPet'), /^Add the animal\s+This changes real data permanently\.$/m);
  const key = await makeKey(t, folder);
  for (const pasted of [key, ` Bearer  ${key} `, `Authorization: bearer ${key}`]) {
    await sendFrom(page, 'createPet', pasted);
    assert.match(await statusOf(page, 'createPet'), /^201/, pasted.replace(key, '…'));
  }
  assert.equal(requested.at(-1), `${address}/v1/pets`);
  // Enter in the field must not reload the page, which would lose the key.
  await page.evaluate('document.getElementById("key").focus()');
  await page.press('Enter');
  assert.match(await statusOf(page, 'createPet'), /^201/);
  assert.deepEqual(problems, []);
});

test('shows lists as tables, digit by digit, and follows Link to the last page', options, async (t) => {
  const { page, address, folder } = await open(t);
  const key = await makeKey(t, folder);
  const body = String.raw`{"name":"\u0000<b>9007199254740993","categoryId":9007199254740993}`;
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  assert.equal((await fetch(`${address}/v1/pets`, { method: 'POST', headers, body })).status, 201);
  await page.evaluate('document.getElementById("listPets-limit").value = "12"');
  await sendFrom(page, 'listPets', key);
  const ids: string[] = [];
  for (const first of ['1', '13', '25']) {
    await page.until(`document.querySelector('#listPets form tbody th')?.textContent === '${first}'`);
    ids.push(...await page.evaluate(`[...document.querySelectorAll('#listPets form tbody th')]
      .map((one) => one.textContent)`) as string[]);
    const curl = await valueOf(page, 'document.querySelector("#listPets form pre").textContent');
    assert.equal(curl.includes('after='), first !== '1', curl);
    if (first === '25') break;
    await page.evaluate('document.querySelector("#listPets .next").focus()');
    await page.press('Enter');
  }
  assert.deepEqual(ids, Array.from({ length: 33 }, (_, i) => String(i + 1)));
  const last = await page.evaluate(`[...document.querySelector('#listPets form tbody tr:last-child').children]
    .map((one) => one.textContent)`);
  assert.deepEqual(last, ['33', '\0<b>9007199254740993', '9007199254740993', 'available']);
  // The button of the last page is gone; the focus must not be lost with it.
  await page.until('document.querySelector("#listPets .next").hidden');
  assert.equal(await page.evaluate('document.activeElement.matches("#listPets [type=submit]")'), true);
});

test('without JavaScript, it shows one sentence', options, async (t) => {
  const { address } = await open(t);
  const { page } = await openBrowser(t);
  await page.send('Emulation.setScriptExecutionDisabled', { value: true });
  await page.go(`${address}/docs`);
  assert.equal(await valueOf(page, 'document.body.innerText'),
    'This page needs JavaScript; openapi.json has the same content.');
});

test('the policy forbids HTML from strings, other scripts and other origins', options, async (t) => {
  const { page, address } = await open(t);
  for (const expression of [
    'document.body.innerHTML = "<p>"', 'document.createElement("script").text = "1"', 'eval("1")',
    'document.body.setAttribute("onclick", "1")',
  ]) {
    await assert.rejects(page.evaluate(expression), /TrustedHTML|TrustedScript|unsafe-eval|Trusted/, expression);
  }
  const violation = (action: string) => page.evaluate(`new Promise((resolve) => {
    addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective), { once: true });
    ${action};
  })`);
  assert.equal(await violation(`fetch('http://127.0.0.1:9/').catch(() => {})`), 'connect-src');
  assert.equal(await violation(`new Image().src = '${address}/favicon.ico'`), 'img-src');
  assert.equal(await violation(`document.body.setAttribute('style', 'color:red')`), 'style-src-attr');
  assert.equal(await violation(`document.querySelector('form').submit()`), 'form-action');
  assert.equal(await violation(`document.head.append(Object.assign(document.createElement('base'), { href: '/x' }))`),
    'base-uri');
});

test('no other page can show it in a frame', options, async (t) => {
  const { page, address } = await open(t);
  const { port } = await scriptedServer(t, (_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(['/docs', '/', '/openapi.json'].map((path) => `<iframe src="${address}${path}"></iframe>`).join(''));
  });
  await page.go(`http://127.0.0.1:${port}/`); // loaded with all its frames
  const { frameTree } = await page.send('Page.getFrameTree') as {
    readonly frameTree: { readonly childFrames: readonly { readonly frame: Values }[] };
  };
  const frames = frameTree.childFrames.map(({ frame: { url, unreachableUrl } }) => [url, unreachableUrl]);
  const refused = 'chrome-error://chromewebdata/';
  assert.deepEqual(frames, [
    [refused, `${address}/docs`], [refused, `${address}/`], [`${address}/openapi.json`, undefined],
  ]);
});

test('over HTTPS, it sends requests, and its curl lines have the address', options, async (t) => {
  const flags = certificateFlags(temporaryFolder(t), makeCertificate());
  const { page, address, folder, problems, requested } = await open(t, '/docs', ['--demo', ...flags]);
  await sendFrom(page, 'listOrders', await makeKey(t, folder));
  assert.match(await valueOf(page, 'document.querySelector("#listOrders form").innerText'), /^200 OK/m);
  const curl = await valueOf(page, 'document.querySelector("#listOrders form pre code").textContent');
  assert.ok(address.startsWith('https:') && curl.endsWith(` '${address}/v1/store/orders'`), curl);
  const urls = ['/docs', '/openapi.json', '/v1/store/orders'].map((path) => address + path);
  assert.deepEqual([problems, requested], [[], urls]);
});

test('at / and with another base path, requests go to that path', options, async (t) => {
  const { page, address, folder, problems, requested } = await open(t, '/', ['--demo', '--base-path', '/shop/v1']);
  await sendFrom(page, 'listOrders', await makeKey(t, folder));
  assert.match(await valueOf(page, 'document.querySelector("#listOrders form").innerText'), /^200 OK/m);
  const urls = ['/', '/openapi.json', '/shop/v1/store/orders'].map((path) => address + path);
  assert.deepEqual([problems, requested], [[], urls]);
});
