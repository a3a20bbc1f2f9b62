import type { IdentityDetails } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { DeleteButton, SelectField, textOf } from '../../ui/form.tsx';

const WITH_KEYS = [
  ['disable', 'are disabled, and stay without a customer'],
  ['delete', 'are deleted'],
  ['detach', 'stay valid, without the customer and its limits and credits'],
] as const;

type WithKeys = (typeof WITH_KEYS)[number][0];

/** A customer with keys is deleted only with a word about what becomes of them. */
export function DeleteCustomer({
  of: { id: identityId, externalId, keys },
  onDeleted,
}: {
  readonly of: IdentityDetails;
  readonly onDeleted: () => void;
}) {
  const mayChangeKeys = may('api.update_key', '*') && may('api.delete_key', '*');
  return (
    <DeleteButton
      label="Delete the customer"
      name={externalId}
      explains={
        keys === 0
          ? 'The customer is removed with its credits, limits and settings.'
          : `The customer is removed with its credits and limits. It has ${keys} ${keys === 1 ? 'key' : 'keys'}.`
      }
      onDelete={async (data) => {
        const choice = textOf(data, 'keys') as WithKeys | undefined;
        await keystile.identities.delete({ identityId, keys: choice });
        onDeleted();
      }}
    >
      {keys > 0 &&
        (mayChangeKeys ? (
          <SelectField label="Its keys" name="keys" options={WITH_KEYS} />
        ) : (
          <p class="notice">Your root key may not change its keys. Delete or move them first.</p>
        ))}
    </DeleteButton>
  );
}
