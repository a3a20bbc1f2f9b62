import { type AddressBlock } from '../../../src/core/address.ts';
import { type HeldPermissions } from '../../../src/core/permissions.ts';
import type { KeysCreateKeyRequest, KeysUpdateKeyRequest } from '../generated/api.ts';
import type { FakeOwner } from './fakeCounters.ts';
/** A key of the fake service. */
export interface FakeKey extends FakeOwner {
  readonly apiId: string;
  readonly prefix: string | null;
  name: string | undefined;
  identityId: string | null;
  meta: Readonly<Record<string, unknown>>;
  environment: string | undefined;
  enabled: boolean;
  expires: number | undefined;
  permissions: readonly string[];
  roles: readonly string[];
  blocks: readonly AddressBlock[];
}
type Both = KeysCreateKeyRequest & KeysUpdateKeyRequest;
/** The fields of a creation or a change. */
export type KeyFields = {
  readonly [F in keyof Both]?:
    | KeysCreateKeyRequest[F & keyof KeysCreateKeyRequest]
    | KeysUpdateKeyRequest[F & keyof KeysUpdateKeyRequest];
};
export declare function newFakeKey(id: string, { apiId, prefix }: KeysCreateKeyRequest): FakeKey;
/** Sets the fields that are given; null clears one. Owner, credits and limits are not among them. */
export declare function setFields(key: FakeKey, fields: KeyFields): void;
/** The external id of the owner; null: none. */
export declare function ownerIn({ externalId, ownerId }: KeyFields): string | null | undefined;
export declare function heldBy({ permissions }: FakeKey): HeldPermissions;
export {};
