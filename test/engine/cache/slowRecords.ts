import { KeyCache } from '../../../src/engine/cache/keyCache.ts';
import type { KeyWithIdentity, PoisonedKey, Records } from '../../../src/storage/port/records.ts';
import { textReader } from '../../../src/bunPlatform.ts';

type Found = KeyWithIdentity | PoisonedKey | null;

interface Question {
  readonly digests: readonly string[];
  answer(...found: Found[]): void;
  fail(error: Error): void;
}

/** A database that answers when the test says so. */
export class SlowRecords {
  readonly questions: Question[] = [];

  findKeysByDigest(digests: readonly string[]): Promise<readonly Found[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Found[]>();
    this.questions.push({ digests, answer: (...found) => resolve(found), fail: reject });
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

export function make(maxKeys = 100): { cache: KeyCache; records: SlowRecords } {
  const records = new SlowRecords();
  return { cache: new KeyCache(records as unknown as Records, maxKeys, textReader), records };
}
