import { ACTION_OPERATIONS, type PortalSessionRecord } from '../../../core/portalSession.ts';
import { coversRight, mayNameAnyOwner, type Operation, rightTo } from '../../../core/rights.ts';

/** Roles and permissions that new keys are to have are those of the link, not of the customer. */
const GRANTING: readonly Operation[] = [
  'rbac.create_role',
  'rbac.create_permission',
  'rbac.add_role_to_key',
  'rbac.add_permission_to_key',
];

/** The rights that the page needs for one customer and one api, as far as the root key has them by now. */
export function portalRights(
  { apiId, identityId, allow }: Pick<PortalSessionRecord, 'apiId' | 'identityId' | 'allow'>,
  rights: readonly string[],
): string[] {
  const ofApi: Operation[] = ['api.read_api', 'api.read_key', 'api.read_analytics'];
  const wanted = [
    ...[...ofApi, ...allow.flatMap((action) => ACTION_OPERATIONS[action])].map((each) => rightTo(each, apiId)),
    rightTo('identity.read_identity', identityId),
  ];
  const naming = rightTo('identity.update_identity', identityId);
  if (allow.includes('create')) wanted.push(naming, ...GRANTING.map((each) => rightTo(each, '*')));
  // A root key that may name any owner may name this one.
  const mayName = mayNameAnyOwner(rights, 'api.create_key');
  return [...new Set(wanted)].filter((right) => coversRight(rights, right) || (mayName && right === naming));
}
