import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { AppError } from '../../../src/core/errors.ts';
import type { KeyWithIdentity, PlanWithPermissions, Records, PoisonedKey } from '../../../src/storage/port/records.ts';
import { found as foundKey, key, identity, found, plan } from '../../postgres/conformance/samples.ts';
import { readConfig } from '../../../src/config/read.ts';
import { KeyCache } from '../../../src/engine/cache/keyCache.ts';
import { type KeyEntry, windowOf } from '../../../src/engine/cache/entries.ts';
import { flagsOf, identityRowOf } from '../../../src/engine/cache/keyRows.ts';
import { BLANK_KEY } from '../../../src/model/keys.ts';
import type { AppliedLimit } from '../../../src/engine/cache/entries.ts';
import { refusedByRecord } from '../../../src/engine/verify/pipeline.ts';
import type { VerifyRequest } from '../../../src/engine/verify/request.ts';
import { textReader } from '../../../src/bunPlatform.ts';

type Found = KeyWithIdentity | PoisonedKey | null;

interface Question {
  readonly digests: readonly string[];
  answer(...found: Found[]): void;
  fail(error: Error): void;
}

/** A database that answers when the test says so. */
class SlowRecords {
  readonly questions: Question[] = [];

  findKeysByDigest(digests: readonly string[]): Promise<readonly Found[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Found[]>();
    this.questions.push({ digests, answer: (...rows) => resolve(rows), fail: reject });
    return promise;
  }

  /** Answers whatever is asked until there are no more questions: there is no such key. */
  async answerAllWithNull(): Promise<void> {
    for (let answered = -1; answered < this.questions.length;) {
      answered = this.questions.length;
      for (const question of this.questions) question.answer(...question.digests.map(() => null));
      await new Promise((turn) => setImmediate(turn));
    }
  }

  /** The question that was asked last, once those who wait for a microtask had their turn. */
  async next(): Promise<Question> {
    for (let i = 0; i < 10; i++) await Promise.resolve();
    const question = this.questions.at(-1);
    if (question === undefined) throw new Error('nothing was asked');
    return question;
  }
}

function make(maxKeys = 100): { cache: KeyCache; records: SlowRecords } {
  const records = new SlowRecords();
  return { cache: new KeyCache(records as unknown as Records, maxKeys, textReader), records };
}

const foundById = (id: string, revision = 1): KeyWithIdentity => foundKey(key(id, { revision }));

