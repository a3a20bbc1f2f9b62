import type { KeyDetails, SharedRatelimit } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { DialogButton } from '../../ui/form.tsx';
import { type EditedField, EditForm } from '../../ui/edit/editForm.tsx';
import { alertsField, limitsField, limitsOf, meteredField, refillField } from '../../ui/edit/counterFields.tsx';
import { lineField, linesField, metaField, timeField } from '../../ui/edit/fields.tsx';
import { plainFields } from '../../ui/plainLines.tsx';
import { useNewCustomer } from './newCustomer.tsx';

export const DEFAULT = 'default';

/** The limit with the name `default` has a field of its own in the API. */
function allLimits({ ratelimit, ratelimits = [] }: KeyDetails): readonly SharedRatelimit[] {
  return ratelimit === undefined ? ratelimits : [{ ...ratelimit, name: DEFAULT }, ...ratelimits];
}

export const LIMITS: EditedField<KeyDetails> = {
  ...limitsField({ name: 'limits', label: 'Limits' }, allLimits),
  toPatch(text) {
    const limits = limitsOf(text);
    const main = limits.find(({ name }) => name === DEFAULT);
    return {
      ratelimit: main === undefined ? null : withoutName(main),
      ratelimits: limits.filter((each) => each !== main),
    };
  },
};

function withoutName({ name: _name, ...limit }: SharedRatelimit): object {
  return limit;
}

const byName = (name: string): object => ({ name });

const ROLES = linesField<KeyDetails>(
  { name: 'roles', label: 'Roles', hint: 'Names, one per line.' },
  ({ roles }) => roles,
  byName,
);

const PERMISSIONS = linesField<KeyDetails>(
  { name: 'permissions', label: 'Permissions', hint: 'In addition to those of its roles, one per line.' },
  ({ directPermissions }) => directPermissions,
  byName,
);

function fieldsOf(key: KeyDetails): readonly EditedField<KeyDetails>[] {
  return [
    lineField({ name: 'name', label: 'Name' }, ({ name }) => name),
    lineField(
      { name: 'externalId', label: 'Customer', hint: 'Your own id of the customer. Leave empty for none.' },
      ({ ownerId }) => ownerId,
    ),
    timeField({ name: 'expires', label: 'Expires', hint: 'Leave empty for no expiry.' }, ({ expires }) => expires),
    // A refill needs credits.
    ...(key.remaining === undefined ? [] : [refillField<KeyDetails>(({ refill }) => refill)]),
    meteredField(),
    alertsField(key, key.remaining !== undefined),
    LIMITS,
    ...(may('rbac.add_role_to_key') && may('rbac.remove_role_from_key') ? [ROLES] : []),
    ...(may('rbac.add_permission_to_key') && may('rbac.remove_permission_from_key') ? [PERMISSIONS] : []),
    linesField(
      {
        name: 'ipAllowlist',
        label: 'Addresses',
        hint: 'Addresses or CIDR blocks, one per line. Leave empty to allow all.',
      },
      ({ ipAllowlist }) => ipAllowlist ?? [],
      (address) => address,
    ),
    ...plainFields<KeyDetails>('key'),
    metaField(),
  ];
}

export function EditKey({ of: key, reload }: { readonly of: KeyDetails; readonly reload: () => void }) {
  const { id: keyId } = key;
  const customer = useNewCustomer();
  return (
    <DialogButton label="Edit" title="Edit the key">
      {(close) => (
        <EditForm
          record={key}
          read={() => keystile.keys.get({ keyId })}
          fields={fieldsOf(key)}
          button={customer.unknown === null ? 'Save' : 'Create the customer and save'}
          question={customer.question}
          onSend={async (patch) => {
            const saved = await customer.send(patch, (fields) => keystile.keys.update({ keyId, ...fields }));
            if (saved === undefined) return;
            close();
            reload();
          }}
        />
      )}
    </DialogButton>
  );
}
