import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';

import { type Situation, SITUATIONS } from './cliRun.ts';

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
