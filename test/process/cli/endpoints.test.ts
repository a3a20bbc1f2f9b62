import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';

import { TempFolder } from '../process.ts';
import { type Situation, withServer } from './cliRun.ts';

setDefaultTimeout(20_000);

let here: Situation;
let apiId: string;
beforeAll(async () => {
  here = await withServer({ KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' });
  apiId = (await here.json('api', 'create', 'endpoints'))['apiId'] as string;
});
afterAll(() => here[Symbol.asyncDispose]());

const line = (text: string): Promise<string> => here.ok(...text.split(' '));
const json = (text: string): Promise<Record<string, unknown>> => here.json(...text.split(' '));
const run = (text: string, answered?: string) => here.run(text.split(' '), answered === undefined ? {} : { answered });
const createKey = (...flags: string[]): Promise<Record<string, unknown>> =>
  here.json('key', 'create', '--api', apiId, ...flags);

describe('commands that are made from endpoints', () => {
  test('an identity with limits, credits and a plan, from beginning to end', async () => {
    const { planId } = await json('plan create pro --credits 1000 --refill monthly:1000 --ratelimit requests=10/s');
    expect(await json(`plan get ${String(planId)}`)).toMatchObject({
      name: 'pro',
      remaining: 1000,
      refill: { interval: 'monthly', amount: 1000 },
      ratelimits: [{ name: 'requests', limit: 10, duration: 1000, async: true }],
    });
    const { identityId } = await json(
      'customer create acme --name Acme --meta {"size":3} --ratelimit hits=5/2m,strict',
    );
    expect(await json(`customer get ${String(identityId)}`)).toEqual(await json('customer get acme'));
    expect(await json('customer get acme')).toMatchObject({
      externalId: 'acme',
      name: 'Acme',
      meta: { size: 3 },
      ratelimits: [{ name: 'hits', limit: 5, duration: 120_000, async: false }],
    });
    await line(`plan assign ${String(planId)} --customer acme`);
    expect(await json('customer get acme')).toMatchObject({ planId, remaining: 1000 });
    expect(
      await json('credit grant --customer acme --amount 5 --reason gift --idempotency-key gift_0001'),
    ).toMatchObject({
      remaining: 1005,
    });
    expect(await json('credit adjust --customer acme --by -6 --reason back')).toMatchObject({ remaining: 999 });
    await line('plan assign --customer acme --clear plan');
    const changed = await json('customer update acme --clear name --clear meta --disable');
    expect(changed).toMatchObject({ externalId: 'acme', meta: {}, enabled: false });
    expect(Object.keys(changed)).not.toContain('name');
    expect(await line('customer list')).toMatch(
      /^ID +CUSTOMER +NAME .*\nid_\w+ +acme +- +no .*\n1 of 1 customers\.\n$/,
    );
    expect(await line('customer delete acme --yes')).toBe('Deleted acme.\n');
    expect(await line(`plan delete ${String(planId)} --yes`)).toBe(`Deleted ${String(planId)}.\n`);
  });

  test('a rotated key, its new secret shown once, a deleted and a restored key', async () => {
    const { keyId, key } = await createKey('--credits', '10');
    const rotated = await run(`key rotate ${String(keyId)} --overlap 1h`);
    const secret = /^key +(\S+)$/m.exec(rotated.out)?.[1] ?? '';
    expect([rotated.code, rotated.err]).toEqual([0, 'This secret is shown only once. Store it now.\n']);
    expect(secret).not.toBe(key as string);
    const whoami = await here.run(['key', 'whoami', '--json'], { stdin: secret });
    expect(JSON.parse(whoami.out)).toMatchObject({ id: keyId });
    await line(`key delete ${String(keyId)} --yes`);
    expect(await line(`key restore ${String(keyId)}`)).toBe(`Restored ${String(keyId)}.\n`);
    expect(await json(`key update-credits ${String(keyId)} --op increment --value 5`)).toEqual({ remaining: 15 });
    expect(await json(`key update-credits ${String(keyId)} --op set --clear value`)).toEqual({ remaining: null });
  });

  test('key create and key update give limits, roles and permissions', async () => {
    const { keyId } = await createKey(
      '--limit',
      '10/m',
      '--ratelimit',
      'uploads=2/h,strict',
      '--role',
      'reader',
      '--permission',
      'files.read',
      '--metered',
    );
    expect(await json(`key get ${String(keyId)}`)).toMatchObject({
      ratelimit: { limit: 10, duration: 60_000 },
      ratelimits: [{ name: 'uploads', limit: 2, duration: 3_600_000, async: false }],
      roles: ['reader'],
      directPermissions: ['files.read'],
      metered: true,
    });
    await line(
      `key update ${String(keyId)} --clear role --clear ratelimit --permission files.read --no-metered --limit 5/s`,
    );
    const changed = await json(`key get ${String(keyId)}`);
    expect(changed).toMatchObject({
      roles: [],
      directPermissions: ['files.read'],
      ratelimit: { limit: 5, duration: 1000 },
    });
    expect([changed['ratelimits'], changed['metered']]).toEqual([undefined, undefined]);
    const listed = (await json(`key list --api ${apiId} --state disabled`)) as { keys: unknown[] };
    expect(listed.keys).toEqual([]);
  });

  test('a reservation is created with the key from standard input, and settled', async () => {
    const { key } = await createKey('--credits', '100');
    const made = await here.run(['reservation', 'create', '--cost', '40', '--ttl', '5m', '--json'], {
      stdin: key as string,
    });
    const { reservationId } = JSON.parse(made.out) as { reservationId: string };
    expect(await line(`reservation settle ${reservationId} --cost 15`)).toBe(
      'charged   15\nreturned  25\ncredits   85\n',
    );
    const refused = await here.run(['reservation', 'create', '--cost', '86'], { stdin: key as string });
    expect([refused.code, refused.out.includes('USAGE_EXCEEDED')]).toEqual([3, true]);
  });

  test('a root key is rotated through the data folder, and its old secret ends with its overlap', async () => {
    const { rootKeyId, key } = await json('root-key create --right api.*.read_api');
    const secretNow = async (overlap: string): Promise<string> => {
      const { key: secret } = await json(`root-key rotate ${String(rootKeyId)} --overlap ${overlap} --yes`);
      return secret as string;
    };
    const lists = async (secret: unknown): Promise<number> =>
      (await here.run(['api', 'list'], { environment: { KEYSTILE_ROOT_KEY: secret as string } })).code;
    const second = await secretNow('1h');
    expect([await lists(key), await lists(second)]).toEqual([0, 0]);
    const third = await secretNow('0');
    expect([await lists(key), await lists(second), await lists(third)]).toEqual([1, 1, 0]);
    const missing = await run(`root-key rotate ${String(rootKeyId)}`);
    expect(missing.err).toBe('root-key rotate needs --overlap DURATION. See keystile root-key rotate --help.\n');
  });

  test('roles and permissions by name, by id, and none of them', async () => {
    const { roleId } = await json('role create editor');
    const { permissionId } = await json('permission create documents.read');
    const given = [{ id: permissionId, name: 'documents.read' }];
    expect((await json('role set-permissions editor --permission documents.read')) as unknown).toEqual(given);
    expect(
      (await json(`role set-permissions ${String(roleId)} --permission ${String(permissionId)}`)) as unknown,
    ).toEqual(given);
    expect((await json('role set-permissions editor --clear permission')) as unknown).toEqual([]);
    const { keyId } = await createKey();
    expect((await json(`key add-roles ${String(keyId)} --role editor`)) as unknown).toEqual([
      { id: roleId, name: 'editor' },
    ]);
    expect(await line(`key remove-roles ${String(keyId)} --role editor`)).toBe(`Changed ${String(keyId)}.\n`);
  });

  test('a standalone limit that is reached ends with 3, and an override replaces it', async () => {
    expect(await json('limit take bob --namespace email --limit 1/d')).toMatchObject({ success: true, remaining: 0 });
    expect((await run('limit take bob --namespace email --limit 1/d')).code).toBe(3);
    await line('limit set-override bob --namespace email --limit 5 --duration 1d');
    expect(await json('limit get-override bob --namespace email')).toMatchObject({ limit: 5, duration: 86_400_000 });
    expect((await run('limit take bob --namespace email --limit 1/d')).code).toBe(0);
  });

  test('lists are read by page, or all at once', async () => {
    for (const name of ['first', 'second', 'third']) await line(`plan create ${name}`);
    const page = await line('plan list --limit 2');
    const cursor = /\n2 of 3 plans\. Next page: --cursor (plan_\w+)\. All pages: --all\.\n$/.exec(page)?.[1] ?? '';
    const names = async (text: string): Promise<unknown> =>
      ((await json(text)) as { plans: { name: string }[] }).plans.map(({ name }) => name);
    expect(await names(`plan list --limit 2 --cursor ${cursor}`)).toEqual(['third']);
    expect(await names('plan list --limit 1 --all')).toEqual(['first', 'second', 'third']);
    const events = (await json('event list --limit 2 --all')) as { events: unknown[]; cursor?: string };
    expect(events.events.length).toBeGreaterThan(2);
    expect(events).not.toHaveProperty('cursor');
  });

  test('objects come from a file, one on each line of a list', async () => {
    using folder = new TempFolder();
    writeFileSync(folder.join('keys.jsonl'), '{"name":"first","remaining":1}\n\n{"name":"second"}\n');
    writeFileSync(folder.join('meta.json'), '{\n  "size": 7\n}\n');
    const made = (await json(`key create-many --api ${apiId} --key @${folder.join('keys.jsonl')}`)) as {
      keys: { keyId: string }[];
    };
    expect(made.keys).toHaveLength(2);
    expect(await json(`key get ${made.keys[0]?.keyId}`)).toMatchObject({ name: 'first', remaining: 1 });
    await line(`customer create from_file --meta @${folder.join('meta.json')}`);
    expect(await json('customer get from_file')).toMatchObject({ meta: { size: 7 } });
    const missing = folder.join('missing');
    expect(await run(`customer update from_file --meta @${missing}`)).toEqual({
      code: 1,
      out: '',
      err: `The file ${missing} of --meta cannot be read (ENOENT).\n`,
    });
  });

  test('a name cannot write to the terminal', async () => {
    await here.ok('customer', 'create', 'escape', '--name', 'a\u001b[2Jb');
    expect(await here.ok('customer', 'get', 'escape')).toContain('a\\u001b[2Jb');
  });
});

describe('errors of the service name flags, not fields', () => {
  test.each([
    [
      'credit grant --customer acme --amount 5 --reason x --idempotency-key short',
      '--idempotency-key must be 8 to 128 of the characters A-Z a-z 0-9 _ -, got "short".\n',
    ],
    ['credit grant --amount 5 --reason x --idempotency-key long_enough', 'Give one of --key and --customer.\n'],
    ['limit get-override bob', 'Give --namespace.\n'],
    ['key create --api api_1 --limit {"limit":5}', '--limit (duration) is missing.\n'],
    ['api create x', 'NAME must be a string of 3 to 256 characters, got "x".\n'],
    [
      'key verify some_key --idempotency-key short',
      '--idempotency-key must be 8 to 128 of the characters A-Z a-z 0-9 _ -, got "short".\n',
    ],
    ['plan create x --refill {"interval":"daily"}', '--refill (amount) is missing.\n'],
    [
      'customer create acme2 --ratelimit {"name":"a","limit":0,"duration":1000}',
      '--ratelimit (number 1, limit) must be a whole number from 1 to 9007199254740991, got 0.\n',
    ],
  ])('%s', async (words, err) => expect(await run(words)).toEqual({ code: 1, out: '', err }));

  test('in JSON, the issues keep the paths of the request', async () => {
    const { err } = await run('plan create x --refill {"interval":"daily"} --json');
    expect(JSON.parse(err)).toEqual({
      error: {
        message: '--refill (amount) is missing.',
        code: 'BAD_REQUEST',
        issues: [{ path: 'refill.amount', message: 'refill.amount is missing' }],
      },
    });
  });
});

describe('what takes something away asks first', () => {
  const QUESTION = 'Delete a plan that nobody is on: ';
  const data = (): string => `, on the data in ${here.environment['KEYSTILE_DATA']}`;
  // Whatever answers at the configured address is asked, also a service with other data.
  const where = (): string =>
    `, on http://127.0.0.1:${here.environment['KEYSTILE_PORT']}, or${data().slice(1)} if nothing answers there`;

  test('no is no, yes is yes, and without a terminal --yes must be given', async () => {
    const { planId } = (await json('plan create doomed')) as { planId: string };
    const refused = await run(`plan delete ${planId}`);
    expect([refused.code, refused.err]).toEqual([
      2,
      'plan delete asks for confirmation, and standard input is not a terminal. Add --yes to confirm.\n',
    ]);
    for (const answer of ['', 'n', 'no', 'yess']) {
      const { code, err } = await run(`plan delete ${planId}`, answer);
      expect([code, err]).toEqual([1, `${QUESTION}${planId}${where()}. Continue? [y/N] Nothing was changed.\n`]);
    }
    expect((await run(`plan get ${planId}`)).code).toBe(0);
    expect((await run(`plan delete ${planId}`, 'Y')).code).toBe(0);
    expect((await run(`plan get ${planId}`)).code).toBe(1);
  });

  test('every command that takes something away asks, whether it is made from an endpoint or written', async () => {
    const { keyId } = (await createKey()) as { keyId: string };
    for (const words of [
      `key delete ${keyId}`,
      `key delete ${keyId} --permanent`,
      'webhook delete wh_1',
      'root-key revoke rk_1',
    ]) {
      const { code, err } = await run(words, 'n');
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/^(Delete|Revoke) (the|a) .* Continue\? \[y\/N\] Nothing was changed\.\n$/),
      ]);
      expect(err).toContain(`${words.startsWith('root-key') ? data() : where()}. Continue?`);
    }
    const all = await run(`api delete-keys ${apiId} --permanent`, 'n');
    expect(all.err).toStartWith(`Delete all keys of an api at once: ${apiId} --permanent (`);
    const forGood = await run(`key delete ${keyId} --permanent`, 'n');
    const meaning = 'the record of the key is removed too, and the key cannot be restored';
    expect(forGood.err).toStartWith(`Delete a key: ${keyId} --permanent (${meaning})${where()}. Continue?`);
    expect((await run(`key get ${keyId}`)).code).toBe(0);
  });

  test('a rotation asks only when the old secret ends at once', async () => {
    const { keyId } = (await createKey()) as { keyId: string };
    const asked = await run(`key rotate ${keyId} --overlap 0`, 'n');
    expect([asked.code, asked.err]).toEqual([
      1,
      `Give a key a new secret, and end the old one at once: ${keyId} --overlap 0${where()}. Continue? [y/N] Nothing was changed.\n`,
    ]);
    expect((await run(`key rotate ${keyId} --overlap 1m`)).code).toBe(0);
    expect((await run(`key rotate ${keyId} --overlap 0 --yes`)).code).toBe(0);
  });

  test('root-key create without rights asks for them, and makes no root key without an answer', async () => {
    const some = await run('root-key create --name asked --json', 'api.*.read_api, api.*.read_key');
    expect(JSON.parse(some.out.slice(some.out.indexOf('{')))).toMatchObject({
      rights: ['api.*.read_api', 'api.*.read_key'],
    });
    const none = await run('root-key create --name none', ' ');
    expect([none.code, none.out]).toEqual([2, '']);
    expect(await line('root-key list')).not.toContain('none');
  });
});

