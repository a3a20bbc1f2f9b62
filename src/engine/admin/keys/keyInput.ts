import type { AlertsPatch } from '../../../core/alerts.ts';
import type { CounterPatch } from '../../../core/counterPatch.ts';
import type { KEY_PLAIN, KeyRecord } from '../../../model/keys.ts';
import type { NamedGrants } from '../rbac/resolveReferences.ts';

/** The fields of a key that a caller may set. On creation, null and absent mean the same. On update, null clears and absent keeps. */
export interface KeyPatch extends CounterPatch, NamedGrants, Partial<Pick<KeyRecord, keyof typeof KEY_PLAIN>> {
  readonly externalId?: string | null;
  /** With an `externalId`: it is that of an identity that exists. */
  readonly mustExist?: boolean;
  readonly expiresAtMs?: number | null;
  readonly ipAllowlist?: readonly string[] | null;
  readonly alerts?: AlertsPatch | null;
}

export interface NewKey extends KeyPatch {
  readonly apiId: string;
  /** null = the default of the api. */
  readonly prefix: string | null;
  readonly byteLength: number | null;
}
