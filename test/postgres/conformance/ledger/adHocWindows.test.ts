import { expect, test } from 'bun:test';

import { PRUNE_GRACE_MS, type Storage, type WindowCursor } from '../../../../src/storage/port/storage.ts';
import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../../../src/core/bounds.ts';
import { describePort } from '../adapters.ts';
import { spendOf, stateOf, strict } from '../samples.ts';
import { AppError } from '../../../../src/core/errors.ts';
import { COMMAND_LINE } from '../../../../src/engine/admin/change/requireRight.ts';
import type { KeyPatch } from '../../../../src/engine/admin/createKeys.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import type { LimitRequest } from '../../../../src/engine/verify/request.ts';
import { engineOn } from '../engineOn.ts';

const MINUTE_MS = 60_000;

function open(storage: Storage, name: string, owner = 'key_1', durationMs = MINUTE_MS): Promise<number | null> {
  return storage.ledger.openWindow({ owner, name, durationMs }, MAX_ADHOC_LIMITS_PER_OWNER);
}

function take(storage: Storage, account: number | null, limit = 10) {
  return storage.ledger.spend(spendOf(strict(account ?? 0, 1, limit, MINUTE_MS, 0)));
}

/** As many live windows of key_1 as named: opened, and counted in. */
async function fill(storage: Storage, count: number): Promise<void> {
  const accounts = await Promise.all(Array.from({ length: count }, (_, i) => open(storage, `live ${i}`)));
  const outcomes = await Promise.all(accounts.map((account) => take(storage, account)));
  expect(outcomes.filter(({ status }) => status === 'taken').length).toBe(count);
}

describePort('ad-hoc windows', (setup) => {
  test('the same name is the same account; another owner, name or duration is another', async () => {
    const { storage } = setup();
    const account = await open(storage, 'a');
    expect(await open(storage, 'a')).toBe(account);
    const others = [
      await open(storage, 'b'),
      await open(storage, 'a', 'key_2'),
      await open(storage, 'a', 'key_1', 2 * MINUTE_MS),
    ];
    expect(new Set([account, ...others]).size).toBe(4);
    await setup().reopen();
    expect(await open(setup().storage, 'a')).toBe(account);
  });

  test('many that open the same name at once share one account, and it holds one count', async () => {
    const { storage } = setup();
    const accounts = await Promise.all(Array.from({ length: 50 }, () => open(storage, 'a')));
    expect(new Set(accounts).size).toBe(1);
    const outcomes = await Promise.all(accounts.map((account) => take(storage, account, 7)));
    expect(outcomes.filter(({ status }) => status === 'taken').length).toBe(7);
  });

  test('an owner has at most 100 live ones: the next is null, also after a reopen, and other owners are not affected', async () => {
    const { storage } = setup();
    await fill(storage, MAX_ADHOC_LIMITS_PER_OWNER);
    expect(await open(storage, 'one more')).toBeNull();
    expect(await open(storage, 'live 0')).not.toBeNull();
    expect(await open(storage, 'one more', 'key_2')).not.toBeNull();
    await setup().reopen();
    expect(await open(setup().storage, 'one more')).toBeNull();
  });

  test('the bound holds when the last ones are opened at the same time', async () => {
    const { storage } = setup();
    await fill(storage, MAX_ADHOC_LIMITS_PER_OWNER - 1);
    const accounts = await Promise.all(Array.from({ length: 20 }, (_, i) => open(storage, `race ${i}`)));
    const outcomes = await Promise.all(accounts.map((account) => take(storage, account)));
    expect(outcomes.filter(({ status }) => status === 'taken').length).toBeLessThanOrEqual(1);
  });

  test('ended windows make room, and an ended one that is opened again begins at 0', async () => {
    const { storage, clock } = setup();
    await fill(storage, MAX_ADHOC_LIMITS_PER_OWNER);
    clock.advance(MINUTE_MS - 1);
    expect(await open(storage, 'one more')).toBeNull();
    clock.advance(1);
    const account = await open(storage, 'one more');
    expect(await take(storage, account)).toMatchObject({ status: 'taken', charges: [{ left: 9 }] });
    expect(await take(storage, await open(storage, 'live 7'))).toMatchObject({ charges: [{ left: 9 }] });
  });

  test('pruning removes the ended ones: a spend on one of them is stale, and its name opens a new one', async () => {
    const { storage, clock } = setup();
    const ended = await open(storage, 'ended');
    await take(storage, ended);
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    const live = await open(storage, 'live');
    await take(storage, live);
    await storage.ledger.prune();
    expect((await take(storage, ended)).status).toBe('stale');
    expect(await stateOf(storage, ended ?? 0)).toBeUndefined();
    expect(await take(storage, live)).toMatchObject({ status: 'taken', charges: [{ left: 8 }] });
    const again = await open(storage, 'ended');
    expect(again).not.toBe(ended);
    expect(await take(storage, again)).toMatchObject({ status: 'taken', charges: [{ left: 9 }] });
  });

  test('pruning goes through any number of them', async () => {
    const { storage, clock } = setup();
    const owners = Array.from({ length: 1200 }, (_, i) => `key_${i}`);
    const accounts: Awaited<ReturnType<typeof open>>[] = [];
    // In parts: an adapter refuses what has to wait for too long.
    for (let i = 0; i < owners.length; i += 100) {
      const opened = await Promise.all(owners.slice(i, i + 100).map((owner) => open(storage, 'a', owner)));
      await Promise.all(opened.map((account) => take(storage, account)));
      accounts.push(...opened);
    }
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    await storage.ledger.prune();
    const states = await storage.ledger.read(accounts.map((account) => account ?? 0));
    expect(states.filter((state) => state !== undefined)).toEqual([]);
  });

  test('a spend that arrives while ended windows are being pruned is stale, or counts', async () => {
    const { storage, clock } = setup();
    await storage.ledger.prune();
    const owners = Array.from({ length: 400 }, (_, i) => `key_${i}`);
    // In parts: an adapter refuses what has to wait for too long.
    const openAll = async (): Promise<Awaited<ReturnType<typeof open>>[]> => {
      const opened: Awaited<ReturnType<typeof open>>[] = [];
      for (let i = 0; i < owners.length; i += 50) {
        opened.push(...(await Promise.all(owners.slice(i, i + 50).map((owner) => open(storage, 'a', owner)))));
      }
      return opened;
    };
    const accounts = await openAll();
    await Promise.all(accounts.map((account) => take(storage, account, 1)));
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    const pruning = storage.ledger.prune();
    const first = [];
    for (const account of accounts) {
      first.push(take(storage, account, 1));
      // The next one arrives in another turn of the event loop: at another point of the pruning.
      if (first.length % 4 === 0) await new Promise((turn) => setImmediate(turn));
    }
    await pruning;
    const wereTaken = (await Promise.all(first)).map(({ status }) => (status === 'taken' ? 1 : 0));
    const reopened = await openAll();
    const second = await Promise.all(reopened.map((account) => take(storage, account, 1)));
    const takenTwice = owners.filter((_, i) => wereTaken[i] === 1 && second[i]?.status === 'taken');
    expect(takenTwice).toEqual([]);
    expect(owners.filter((_, i) => wereTaken[i] === 0 && second[i]?.status !== 'taken')).toEqual([]);
  });
});

