import type { Answer } from './client.ts';
import type { Gateway, GatewayKind } from './gateway.ts';
import type { Node } from './node.ts';

/** What a case works with: one gateway with its documented configuration, in front of one node. */
export interface CaseContext {
  readonly kind: GatewayKind;
  readonly gateway: Gateway;
  readonly node: Node;
  /** A new folder for the files of another gateway. */
  readonly newFolder: () => string;
}

export interface Case {
  readonly name: string;
  /** Returns the result in a few words. Throws when a promise is broken. */
  readonly run: (context: CaseContext) => Promise<string>;
}

/** A promise that is broken. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';
}

export function expectEqual(what: string, got: unknown, expected: unknown): void {
  if (Bun.deepEquals(got, expected)) return;
  throw new BrokenPromise(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
}

/** Waits for all promises, even when one fails, so that none still sends requests during the next case. */
export async function allSettledOrThrow<T>(works: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/** Parses an answer that must be a verdict. */
export function verdictOf(answer: Answer | null): Verdict {
  if (answer?.status === 200) return JSON.parse(answer.body) as Verdict;
  throw new BrokenPromise(
    answer === null ? 'closed without an answer' : `answered ${answer.status}: ${answer.body.slice(0, 100)}`,
  );
}

export interface Verdict {
  readonly valid: boolean;
  readonly code: string;
  readonly keyId?: string;
  readonly remaining?: number;
}
