import type { Plan } from '../../../sdk/src/generated/api.ts';
import { allOf } from '../../allOf.ts';
import { keystile, may } from '../../client.ts';
import type { EditedField } from '../../ui/edit/editForm.tsx';
import { alertsField, limitsField, refillField } from '../../ui/edit/counterFields.tsx';
import { lineField, linesField, metaField, numberField } from '../../ui/edit/fields.tsx';
import { type Loaded, useLoaded } from '../../ui/useLoaded.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The roles and permissions that a plan names by their ids. */
export interface RolesAndPermissions {
  readonly roles: readonly Named[];
  readonly permissions: readonly Named[];
}

/** Without the right to read them, plans show ids. */
export function useRolesAndPermissions(): Loaded<RolesAndPermissions> {
  return useLoaded(async () => {
    const [roles, permissions] = await Promise.all([
      may('rbac.read_role') ? allOf(keystile.permissions.listRoles({})) : [],
      may('rbac.read_permission') ? allOf(keystile.permissions.list({})) : [],
    ]);
    return { roles, permissions };
  }, []);
}

export function namesOf(ids: readonly string[], known: readonly Named[]): readonly string[] {
  return ids.map((id) => known.find((each) => each.id === id)?.name ?? id);
}

/** A line of a form is a name, or an id whose name may not be read. */
const toReference =
  (ids: readonly string[]) =>
  (line: string): object =>
    ids.includes(line) ? { id: line } : { name: line };

export const NEW_PLAN: Plan = { id: '', name: '', meta: {}, ratelimits: [], roles: [], permissions: [], holders: 0 };

/** Whether a plan has credits stays as it was when the plan was made. */
export function planFields(plan: Plan, { roles, permissions }: RolesAndPermissions): readonly EditedField<Plan>[] {
  const hasCredits = plan === NEW_PLAN || plan.remaining !== undefined;
  return [
    lineField({ name: 'name', label: 'Name', required: true }, ({ name }) => name),
    ...(hasCredits
      ? [
          numberField<Plan>(
            {
              name: 'remaining',
              label: 'Credits',
              hint: 'A customer that joins the plan starts with them. Leave empty for no credits.',
              required: plan !== NEW_PLAN,
            },
            ({ remaining }) => remaining,
          ),
          refillField<Plan>(({ refill }) => refill),
        ]
      : []),
    alertsField(plan, hasCredits),
    limitsField({ name: 'ratelimits', label: 'Limits of each customer' }, ({ ratelimits }) => ratelimits),
    numberField(
      { name: 'maxKeys', label: 'Maximum keys', hint: 'Leave empty for no limit.' },
      ({ maxKeys }) => maxKeys,
    ),
    ...(may('rbac.add_role_to_key') && may('rbac.remove_role_from_key')
      ? [
          linesField<Plan>(
            { name: 'roles', label: 'Roles', hint: 'Names, one per line.' },
            (of) => namesOf(of.roles, roles),
            toReference(plan.roles),
          ),
        ]
      : []),
    ...(may('rbac.add_permission_to_key') && may('rbac.remove_permission_from_key')
      ? [
          linesField<Plan>(
            { name: 'permissions', label: 'Permissions', hint: 'Names, one per line.' },
            (of) => namesOf(of.permissions, permissions),
            toReference(plan.permissions),
          ),
        ]
      : []),
    metaField('Not included in the answers of verifications.'),
  ];
}
