import type { Server } from './server.ts';

/** What became of the verifications of one key. */
export interface KeyLoad {
  readonly key: string;
  readonly keyId: string;
  /** Answered valid. */
  valid: number;
  /** Sent, and the connection ended before an answer: spent or not, nobody knows. */
  unanswered: number;
}

export interface Load {
  readonly clients: number;
  /** Requests of one client at the most. */
  readonly maxRequests: number;
  /** Called with the number of valid answers so far. */
  onValid?(count: number): void;
  /** More fields of a request. */
  fields?(client: number, request: number): Record<string, unknown>;
  /** An answer that is neither valid nor missing; by default it fails the test. */
  onOther?(status: number, body: unknown): void;
}

/** Clients that verify the keys in turn until their connection fails or they have sent all their requests. */
export async function verifyUnderLoad(server: Server, loads: readonly KeyLoad[], load: Load): Promise<void> {
  let count = 0;
  const client = async (number: number): Promise<void> => {
    for (let request = 0; request < load.maxRequests; request++) {
      const each = loads[(number + request) % loads.length];
      if (each === undefined) throw new Error('there is no key to verify');
      const answer = await server
        .call('/v1/keys.verifyKey', { key: each.key, ...load.fields?.(number, request) })
        .catch(() => null);
      if (answer === null) {
        each.unanswered++;
        return;
      }
      if (answer.status === 200 && (answer.body as { valid: boolean }).valid) {
        each.valid++;
        load.onValid?.(++count);
      } else if (load.onOther === undefined)
        throw new Error(`answered ${answer.status} ${JSON.stringify(answer.body)}`);
      else load.onOther(answer.status, answer.body);
    }
  };
  await Promise.all(Array.from({ length: load.clients }, (_, number) => client(number)));
}
