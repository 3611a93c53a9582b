/** The alerts and the dashboard of deploy/, with Prometheus's own programs and a real server. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { certificateFlags, makeCertificate } from './certificates.ts';
import { temporaryFolder } from './owner.ts';
import { freePort } from './ports.ts';
import { Program } from './program.ts';
import { startServer } from './server.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const rulesFile = join(root, 'deploy/prometheus/petstore.rules.yml');

/** Series of an alert: they are sampled once a minute, in the notation of `promtool test rules`. */
type Series = Readonly<Record<string, string>>;

/** For each alert: series with which it fires within an hour, and similar ones with which it does not. */
const cases: Readonly<Record<string, readonly [fires: Series, quiet: Series]>> = {
  PetstoreDown: [{ up: '1 0x60' }, { up: '1x60' }],
  PetstoreNotReady: [{ petstore_ready: '1 0x60' }, { petstore_ready: '0 0 0 1x60' }],
  PetstoreErrors: [
    { 'petstore_http_requests_total{status="503"}': '0+1x60' },
    { 'petstore_http_requests_total{status="429"}': '0+1x60' },
  ],
  PetstoreCreatesFail: [
    { petstore_journal_failures_total: '0x58 1 1', petstore_journal_stalled: '0x60' },
    { petstore_journal_failures_total: '0 1x60', petstore_journal_stalled: '1 0x60' },
  ],
  PetstoreSnapshotsFail: [{ petstore_snapshot_failures_total: '0 1x60' }, { petstore_snapshot_failures_total: '1x60' }],
  PetstoreSlowDisk: [
    { petstore_journal_last_sync_duration_seconds: '0.6x60' },
    { petstore_journal_last_sync_duration_seconds: '0.4x55 0.6x5' },
  ],
  PetstoreSlow: [
    {
      'petstore_http_request_duration_seconds_bucket{le="0.1"}': '0+90x60',
      'petstore_http_request_duration_seconds_bucket{le="1"}': '0+100x60',
      'petstore_http_request_duration_seconds_bucket{le="+Inf"}': '0+100x60',
    },
    {
      'petstore_http_request_duration_seconds_bucket{le="0.1"}': '0+100x60',
      'petstore_http_request_duration_seconds_bucket{le="1"}': '0+100x60',
      'petstore_http_request_duration_seconds_bucket{le="+Inf"}': '0+100x60',
    },
  ],
  PetstoreOverloaded: [
    { 'petstore_event_loop_delay_seconds{stat="p99"}': '0.2x60' },
    { 'petstore_event_loop_delay_seconds{stat="max"}': '0.2x60' },
  ],
  PetstoreConnections: [
    { petstore_connections: '9x60', petstore_connections_limit: '10x60' },
    { petstore_connections: '7x60', petstore_connections_limit: '10x60', petstore_connections_refused_total: '3x60' },
  ],
  PetstoreDescriptors: [
    { process_open_fds: '900x60', process_max_fds: '1000x60' },
    { process_open_fds: '700x60', process_max_fds: '1000x60' },
  ],
  PetstoreMemory: [
    { process_resident_memory_bytes: '900x60', petstore_memory_limit_bytes: '1000x60' },
    { process_resident_memory_bytes: '700x60', petstore_memory_limit_bytes: '1000x60' },
  ],
  PetstoreBan: [{ petstore_bans_total: '0x30 1x30' }, { petstore_bans_total: '1x60' }],
  PetstoreRefusals: [
    { 'petstore_rate_limit_refusals_total{limit="minute"}': '0+120x60' },
    { 'petstore_rate_limit_refusals_total{limit="minute"}': '0+30x60' },
  ],
  PetstoreInvalidKeys: [
    { 'petstore_unauthenticated_requests_total{reason="invalid"}': '0+120x60' },
    { 'petstore_unauthenticated_requests_total{reason="missing"}': '0+120x60' },
  ],
  PetstoreBrokenMessages: [
    { 'petstore_http_other_responses_total{status="400"}': '0+120x60' },
    { 'petstore_http_other_responses_total{status="503"}': '0+120x60' },
  ],
  PetstoreCertificate: [
    { petstore_tls_certificate_expiration_timestamp_seconds: '1209600x60' },
    { petstore_tls_certificate_expiration_timestamp_seconds: '1220000x60' },
  ],
  PetstoreHandshakes: [
    { petstore_tls_handshake_failures_total: '0+120x60' },
    { petstore_tls_handshake_failures_total: '0+30x60' },
  ],
  PetstoreLostLog: [{ petstore_log_lines_dropped_total: '0x58 5 5' }, { petstore_log_lines_dropped_total: '5x60' }],
  PetstoreRestarts: [
    { process_start_time_seconds: '1 2 3 4x57' },
    { process_start_time_seconds: '1 2 3x58' },
  ],
};

