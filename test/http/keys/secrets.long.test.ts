import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { showConfig } from '../../../src/config/describe.ts';
import { hasChecksum, makeSecret } from '../../../src/core/secret.ts';
import { listenMetrics } from '../../../src/serve/listen.ts';
import { type Answer, type CallOptions, TestService } from '../../support/service.ts';
import { placesFor } from '../errors/bodyFields.ts';

const PEPPER = 'pepper-that-nobody-may-see-0123456789';
const OLD_PEPPER = 'older-pepper-that-nobody-may-see-0123';
const METRICS_TOKEN = 'metrics-token-that-nobody-may-see';
const CONFIGURED_ROOT_KEY = 'root-key-that-the-operator-chose-0001';

/** What must not be found anywhere, by what it is. */
const planted: Record<string, string> = {
  pepper: PEPPER,
  'older pepper': OLD_PEPPER,
  'metrics token': METRICS_TOKEN,
  'configured root key': CONFIGURED_ROOT_KEY,
  'unknown api key': makeSecret(
    'demo',
    Uint8Array.from({ length: 16 }, (_, i) => i * 7),
  ),
  'unknown root key': makeSecret(
    'root',
    Uint8Array.from({ length: 24 }, (_, i) => i * 5),
  ),
  'imported key': makeSecret(
    'demo',
    Uint8Array.from({ length: 16 }, (_, i) => i * 9),
  ),
  'enqueued key': makeSecret(
    'demo',
    Uint8Array.from({ length: 16 }, (_, i) => i * 11),
  ),
  'malformed key': 'demo_with spaces and no checksum at all',
};
/** Not a secret to the database, which has to remember it, but to everyone else. */
const IDEMPOTENCY_KEY = 'idempotency-key-that-nobody-may-see';

let service: TestService;
let metricsText = '';
/** The secret that is being sent. */
let sent = '';
const answers: { asked: string; sent: string; answer: Answer }[] = [];

async function ask(path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
  const answer = await service.call(path, body, options);
  const shown = options.raw === undefined ? JSON.stringify(body) : '(raw)';
  answers.push({ asked: `${options.method ?? 'POST'} ${path} ${shown ?? ''}`.slice(0, 300), sent, answer });
  return answer;
}

/** Every kind of value in every field for a key and a root key that are valid; a fifth of it for the others. */
async function plantEverywhere(secret: string): Promise<void> {
  sent = secret;
  const isValid = secret === planted['valid api key'] || secret === planted['root key'];
  for (const { path, body, options } of placesFor(secret, isValid ? 1 : 5)) await ask(path, body, options);
  const key = planted['valid api key'];
  const limit = { name: secret, limit: 5 };
  await ask('/v1/keys.verifyKey', { key, ratelimits: [limit] });
  await ask('/v1/keys.verifyKey', { key, ratelimits: [limit, limit] });
  await ask('/v1/keys.verifyKey', { key, clientIp: secret });
  await ask(`/${encodeURIComponent(secret)}`, undefined, { method: 'GET' });
  await ask(`/docs/${encodeURIComponent(secret)}`, undefined, { method: 'GET' });
}

/** Secrets of keys that were not made here, and of those that were given another. */
async function plantByManagement({ apiId, keyId }: { apiId: string; keyId: string }): Promise<void> {
  const imported = [planted['imported key'], planted['enqueued key']];
  await service.ok('/v1/migrations.createKeys', [{ apiId, plaintext: imported[0], prefix: 'demo' }]);
  const queued = { migrationId: 'm', apiId, keys: [{ plaintext: imported[1] }, { plaintext: imported[0] }] };
  expect((await service.call('/v1/migrations.enqueueKeys', queued)).status).toBe(202);
  const overlapMs = 60_000;
  planted['secret of a rotation'] = (await service.ok('/v1/keys.rotateKey', { keyId, overlapMs })).key as string;
  const permissions = ['root.*.create_root_key'];
  const made = await service.ok('/v1/rootKeys.createRootKey', { name: 'n', permissions });
  planted['root key by a root key'] = made.key as string;
  const { rootKeyId } = made as { rootKeyId: string };
  const rotated = await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs });
  planted['rotated root key'] = rotated.key as string;
}

beforeAll(async () => {
  service = await TestService.start({
    settings: {
      KEYSTILE_PEPPER: `2:${PEPPER},1:${OLD_PEPPER}`,
      KEYSTILE_METRICS_TOKEN: METRICS_TOKEN,
      KEYSTILE_METRICS_PORT: '0',
      KEYSTILE_ROOT_KEY: CONFIGURED_ROOT_KEY,
    },
  });
  await service.engine.rootKeys.adopt(CONFIGURED_ROOT_KEY);
  planted['root key'] = service.rootKey;
  const valid = await service.createKey({ remaining: 50, ratelimit: { limit: 50, duration: 60_000 } });
  planted['valid api key'] = valid.key;
  const deleted = await service.createKey({ apiId: valid.apiId });
  await service.ok('/v1/keys.deleteKey', { keyId: deleted.keyId });
  planted['deleted api key'] = deleted.key;
  const revoked = await service.engine.rootKeys.create({ name: null, rights: ['*'], expiresAtMs: null });
  await service.engine.rootKeys.revoke(revoked.rootKey.id);
  planted['revoked root key'] = revoked.secret;

  await plantByManagement(await service.createKey({ apiId: valid.apiId }));

  for (const secret of Object.values(planted)) await plantEverywhere(secret);
  for (const fields of [{}, { remaining: { cost: 99 } }, { remaining: { cost: 2 } }]) {
    await ask('/v1/keys.verifyKey', { key: valid.key, idempotencyKey: IDEMPOTENCY_KEY, ...fields });
  }
  const other = await service.createKey({ apiId: valid.apiId });
  await askBroken(valid, other.keyId);
  await service.stop();
});