describe('an api and a plan can be named by their names', () => {
  test('as an argument and in a flag; a name that nothing or several have is refused', async () => {
    const { planId } = await json('plan create named-plan --credits 5');
    const { apiId: named } = await json('api create named-api');
    expect(await json('plan get named-plan')).toMatchObject({ id: planId });
    const { keyId } = await json('key create --api named-api');
    await line(`plan assign named-plan --key ${String(keyId)}`);
    const listed = (await json('key list --api named-api --plan named-plan')) as { keys: { id: string }[] };
    expect(listed.keys.map(({ id }) => id)).toEqual([String(keyId)]);
    expect(await run('plan get named')).toEqual({
      code: 1,
      out: '',
      err: 'There is no plan with the id or name "named".\n',
    });
    const { apiId: second } = await json('api create named-api');
    expect(await run('api get named-api')).toEqual({
      code: 1,
      out: '',
      err: `2 apis have the name "named-api": ${String(named)}, ${String(second)}. Give the id of one.\n`,
    });
  });

  test('the audit log is asked by ids, and a name that finds nothing says so', async () => {
    const { out, err } = await run('audit --target acme');
    expect([out.split('\n').length, err]).toEqual([2, expect.stringContaining('--target takes the id of a record.')]);
    expect((await run(`audit --target ${apiId}`)).err).toBe('');
  });
});