describe('key cache', () => {
  test('a key that was seen is answered from memory, one that is known not to exist too', async () => {
    const { cache, records } = make();
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, undefined]);
    const lookups = [cache.lookUp('a'), cache.lookUp('b')];
    (await records.next()).answer(foundById('key_a'), null);
    expect(await Promise.all(lookups)).toMatchObject([{ id: 'key_a' }, null]);
    expect(cache.peek('a')).toMatchObject({ id: 'key_a', revision: 1 });
    expect(cache.peek('b')).toBeNull();
    expect([records.questions.length, cache.size, cache.misses, cache.hits]).toEqual([1, 1, 2, 1]);
  });

  test('one lookup, however many wait for it', async () => {
    const { cache, records } = make();
    const lookups = Array.from({ length: 1000 }, () => cache.lookUp('a'));
    (await records.next()).answer(foundById('key_a'));
    expect(new Set(await Promise.all(lookups)).size).toBe(1);
    expect(records.questions.map(({ digests }) => digests)).toEqual([['a']]);
  });

  test('all lookups of one turn are one question; what comes while it is under way is the next', async () => {
    const { cache, records } = make();
    const first = [cache.lookUp('a'), cache.lookUp('b'), cache.lookUp('c')];
    const question = await records.next();
    const second = [cache.lookUp('d'), cache.lookUp('b')];
    const later = await records.next();
    expect([question.digests, later.digests]).toEqual([['a', 'b', 'c'], ['d']]);
    later.answer(foundById('key_d'));
    question.answer(foundById('key_a'), null, foundById('key_c'));
    expect(await Promise.all([...first, ...second])).toMatchObject([
      { id: 'key_a' },
      null,
      { id: 'key_c' },
      { id: 'key_d' },
      null,
    ]);
  });

  test('after a drop the key is read again', async () => {
    const { cache, records } = make();
    for (const revision of [1, 2]) {
      const lookup = cache.lookUp('a');
      (await records.next()).answer(foundById('key_a', revision));
      expect(await lookup).toMatchObject({ revision });
      cache.drop('a');
      expect(cache.peek('a')).toBeUndefined();
    }
  });

  test('a key that was unknown and is made is found', async () => {
    const { cache, records } = make();
    const unknown = cache.lookUp('a');
    (await records.next()).answer(null);
    expect(await unknown).toBeNull();
    cache.drop('a');
    const lookup = cache.lookUp('a');
    (await records.next()).answer(foundById('key_a'));
    expect(await lookup).toMatchObject({ id: 'key_a' });
  });

  test('a drop during a lookup: what was read before it is answered to nobody and kept nowhere', async () => {
    const { cache, records } = make();
    const before = cache.lookUp('a');
    const question = await records.next();
    cache.drop('a');
    const after = cache.lookUp('a');
    question.answer(foundById('key_a', 1));
    const again = await records.next();
    expect(again).not.toBe(question);
    expect(cache.peek('a')).toBeUndefined();
    again.answer(foundById('key_a', 2));
    expect(await Promise.all([before, after])).toMatchObject([{ revision: 2 }, { revision: 2 }]);
    expect(cache.peek('a')).toMatchObject({ revision: 2 });
  });

  test('drops that keep coming keep it reading, until one answer is from after the last', async () => {
    const { cache, records } = make();
    const lookup = cache.lookUp('a');
    for (let revision = 1; revision <= 5; revision++) {
      const question = await records.next();
      cache.drop('a');
      question.answer(foundById('key_a', revision));
    }
    (await records.next()).answer(null);
    expect(await lookup).toBeNull();
    expect([cache.peek('a'), records.questions.length]).toEqual([null, 6]);
  });

  test('a drop of one key does not hold up the others of its question', async () => {
    const { cache, records } = make();
    const [dropped, other] = [cache.lookUp('a'), cache.lookUp('b')];
    const question = await records.next();
    cache.drop('a');
    question.answer(foundById('key_a', 1), foundById('key_b', 1));
    expect(await other).toMatchObject({ id: 'key_b' });
    const again = await records.next();
    expect(again.digests).toEqual(['a']);
    again.answer(foundById('key_a', 2));
    expect(await dropped).toMatchObject({ revision: 2 });
  });

  test('a failed question fails those who wait, also behind it, is not remembered, and the next one is asked', async () => {
    const { cache, records } = make();
    const lookups = [cache.lookUp('a'), cache.lookUp('b')];
    const question = await records.next();
    lookups.push(cache.lookUp('in another question'));
    const other = await records.next();
    lookups.push(cache.lookUp('behind both'));
    question.fail(new Error('no database'));
    const [otherLookup] = lookups.splice(2, 1);
    for (const { status } of await Promise.allSettled(lookups)) expect(status).toBe('rejected');
    other.answer(null);
    expect(await otherLookup).toBeNull();
    expect(records.questions.length).toBe(2);
    const lookup = cache.lookUp('a');
    (await records.next()).answer(foundById('key_a'));
    expect(await lookup).toMatchObject({ id: 'key_a' });
  });

  test('a lookup under way is read again when its own identity changes, and not when another one does', async () => {
    const { cache, records } = make();
    const looked = cache.lookUp('a');
    const first = await records.next();
    cache.dropIdentity('id_other');
    cache.dropApi('api_other');
    cache.dropAccess();
    first.answer(foundById('key_a'));
    expect(await looked).toMatchObject({ id: 'key_a' });
    const again = cache.lookUp('b');
    const second = await records.next();
    cache.dropApi(foundById('key_b').key.apiId);
    second.answer(foundById('key_b', 1));
    const third = await records.next();
    expect(third).not.toBe(second);
    third.answer(foundById('key_b', 2));
    expect(await again).toMatchObject({ id: 'key_b', revision: 2 });
  });

  test('a stored key that cannot be read fails alone and names itself', async () => {
    const { cache, records } = make();
    const [poisoned, other] = [cache.lookUp('a'), cache.lookUp('b')];
    (await records.next()).answer(
      {
        poisoned: 'key_a',
        apiId: 'api_1',
        secretDigest: 'a',
        generation: 0,
        revision: 1,
        reason: 'meta cannot be read',
      },
      foundById('key_b'),
    );
    expect(await other).toMatchObject({ id: 'key_b' });
    const error = await poisoned.then(
      () => null,
      (reason: unknown) => reason as AppError,
    );
    expect([error?.code, error?.message]).toEqual([
      'INTERNAL_SERVER_ERROR',
      'The stored key key_a cannot be read: meta cannot be read.',
    ]);
    expect(cache.peek('a')).toBeUndefined();
  });

  test('keeps as many keys as it may: the one that came first goes first', async () => {
    const { cache, records } = make(3);
    const lookups = ['a', 'b', 'c', 'd'].map((digest) => cache.lookUp(digest));
    (await records.next()).answer(...['a', 'b', 'c', 'd'].map((id) => foundById(id)));
    await Promise.all(lookups);
    expect(cache.size).toBe(3);
    expect(['a', 'b', 'c', 'd'].map((digest) => cache.peek(digest)?.id)).toEqual([undefined, 'b', 'c', 'd']);
  });

  test('what is asked while two questions are under way is one question together, of at most 500 keys', async () => {
    const { cache, records } = make();
    const lookups = [cache.lookUp('first')];
    await records.next();
    lookups.push(cache.lookUp('second'));
    await records.next();
    for (let i = 0; i < 600; i++) lookups.push(cache.lookUp(String(i)));
    await records.next();
    expect(records.questions.map(({ digests }) => digests.length)).toEqual([1, 1]);
    records.questions[0]?.answer(null);
    await records.next();
    expect(records.questions.map(({ digests }) => digests.length)).toEqual([1, 1, 500]);
    await records.answerAllWithNull();
    expect(records.questions.map(({ digests }) => digests.length)).toEqual([1, 1, 500, 100]);
    expect(new Set(await Promise.all(lookups))).toEqual(new Set([null]));
  });

  test('remembers 10,000 unknown digests and no more, and a flood of them drops no known key', async () => {
    const { cache, records } = make(3);
    const known = cache.lookUp('known');
    (await records.next()).answer(foundById('key_a'));
    await known;
    for (let round = 0; round < 2; round++) {
      const digests = Array.from({ length: 6_000 }, (_, i) => `${round}:${i}`);
      const lookups = digests.map((digest) => cache.lookUp(digest));
      await records.next();
      await records.answerAllWithNull();
      await Promise.all(lookups);
    }
    const isKnown = (round: number, i: number) => cache.peek(`${round}:${i}`) === null;
    expect([isKnown(0, 0), isKnown(0, 1_999), isKnown(0, 2_000), isKnown(1, 5_999)]).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(cache.peek('known')).toMatchObject({ id: 'key_a' });
  });

  test('10,000 lookups may wait: one more is refused at once, those that wait and known keys are not', async () => {
    const { cache, records } = make(20_000);
    const known = cache.lookUp('known');
    (await records.next()).answer(foundById('key_a'));
    await known;
    const lookups = Array.from({ length: 10_000 }, (_, i) => cache.lookUp(String(i)));
    const refused = await cache.lookUp('one more').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AppError);
    expect((refused as AppError).code).toBe('UNAVAILABLE');
    expect(cache.lookUp('7')).toBe(lookups[7] as never);
    expect(cache.peek('known')).toMatchObject({ id: 'key_a' });
    await records.next();
    await records.answerAllWithNull();
    expect(new Set(await Promise.all(lookups))).toEqual(new Set([null]));
    const again = cache.lookUp('one more');
    (await records.next()).answer(null);
    expect(await again).toBeNull();
  });
});

