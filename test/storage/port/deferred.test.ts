import { describe, expect, test } from 'bun:test';

import { Deferred } from '../../../src/storage/port/deferred.ts';

const FAILURE = new Error('no');

describe('what is known later', () => {
  test('reaches the one who waits in the moment in which it is known, through all that is made of it', () => {
    const later = new Deferred<number>();
    const seen: string[] = [];
    void later.then((value) => value + 1).then((value) => seen.push(`got ${value}`));
    seen.push('asked');
    later.know(1);
    seen.push('told');
    expect(seen).toEqual(['asked', 'got 2', 'told']);
  });

  test('also the one who comes when it is known already', () => {
    const later = new Deferred<number>();
    later.know(1);
    const seen: number[] = [];
    void later.then((value) => seen.push(value));
    expect(seen).toEqual([1]);
  });

  test('is awaited like a promise, known before or after', async () => {
    const known = new Deferred<number>();
    known.know(1);
    expect(await known).toBe(1);
    const later = new Deferred<number>();
    queueMicrotask(() => later.know(2));
    expect(await later).toBe(2);
    expect(await Deferred.failed<number>(FAILURE).toPromise().catch(String)).toBe('Error: no');
  });

  test('a failure passes those who take values only, and what someone makes of it is a value again', () => {
    const later = new Deferred<number>();
    const seen: unknown[] = [];
    void later
      .then((value) => seen.push(value))
      .then(null, (failure) => failure)
      .then((value) => seen.push(value));
    later.fail(FAILURE);
    expect(seen).toEqual([FAILURE]);
  });

  test('who throws has failed, and nobody else notices', () => {
    const later = new Deferred<number>();
    const seen: unknown[] = [];
    void later
      .then(() => {
        throw FAILURE;
      })
      .then(undefined, (failure) => seen.push(failure));
    later.know(1);
    expect(seen).toEqual([FAILURE]);
  });

  test('what is still to come is waited for: a promise, or the same again', async () => {
    const [first, second] = [new Deferred<number>(), new Deferred<number>()];
    const made = first.then((value) => (value === 1 ? second : value)).then(async (value) => value * 2);
    first.know(1);
    second.know(21);
    expect(await made).toBe(42);
    const failed = new Deferred<number>();
    const unmade = failed.then(() => Promise.reject(FAILURE));
    failed.know(1);
    expect(await unmade.then(null, String)).toBe('Error: no');
  });

  test('is for one: a second is refused', () => {
    const later = new Deferred<number>();
    void later.then((value) => value);
    expect(() => later.then((value) => value)).toThrow('only one can wait for it');
  });

  test('is known once: neither a second value nor a failure reaches anyone', () => {
    const later = new Deferred<number>();
    const seen: unknown[] = [];
    void later.then((value) => seen.push(value));
    later.know(1);
    expect(() => later.know(2)).toThrow('it is known already');
    expect(() => later.fail(FAILURE)).toThrow('it is known already');
    expect(seen).toEqual([1]);
  });
});