const openOf = (storage: Storage, name: string, max: number | null, owner = 'ns_1') =>
  storage.ledger.openWindow({ owner, name, durationMs: MINUTE_MS }, max);

const takeOne = (storage: Storage, account: number | null) =>
  storage.ledger.spend(spendOf(strict(account ?? 0, 1, 10, MINUTE_MS, 0)));

describePort('windows of an owner without a bound, and their count', (setup) => {
  test('without a maximum an owner opens as many as it likes, each a window of its own', async () => {
    const { storage } = setup();
    const names = Array.from({ length: 3 * MAX_ADHOC_LIMITS_PER_OWNER }, (_, i) => `user ${i}`);
    const accounts = await Promise.all(names.map((name) => openOf(storage, name, null)));
    expect(new Set(accounts).size).toBe(names.length);
    expect(accounts).not.toContain(null);
    const outcomes = await Promise.all(accounts.map((account) => takeOne(storage, account)));
    expect(outcomes.every((outcome) => outcome.status === 'taken' && outcome.charges[0]?.left === 9)).toBe(true);
    expect(await Promise.all(names.map((name) => openOf(storage, name, null)))).toEqual(accounts);
  });

  test('the maximum is that of the call: what was opened without one counts against one that has it', async () => {
    const { storage } = setup();
    for (const name of ['a', 'b', 'c']) await openOf(storage, name, null);
    expect(await openOf(storage, 'd', 3)).toBeNull();
    expect(await openOf(storage, 'a', 3)).not.toBeNull();
    expect(await openOf(storage, 'd', 4)).not.toBeNull();
    expect(await openOf(storage, 'e', null)).not.toBeNull();
  });

  test('the windows of an owner are counted, no further than asked, also after a reopen', async () => {
    for (const name of ['a', 'b', 'c']) await openOf(setup().storage, name, null);
    await openOf(setup().storage, 'a', null, 'ns_2');
    for (const reopens of [false, true]) {
      if (reopens) await setup().reopen();
      const { ledger } = setup().storage;
      const counted = await Promise.all([0, 1, 3, 4, 100].map((upTo) => ledger.countWindows('ns_1', upTo)));
      expect(counted).toEqual([0, 1, 3, 3, 3]);
      expect([await ledger.countWindows('ns_2', 9), await ledger.countWindows('ns_3', 9)]).toEqual([1, 0]);
    }
  });

  test('ended windows of an owner are closed at the millisecond of their end, and no others', async () => {
    const { storage, clock } = setup();
    const { ledger } = storage;
    const accounts = await Promise.all(['a', 'b', 'c'].map((name) => openOf(storage, name, null)));
    await openOf(storage, 'a', null, 'ns_2');
    clock.advance(MINUTE_MS - 1);
    expect(await ledger.closeEndedWindows('ns_1', 10, null)).toEqual({ looked: 3, closed: 0, last: null });
    clock.advance(1);
    await takeOne(storage, accounts[1] ?? null);
    expect(await ledger.closeEndedWindows('ns_1', 10, null)).toEqual({ looked: 3, closed: 2, last: null });
    expect([await ledger.countWindows('ns_1', 9), await ledger.countWindows('ns_2', 9)]).toEqual([1, 1]);
    const statuses = await Promise.all(accounts.map(async (account) => (await takeOne(storage, account)).status));
    expect(statuses).toEqual(['stale', 'taken', 'stale']);
    expect(await openOf(storage, 'b', 0)).toBe(accounts[1] as number);
    expect(await openOf(storage, 'a', null)).not.toBe(accounts[0] as number);
    await setup().reopen();
    expect(await setup().storage.ledger.countWindows('ns_1', 9)).toBe(2);
  });

  test('closing looks at so many and goes on after a place, in the order of name and duration', async () => {
    const { storage, clock } = setup();
    const { ledger } = storage;
    for (const name of ['c', 'a', 'é', 'b']) await openOf(storage, name, null);
    await ledger.openWindow({ owner: 'ns_1', name: 'a', durationMs: MINUTE_MS / 2 }, null);
    clock.advance(MINUTE_MS);
    const close = (after: WindowCursor | null) => ledger.closeEndedWindows('ns_1', 2, after);
    const first = { name: 'a', durationMs: MINUTE_MS };
    expect(await close(first)).toEqual({ looked: 2, closed: 2, last: { name: 'c', durationMs: MINUTE_MS } });
    expect(await close(null)).toEqual({ looked: 2, closed: 2, last: first });
    expect(await close(first)).toEqual({ looked: 1, closed: 1, last: null });
    expect(await close(first)).toEqual({ looked: 0, closed: 0, last: null });
    expect(await ledger.countWindows('ns_1', 9)).toBe(0);
  });

  test('of several that close at the same time each window is closed by one', async () => {
    const { storage, clock } = setup();
    const names = Array.from({ length: 1200 }, (_, i) => `user ${i}`);
    // In parts: a slow database would not begin all of them in time.
    for (let i = 0; i < names.length; i += 100) {
      await Promise.all(names.slice(i, i + 100).map((name) => openOf(storage, name, null)));
    }
    clock.advance(MINUTE_MS);
    const steps = await Promise.all(
      Array.from({ length: 8 }, () => storage.ledger.closeEndedWindows('ns_1', 2000, null)),
    );
    const left = await storage.ledger.countWindows('ns_1', 2000);
    expect(steps.reduce((sum, { closed }) => sum + closed, 0)).toBe(names.length - left);
    await storage.ledger.closeEndedWindows('ns_1', 2000, null);
    expect(await storage.ledger.countWindows('ns_1', 2000)).toBe(0);
  });

  test('an ended window is counted until it is pruned', async () => {
    const { storage, clock } = setup();
    await openOf(storage, 'a', null);
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    await openOf(storage, 'b', null);
    expect(await storage.ledger.countWindows('ns_1', 9)).toBe(2);
    await storage.ledger.prune();
    expect(await storage.ledger.countWindows('ns_1', 9)).toBe(1);
  });
});