test('identities are in memory as long as a cached key has them, whatever is read, dropped and changed', async () => {
  const numbers = fc.nat({ max: 15 });
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        read: numbers,
        form: fc.constantFrom('packed', 'named', 'permitted'),
        owner: fc.nat({ max: 4 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ drop: numbers }) },
    { weight: 2, arbitrary: fc.record({ dropIdentity: fc.nat({ max: 4 }) }) },
    { weight: 1, arbitrary: fc.constantFrom('api' as const, 'clear' as const, 'access' as const) },
  );
  const digestOf = (number: number): string => Bun.SHA256.hash(String(number), 'base64');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { cache, records } = make(4);
      const owners = new Map<number, string>();
      const read = async (number: number, form: string, owner: string): Promise<void> => {
        if (cache.peek(digestOf(number)) !== undefined) return;
        owners.set(number, owner);
        const lookup = cache.lookUp(digestOf(number));
        const fields = { identityId: owner, apiId: `api_${number % 2}`, name: form === 'named' ? 'a name' : null };
        const permissions = form === 'permitted' ? { roles: [], direct: [], grants: [] } : null;
        const record = key(`key_${String(number).padStart(22, '0')}`, fields);
        (await records.next()).answer(
          foundKey(record, { identity: identity(owner, `owner of ${owner}`), permissions }),
        );
        await lookup;
      };
      for (const each of steps) {
        if (each === 'clear') cache.clear();
        else if (each === 'api') cache.dropApi('api_1');
        else if (each === 'access') cache.dropAccess();
        else if ('read' in each) await read(each.read, each.form, `id_${each.owner}`);
        else if ('drop' in each) cache.drop(digestOf(each.drop));
        else cache.dropIdentity(`id_${each.dropIdentity}`);
      }
      for (let number = 0; number <= 15; number++) {
        const seen = cache.peek(digestOf(number))?.identity;
        if (seen != null)
          expect([seen.id, seen.externalId]).toEqual([owners.get(number), `owner of ${seen.id}`] as string[]);
        expect(cache.identityCount).toBeLessThanOrEqual(cache.size);
        const before = cache.size;
        cache.drop(digestOf(number));
        expect(before - cache.size).toBeLessThanOrEqual(1);
      }
      expect([cache.size, cache.identityCount]).toEqual([0, 0]);
    }),
    { seed: Number(process.env['KEYSTILE_TEST_SEED'] ?? 1), numRuns: 200 },
  );
});

