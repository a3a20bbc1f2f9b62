import type { Answer } from './client.ts';
import type { Gateway, GatewayKind } from './gateway.ts';
import type { Node } from './node.ts';

/** What a case works with: one gateway in its documented configuration, before one node. */
export interface World {
  readonly kind: GatewayKind;
  readonly gateway: Gateway;
  readonly node: Node;
  /** A new place for the files of one more gateway. */
  readonly newFolder: () => string;
}

export interface Case {
  readonly name: string;
  /** Why it may fail where the runtime's server is used (KEYSTILE_HTTP_SERVER=runtime). */
  readonly limitOfRuntime?: string;
  /** Answers what was seen, in a few words; throws where that is not what is promised. */
  readonly run: (world: World) => Promise<string>;
}

/** A promise that was not kept. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

export function hold(what: string, got: unknown, wanted: unknown): void {
  if (Bun.deepEquals(got, wanted)) return;
  throw new Broken(`${what}: ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
}

/** Waits for all of them, also when one has failed: none goes on asking during the next case. */
export async function together<T>(works: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/** The body of an answer that must be a verdict. */
export function verdictOf(answer: Answer | null): Verdict {
  if (answer?.status === 200) return JSON.parse(answer.body) as Verdict;
  throw new Broken(
    answer === null ? 'closed without an answer' : `answered ${answer.status}: ${answer.body.slice(0, 100)}`,
  );
}

export interface Verdict {
  readonly valid: boolean;
  readonly code: string;
  readonly keyId?: string;
  readonly remaining?: number;
}
