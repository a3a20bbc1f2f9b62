import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';

import { type Situation, SITUATIONS } from './cliRun.ts';

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(20_000);

for (const [title, make] of Object.entries(SITUATIONS)) {
  describe(title, () => {
    let here: Situation;
    let apiId: string;
    beforeAll(async () => {
      here = await make();
      apiId = (await here.json('api', 'create', 'shared'))['apiId'] as string;
    });
    afterAll(() => here[Symbol.asyncDispose]());

    const createKey = async (...flags: string[]): Promise<{ keyId: string; key: string }> => {
      return (await here.json('key', 'create', '--api', apiId, ...flags)) as { keyId: string; key: string };
    };

    test('a root key is shown once, listed without its secret, and refused once it is revoked', async () => {
      const created = await here.run('root-key create --name deploy --right * --expires 2100-01-01'.split(' '));
      expect(created.code).toBe(0);
      const secret = /^root key +(root_\S+)$/m.exec(created.out)?.[1] ?? '';
      const id = /^id +(rk_\S+)$/m.exec(created.out)?.[1] ?? '';
      expect(created.out).toContain('expires   2100-01-01 00:00:00 UTC\n');
      expect(created.err).toBe('This root key is shown only once. Store it now.\n');

      const listed = await here.ok('root-key', 'list');
      expect(listed).toMatch(/^ID +START +NAME +RIGHTS +STATE +CREATED$/m);
      expect(listed).toMatch(
        new RegExp(`^${id} +root_\\w{4}\\.\\.\\. +deploy +\\* +active until 2100-01-01 00:00:00 UTC `, 'm'),
      );
      expect(listed).not.toContain(secret);

      const environment = { KEYSTILE_ROOT_KEY: secret };
      expect((await here.run(['api', 'list'], { environment })).code).toBe(0);
      expect(await here.ok('root-key', 'revoke', id, '--yes')).toBe(`Revoked ${id}.\n`);
      expect(await here.run(['api', 'list'], { environment })).toEqual({
        code: 1,
        out: '',
        err: 'This root key was revoked. Use another one.\n',
      });
      expect(await here.ok('root-key', 'list')).toMatch(new RegExp(`^${id} .* revoked 2`, 'm'));
    });

    test('root keys in JSON have the field names of the API, and no digest', async () => {
      const made = await here.json(
        'root-key',
        'create',
        '--name',
        'ci',
        '--right',
        'api.*.read_key',
        '--right',
        'api.*.read_api',
      );
      expect(made).toEqual({
        rootKeyId: expect.stringMatching(/^rk_/),
        key: expect.stringMatching(/^root_/),
        start: (made['key'] as string).slice(0, 9),
        name: 'ci',
        rights: ['api.*.read_key', 'api.*.read_api'],
        createdAt: expect.any(Number),
      });
      const { rootKeyId, key: _key, ...rest } = made;
      const { rootKeys } = (await here.json('root-key', 'list')) as { rootKeys: unknown[] };
      expect(rootKeys).toContainEqual({ id: rootKeyId, ...rest });
      expect(await here.json('root-key', 'revoke', rootKeyId as string, '--yes')).toEqual({ rootKeyId });
      const limited = { KEYSTILE_ROOT_KEY: made['key'] as string };
      expect((await here.run(['root-key', 'list'], { environment: limited })).code).toBe(0);
    });

    test('an error names the right that a root key lacks', async () => {
      const { key } = await here.json('root-key', 'create', '--right', 'api.*.read_api');
      const environment = { KEYSTILE_ROOT_KEY: key as string };
      const refused = 'This root key lacks the right api.*.create_api.\n';
      expect(await here.run(['api', 'create', 'payments'], { environment })).toEqual({
        code: 1,
        out: '',
        err: refused,
      });
    });

    test('an unknown right and an unknown root key are errors in one sentence', async () => {
      const right = await here.run(['root-key', 'create', '--right', 'everything']);
      expect(right).toEqual({
        code: 2,
        out: '',
        err: '--right: Unknown right "everything". Rights look like "*" or "api.*.create_key".\n',
      });
      const { code, err } = await here.run(['root-key', 'revoke', 'rk_none', '--yes']);
      expect(code).toBe(1);
      expect(err).toContain('There is no root key "rk_none"');
    });

    test('an api is created and listed, as text and as JSON', async () => {
      const made = await here.ok('api', 'create', 'payments');
      const id = /^api id +(api_\S+)\nname +payments\n$/.exec(made)?.[1];
      expect(await here.ok('api', 'list')).toContain(`${id}  payments  `);
      const { apis, total } = (await here.json('api', 'list')) as {
        apis: { id?: string; name: string }[];
        total: number;
      };
      expect(apis.find((api) => api.id === id)).toMatchObject({ id, name: 'payments' });
      expect(total).toBe(apis.length);
    });

    test('every flag of key create reaches the key', async () => {
      const given =
        '--prefix demo --byte-length 32 --name first --customer user_1 --meta {"plan":"free"} --credits 7 ' +
        '--refill monthly:9,day=31,timezone=Europe/Berlin,mode=add,max=20 ' +
        '--limit 10/m,strict --expires 2100-01-01T12:00:00+02:00 --environment live ' +
        '--ip 127.0.0.1 --ip 10.0.0.0/8 --alerts {"expiresWithinMs":604800000} --disable';
      const { keyId, key } = await createKey(...given.split(' '));
      expect(key.length).toBeGreaterThan('demo_'.length + 32);
      expect(await here.json('key', 'get', keyId)).toMatchObject({
        id: keyId,
        apiId,
        start: key.slice(0, 9),
        name: 'first',
        ownerId: 'user_1',
        meta: { plan: 'free' },
        remaining: 7,
        refill: { interval: 'monthly', amount: 9, refillDay: 31, timezone: 'Europe/Berlin', mode: 'add', max: 20 },
        ratelimit: { limit: 10, duration: 60_000, async: false },
        expires: Date.UTC(2100, 0, 1, 10),
        environment: 'live',
        ipAllowlist: ['127.0.0.1', '10.0.0.0/8'],
        enabled: false,
      });
      const shown = await here.ok('key', 'get', keyId);
      expect(shown).toMatch(/^limit +10 in 1m, strict, used 0, reset 2/m);
      expect(shown).toMatch(/^refill +monthly on day 31 adds 9 up to 20 \(Europe\/Berlin\), next refill at 2/m);
      expect(shown).toMatch(/^ip +127\.0\.0\.1, 10\.0\.0\.0\/8$/m);
      expect(shown).toMatch(/^meta +\{"plan":"free"\}$/m);
      expect(shown).toMatch(/^alerts +expires within 7d$/m);
      expect(shown).toMatch(/^customer +user_1$/m);
      expect(shown).not.toContain(key);
    });

    test('a limit is local unless it is said, and an update without the word keeps how it counts', async () => {
      const { keyId } = await createKey('--limit', '3/2s');
      expect(await here.json('key', 'get', keyId)).toMatchObject({
        ratelimit: { limit: 3, duration: 2000, async: true },
      });
      await here.ok('key', 'update', keyId, '--limit', '3/2s,strict');
      await here.ok('key', 'update', keyId, '--limit', '4/2s');
      expect(await here.json('key', 'get', keyId)).toMatchObject({ ratelimit: { limit: 4, async: false } });
      await here.ok('key', 'update', keyId, '--limit', '4/2s,local');
      expect(await here.json('key', 'get', keyId)).toMatchObject({ ratelimit: { limit: 4, async: true } });
    });

    test('key create prints the secret and says that it is shown only once', async () => {
      const { code, out, err } = await here.run(['key', 'create', '--api', apiId]);
      expect(code).toBe(0);
      expect(out).toMatch(/^key id {2}key_\S+\nkey {5}\S{20,}\n$/);
      expect(err).toBe('This secret is shown only once. Store it now.\n');
    });

    test('an update changes the given fields, clears those of --clear and keeps the rest', async () => {
      const { keyId } = await createKey(
        '--name',
        'old',
        '--credits',
        '5',
        '--customer',
        'user_3',
        '--environment',
        'live',
      );
      expect(
        await here.ok(
          'key',
          'update',
          keyId,
          '--name',
          'new',
          '--clear',
          'credits',
          '--clear',
          'customer',
          '--disable',
        ),
      ).toBe(`Updated ${keyId}.\n`);
      const updated = await here.json('key', 'get', keyId);
      expect(updated).toMatchObject({ name: 'new', environment: 'live', enabled: false });
      expect(Object.keys(updated)).not.toContain('remaining');
      expect(Object.keys(updated)).not.toContain('ownerId');
      expect(await here.json('key', 'update', keyId, '--enable', '--credits', '2')).toEqual({});
      expect(await here.json('key', 'get', keyId)).toMatchObject({ name: 'new', enabled: true, remaining: 2 });
    });

    test('an owner that must exist is refused when it does not, and named as it was given', async () => {
      const strict = ['key', 'create', '--api', apiId, '--must-exist', '--customer'];
      await here.ok('customer', 'create', 'acme');
      await here.ok(...strict, 'acme');
      const { code, err } = await here.run([...strict, 'acmee']);
      expect(code).toBe(1);
      expect(err).toContain(' with the id "acmee". Did you mean "acme"? With --must-exist, ');
      expect(err).toEndWith(': use keystile customer create.\n');
      const { keyId } = await here.json('key', 'create', '--api', apiId);
      expect((await here.run(['key', 'update', keyId as string, '--customer', 'acmee', '--must-exist'])).code).toBe(1);
    });

    test('--customer takes the id of a customer too, and makes no other one', async () => {
      const { identityId } = await here.json('customer', 'create', 'looked-up');
      const id = String(identityId);
      const { keyId } = await here.json('key', 'create', '--api', apiId, '--customer', id);
      const listed = await here.json('key', 'list', '--api', apiId, '--customer', id);
      expect(listed['keys']).toMatchObject([{ id: keyId, ownerId: 'looked-up' }]);
      expect(await here.json('customer', 'list', '--search', 'id_')).toMatchObject({ total: 0 });
      const other = await here.json('key', 'create', '--api', apiId);
      await here.ok('key', 'update', String(other['keyId']), '--customer', id);
      expect(await here.json('customer', 'get', id)).toMatchObject({ externalId: 'looked-up', keys: 2 });
      await here.ok('analytics', 'verifications', '--api', apiId, '--customer', id);
      await here.ok('key', 'verifications', '--customer', id);
      const { code } = await here.run(['key', 'update', String(keyId), '--customer', id, '--clear', 'customer']);
      expect(code).toBe(2);
    });

    test('keys are listed by page, by owner, or all at once', async () => {
      const { apiId: own } = (await here.json('api', 'create', 'pages')) as { apiId: string };
      const made: string[] = [];
      for (const owner of ['a', 'b', 'a']) {
        made.push(
          (await here.json('key', 'create', '--api', own, '--customer', owner, '--credits', '4'))['keyId'] as string,
        );
      }
      const first = await here.ok('key', 'list', '--api', own, '--limit', '2');
      expect(first).toMatch(/^ID +START +NAME +CUSTOMER +ENABLED +CREDITS +METERED +LIMIT +EXPIRES +CREATED AT\n/);
      expect(first).toContain(`\n2 of 3 keys. Next page: --cursor ${made[1]}. All pages: --all.\n`);
      const second = await here.json('key', 'list', '--api', own, '--limit', '2', '--cursor', made[1] ?? '');
      expect(second).toEqual({ keys: [expect.objectContaining({ id: made[2] })], total: 3 });
      const all = (await here.json('key', 'list', '--api', own, '--limit', '1', '--all')) as { keys: { id: string }[] };
      expect(all.keys.map(({ id }) => id)).toEqual(made);
      const owned = (await here.json('key', 'list', '--api', own, '--customer', 'a')) as { keys: { id: string }[] };
      expect(owned.keys.map(({ id }) => id)).toEqual([made[0] ?? '', made[2] ?? '']);
    });

    test('a deleted key is found by no verification', async () => {
      for (const flags of [[], ['--permanent']]) {
        const { keyId, key } = await createKey();
        expect(await here.ok('key', 'delete', keyId, ...flags, '--yes')).toBe(`Deleted ${keyId}.\n`);
        const { code, out } = await here.run(['key', 'verify', key]);
        expect([code, out]).toEqual([3, expect.stringMatching(/^valid +no\ncode +NOT_FOUND\n/)]);
      }
    });

    test('verifying spends, and ends with 3 when the key is not valid', async () => {
      const { keyId, key } = await createKey('--credits', '3', '--name', 'counted');
      const valid = await here.run(['key', 'verify'], { stdin: `${key}\n` });
      expect([valid.code, valid.err]).toEqual([0, '']);
      for (const line of ['code +VALID', `key id +${keyId}`, 'name +counted', 'credits +2'])
        expect(valid.out).toMatch(new RegExp(`^${line}$`, 'm'));
      const dear = await here.run(['key', 'verify', key, '--cost', '3', '--json']);
      expect([dear.code, JSON.parse(dear.out)]).toEqual([
        3,
        expect.objectContaining({ code: 'USAGE_EXCEEDED', remaining: 2 }),
      ]);
      const once = ['key', 'verify', key, '--cost', '2', '--idempotency-key', 'only_once_1', '--json'];
      expect(JSON.parse((await here.run(once)).out)).toMatchObject({ valid: true, remaining: 0 });
      expect(JSON.parse((await here.run(once)).out)).toMatchObject({ valid: true, remaining: 0 });
      expect((await here.run(['key', 'verify', key, '--api', 'api_other'])).out).toMatch(/^code +FORBIDDEN$/m);
    });

    test('a local limit counts across commands, and is shown with what is left of it', async () => {
      const { key } = await createKey('--limit', '2/366d');
      const verdicts = [
        await here.run(['key', 'verify', key]),
        await here.run(['key', 'verify', key]),
        await here.run(['key', 'verify', key]),
      ];
      expect(verdicts.map(({ code }) => code)).toEqual([0, 0, 3]);
      expect(verdicts[1]?.out).toMatch(/^ratelimit +default: 0 left of 2 in 366d, reset \d{4}-/m);
      expect(verdicts[2]?.out).toMatch(/^code +RATE_LIMITED$/m);
      expect(verdicts[2]?.out).toMatch(/^ratelimit +default: 0 left of 2 in 366d, reset [^,]+, exceeded$/m);
    });

    test('--client-ip is checked against the addresses of the key', async () => {
      const { key } = await createKey('--ip', '10.0.0.0/8');
      expect((await here.run(['key', 'verify', key, '--client-ip', '10.1.2.3'])).code).toBe(0);
      expect((await here.run(['key', 'verify', key])).out).toMatch(/^code +FORBIDDEN$/m);
      const told = await here.ok('key', 'verify', key, '--client-ip', '10.1.2.3', '--cost', '0', '--explain');
      expect(told).toMatch(/^explanation +address: passed\. 10\.1\.2\.3 is in/m);
    });

    test('an error of the service names the flags, one issue on each line, and has its code in JSON', async () => {
      const wrong = ['key', 'create', '--api', apiId, '--prefix', 'a b', '--ip', 'nowhere'];
      const { code, out, err } = await here.run(wrong);
      expect([code, out]).toEqual([1, '']);
      expect(err).toMatch(/^--prefix must be .*\n--ip \(number 1\) must be .*\n$/);
      const machine = await here.run([...wrong, '--json']);
      expect(JSON.parse(machine.err)).toEqual({
        error: {
          code: 'BAD_REQUEST',
          message: err.trimEnd(),
          issues: [expect.objectContaining({ path: 'prefix' }), expect.objectContaining({ path: 'ipAllowlist[0]' })],
        },
      });
    });

    test('a wrong root key, and an API key in its place, are refused in the same words', async () => {
      const unknown = await here.run(['api', 'list'], {
        environment: { KEYSTILE_ROOT_KEY: 'root_nobody_ever_made_this_one' },
      });
      expect(unknown).toEqual({
        code: 1,
        out: '',
        err: 'This root key is unknown. Check that it is complete, and that it is one of this service.\n',
      });
      const { key } = await createKey();
      const confused = await here.run(['api', 'list'], { environment: { KEYSTILE_ROOT_KEY: key } });
      expect(confused).toEqual(unknown);
    });

    test('a name cannot write to the terminal, in a table or in JSON', async () => {
      const name = 'a\u001b[2Jb\u009b31mc\u202ed\ne';
      const { keyId } = await createKey('--name', name);
      const shown = [
        await here.ok('key', 'get', keyId),
        await here.ok('key', 'list', '--api', apiId),
        await here.ok('key', 'get', keyId, '--json'),
      ];
      for (const text of shown) {
        expect(text).toContain('a\\u001b[2Jb\\u009b31mc\\u202ed\\');
        // oxlint-disable-next-line no-control-regex -- what must not be there
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
      }
      expect((JSON.parse(shown[2] ?? '') as { name: string }).name).toBe(name);
    });
  });
}

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(20_000);