test('a named key whose customer has changed is answered with none of the text that was made before', async () => {
  const { cache, records } = make();
  const digests = ['a', 'b'];
  const read = async (digest: string, revision: number): Promise<KeyEntry> => {
    const lookup = cache.lookUp(digest);
    const owner = identity('id_1', 'owner', { meta: JSON.stringify({ revision }), revision });
    (await records.next()).answer(
      foundKey(key(`key_${digest}`, { identityId: 'id_1', name: digest }), { identity: owner }),
    );
    return (await lookup) as KeyEntry;
  };
  for (const digest of digests) (await read(digest, 1)).wire = { text: 'of the first revision', isAscii: true };
  for (const digest of digests) expect(cache.peek(digest)?.wire?.text).toBe('of the first revision');
  cache.dropIdentity('id_1');
  // The identity is read again with the first key; the second one follows without a read of its own.
  await read('a', 2);
  for (const digest of digests) {
    const entry = cache.peek(digest);
    expect([entry?.identity?.meta, entry?.wire]).toEqual(['{"revision":2}', null]);
  }
});

const DIGEST = Bun.SHA256.hash('one key', 'base64');

test.each([
  ['a name', { name: null }, { name: 'a name' }],
  ['no name any more', { name: 'a name' }, { name: null }],
])('a key that has %s is found as it is now, once', async (_what, before, after) => {
  const { cache, records } = make();
  for (const [revision, fields] of [
    [1, before],
    [2, after],
  ] as const) {
    const lookup = cache.lookUp(DIGEST);
    const record = key('key_1111111111111111111111', { identityId: 'id_1', revision, ...fields });
    (await records.next()).answer(foundKey(record, { identity: identity('id_1', 'owner') }));
    expect((await lookup)?.revision).toBe(revision);
    expect([cache.peek(DIGEST)?.revision, cache.size, cache.identityCount]).toEqual([revision, 1, 1]);
    // Somebody else has changed its customer: both are read again.
    if (revision === 1) cache.dropIdentity('id_1');
  }
});

test('the flags of a key have room for the row of its identity, whatever KEYSTILE_MAX_CACHED_KEYS says', () => {
  const most = 2 ** 24 - 1;
  for (const row of [0, 1, 2 ** 20, 2 ** 23, most]) {
    const flags = flagsOf({ ...BLANK_KEY, identityId: 'id_1' }, { identityRow: row, planSlot: null });
    expect(identityRowOf(flags >>> 0)).toBe(row);
  }
  const { problems } = readConfig({
    environment: { KEYSTILE_MAX_CACHED_KEYS: String(most) },
    flags: {},
    readFile: () => '',
  });
  expect(problems).toMatchObject([expect.stringContaining('KEYSTILE_MAX_CACHED_KEYS')]);
});

