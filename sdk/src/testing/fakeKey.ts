import { type AddressBlock, parseBlock } from '../../../src/core/address.ts';
import { type HeldPermissions, holdPermissions } from '../../../src/core/permissions.ts';
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

export function newFakeKey(id: string, { apiId, prefix }: KeysCreateKeyRequest): FakeKey {
  return {
    id,
    apiId,
    prefix: prefix ?? null,
    name: undefined,
    identityId: null,
    meta: {},
    environment: undefined,
    enabled: true,
    expires: undefined,
    permissions: [],
    roles: [],
    blocks: [],
    credits: null,
    alerts: null,
    limits: [],
  };
}

/** Sets the fields that are given; null clears one. Owner, credits and limits are not among them. */
export function setFields(key: FakeKey, fields: KeyFields): void {
  if (fields.name !== undefined) key.name = fields.name ?? undefined;
  if (fields.meta !== undefined) key.meta = fields.meta ?? {};
  if (fields.environment !== undefined) key.environment = fields.environment ?? undefined;
  if (fields.enabled !== undefined) key.enabled = fields.enabled ?? true;
  if (fields.expires !== undefined) key.expires = fields.expires ?? undefined;
  if (fields.permissions !== undefined) key.permissions = namesOf(fields.permissions);
  if (fields.roles !== undefined) key.roles = namesOf(fields.roles);
  if (fields.ipAllowlist !== undefined)
    key.blocks = (fields.ipAllowlist ?? []).map(parseBlock).filter((block) => block !== null);
}

/** The external id of the owner; null: none. */
export function ownerIn({ externalId, ownerId }: KeyFields): string | null | undefined {
  return externalId !== undefined ? externalId : ownerId;
}

function namesOf(given: readonly (string | { readonly name?: string | undefined })[] | null): string[] {
  return (given ?? []).map((each) => (typeof each === 'string' ? each : (each.name ?? '')));
}

export function heldBy({ permissions }: FakeKey): HeldPermissions {
  return holdPermissions(permissions.map((slug) => ({ slug, permissionId: slug, role: null })));
}