interface Entry {
  readonly id: string;
  readonly time: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
}

for (const [title, make] of Object.entries(SITUATIONS)) {
  describe(title, () => {
    let here: Situation;
    let apiId: string;
    let keyId: string;
    beforeAll(async () => {
      here = await make();
      apiId = (await here.json('api', 'create', 'audited'))['apiId'] as string;
      keyId = (await here.json('key', 'create', '--api', apiId, '--name', 'first'))['keyId'] as string;
      await here.ok('key', 'update', keyId, '--disable');
    });
    afterAll(() => here[Symbol.asyncDispose]());

    const entries = async (...words: string[]): Promise<Entry[]> =>
      (await here.json('audit', ...words))['entries'] as Entry[];
    const actions = async (...words: string[]): Promise<string[]> =>
      (await entries(...words)).map(({ action }) => action);

    test('changes are listed newest first, with who, what and from where', async () => {
      const shown = await here.ok('audit', '--target', keyId);
      const lines = shown.split('\n');
      expect(lines[0]).toMatch(/^TIME +ACTOR +ACTION +TARGET +FROM +CHANGE$/);
      expect(lines[1]).toMatch(
        new RegExp(`^2.* UTC +rk_\\w+ +key\\.update +${keyId} +127\\.0\\.0\\.1 +enabled: true -> false$`),
      );
      expect(lines[2]).toMatch(
        new RegExp(` +key\\.create +${keyId} +127\\.0\\.0\\.1 +api id: "${apiId}", .*\\.\\.\\.$`),
      );
      expect(lines.length).toBe(4);
    });

    test('changes by the command line have the actor cli', async () => {
      const { rootKeyId } = await here.json('root-key', 'create', '--name', 'ci', '--right', 'api.*.read_api');
      await here.ok('root-key', 'revoke', rootKeyId as string, '--yes');
      const found = await entries('--target', rootKeyId as string);
      expect(found.map(({ actor, action }) => [actor, action])).toEqual([
        ['cli', 'rootKey.revoke'],
        ['cli', 'rootKey.create'],
      ]);
      expect(await here.ok('audit', '--target', rootKeyId as string)).toMatch(
        / cli +rootKey\.create +rk_\w+ +- +name: "ci"/,
      );
    });

    test('filters and pages reach the service; --json has the words of the API', async () => {
      expect(await actions('--action', 'api.create')).toEqual(['api.create']);
      const [created] = await entries('--action', 'api.create');
      expect(created).toMatchObject({
        id: expect.stringMatching(/^\d+$/),
        target: apiId,
        after: { name: 'audited' },
        origin: '127.0.0.1',
        requestId: expect.stringMatching(/^req_/),
      });
      const { time = 0, actor = '' } = created ?? {};
      expect(await actions('--actor', actor, '--until', String(time))).toEqual([]);
      expect((await actions('--actor', actor, '--since', String(time))).at(-1)).toBe('api.create');
      expect(await actions('--since', '2100-01-01')).toEqual([]);
      const first = (await here.json('audit', '--limit', '1', '--target', keyId)) as { cursor: string };
      expect(await actions('--limit', '1', '--target', keyId, '--cursor', first.cursor)).toEqual(['key.create']);
      expect(await here.ok('audit', '--limit', '1', '--target', keyId)).toEndWith(
        `\nNext page: --cursor ${first.cursor}. All pages: --all.\n`,
      );
      expect(await actions('--limit', '1', '--target', keyId, '--all')).toEqual(['key.update', 'key.create']);
    });

    test('an export has all entries of a filter, a line for each, as JSON or CSV; what was too long is a digest', async () => {
      const meta = { text: 'x'.repeat(2000) };
      await here.ok('key', 'update', keyId, '--meta', JSON.stringify(meta));
      const listed = await entries('--target', keyId, '--all');
      expect(
        (await here.ok('audit', 'export', '--target', keyId))
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as Entry),
      ).toEqual(listed);
      const rows = (await here.ok('audit', 'export', '--target', keyId, '--csv')).trimEnd().split('\r\n');
      expect(rows[0]).toBe('id,time,actor,action,target,before,after,origin,requestId,via');
      expect(rows.length).toBe(listed.length + 1);
      const [newest] = listed;
      const after = {
        meta: { sha256: new Bun.CryptoHasher('sha256').update(JSON.stringify(meta)).digest('hex'), bytes: 2011 },
      };
      expect(newest).toMatchObject({ after });
      const cell = `"${JSON.stringify(after).replaceAll('"', '""')}"`;
      expect(rows[1]).toBe(
        `${newest?.id},${newest?.time},${newest?.actor},key.update,${keyId},"{""meta"":{}}",${cell},127.0.0.1,${(newest as Entry & { requestId: string }).requestId},`,
      );
      expect(await here.ok('audit', '--target', keyId, '--limit', '1')).toContain(
        `meta: {} -> (not kept: 2011 bytes, SHA-256 ${after.meta.sha256.slice(0, 8)}...)`,
      );
      expect(await here.ok('audit', 'export', '--since', '2100-01-01')).toBe('');
      expect(await here.run(['audit', 'export', '--csv', '--json'])).toMatchObject({
        code: 2,
        out: '',
      });
    });

    test('a name cannot write to the terminal', async () => {
      await here.ok('key', 'update', keyId, '--name', 'a\u001b[2Jb\u202ec');
      const shown = await here.ok('audit', '--target', keyId, '--limit', '1');
      expect(shown).toContain('name: "first" -> "a\\u001b[2Jb\\u202ec"');
    });

    test('an error names the right that is missing', async () => {
      const { key } = await here.json('root-key', 'create', '--right', 'api.*.read_api');
      const environment = { KEYSTILE_ROOT_KEY: key as string };
      expect(await here.run(['audit'], { environment })).toEqual({
        code: 1,
        out: '',
        err: 'This root key lacks the right root.*.read_audit.\n',
      });
    });

    test('a wrong filter is an error that names it', async () => {
      expect((await here.run(['audit', '--since', 'yesterday'])).code).toBe(2);
      expect((await here.run(['audit', '--limit', '101'])).err).toBe(
        '--limit must be a whole number from 1 to 100, got 101.\n',
      );
    });
  });
}

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(20_000);