const REFUSAL = 'BAD_REQUEST: There are 100 live ad-hoc limits already, which is the maximum; wait until some expire.';

async function makeKey(engine: Engine, patch: KeyPatch = {}): Promise<string> {
  const { id: apiId } = await engine.apis.create(COMMAND_LINE, 'test api');
  return (await engine.keys.create(COMMAND_LINE, { ...patch, apiId, prefix: null, byteLength: null })).secret;
}

/** The code of the verdict, or the error. */
async function ask(engine: Engine, secretDigest: string, limits: readonly LimitRequest[]): Promise<string> {
  const asked = {
    apiId: null,
    creditCost: 1,
    permissions: null,
    tags: null,
    idempotency: null,
    mayVerify: null,
    reservation: null,
    isExplained: false,
  };
  try {
    const caller = { address: () => null };
    return (await engine.verifier.verify({ ...asked, secretDigest, olderDigests: null, limits, caller })).code;
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const named = (name: string, async: boolean): LimitRequest => ({ name, limit: 5, durationMs: MINUTE_MS, async });
const many = (count: number, async: boolean, name = 'n'): LimitRequest[] =>
  Array.from({ length: count }, (_, i) => named(`${name}${i}`, async));

/** At most 50 in one request. */
async function openByVerifying(engine: Engine, key: string, limits: readonly LimitRequest[]): Promise<void> {
  for (let i = 0; i < limits.length; i += 50) expect(await ask(engine, key, limits.slice(i, i + 50))).toBe('VALID');
}

async function refusesBoth(engine: Engine, key: string): Promise<void> {
  for (const async of [true, false]) expect(await ask(engine, key, [named('one more', async)])).toBe(REFUSAL);
}

describePort('ad-hoc limits of both modes', (setup) => {
  test.each([
    [60, 40],
    [99, 1],
    [1, 99],
    [100, 0],
    [0, 100],
  ])('%i local and %i strict ones are 100: the next of either is refused', async (local, strictCount) => {
    const engine = engineOn(setup().storage);
    for (const isLocalFirst of [true, false]) {
      const key = await makeKey(engine);
      const parts = [many(local, true), many(strictCount, false)];
      for (const part of isLocalFirst ? parts : parts.toReversed()) await openByVerifying(engine, key, part);
      await refusesBoth(engine, key);
      // Those that there are go on.
      await openByVerifying(engine, key, [...many(local, true), ...many(strictCount, false)]);
    }
  });

  test('when they have ended there is room for 100 others, in the millisecond in which they end', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const key = await makeKey(engine);
    await openByVerifying(engine, key, [...many(50, true), ...many(50, false)]);
    clock.advance(MINUTE_MS - 1);
    await refusesBoth(engine, key);
    clock.advance(1);
    await openByVerifying(engine, key, [...many(30, true, 'next'), ...many(70, false, 'next')]);
    await refusesBoth(engine, key);
  });

  test('of 150 local and 150 strict ones at the same time 100 are opened', async () => {
    const engine = engineOn(setup().storage);
    const key = await makeKey(engine);
    const asked = Array.from({ length: 300 }, (_, i) => ask(engine, key, [named(`n${i}`, i % 2 === 0)]));
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer === 'VALID').length).toBe(100);
    expect(answers.filter((answer) => answer === REFUSAL).length).toBe(200);
  });

  test('they are the same 100 after a restart', async () => {
    const first = engineOn(setup().storage);
    const key = await makeKey(first);
    await openByVerifying(first, key, [...many(50, true), ...many(50, false)]);
    await first.memory.localLimits.sync();
    await setup().reopen();
    await refusesBoth(engineOn(setup().storage), key);
  });

  test('a key with an identity has no more: its own and those of the identity are counted together', async () => {
    const engine = engineOn(setup().storage);
    for (const isKeyFirst of [true, false]) {
      const calls = [true, false].map((async) => ({ name: `calls ${async}`, limit: 9, durationMs: 1000, async }));
      const externalId = `owner ${isKeyFirst}`;
      const key = await makeKey(engine, { externalId, otherLimits: calls });
      // A limit of the key with another duration counts for the key; one that is configured nowhere for the identity.
      const own = Array.from({ length: 25 }, (_, i) =>
        calls.map(({ name }) => ({ name, durationMs: 2 * MINUTE_MS + 1000 * i })),
      );
      const openOwn = async () => {
        for (const limits of own) expect(await ask(engine, key, limits)).toBe('VALID');
      };
      const openShared = () => openByVerifying(engine, key, [...many(25, true), ...many(25, false)]);
      for (const part of isKeyFirst ? [openOwn, openShared] : [openShared, openOwn]) await part();
      await refusesBoth(engine, key);
      for (const { name } of calls) expect(await ask(engine, key, [{ name, durationMs: 7000 }])).toBe(REFUSAL);
      // Another key of the same identity brings none of its own: it may fill up what the first one left of its own.
      const other = await makeKey(engine, { externalId });
      await openByVerifying(engine, other, [...many(25, true, 'other'), ...many(25, false, 'other')]);
      await refusesBoth(engine, other);
    }
  });

  test('configured limits are not counted, also not those that were loaded after a restart', async () => {
    const configured = Array.from({ length: 40 }, (_, i) => ({ ...named(`c${i}`, true), limit: 9, async: true }));
    const limits = configured.map(({ name, limit, async }) => ({ name, limit, async, durationMs: MINUTE_MS }));
    const first = engineOn(setup().storage);
    const key = await makeKey(first, { otherLimits: limits });
    expect(await ask(first, key, [])).toBe('VALID');
    await first.memory.localLimits.sync();
    await setup().reopen();
    const engine = engineOn(setup().storage);
    await openByVerifying(engine, key, [...many(50, false), ...many(50, true)]);
    await refusesBoth(engine, key);
  });
});
