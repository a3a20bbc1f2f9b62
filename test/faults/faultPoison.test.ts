import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { FaultLab } from '../support/cluster/faultLab.ts';
import { FaultNode } from '../support/cluster/faultNode.ts';

const STRICT = { ratelimit: { async: false, limit: 5, duration: 60_000 } };
const LOCAL = { ratelimit: { async: true, limit: 5, duration: 60_000 } };
const REFILL = { remaining: 5, refill: { interval: 'monthly', amount: 5 } };

/** How the row of a key is spoilt, by what kind of key. */
const POISONS: readonly (readonly [what: string, fields: Readonly<Record<string, unknown>>, set: string])[] = [
  ['credits that are no JSON', { remaining: 5 }, `credits = '{bad json'`],
  ['credits that are nothing', { remaining: 5 }, `credits = 'null'`],
  ['a counter that is no number', { remaining: 5 }, `credits = '{"account":"1","refill":null}'`],
  ['a refill of infinitely much', REFILL, `credits = replace(credits, '"amount":5', '"amount":1e400')`],
  ['a refill in no time zone', REFILL, `credits = replace(credits, 'UTC', 'Mars/Olympus')`],
  ['a refill on no day', REFILL, `credits = regexp_replace(credits, '"refillDay":[^,}]*', '"refillDay":"x"')`],
  ['a negative limit', STRICT, `limits = replace(limits, '"limit":5', '"limit":-5')`],
  ['an infinite limit', STRICT, `limits = replace(limits, '"limit":5', '"limit":1e400')`],
  ['a limit of half a request', LOCAL, `limits = replace(limits, '"limit":5', '"limit":5.5')`],
  ['a window without length', LOCAL, `limits = replace(limits, '60000', '0')`],
  ['limits that are no list', LOCAL, `limits = '{}'`],
  ['a limit that is nothing', LOCAL, `limits = '[null]'`],
  ['meta that is a list', {}, `meta = '[1]'`],
  ['addresses that are numbers', {}, `ip_allowlist = '[7]'`],
  ['a revision past all numbers', { remaining: 5 }, `revision = 9223372036854775807`],
];

let lab: FaultLab;
/** Makes the keys. */
let maker: FaultNode;
/** Has never seen them. */
let node: FaultNode;

beforeAll(async () => {
  lab = await FaultLab.start();
  maker = await FaultNode.start({ url: lab.url });
  node = await FaultNode.start({ url: lab.url });
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await maker[Symbol.asyncDispose]();
  await lab[Symbol.asyncDispose]();
});

async function poisoned(fields: Readonly<Record<string, unknown>>, set: string) {
  const made = await maker.createKey(fields);
  const rows = await lab.query(`UPDATE keys SET ${set} WHERE id = $1 RETURNING id`, [made.keyId]);
  expect(rows.length).toBe(1);
  return made;
}

describe('rows that someone has spoilt', () => {
  test('each such key answers an error that names it; those of the same lookup and batch go on', async () => {
    const bad = await Promise.all(POISONS.map(([, fields, set]) => poisoned(fields, set)));
    const good = await Promise.all([{ remaining: 50 }, STRICT, LOCAL, {}].map((fields) => maker.createKey(fields)));
    for (let round = 0; round < 3; round++) {
      const mixed = Promise.all(good.map(({ key }) => node.verify(key)));
      const answers = await Promise.all(bad.map(({ key }) => node.verify(key)));
      for (const [i, { status, code, body }] of answers.entries()) {
        const what = POISONS[i]?.[0];
        const { message } = (body['error'] ?? { message: '' }) as { message: string };
        const isNamed = message.includes(bad[i]?.keyId ?? '?');
        expect({ what, status, code, isNamed }).toEqual({
          what,
          status: 500,
          code: 'INTERNAL_SERVER_ERROR',
          isNamed: true,
        });
      }
      expect((await mixed).map(({ valid }) => valid)).toEqual(good.map(() => true));
    }
    expect(await node.verify(good[0]?.key ?? '')).toMatchObject({ valid: true, body: { remaining: 46 } });
  });

  test('a key whose counter is not there, or belongs to another revision, is unavailable and named; nothing is spent', async () => {
    const gone = await poisoned({ remaining: 5 }, `credits = '{"account":999999,"refill":null}'`);
    const older = await poisoned({ remaining: 5 }, 'revision = 0');
    for (const { key, keyId } of [gone, older]) {
      const { status, code, body } = await node.verify(key);
      expect([status, code]).toEqual([503, 'UNAVAILABLE']);
      expect(JSON.stringify(body)).toContain(keyId);
    }
    const rows = await lab.query(
      'SELECT a.value FROM accounts a JOIN keys k ON k.credits_account = a.id WHERE k.id = ANY ($1)',
      [[gone.keyId, older.keyId]],
    );
    expect(rows.map(({ value }) => Number(value))).toEqual([5, 5]);
  });

  test('a key with an expiry before all time is never valid, also when it is known already', async () => {
    const { key } = await poisoned({}, 'expires_at_ms = -1');
    const codes = [];
    for (let round = 0; round < 3; round++) codes.push((await node.verify(key)).code);
    expect(codes).not.toContain('VALID');
  });

  test('a balance out of range, or none, cannot be stored: the database refuses it', async () => {
    const { keyId } = await maker.createKey({ remaining: 5 });
    const set = (value: string) =>
      lab
        .query(`UPDATE accounts SET value = ${value} WHERE id = (SELECT credits_account FROM keys WHERE id = $1)`, [
          keyId,
        ])
        .catch((error: unknown) => (error as { code: string }).code);
    const [CHECK, NOT_NULL] = ['23514', '23502'];
    expect([await set('-1'), await set('9007199254740992'), await set('NULL')]).toEqual([CHECK, CHECK, NOT_NULL]);
    expect(await maker.remaining(keyId)).toBe(5);
  });

  test('a spoilt root key may do nothing; others go on', async () => {
    const spoilt = await maker.createKey({});
    const other = await FaultNode.start({ url: lab.url });
    try {
      const made = await other.createKey({});
      await lab.query(`UPDATE root_keys SET rights = '{bad json'
        WHERE id = (SELECT id FROM root_keys ORDER BY id LIMIT 1)`);
      // Root keys are kept in memory: only a node that has not seen it reads the row.
      await lab.query('UPDATE change_counter SET number = number + 1');
      await lab.query(`INSERT INTO changes SELECT number, 0, '{}', true FROM change_counter`);
      await maker.storage.freshness.confirm();
      const answer = await maker.call('/v1/keys.getKey', { keyId: spoilt.keyId });
      expect([401, 403, 500]).toContain(answer.status);
      expect((await other.call('/v1/keys.getKey', { keyId: made.keyId })).status).toBe(200);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });
});
