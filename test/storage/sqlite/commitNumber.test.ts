import { afterEach, beforeEach, expect, jest, test } from 'bun:test';

import { CommitNumberFile } from '../../../src/storage/sqlite/ledger/commitQueue.ts';
import { toWriteFailure } from '../../../src/storage/sqlite/file/writeFailure.ts';
import type { SqliteThread } from '../../../src/storage/sqlite/thread/threadClient.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A writer's thread that has no descriptors left for as long as `isFull` is true. */
class FakeWriter {
  isFull = false;
  readonly isBroken = false;
  readonly texts: string[] = [];
  tries = 0;

  readonly call = (async (_method: string, _path: string, text: string) => {
    this.tries++;
    if (this.isFull) throw toWriteFailure(Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
    this.texts.push(text);
  }) as unknown as SqliteThread['call'];
}

async function aSecondLater(): Promise<void> {
  jest.advanceTimersByTime(1000);
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

function open(): { writer: FakeWriter; failures: string[]; file: CommitNumberFile; commit: () => void } {
  const writer = new FakeWriter();
  const failures: string[] = [];
  let number = 7;
  const failed = (reason: string): void => void failures.push(reason);
  const file = new CommitNumberFile({ folder: '/data', folderId: 'folder_1', number: () => number, writer, failed });
  const commit = (): void => {
    number++;
    file.note();
  };
  return { writer, failures, file, commit };
}

test('the number is written at the start, and once in a second after commits', async () => {
  const { writer, file, commit } = open();
  for (let i = 0; i < 3; i++) commit();
  await aSecondLater();
  await aSecondLater();
  expect(writer.texts).toEqual(['7 folder_1\n', '10 folder_1\n']);
  commit();
  await file.close();
  expect(writer.texts.at(-1)).toBe('11 folder_1\n');
});

test('a number that could not be written is tried again every second without another commit, and told of once', async () => {
  const { writer, failures, file, commit } = open();
  await aSecondLater();
  writer.isFull = true;
  commit();
  for (let i = 0; i < 3; i++) await aSecondLater();
  expect([writer.tries, writer.texts]).toEqual([4, ['7 folder_1\n']]);
  expect(failures).toEqual(['EMFILE: too many open files']);
  writer.isFull = false;
  await aSecondLater();
  expect(writer.texts).toEqual(['7 folder_1\n', '8 folder_1\n']);
  await aSecondLater();
  expect(writer.tries).toBe(5);
  await file.close();
});

test('nothing is tried again after the end', async () => {
  const { writer, failures, file, commit } = open();
  await aSecondLater();
  writer.isFull = true;
  commit();
  await file.close();
  await aSecondLater();
  expect([writer.tries, failures]).toEqual([2, []]);
});
