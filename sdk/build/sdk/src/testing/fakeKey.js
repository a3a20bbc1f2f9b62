import { parseBlock } from '../../../src/core/address.js';
import { holdPermissions } from '../../../src/core/permissions.js';
export function newFakeKey(id, { apiId, prefix }) {
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
    limits: [],
  };
}
/** Sets the fields that are given; null clears one. Owner, credits and limits are not among them. */
export function setFields(key, fields) {
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
export function ownerIn({ externalId, ownerId }) {
  return externalId !== undefined ? externalId : ownerId;
}
function namesOf(given) {
  return (given ?? []).map((each) => (typeof each === 'string' ? each : (each.name ?? '')));
}
export function heldBy({ permissions }) {
  return holdPermissions(permissions.map((slug) => ({ slug, permissionId: slug, role: null })));
}
