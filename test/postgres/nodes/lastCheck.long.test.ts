import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';

import { type SilentPair, useSilentPair } from '../../support/silentPair.ts';

setDefaultTimeout(60_000);

const usePair = useSilentPair();
let pair: SilentPair;
let made = 0;

beforeAll(() => {
  pair = usePair();
});

interface Holder {
  readonly key: string;
  readonly keyId: string;
  readonly identityId: string | null;
  readonly planId: string | null;
}

interface Kind {
  readonly key?: object;
  readonly identity?: object;
  readonly plan?: object;
}

const STRICT = { name: 'strict', limit: 100, duration: 3_600_000, async: false };

/** Spends that records decide whose revision no charge names. */
const KINDS: Readonly<Record<string, Kind>> = {
  'credits of the identity': { identity: { remaining: 100 } },
  'credits of a key with an identity': { key: { remaining: 100 }, identity: {} },
  'credits of an identity on a plan': { identity: {}, plan: { remaining: 100 } },
  'a strict limit of the plan of an identity': { identity: {}, plan: { ratelimits: [STRICT] } },
  'credits of a key on a plan': { plan: { remaining: 100 } },
  'a strict limit of the plan of a key': { plan: { ratelimits: [STRICT] } },
};

type Change = readonly [code: string, change: (holder: Holder) => Promise<unknown>, concerns?: (kind: Kind) => boolean];

const CHANGES: Readonly<Record<string, Change>> = {
  'the key is disabled': ['DISABLED', ({ keyId }) => changed('keys.updateKey', { keyId, enabled: false })],
  'the key is deleted': ['NOT_FOUND', ({ keyId }) => changed('keys.deleteKey', { keyId })],
  'the identity is disabled': [
    'DISABLED',
    ({ identityId }) => changed('identities.updateIdentity', { identityId, enabled: false }),
    ({ identity }) => identity !== undefined,
  ],
  'the plan has a limit that is used up': [
    'RATE_LIMITED',
    ({ planId }) => changed('plans.updatePlan', { planId, ratelimits: [{ ...STRICT, limit: 2 }] }),
    ({ plan }) => plan !== undefined && 'ratelimits' in plan,
  ],
};

const changed = (path: string, body: object) => pair.changing.ok(path, body);

async function make({ key: fields, identity, plan }: Kind): Promise<Holder> {
  const number = made++;
  const { apiId } = await changed('apis.createApi', { name: `api ${number}` });
  const externalId = `user_${number}`;
  const owner = identity && (await changed('identities.createIdentity', { externalId, ...identity }));
  const planned = plan && (await changed('plans.createPlan', { name: `plan ${number}`, ...plan }));
  const created = await changed('keys.createKey', { apiId, ...(identity && { externalId }), ...fields });
  const [identityId, planId] = [owner?.identityId ?? null, planned?.planId ?? null];
  const holder = identityId === null ? { keyId: created.keyId } : { identityId };
  if (planId !== null) await changed('plans.assign', { ...holder, planId });
  return { ...created, identityId, planId };
}

async function seeLastChange(): Promise<void> {
  const [row] = await pair.query('SELECT token FROM change_counter');
  pair.silent.see(String(row?.['token']));
}

/** The records behind a key get other revisions, and the counter of changes does not tell. Only a database in which somebody writes by hand does this. */
async function reviseSecretly({ keyId, identityId, planId }: Holder, by: number): Promise<void> {
  await pair.query(`UPDATE keys SET revision = revision + ${by} WHERE id = '${keyId}' AND credits IS NULL`);
  await pair.query(`UPDATE identities SET revision = revision + ${by} WHERE id = '${identityId}' AND credits IS NULL`);
  await pair.query(`UPDATE plans SET revision = revision + ${by} WHERE id = '${planId}'`);
}

const verify = ({ key }: Holder) => pair.silent.ok('keys.verifyKey', { key });

describe.each(Object.entries(KINDS))('a node that compared the records of %s once', (_name, kind) => {
  test('does not compare them again while there is no change', async () => {
    const holder = await make(kind);
    await seeLastChange();
    expect(await verify(holder)).toMatchObject({ valid: true });
    await reviseSecretly(holder, 1);
    // Only a comparison would find out, and the records would have to be read again.
    expect(await verify(holder)).toMatchObject({ valid: true });
    await reviseSecretly(holder, -1);
  });

  const fitting = Object.entries(CHANGES).filter(([, [, , concerns]]) => concerns?.(kind) !== false);

  test.each(fitting)('sees at once that %s', async (_change, [code, change]) => {
    const holder = await make(kind);
    await seeLastChange();
    expect([(await verify(holder)).valid, (await verify(holder)).valid]).toEqual([true, true]);
    await change(holder);
    expect(await verify(holder)).toMatchObject({ valid: false, code });
  });

  test('compares them again after a change of other records, and goes on', async () => {
    const [holder, other] = [await make(kind), await make(kind)];
    await seeLastChange();
    await verify(holder);
    await changed('keys.updateKey', { keyId: other.keyId, name: 'another' });
    expect([(await verify(holder)).valid, (await verify(holder)).valid]).toEqual([true, true]);
    await changed('keys.updateKey', { keyId: holder.keyId, enabled: false });
    expect(await verify(holder)).toMatchObject({ code: 'DISABLED' });
  });

  test('does not compare them again because there are new records', async () => {
    const holder = await make(kind);
    await seeLastChange();
    await verify(holder);
    await make(kind.plan === undefined ? kind : {});
    await reviseSecretly(holder, 1);
    expect(await verify(holder)).toMatchObject({ valid: true });
    await reviseSecretly(holder, -1);
  });

  test('compares them again when a change has the number of another one', async () => {
    const holder = await make(kind);
    await seeLastChange();
    await verify(holder);
    await changed('keys.updateKey', { keyId: holder.keyId, enabled: false });
    // As after a failover to a standby that never had the change before this one.
    await pair.query('UPDATE change_counter SET number = number - 1');
    expect(await verify(holder)).toMatchObject({ code: 'DISABLED' });
    await pair.query('UPDATE change_counter SET number = number + 1');
  });
});
