import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';

import { gaugeFamilies, type Gauges } from '../../../src/http/answer/metrics.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { SELF_SIGNED } from '../../support/selfSigned.ts';
import { TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { ALERTS, DASHBOARD, DOCUMENTED, metricsIn } from './files.ts';

const folder = new TempFolder();
let server: Server;
/** The names that a real service on the embedded database shows, with a certificate and scheduled backups. */
let shown: string[] = [];

beforeAll(async () => {
  const [cert, key] = [folder.join('tls.crt'), folder.join('tls.key')];
  writeFileSync(cert, SELF_SIGNED.cert);
  writeFileSync(key, SELF_SIGNED.key);
  server = await Server.start(folder, {
    settings: { KEYSTILE_TLS_CERT: cert, KEYSTILE_TLS_KEY: key, KEYSTILE_BACKUP_FOLDER: folder.join('backups') },
  });
  const [, address = ''] = /metrics on (\S+)/.exec(server.child.stdout) ?? [];
  await until('the metrics tell of the first backup', async () => {
    const text = await (await fetch(`http://${address}/metrics`)).text();
    shown = [...text.matchAll(/^# HELP (\w+)/gm)].map(([, name = '']) => name);
    return shown.includes('keystile_backup_age_seconds');
  });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** What a node on PostgreSQL shows and another does not. */
function postgresNames(): string[] {
  const namesOf = (cluster: Gauges['cluster']): string[] =>
    gaugeFamilies({ cluster, otherTags: {}, walBytes: null } as unknown as Gauges).map(({ name }) => name);
  const alone = new Set(namesOf(null));
  const cluster = { syncLagMs: 0, freshnessAgeMs: 0, clockOffsetMs: 0, oldestTransactionMs: 0, durability: {} };
  return namesOf(cluster).filter((name) => !alone.has(name));
}

describe('docs/monitoring.md', () => {
  test('lists the metrics of a real service, all of them and no other', () => {
    const names = DOCUMENTED.filter(({ isPostgres }) => !isPostgres).map(({ name }) => name);
    expect(names.toSorted()).toEqual(shown.toSorted());
  });

  test('marks those of nodes on PostgreSQL', () => {
    const names = DOCUMENTED.filter(({ isPostgres }) => isPostgres).map(({ name }) => name);
    expect(names.toSorted()).toEqual(postgresNames().toSorted());
  });
});

test('alerts and panels read metrics that exist, and the panels show every metric', () => {
  const known = [...shown, ...postgresNames()];
  const ofAlerts = ALERTS.flatMap(({ expr }) => metricsIn(expr));
  const ofPanels = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr)));
  const ofChoices = DASHBOARD.templating.list.flatMap(({ definition = '' }) => metricsIn(definition));
  expect([...ofAlerts, ...ofPanels, ...ofChoices].filter((name) => !known.includes(name))).toEqual([]);
  expect(known.filter((name) => !ofPanels.includes(name))).toEqual([]);
});

test('labels that alerts ask for are those that a service gives', async () => {
  const [, address = ''] = /metrics on (\S+)/.exec(server.child.stdout) ?? [];
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const checks = ALERTS.flatMap(({ expr }) => [...expr.matchAll(/keystile_check\{check=~?"([\w|-]+)"/g)]).flatMap(
    ([, names = '']) => names.split('|'),
  );
  expect(checks.length).toBeGreaterThan(3);
  // The embedded database has no transactions of others.
  const shownAlone = checks.filter((check) => check !== 'transactions');
  for (const check of shownAlone) expect(text).toContain(`keystile_check{check="${check}"} `);
  expect(text).toContain('keystile_errors_total{code="INTERNAL_SERVER_ERROR"} 0\n');
  expect(text).toContain('keystile_verdicts_total{code="NOT_FOUND"} 0\n');
});
