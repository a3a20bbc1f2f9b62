import { expect, test } from 'bun:test';

import { SharedReads } from '../../../../src/storage/postgres/management/reader.ts';

/** A read that began when it was asked, and ends when the test says so. */
function reads() {
  const begun: PromiseWithResolvers<string>[] = [];
  const shared = new SharedReads();
  const ask = (name = 'api') =>
    shared.read(name, () => {
      const read = Promise.withResolvers<string>();
      begun.push(read);
      return read.promise;
    });
  return { begun, ask };
}

test('who asks while a read runs gets what a later one finds, together with all others who wait', async () => {
  const { begun, ask } = reads();
  const first = ask();
  const [second, third] = [ask(), ask()];
  expect(begun.length).toBe(1);
  begun[0]?.resolve('before');
  expect(await first).toBe('before');
  expect(begun.length).toBe(2);
  const fourth = ask();
  begun[1]?.resolve('after');
  expect(await Promise.all([second, third])).toEqual(['after', 'after']);
  begun[2]?.resolve('last');
  expect(await fourth).toBe('last');
  void ask();
  expect(begun.length).toBe(4);
});

test('a read that fails is told to its callers alone, and other questions do not wait for it', async () => {
  const { begun, ask } = reads();
  const [first, next, other] = [ask(), ask(), ask('another')];
  expect(begun.length).toBe(2);
  begun[0]?.reject(new Error('lost'));
  begun[1]?.resolve('other');
  expect(await first.catch(String)).toBe('Error: lost');
  expect(await other).toBe('other');
  begun[2]?.resolve('again');
  expect(await next).toBe('again');
});