for (const [title, make] of Object.entries(SITUATIONS)) {
  describe(title, () => {
    let here: Situation;
    let keyId: string;
    beforeAll(async () => {
      here = await make();
      const apiId = (await here.json('api', 'create', 'used'))['apiId'] as string;
      const made = await here.json('key', 'create', '--api', apiId, '--credits', '100');
      keyId = made['keyId'] as string;
      await here.ok('key', 'verify', made['key'] as string);
      await here.ok('key', 'create', '--api', apiId, '--credits', '5');
    });
    afterAll(() => here[Symbol.asyncDispose]());

    test('one holder by day, also the days on which nothing happened, and the sum', async () => {
      const lines = (await here.ok('usage', '--key', keyId)).split('\n');
      expect(lines[0]).toMatch(/^DAY +SPENT$/);
      // The time a week ago is in the first of eight days.
      expect(lines.slice(1, -2).every((line) => /^\d{4}-\d\d-\d\d {2} {4}[01]$/.test(line))).toBe(true);
      expect(lines.length - 3).toBe(8);
      expect(lines.at(-2)).toBe('Sum: spent 1, granted 0, refilled 0, adjusted 100, expired 0. Balance: 99.');
    });

    test('only the days that begin before --until, and without --since the week before it', async () => {
      const days = async (...words: string[]): Promise<string[]> => {
        const lines = (await here.ok('usage', '--key', keyId, ...words)).split('\n');
        return lines.slice(1, -2).map((line) => line.slice(0, 10));
      };
      expect(await days('--until', '2026-01-03', '--since', '2026-01-01')).toEqual(['2026-01-01', '2026-01-02']);
      const week = await days('--until', '2026-01-03');
      expect([week.length, week[0], week.at(-1)]).toEqual([7, '2025-12-27', '2026-01-02']);
      const { rows } = (await here.json('usage', '--key', keyId, '--until', '2026-01-03')) as { rows: unknown[] };
      expect(rows).toEqual([]);
      expect((await days('--until', '2999-01-01', '--since', '1d')).length).toBe(2);
      // A later time is no longer ago: the week ends now.
      expect((await days('--until', '2999-01-01')).length).toBe(8);
    });

    test('those who spent the most, and all rows as JSON and CSV', async () => {
      const shown = await here.ok('usage', '--top', '1', '--since', '1d');
      expect(shown).toBe(`WHO${' '.repeat(keyId.length - 3)}  SPENT\n${keyId}      1\nSum of all 1: spent 1.\n`);
      const { rows } = (await here.json('usage', '--key', keyId)) as { rows: Record<string, unknown>[] };
      expect(rows.at(-1)).toMatchObject({ keyId, closing: 99 });
      const [heading, first] = (await here.ok('usage', '--key', keyId, '--csv')).split('\r\n');
      expect(heading).toBe(
        'keyId,identityId,externalId,start,end,opening,granted,refilled,adjusted,spent,expired,closing,held',
      );
      expect(first).toMatch(new RegExp(`^${keyId},,,\\d+,\\d+,0,0,0,100,[01],0,\\d+,0$`));
      expect(await here.ok('usage', '--since', '2020-01-01', '--csv')).toContain(keyId);
    });

    test('a wrong flag is named', async () => {
      const wrong = async (...words: string[]) => {
        const { code, err } = await here.run(['usage', ...words]);
        return [code, err.split('\n')[0]];
      };
      expect(await wrong('--since', 'yesterday')).toEqual([
        2,
        '--since must be a time span such as 30d or 24h, unix milliseconds or a date such as 2030-12-31 (midnight UTC) or 2030-12-31T18:00:00Z, got "yesterday".',
      ]);
      expect(await wrong('--since', '2999-01-01')).toEqual([2, '--since must be in the past, got "2999-01-01".']);
      expect(await wrong('--since', '2026-01-02', '--until', '2026-01-02')).toEqual([
        2,
        '--until must be after --since, got "2026-01-02".',
      ]);
      expect(await wrong('--top', '0')).toEqual([2, '--top must be at least 1, got "0".']);
      expect(await wrong('--top', '3', '--key', keyId)).toEqual([
        2,
        '--top is for many customers and keys. Leave out --top or --key.',
      ]);
      expect(await wrong('--plan', 'a', '--customer', 'b')).toEqual([2, 'Give only one of --customer and --plan.']);
      expect(await wrong('--csv', '--json')).toEqual([2, expect.stringContaining('Give --csv or --json, not both.')]);
      expect(await wrong('--customer', 'nobody')).toEqual([
        1,
        'There is no customer with this id, or this root key may not see it.',
      ]);
    });
  });
}
