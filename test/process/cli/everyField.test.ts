import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import records from '../../../clients/records.json';
import { openApi } from '../../../src/http/docs/openApi.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { TempFolder } from '../process.ts';
import { type Situation, withServer } from './cliRun.ts';

setDefaultTimeout(60_000);

/**
 * Every field of a record goes in by the command line or an import, and comes out as text, as JSON and in an export. What is written here is
 * what a person would write and read, so a field that is forgotten anywhere is missed.
 */

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, { readonly deprecated?: boolean }>>;
}

const SCHEMAS = openApi(null).components.schemas as Readonly<Record<string, Schema>>;

/** The fields of a schema in /openapi.json, without those of older programs. */
function fieldsOf(component: string): string[] {
  const fields = Object.entries(SCHEMAS[component]?.properties ?? {});
  return fields.filter(([, { deprecated }]) => deprecated !== true).map(([name]) => name);
}

let here: Situation;
let folder: TempFolder;
let apiId = '';
let planId = '';
beforeAll(async () => {
  folder = new TempFolder();
  here = await withServer({ KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' });
  apiId = String((await here.json('api', 'create', 'every'))['apiId']);
  await here.ok('permission', 'create', 'permission.planned');
  await here.ok('role', 'create', 'role_planned');
  planId = String((await here.json(...PLAN))['planId']);
});
afterAll(async () => {
  await here[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const REFILL = 'monthly:5000,day=17,timezone=Europe/Berlin,mode=add,max=9000';
const REFILL_TEXT = 'monthly on day 17 adds 5000 up to 9000 (Europe/Berlin), next refill at TIME';
const ALERTS = '{"expiresWithinMs":3600000,"creditsBelow":77}';
const ONCE = ['--idempotency-key', 'gift_0001'];
const PLAN = [
  ['plan', 'create', 'gold', '--credits', '6000', '--refill', REFILL, '--ratelimit', 'planned=13/63s,strict'],
  [
    '--role',
    'role_planned',
    '--permission',
    'permission.planned',
    '--max-keys',
    '5',
    '--alerts',
    ALERTS,
    '--meta',
    '{"size":"large"}',
  ],
].flat();
const KEY = [
  ['--prefix', 'every', '--byte-length', '24', '--name', 'Every field', '--meta', '{"colour":"blue"}'],
  ['--environment', 'staging', '--disable', '--customer', 'owner_key', '--role', 'role_every'],
  ['--permission', 'permission.every', '--expires', '2130-01-01', '--credits', '4321', '--refill', REFILL],
  ['--limit', '{"limit":11,"duration":61000,"async":false,"notify":true}', '--ratelimit', 'burst=7/62s'],
  ['--ip', '192.0.2.0/24', '--alerts', ALERTS],
].flat();
const IDENTITY = [
  ['--name', 'Every owner', '--meta', '{"tier":"high"}', '--disable', '--max-keys', '9', '--alerts', ALERTS],
  ['--ratelimit', '{"name":"shared","limit":17,"duration":64000,"async":false,"notify":true,"autoApply":false}'],
  ['--credits', '6543', '--refill', REFILL],
].flat();

/** The text of a record: its labels and values, with ids and times replaced. */
async function shown(...words: string[]): Promise<Record<string, string>> {
  const text = (await here.ok(...words))
    .replaceAll(/\b(id|key|api|ws|plan|role|perm|rk|ns|wh|ovr|whsec)_[1-9A-HJ-NP-Za-km-z]{15,}/g, '$1_ID')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, 'TIME');
  const rows = text.split('\n').map((line) => /^(\S+(?: \S+)*) {2,}(.*)$/.exec(line));
  return Object.fromEntries(rows.flatMap((row) => (row === null ? [] : [[row[1] ?? '', row[2] ?? '']])));
}

/** Together these answers have every field of the schema: no record can have all of them at once. */
function expectEvery(component: string, answers: readonly Record<string, unknown>[]): void {
  const found = new Set(answers.flatMap((answer) => Object.keys(answer)));
  expect([component, fieldsOf(component).filter((name) => !found.has(name))]).toEqual([component, []]);
}

describe('every field of a record', () => {
  test('of a key: a flag, a row of text, JSON', async () => {
    const { keyId } = await here.json('key', 'create', '--api', apiId, ...KEY);
    const used = await here.json('key', 'get', String(keyId));
    expect(await shown('key', 'get', String(keyId))).toEqual({
      id: 'key_ID',
      start: expect.stringMatching(/^every_\w{4}$/),
      'api id': 'api_ID',
      'workspace id': 'ws_ID',
      name: 'Every field',
      meta: '{"colour":"blue"}',
      environment: 'staging',
      enabled: 'no',
      'created at': 'TIME',
      expires: 'TIME',
      credits: '4321',
      refill: REFILL_TEXT,
      limit: '11 in 61s, strict, notify, used 0, reset TIME',
      ratelimit: 'burst: 7 in 62s, used 0, reset TIME',
      roles: 'role_every',
      permissions: 'permission.every',
      ip: '192.0.2.0/24',
      alerts: 'expires within 1h, credits below 77',
      customer: 'owner_key',
      'direct permissions': 'permission.every',
    });
    // What is there only after something has happened.
    const made = await here.json('key', 'create', '--api', apiId);
    const onPlan = String(made['keyId']);
    await here.ok('plan', 'assign', planId, '--key', onPlan);
    await here.ok('plan', 'assign', '--key', onPlan, '--clear', 'plan', '--when', 'nextRefill');
    await here.ok(
      'credit',
      'grant',
      '--key',
      onPlan,
      '--amount',
      '5',
      '--expires-at',
      '2130-01-01',
      '--reason',
      'gift',
      ...ONCE,
    );
    await here.ok('key', 'update', onPlan, '--name', 'changed');
    const metered = String((await here.json('key', 'create', '--api', apiId, '--metered'))['keyId']);
    await here.ok('reservation', 'create', String(made['key']), '--cost', '2');
    // A verification is written down some seconds later.
    await until('the key has a last use', async () => 'lastUsedAt' in (await here.json('key', 'get', onPlan)));
    const text = await shown('key', 'get', onPlan);
    expect(text).toMatchObject({
      credits: '6003',
      held: '2',
      'last used at': 'TIME',
      grants: 'left 3, expires at TIME',
      'plan id': 'plan_ID',
      'plan move': 'leaves its plan at TIME, balance keep',
      plan: expect.stringContaining('gold'),
      'updated at': 'TIME',
    });
    expect(await shown('key', 'get', metered)).toMatchObject({ metered: 'yes' });
    expectEvery('KeyDetails', [used, await here.json('key', 'get', onPlan), await here.json('key', 'get', metered)]);
  });

  test('of an identity', async () => {
    await here.ok('customer', 'create', 'owner_every', ...IDENTITY);
    const used = await here.json('customer', 'get', 'owner_every');
    expect(await shown('customer', 'get', 'owner_every')).toEqual({
      id: 'id_ID',
      customer: 'owner_every',
      name: 'Every owner',
      meta: '{"tier":"high"}',
      enabled: 'no',
      'max keys': '9',
      alerts: 'expires within 1h, credits below 77',
      credits: '6543',
      refill: REFILL_TEXT,
      keys: '0',
      ratelimits: 'shared: 17 in 64s, strict, only where it is named, notify, used 0, reset TIME',
    });
    await here.ok('customer', 'create', 'owner_planned');
    await here.ok('plan', 'assign', planId, '--customer', 'owner_planned');
    await here.ok('plan', 'assign', '--customer', 'owner_planned', '--clear', 'plan', '--when', 'nextRefill');
    await here.ok('credit', 'grant', '--customer', 'owner_planned', '--amount', '5', '--reason', 'gift', ...ONCE);
    await here.ok('customer', 'create', 'owner_metered', '--metered');
    const { key } = await here.json('key', 'create', '--api', apiId, '--customer', 'owner_planned');
    await here.ok('reservation', 'create', String(key), '--cost', '2');
    expect(await shown('customer', 'get', 'owner_planned')).toMatchObject({ credits: '6003', held: '2' });
    const answers = ['owner_planned', 'owner_metered'].map((name) => here.json('customer', 'get', name));
    expectEvery('IdentityDetails', [used, ...(await Promise.all(answers))]);
  });

  test('of a plan', async () => {
    const used = await here.json('plan', 'get', 'gold');
    expect(await shown('plan', 'get', 'gold')).toMatchObject({
      name: 'gold',
      meta: '{"size":"large"}',
      credits: '6000',
      refill: expect.stringContaining('monthly on day 17 adds 5000 up to 9000 (Europe/Berlin)'),
      ratelimits: expect.stringContaining('planned: 13 in 63s, strict'),
      roles: 'role_ID',
      permissions: 'perm_ID',
      'max keys': '5',
      alerts: 'expires within 1h, credits below 77',
    });
    const metered = String((await here.json('plan', 'create', 'metered', '--metered'))['planId']);
    await here.ok('plan', 'update', metered, '--name', 'by use');
    expectEvery('Plan', [used, await here.json('plan', 'get', metered)]);
  });

  test('of an api', async () => {
    const flags = ['--default-prefix', 'pre', '--default-byte-length', '32', '--default-ratelimit', '19/65s,strict'];
    await here.ok('api', 'update', apiId, '--name', 'every api', '--delete-protection', ...flags);
    expect(await shown('api', 'get', apiId)).toMatchObject({
      name: 'every api',
      'default prefix': 'pre',
      'default byte length': '32',
      'default ratelimit': expect.stringContaining('19 in 65s, strict'),
      'delete protection': 'yes',
    });
    expectEvery('Api', [await here.json('api', 'get', apiId)]);
  });

  test('of a role, a permission, an override and a webhook', async () => {
    const permission = await here.json(
      'permission',
      'create',
      'read',
      '--slug',
      'every.read',
      '--description',
      'Reads all',
    );
    const permissionId = String(permission['permissionId']);
    expect(await shown('permission', 'get', permissionId)).toMatchObject({
      name: 'read',
      slug: 'every.read',
      description: 'Reads all',
    });
    const role = String((await here.json('role', 'create', 'reader', '--description', 'Who reads'))['roleId']);
    expect(await shown('role', 'get', role)).toMatchObject({ name: 'reader', description: 'Who reads' });
    await here.ok('limit', 'take', 'user_first', '--namespace', 'uploads', '--limit', '5', '--duration', '60s');
    const flags = ['--namespace', 'uploads', '--limit', '23', '--duration', '66s', '--strict'];
    await here.ok('limit', 'set-override', 'user_every', ...flags);
    expect(await shown('limit', 'get-override', 'user_every', '--namespace', 'uploads')).toMatchObject({
      identifier: 'user_every',
      limit: '23',
      duration: '66s',
      async: 'no',
    });
    const made = await here.json(
      'webhook',
      'create',
      'http://127.0.0.1:9/every',
      '--event',
      'key.expiring',
      '--api',
      apiId,
    );
    expect(await shown('webhook', 'get', String(made['webhookId']))).toMatchObject({
      url: 'http://127.0.0.1:9/every',
      events: 'key.expiring',
      apis: 'api_ID',
    });
    expectEvery('Permission', [await here.json('permission', 'get', permissionId)]);
  });
});

test('an export has what was written', async () => {
  const path = folder.join('every.export');
  expect((await here.run(['data', 'export', path])).code).toBe(0);
  const text = readFileSync(path, 'utf8');
  const written = [
    'Every field',
    'staging',
    'colour',
    '192.0.2.0/24',
    'Every owner',
    'shared',
    'gold',
    'every.read',
    'Who reads',
  ];
  expect(written.filter((each) => !text.includes(each))).toEqual([]);
});

describe('every column of an import', () => {
  const DIGEST = Bun.SHA256.hash('imported-secret-every', 'base64');
  const VALUES: Readonly<Record<string, string>> = {
    'hash.value': DIGEST,
    'hash.variant': 'sha256_base64',
    start: 'impo',
    name: 'Imported key',
    meta: '{"colour":"red"}',
    environment: 'live',
    enabled: 'false',
    externalId: 'owner_import',
    roles: 'role_import',
    permissions: 'permission.import',
    expires: '2130-01-01T00:00:00Z',
    remaining: '1234',
    'refill.interval': 'weekly',
    'refill.amount': '2345',
    'refill.refillWeekday': '3',
    'refill.timezone': 'Europe/Paris',
    'refill.mode': 'add',
    'refill.max': '3456',
    'ratelimit.async': 'false',
    'ratelimit.limit': '29',
    'ratelimit.duration': '67000',
    'ratelimit.notify': 'true',
    ratelimits: '[{"name":"more","limit":31,"duration":68000}]',
    ipAllowlist: '198.51.100.0/24',
    'alerts.expiresWithinMs': '7200000',
    'alerts.creditsBelow': '88',
  };
  /** Not together with others that are here: other forms of the secret, of the owner, of the refill and of the credits. */
  const INSTEAD = ['apiId', 'plaintext', 'prefix', 'mustExist', 'ownerId', 'metered', 'refill.refillDay'];

  test('is here', () => {
    const columns = JSON.parse(readFileSync('src/cli/import/columns.json', 'utf8')) as object;
    expect([...Object.keys(VALUES), ...INSTEAD].toSorted()).toEqual(Object.keys(columns).toSorted());
  });

  test('reaches its key', async () => {
    for (const [kind, name] of [['role', 'role_import'] as const, ['permission', 'permission.import'] as const])
      await here.ok(kind, 'create', name);
    const path = folder.join('every.csv');
    const row = Object.values(VALUES).map((value) => `"${value.replaceAll('"', '""')}"`);
    writeFileSync(path, `${Object.keys(VALUES).join(',')}\n${row.join(',')}\n`);
    expect(await here.ok('import', path, '--api', apiId)).toContain('imported       1\n');
    const listed = await here.json('key', 'list', '--api', apiId, '--search', 'Imported');
    const [{ id } = { id: '' }] = listed['keys'] as { id: string }[];
    expect(await shown('key', 'get', id)).toMatchObject({
      start: 'impo',
      name: 'Imported key',
      meta: '{"colour":"red"}',
      environment: 'live',
      enabled: 'no',
      customer: 'owner_import',
      roles: 'role_import',
      permissions: 'permission.import',
      expires: 'TIME',
      credits: '1234',
      refill: expect.stringMatching(/^weekly on Wednesday adds 2345 up to 3456 \(Europe\/Paris\)/),
      limit: '29 in 67s, strict, notify, used 0, reset TIME',
      ratelimit: expect.stringContaining('more: 31 in 68s'),
      ip: '198.51.100.0/24',
      alerts: 'expires within 2h, credits below 88',
    });
  });
});

describe('clients/records.json, which every client library sends and reads', () => {
  const { key, identity } = records;
  test('has every field of a new key and a new identity, but what excludes credits', () => {
    expect([...Object.keys(key.create), 'apiId', 'metered', 'mustExist'].toSorted()).toEqual(
      fieldsOf('KeysCreateKeyRequest').toSorted(),
    );
    expect([...Object.keys(identity.create), 'metered'].toSorted()).toEqual(
      fieldsOf('IdentitiesCreateIdentityRequest').toSorted(),
    );
  });
});
