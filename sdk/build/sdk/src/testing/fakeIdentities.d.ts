import type {
  IdentitiesCreateIdentityRequest,
  IdentitiesDeleteIdentityRequest,
  IdentitiesUpdateIdentityRequest,
  Identity,
  IdentityDetails,
} from '../generated/api.ts';
import { type FakeOwner } from './fakeCounters.ts';
import type { FakeKey } from './fakeKey.ts';
import type { FakeLedger } from './fakeLedger.ts';
/** The owner of keys. Its keys share its credits and its limits. */
export interface FakeIdentity extends FakeOwner {
  readonly externalId: string;
  name: string | null;
  enabled: boolean;
  maxKeys: number | null;
  meta: Readonly<Record<string, unknown>>;
}
type Reference = Pick<IdentitiesUpdateIdentityRequest, 'identityId' | 'externalId'>;
export declare class FakeIdentities {
  #private;
  constructor(ledger: FakeLedger, newId: () => string, keysOf: (identityId: string) => readonly FakeKey[]);
  /** The key may join the identity of this name. */
  requireSpace(externalId: string, key: FakeKey): void;
  /** The identity that a key names. A name that is new makes one. */
  named(externalId: string): FakeIdentity;
  /** null: there is none of this id any more. */
  byId(id: string | null): FakeIdentity | null;
  create({ externalId, ...fields }: IdentitiesCreateIdentityRequest, nowMs: number): object;
  update({ identityId, externalId, ...fields }: IdentitiesUpdateIdentityRequest, nowMs: number): Identity;
  get(reference: Reference, nowMs: number): IdentityDetails;
  /** Answers the keys that are deleted with it. */
  delete({ keys, ...reference }: IdentitiesDeleteIdentityRequest): readonly FakeKey[];
}
export {};
