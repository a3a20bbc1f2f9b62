import type { VerifyRequest } from '../generated/api.ts';
import type { FakeIdentity } from './fakeIdentities.ts';
import { type FakeKey } from './fakeKey.ts';
import type { FakeLedger } from './fakeLedger.ts';
interface Asked {
  readonly ledger: FakeLedger;
  readonly key: FakeKey;
  readonly identity: FakeIdentity | null;
  readonly request: VerifyRequest;
  readonly nowMs: number;
}
/** A verdict as the service sends it, without its request id. */
export declare function verifyFake(asked: Asked): object;
export {};