/** Skips a test, and returns true, if Prometheus is not installed. */
async function isMissing(t: TestContext): Promise<boolean> {
  const { code } = await new Program(t, ['sh', '-c', 'command -v prometheus promtool']).ended;
  if (code !== 0) t.skip('prometheus is not installed');
  return code !== 0;
}

/** Adds labels to the name of a series. */
function labelled(series: string): string {
  const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series)!;
  return `${name}{${[labels, 'job="petstore"', 'instance="a"'].filter((label) => label !== '').join(',')}}`;
}

test('each alert fires if it should, and only then', async (t) => {
  if (await isMissing(t)) return;
  const tests = Object.entries(cases).flatMap(([alert, [fires, quiet]]) =>
    [fires, quiet].map((series) => ({
      name: alert,
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: labelled(name), values })),
      promql_expr_test: [{
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: '59m',
        exp_samples: series === fires ? [{ labels: '{}', value: 1 }] : [],
      }],
    })));
  const file = join(temporaryFolder(t), 'tests.yml'); // JSON is YAML
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
  const { code, stdout, stderr } = await new Program(t, ['promtool', 'test', 'rules', file]).ended;
  assert.equal(code, 0, stdout + stderr);
});

interface Rule {
  readonly name: string;
  readonly query: string;
  readonly health: string;
  readonly lastError?: string;
  readonly annotations: Readonly<Record<'summary' | 'description', string>>;
}

test('Prometheus can evaluate all alerts and the dashboard, and the server has all their metrics', async (t) => {
  if (await isMissing(t)) return;
  const folder = temporaryFolder(t);
  const server = await startServer(t, join(folder, 'data'), [
    '--demo', '--metrics', '127.0.0.1:0', ...certificateFlags(temporaryFolder(t), makeCertificate()),
  ]);
  const [, address] = await server.printed(/(http:\/\/127\.0\.0\.1:\d+\/metrics)/, 'stderr');
  const served = [...(await (await fetch(address!)).text()).matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!);

  cpSync(join(root, 'deploy/prometheus'), folder, { recursive: true });
  const configuration = readFileSync(join(folder, 'prometheus.yml'), 'utf8');
  const ours = configuration.replace('petstore:9100', new URL(address!).host).replaceAll('15s', '1s');
  assert.notEqual(ours, configuration);
  writeFileSync(join(folder, 'prometheus.yml'), ours);
  const port = await freePort();
  const prometheus = new Program(t, [
    'prometheus', `--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/tsdb`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  await prometheus.printed(/Server is ready to receive web requests/, 'stderr');
  const ask = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, error, data } = (await response.json()) as { status: string; error?: string; data: T };
    assert.equal(status, 'success', `${path}: ${error}`);
    return data;
  };
  const query = async (text: string) =>
    (await ask<{ result: readonly unknown[] }>(`query?query=${encodeURIComponent(text)}`)).result;
  const isUp = async () => (await query('up{job="petstore"} == 1')).length === 1;
  while (!(await isUp())) await sleep(100);
  let rules: readonly Rule[];
  do {
    await sleep(100);
    rules = (await ask<{ groups: readonly { rules: readonly Rule[] }[] }>('rules')).groups.flatMap((group) => group.rules);
  } while (rules.some(({ health }) => health === 'unknown'));
  assert.deepEqual(rules.filter(({ health }) => health !== 'ok'), []);
  assert.deepEqual(rules.map(({ name }) => name), Object.keys(cases), 'each alert has cases above');

  const guide = readFileSync(join(root, 'docs/monitoring.md'), 'utf8');
  const plain = (text: string) => text.replace(/[.]$/, '').toLowerCase();
  const described = [...guide.matchAll(/^\| `(Petstore\w+)` \| (.+) \| (.+) \|$/gm)].map(([, ...columns]) => columns);
  const expected = rules.map(({ name, annotations }) => [name, annotations.summary, annotations.description]);
  assert.deepEqual(described.map((row) => row.map((text) => plain(text!))), expected.map((row) => row.map(plain)));

  const dashboard = readFileSync(join(root, 'deploy/grafana/petstore.json'), 'utf8');
  const { panels } = JSON.parse(dashboard) as { panels: { title: string; targets: { expr: string }[] }[] };
  const drawn = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
  for (const { title, expr } of drawn) {
    const text = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');
    const result = await query(text);
    // A rate needs two samples, and some counters begin with the first event.
    if (!/rate|increase/.test(text)) assert.equal(result.length > 0, true, `${title}: ${text}`);
  }
  const used = [...rules.map((rule) => rule.query), ...drawn.map(({ expr }) => expr)]
    .flatMap((text) => [...text.matchAll(/\b(?:petstore|process)_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')));
  assert.deepEqual([...new Set(used)].filter((name) => !served.includes(name)), []);
});
