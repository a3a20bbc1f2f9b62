import { describe, expect, test } from 'bun:test';

import { AppError } from '../../../src/core/errors.ts';
import type { KeyWithIdentity } from '../../../src/storage/port/records.ts';
import { found as foundKey, key } from '../../postgres/conformance/samples.ts';
import { make } from './slowRecords.ts';

const found = (id: string, revision = 1): KeyWithIdentity => foundKey(key(id, { revision }));

describe('key cache', () => {
  test('a key that was seen is answered from memory, one that is known not to exist too', async () => {
    const { cache, records } = make();
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, undefined]);
    const lookups = [cache.lookUp('a'), cache.lookUp('b')];
    (await records.next()).answer(found('key_a'), null);
    expect(await Promise.all(lookups)).toMatchObject([{ id: 'key_a' }, null]);
    expect(cache.peek('a')).toMatchObject({ id: 'key_a', revision: 1 });
    expect(cache.peek('b')).toBeNull();
    expect([records.questions.length, cache.size, cache.misses, cache.hits]).toEqual([1, 1, 2, 1]);
  });

  test('one lookup, however many wait for it', async () => {
    const { cache, records } = make();
    const lookups = Array.from({ length: 1000 }, () => cache.lookUp('a'));
    (await records.next()).answer(found('key_a'));
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
    later.answer(found('key_d'));
    question.answer(found('key_a'), null, found('key_c'));
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
      (await records.next()).answer(found('key_a', revision));
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
    (await records.next()).answer(found('key_a'));
    expect(await lookup).toMatchObject({ id: 'key_a' });
  });

  test('a drop during a lookup: what was read before it is answered to nobody and kept nowhere', async () => {
    const { cache, records } = make();
    const before = cache.lookUp('a');
    const question = await records.next();
    cache.drop('a');
    const after = cache.lookUp('a');
    question.answer(found('key_a', 1));
    const again = await records.next();
    expect(again).not.toBe(question);
    expect(cache.peek('a')).toBeUndefined();
    again.answer(found('key_a', 2));
    expect(await Promise.all([before, after])).toMatchObject([{ revision: 2 }, { revision: 2 }]);
    expect(cache.peek('a')).toMatchObject({ revision: 2 });
  });

  test('drops that keep coming keep it reading, until one answer is from after the last', async () => {
    const { cache, records } = make();
    const lookup = cache.lookUp('a');
    for (let revision = 1; revision <= 5; revision++) {
      const question = await records.next();
      cache.drop('a');
      question.answer(found('key_a', revision));
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
    question.answer(found('key_a', 1), found('key_b', 1));
    expect(await other).toMatchObject({ id: 'key_b' });
    const again = await records.next();
    expect(again.digests).toEqual(['a']);
    again.answer(found('key_a', 2));
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
    (await records.next()).answer(found('key_a'));
    expect(await lookup).toMatchObject({ id: 'key_a' });
  });

  test('a lookup under way is read again when its own identity changes, and not when another one does', async () => {
    const { cache, records } = make();
    const looked = cache.lookUp('a');
    const first = await records.next();
    cache.dropIdentity('id_other');
    cache.dropApi('api_other');
    cache.dropAccess();
    first.answer(found('key_a'));
    expect(await looked).toMatchObject({ id: 'key_a' });
    const again = cache.lookUp('b');
    const second = await records.next();
    cache.dropApi(found('key_b').key.apiId);
    second.answer(found('key_b', 1));
    const third = await records.next();
    expect(third).not.toBe(second);
    third.answer(found('key_b', 2));
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
      found('key_b'),
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
    (await records.next()).answer(...['a', 'b', 'c', 'd'].map((id) => found(id)));
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
    (await records.next()).answer(found('key_a'));
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
    (await records.next()).answer(found('key_a'));
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
