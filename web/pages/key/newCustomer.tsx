import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { KeystileError } from '../../../sdk/src/errors.ts';
import { keystile } from '../../client.ts';

/** A customer that a form names and that there is not. */
interface Unknown {
  readonly externalId: string;
  /** What was probably meant; null = nothing is near. */
  readonly near: string | null;
}

/** The fields of a key that a form sends. */
interface Given {
  readonly externalId?: string | null;
}
type Call<G, T> = (fields: G) => Promise<T>;

/**
 * Asks before a key makes a customer: a typo would make one too, and its key would be unlimited. `send` answers undefined when it asks. Sent
 * again with the same id, the form creates the customer.
 */
export function useNewCustomer() {
  const [unknown, setUnknown] = useState<Unknown | null>(null);
  const send = async <G extends Given, T>(given: G, call: Call<G, T>): Promise<T | undefined> => {
    const { externalId } = given;
    if (externalId != null && externalId === unknown?.externalId) return createdWith(externalId, given, call);
    try {
      return await call(externalId == null ? given : { ...given, mustExist: true });
    } catch (error) {
      const found = externalId == null ? null : unknownIn(error, externalId);
      if (found === null) throw error;
      setUnknown(found);
      return undefined;
    }
  };
  return { send, unknown, question: unknown === null ? null : <Question of={unknown} /> };
}

/** With the key, or, where only its own call may create a customer, before it. */
async function createdWith<G, T>(externalId: string, given: G, call: Call<G, T>): Promise<T> {
  try {
    return await call(given);
  } catch (error) {
    if (unknownIn(error, externalId) === null) throw error;
    await keystile.identities.create({ externalId });
    return call(given);
  }
}

/** null: something else is wrong. */
function unknownIn(error: unknown, externalId: string): Unknown | null {
  if (!(error instanceof KeystileError) || error.code !== 'NOT_FOUND') return null;
  const issue = error.issues.find(({ path }) => path === 'externalId');
  if (issue === undefined) return null;
  const near = /Did you mean ("(?:[^"\\]|\\.)*")\?/.exec(issue.message)?.[1];
  return { externalId, near: near === undefined ? null : (JSON.parse(near) as string) };
}

function Question({ of: { externalId, near } }: { readonly of: Unknown }): ComponentChildren {
  return (
    <div class="notice" role="alert">
      <p>
        There is no customer <bdi>{externalId}</bdi>.
        {near !== null && (
          <>
            {' '}
            Did you mean <bdi>{near}</bdi>?
          </>
        )}
      </p>
      <p>Correct the id, or create this customer with the button of the form.</p>
    </div>
  );
}
