import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { AuditSetup, type Entry } from './auditSetup.ts';

let setup: AuditSetup;
/** Apis that were made, one a second, the oldest first. */
const apiIds: string[] = [];
let firstAtMs = 0;

beforeAll(async () => {
  setup = await AuditSetup.start();
  firstAtMs = setup.service.clock.nowMs() + 1000;
  for (let i = 0; i < 5; i++) {
    setup.service.clock.advance(1000);
    apiIds.push(await setup.api());
  }
});

afterAll(async () => {
  await setup.service.close();
});

const targets = (entries: readonly Entry[]): string[] => entries.map(({ target }) => target);
const newestFirst = (): string[] => apiIds.toReversed();

async function asked(body: object, rootKey?: string) {
  const answer = await setup.service.call('/v1/audit.listEntries', body, rootKey === undefined ? {} : { rootKey });
  return { status: answer.status, ...answer.body.error };
}

describe('audit.listEntries', () => {
  test('lists newest first; ids are numbers as strings and only grow', async () => {
    const entries = await setup.entries({ action: 'api.create' });
    expect(targets(entries)).toEqual(newestFirst());
    const ids = entries.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    expect(entries.map(({ time }) => time)).toEqual([4, 3, 2, 1, 0].map((i) => firstAtMs + i * 1000));
  });

  test('pages by cursor, without a gap and without one twice; the last page has none', async () => {
    const { service } = setup;
    const all = await setup.entries();
    const found: Entry[] = [];
    let body: { limit: number; cursor?: string } = { limit: 2 };
    for (;;) {
      const page = await service.ok('/v1/audit.listEntries', body);
      expect(Object.keys(page).every((name) => ['entries', 'cursor'].includes(name))).toBe(true);
      found.push(...page.entries);
      if (page.cursor === undefined) break;
      expect([page.entries.length, page.cursor]).toEqual([2, page.entries[1].id]);
      body = { limit: 2, cursor: page.cursor };
    }
    expect(found).toEqual(all);
    expect((await service.ok('/v1/audit.listEntries', { limit: all.length })).cursor).toBeUndefined();
  });

  test('filters by actor, action and target, alone and together', async () => {
    const [first = '', second = ''] = apiIds;
    await setup.ok('apis.updateApi', { apiId: first, name: 'another' });
    expect((await setup.entries({ target: first })).map(({ action }) => action)).toEqual(['api.update', 'api.create']);
    expect(targets(await setup.entries({ target: first, action: 'api.create' }))).toEqual([first]);
    expect(await setup.entries({ target: second, action: 'api.update' })).toEqual([]);
    const actor = (await setup.entries({ target: first }))[0]?.actor;
    expect(targets(await setup.entries({ actor, action: 'api.create' }))).toEqual(newestFirst());
    expect((await setup.entries({ actor: 'system' })).map(({ action }) => action)).toEqual(['rootKey.create']);
    expect(await setup.entries({ actor: 'rk_none' })).toEqual([]);
  });

  test('start is the first millisecond that counts, end the first that does not', async () => {
    const between = async (start: number | null, end: number | null) =>
      targets(
        await setup.entries({
          action: 'api.create',
          ...(start === null ? {} : { start: firstAtMs + start }),
          ...(end === null ? {} : { end: firstAtMs + end }),
        }),
      );
    const [a = '', b = '', c = '', d = '', e = ''] = apiIds;
    expect(await between(1000, 3000)).toEqual([c, b]);
    expect(await between(1001, 3001)).toEqual([d, c]);
    expect(await between(3000, null)).toEqual([e, d]);
    expect(await between(null, 1000)).toEqual([a]);
    expect(await between(2000, 2001)).toEqual([c]);
    expect(await between(2001, 2002)).toEqual([]);
  });

  test('answers GET with the same as query parameters', async () => {
    const query = `limit=1&action=api.create&start=${firstAtMs}&end=${firstAtMs + 2000}`;
    const got = await setup.service.call(`/v1/audit.listEntries?${query}`, undefined, { method: 'GET' });
    expect([got.status, targets(got.body.entries)]).toEqual([200, [apiIds[1] ?? '']]);
    expect(got.body.cursor).toBe(got.body.entries[0].id);
  });

  test('needs the right to read it; rights on apis do not count', async () => {
    const make = async (...rights: string[]) =>
      (await setup.service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;
    expect(await asked({}, await make('api.*.read_api', 'root.*.read_root_key'))).toMatchObject({
      status: 403,
      code: 'INSUFFICIENT_PERMISSIONS',
      message: 'This root key lacks the right root.*.read_audit.',
    });
    expect((await asked({}, await make('root.*.read_audit'))).status).toBe(200);
  });

  test.each<[string, object, string]>([
    ['a limit of 0', { limit: 0 }, 'limit'],
    ['a limit of 101', { limit: 101 }, 'limit'],
    ['a cursor that is no number', { cursor: 'key_1' }, 'cursor'],
    ['a cursor past all numbers', { cursor: '9999999999999999' }, 'cursor'],
    ['a cursor of another type', { cursor: 5 }, 'cursor'],
    ['a start that is no time', { start: 'yesterday' }, 'start'],
    ['a negative end', { end: -1 }, 'end'],
    ['an empty actor', { actor: '' }, 'actor'],
    ['an unknown filter', { targets: 'x' }, 'targets'],
  ])('%s is a 400', async (_name, body, path) => {
    const { status, issues } = await asked(body);
    expect([status, issues.map((issue: { path: string }) => issue.path)]).toEqual([400, [path]]);
  });

  test('what is kept stays as it was: reading, and a restart, change nothing', async () => {
    const before = await setup.entries();
    await setup.service.restart();
    expect(await setup.entries()).toEqual(before);
  });
});