async function readMetrics(): Promise<void> {
  const metrics = listenMetrics(service.composed.service, () => ({
    cluster: null,
    walBytes: 1,
    connections: 0,
    connectionsRefused: 0,
  }));
  const url = `http://127.0.0.1:${metrics.port}/metrics`;
  for (const authorization of [`Bearer ${METRICS_TOKEN}`, 'Bearer wrong']) {
    metricsText += await (await fetch(url, { headers: { authorization } })).text();
  }
  await metrics.stop();
}

/** Failures inside: a stored key that cannot be read, a table that is gone. */
async function askBroken({ keyId, key }: { keyId: string; key: string }, otherId: string): Promise<void> {
  await readMetrics();
  await service.stop();
  const db = new Database(join(service.folder, 'keystile.db'));
  db.run(`UPDATE keys SET limits = '{broken' WHERE id = '${keyId}'`);
  const analytics = new Database(join(service.folder, 'analytics.db'));
  analytics.run('ALTER TABLE key_uses RENAME TO gone');
  await service.open();
  expect((await ask('/v1/keys.verifyKey', { key })).status).toBe(500);
  expect((await ask('/v1/keys.getKey', { keyId })).status).toBe(500);
  expect((await ask('/v1/keys.getKey', { keyId: otherId })).status).toBe(503);
  await readMetrics();
  await service.stop();
  analytics.run('ALTER TABLE gone RENAME TO key_uses');
  analytics.close();
  db.close();
  await service.open();
}

afterAll(async () => {
  await service.close();
});

/** Also as a URL and JSON write it. */
const spellings = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
];

/** Of thousands of texts hardly one shows a secret: one pass over a text says so. */
function secretsIn(text: string): string[] {
  anySecret ??= new RegExp(
    Object.values(planted)
      .flatMap(spellings)
      .map((each) => RegExp.escape(each))
      .join('|'),
  );
  if (!anySecret.test(text)) return [];
  return Object.entries(planted).flatMap(([what, secret]) =>
    spellings(secret).some((each) => text.includes(each)) ? [what] : [],
  );
}
let anySecret: RegExp | null = null;

/** Answers that show a secret: one for each kind of message. */
function leaks(counts: (what: string, sentBefore: string) => boolean): string[] {
  const found = new Map<string, string>();
  for (const { asked, sent: sentBefore, answer } of answers) {
    const shown = answer.text + JSON.stringify([...answer.headers]);
    const what = secretsIn(shown).find((each) => counts(each, sentBefore));
    if (what === undefined) continue;
    const message = (answer.body?.error?.message ?? answer.text) as string;
    found.set(message.replaceAll(planted[what] ?? '', '<secret>'), `${what} by ${asked}: ${message}`);
  }
  return [...found.values()];
}

describe('no secret is found', () => {
  test('in an answer to a request that did not hold it', () => {
    expect(answers.length).toBeGreaterThan(1000);
    expect(leaks((what, sentBefore) => planted[what] !== sentBefore)).toEqual([]);
  });

  test('in an answer to a request that held it: a key in the wrong place is not repeated', () => {
    expect(leaks((what) => hasChecksum(planted[what] ?? ''))).toEqual([]);
  });

  test('in a log line, at any level', () => {
    expect(service.logLines.length).toBeGreaterThan(0);
    expect(service.logLines.filter((line) => secretsIn(line).length > 0)).toEqual([]);
    expect(service.logLines.filter((line) => line.includes(IDEMPOTENCY_KEY))).toEqual([]);
  });

  test('in the metrics', () => {
    expect(metricsText).toMatch(/keystile_errors_total\{code="INTERNAL_SERVER_ERROR"\} [1-9]/);
    expect(metricsText).toContain('The metrics need the token of KEYSTILE_METRICS_TOKEN.');
    expect(secretsIn(metricsText)).toEqual([]);
    expect(metricsText).not.toContain(IDEMPOTENCY_KEY);
  });

  test('in any file of the data folder, byte by byte', () => {
    const files = readdirSync(service.folder).filter((name) => name !== 'control.sock');
    expect(files).toContain('keystile.db');
    const found = files.flatMap((name) =>
      secretsIn(readFileSync(join(service.folder, name), 'latin1')).map((what) => `${what} in ${name}`),
    );
    expect(found).toEqual([]);
  });

  test('in the printed configuration, where each stands as ***', async () => {
    await service.open();
    const shown = showConfig(service.composed.service.config);
    expect(secretsIn(JSON.stringify(shown))).toEqual([]);
    expect(shown).toMatchObject({
      KEYSTILE_PEPPER: '***',
      KEYSTILE_METRICS_TOKEN: '***',
      KEYSTILE_ROOT_KEY: '***',
    });
  });

  test('in the OpenAPI description and the pages', async () => {
    for (const path of ['/openapi.json', '/docs', '/docs/errors', '/']) {
      expect(secretsIn((await service.call(path, undefined, { method: 'GET' })).text)).toEqual([]);
    }
  });
});

test('a secret in the query is not taken for the body: verifying is by POST alone', async () => {
  const answer = await service.call(`/v1/keys.verifyKey?key=${planted['valid api key']}`, undefined, { method: 'GET' });
  expect(answer.status).toBe(405);
  const posted = await service.call(`/v1/keys.verifyKey?key=${planted['valid api key']}`, {});
  expect([posted.status, posted.body.error.message]).toEqual([400, 'key is missing']);
});