test.each([
  ['is dropped', (cache: KeyCache, digest: string) => cache.drop(digest)],
  ['goes with all others', (cache: KeyCache) => cache.clear()],
])('what a key has counted is told with its identity when it %s', async (_how, end) => {
  for (const meta of [null, '{"a":1}']) {
    const { cache, records } = make();
    const digest = Bun.SHA256.hash('counted', 'base64');
    const lookup = cache.lookUp(digest);
    const record = key('key_1111111111111111111111', { identityId: 'id_1' });
    (await records.next()).answer(foundKey(record, { identity: identity('id_1', 'owner', { meta }) }));
    const told: string[] = [];
    cache.counts.onDropped = ({ identityId }) => void told.push(identityId);
    expect(cache.counts.count((await lookup) as KeyEntry, 1, 0)).toBe(true);
    end(cache, digest);
    expect(told).toEqual(['id_1']);
  }
});

/** Asks for nothing but the key. */
const REQUEST = { mayVerify: null, apiId: null, permissions: null } as VerifyRequest;
const LIMIT = { name: 'r', limit: 1, durationMs: 1_000, async: true };
const onPlan = (planId: string): KeyWithIdentity =>
  found(key(`key of ${planId}`, { identityId: `id of ${planId}` }), {
    identity: identity(`id of ${planId}`, `owner of ${planId}`, { planId }),
  });
const itselfOnPlan = (planId: string): KeyWithIdentity => found(key(`key_${planId.padEnd(22, '_')}`, { planId }));
const KEYS = new Map([
  ['own a', itselfOnPlan('plan_a')],
  ['own b', found(key('key_b', { planId: 'plan_b', name: 'with a side' }))],
  ['a', onPlan('plan_a')],
  ['b', onPlan('plan_b')],
  ...['named', 'other named'].map(
    (name) =>
      [name, found(key(name, { identityId: 'id of plan_a', name }), { identity: onPlan('plan_a').identity })] as const,
  ),
  ['none', found(key('key_none'))],
]);

/** Plans are read when the test says so. They are others each time. */
function setup() {
  let revision = 0;
  const reads = new Map<string, PromiseWithResolvers<readonly PlanWithPermissions[]>>();
  const records = {
    findKeysByDigest: async (digests: readonly string[]) => digests.map((digest) => KEYS.get(digest) ?? null),
    findPlans: ([id = '']: readonly string[]) => {
      const read = Promise.withResolvers<readonly PlanWithPermissions[]>();
      reads.set(id, read);
      return read.promise;
    },
  };
  const cache = new KeyCache(records as unknown as Records, 100, textReader);
  const turn = () => new Promise((resolve) => void setImmediate(resolve));
  const answer = async (id: string) => {
    await turn();
    reads.get(id)?.resolve([{ plan: plan(id, id, { limits: [LIMIT], revision: ++revision }), permissions: null }]);
    await turn();
  };
  return { cache, reads, answer, turn };
}

/** A key on each plan: by their identities, or by themselves. Of the latter, one has a side. */
const PAIRS = [
  ['of its identity', 'a', 'b'],
  ['of its own', 'own a', 'own b'],
] as const;

test.each(PAIRS)(
  'a key is never answered without the plan %s, also when that changes meanwhile',
  async (_whose, a, b) => {
    const { cache, answer } = setup();
    const looking = [cache.lookUp(a), cache.lookUp(b)];
    await answer('plan_a');
    cache.dropPlan('plan_a');
    await answer('plan_b');
    expect(cache.peek(a)).toBeUndefined();
    await answer('plan_a');
    for (const entry of await Promise.all(looking)) expect(entry?.alwaysApplied).toMatchObject([{ name: 'r' }]);
    cache.dropPlan('plan_a');
    expect(cache.peek(a)).toBeUndefined();
    expect(cache.peek(b)?.alwaysApplied).toMatchObject([{ name: 'r' }]);
  },
);

test.each(PAIRS)(
  'a plan %s that cannot be read concerns its holders alone, and is tried again',
  async (_whose, holder) => {
    const { cache, reads, answer, turn } = setup();
    const [a, none] = [cache.lookUp(holder), cache.lookUp('none')];
    await turn();
    reads.get('plan_a')?.reject(new Error('spoilt'));
    expect(a).rejects.toThrow('spoilt');
    expect((await none)?.id).toBe('key_none');
    expect([cache.size, cache.identityCount]).toEqual([1, 0]);
    const again = cache.lookUp(holder);
    await answer('plan_a');
    expect((await again)?.alwaysApplied).toMatchObject([{ name: 'r' }]);
  },
);

