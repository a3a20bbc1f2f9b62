import { expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { customerCalls, type Fields, usageCalls } from './usageCalls.ts';

const using = reuseService();
const { call, refused } = usageCalls(using);
const { plan, holder } = customerCalls(using);

const absent = (what: string): string => `There is no ${what}, or this root key may not see it.`;

async function rootKeyWith(...rights: string[]): Promise<string> {
  return (await using().engine.rootKeys.create({ name: 'usage', rights, expiresAtMs: null })).secret;
}

test('a key needs the right on its api, an identity and a plan on themselves, all on all; what cannot be read is not there', async () => {
  const planId = await plan({ remaining: 5 });
  const { externalId, identityId } = await holder(planId);
  const apiId = await using().createApi();
  const { keyId } = await using().createKey({ apiId, remaining: 5 });
  const rights = {
    api: `api.${apiId}.read_usage`,
    identity: `identity.${identityId}.read_usage`,
    plan: `plan.${planId}.read_usage`,
  };
  const queries: Record<string, Fields> = { api: { keyId }, identity: { externalId }, plan: { planId } };
  const words = { api: `key "${keyId}"`, identity: 'customer with this externalId', plan: `plan "${planId}"` };
  for (const [name, query] of Object.entries(queries)) {
    for (const [held, right] of Object.entries(rights)) {
      const rootKey = await rootKeyWith(right);
      for (const format of ['json', 'csv']) {
        const [status, message] = await refused({ ...query, format }, { rootKey });
        const expected =
          name === held ? [200, undefined] : [403, `This root key lacks the right ${name}.*.read_usage.`];
        expect([name, held, status, message]).toEqual([name, held, ...expected]);
      }
    }
    const other = await rootKeyWith(`${name}.${name}_1.read_usage`);
    expect([name, ...(await refused(query, { rootKey: other }))]).toEqual([
      name,
      404,
      absent(words[name as keyof typeof words]),
    ]);
  }
  const all = ['api.*.read_usage', 'identity.*.read_usage'];
  expect((await call({ all: true }, { rootKey: await rootKeyWith(...all) })).status).toBe(200);
  for (const right of all) {
    const missing = all.find((each) => each !== right);
    expect(await refused({ all: true }, { rootKey: await rootKeyWith(right, rights.plan) })).toEqual([
      403,
      `This root key lacks the right ${missing}.`,
    ]);
  }
});

test('of a key that was deleted for good the api is forgotten: reading it needs the right on every api', async () => {
  const apiId = await using().createApi();
  const { keyId } = await using().createKey({ apiId, remaining: 5 });
  const [ofApi, ofAll] = [await rootKeyWith(`api.${apiId}.read_usage`), await rootKeyWith('api.*.read_usage')];
  await using().ok('/v1/keys.deleteKey', { keyId });
  expect((await call({ keyId }, { rootKey: ofApi })).status).toBe(200);
  await using().ok('/v1/keys.deleteKey', { keyId, permanent: true });
  expect((await call({ keyId }, { rootKey: ofApi })).status).toBe(404);
  expect((await call({ keyId }, { rootKey: ofAll })).body.rows).toHaveLength(1);
});

test('an identity is no key, and a key no identity', async () => {
  const { identityId } = await holder(await plan({ remaining: 5 }));
  const { keyId } = await using().createKey({ remaining: 5 });
  expect((await call({ keyId: identityId })).status).toBe(404);
  expect((await call({ identityId: keyId })).status).toBe(404);
});

test('bad input is refused with what was given', async () => {
  const { keyId } = await using().createKey({ remaining: 5 });
  const list = 'keyId, externalId, identityId, planId and all: true';
  const cases: [Fields, number, string][] = [
    [{}, 400, `give one of ${list}`],
    [{ all: false }, 400, `give one of ${list}`],
    [{ keyId, all: true }, 400, `give only one of ${list}, got keyId and all`],
    [{ keyId, externalId: 'a', planId: 'b' }, 400, `give only one of ${list}, got keyId and externalId and planId`],
    [{ keyId, start: 5, end: 5 }, 400, 'end must be after start (5), got 5'],
    [{ keyId, start: 6, end: 5, format: 'csv' }, 400, 'end must be after start (6), got 5'],
    [{ keyId, per: 'hour' }, 400, 'per must be one of "day", "period", got "hour"'],
    [{ keyId, format: 'xml' }, 400, 'format must be one of "json", "csv", "ndjson", got "xml"'],
    [{ keyId, limit: 0 }, 400, 'limit must be a whole number from 1 to 1000, got 0'],
    [{ keyId, limit: 1001 }, 400, 'limit must be a whole number from 1 to 1000, got 1001'],
    [
      { keyId, format: 'csv', limit: 5 },
      400,
      'limit is for pages of JSON. The format "csv" answers all rows: leave limit out',
    ],
    [
      { keyId, format: 'ndjson', cursor: keyId },
      400,
      'cursor is for pages of JSON. The format "ndjson" answers all rows: leave cursor out',
    ],
    [{ keyId: 'key_1' }, 404, absent('key "key_1"')],
    [{ planId: 'plan_1' }, 404, absent('plan "plan_1"')],
    [{ externalId: 'nobody' }, 404, absent('customer with this externalId')],
    [{ identityId: 'id_1' }, 404, absent('customer "id_1"')],
  ];
  for (const [query, status, message] of cases)
    expect([query, ...(await refused(query))]).toEqual([query, status, message]);
});