test.each(PAIRS)('the windows of strict limits of a plan %s are kept while it stays as it is', async (_whose, a, b) => {
  const digests = [a, b];
  const { cache, answer } = setup();
  const looking = digests.map((digest) => cache.lookUp(digest));
  for (const planId of ['plan_a', 'plan_b']) await answer(planId);
  await Promise.all(looking);
  const entryOf = (digest: string) => cache.peek(digest) as KeyEntry;
  const limitOf = (digest: string) => entryOf(digest).alwaysApplied?.[0] as AppliedLimit;
  for (const [i, digest] of digests.entries()) {
    cache.keepWindow(entryOf(digest), limitOf(digest), 7 + i);
    cache.keepWindow(entryOf(digest), { ...limitOf(digest), cost: 3 }, 99);
  }
  const windows = () => digests.map((digest) => windowOf(entryOf(digest), limitOf(digest)));
  expect(windows()).toEqual([7, 8]);
  for (const digest of digests) expect(windowOf(entryOf(digest), { ...limitOf(digest), cost: 3 })).toBeNull();
  for (const [i, digest] of digests.entries()) {
    const planId = i === 0 ? 'plan_a' : 'plan_b';
    cache.dropPlan(planId);
    const again = cache.lookUp(digest);
    await answer(planId);
    await again;
  }
  expect(windows()).toEqual([null, null]);
});

test('a key whose plan does not exist is refused: nothing would limit it', async () => {
  const { cache, reads, turn } = setup();
  const looking = ['a', 'own a', 'own b'].map((digest) => cache.lookUp(digest));
  await turn();
  for (const planId of ['plan_a', 'plan_b']) reads.get(planId)?.resolve([]);
  for (const entry of await Promise.all(looking)) {
    expect(refusedByRecord(entry as KeyEntry, REQUEST, 1)).toBe('DISABLED');
  }
});

test('keys with names share what is known of their identity, until that or its plan changes', async () => {
  const { cache, answer } = setup();
  const digests = ['named', 'other named'];
  const read = async (): Promise<readonly KeyEntry[]> => {
    const looking = digests.map((digest) => cache.lookUp(digest));
    await answer('plan_a');
    return (await Promise.all(looking)) as KeyEntry[];
  };
  const changes = [() => cache.dropIdentity('id of plan_a'), () => cache.dropPlan('plan_a')];
  for (const change of changes) {
    const [named, other] = (await read()) as [KeyEntry, KeyEntry];
    expect(named.identity).not.toBeNull();
    expect(named.identity).toBe(other.identity);
    const [limit] = named.alwaysApplied as [AppliedLimit];
    expect([windowOf(named, limit), windowOf(other, limit)]).toEqual([null, null]);
    cache.keepWindow(named, limit, 77);
    expect(digests.map((digest) => windowOf(cache.peek(digest) as KeyEntry, limit))).toEqual([77, 77]);
    change();
    expect(digests.map((digest) => cache.peek(digest))).toEqual([undefined, undefined]);
  }
});

test.each([
  ['with a side', 'key_a', 'a'],
  ['packed', 'key_1111111111111111111111', new Bun.CryptoHasher('sha256').update('a').digest('base64')],
])('a key (%s) keeps what is noted about its records until one of them changes', async (_form, id, digest) => {
  const { cache, records } = make();
  const read = async (revision: number, ofIdentity: number): Promise<KeyEntry> => {
    const lookup = cache.lookUp(digest);
    const owner = identity('id_1', 'user', { revision: ofIdentity });
    (await records.next()).answer(foundKey(key(id, { revision, identityId: 'id_1' }), { identity: owner }));
    return (await lookup) as KeyEntry;
  };
  const noted = () => cache.checkedAt(cache.peek(digest) as KeyEntry);
  const first = await read(1, 1);
  expect(noted()).toBe(0);
  cache.keepChecked(first, 7);
  expect([noted(), noted()]).toEqual([7, 7]);
  cache.dropIdentity('id_1');
  const second = await read(1, 2);
  expect(noted()).toBe(0);
  cache.keepChecked(second, 8);
  cache.drop(digest);
  await read(2, 2);
  expect(noted()).toBe(0);
  // What is still under way with an entry of before notes nothing for the present one.
  cache.keepChecked(first, 9);
  cache.keepChecked(second, 9);
  expect(noted()).toBe(0);
  cache.keepChecked(cache.peek(digest) as KeyEntry, 9);
  cache.clear();
  await read(2, 2);
  expect(noted()).toBe(0);
});
