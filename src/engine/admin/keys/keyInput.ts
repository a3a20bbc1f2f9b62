import type { AlertsPatch } from '../../../core/alerts.ts';
import type { CounterPatch } from '../../../core/counterPatch.ts';
import type { NamedGrants } from '../rbac/resolveReferences.ts';

/** The fields of a key that a caller may set. On creation, null and absent mean the same. On update, null clears and absent keeps. */
export interface KeyPatch extends CounterPatch, NamedGrants {
  readonly name?: string | null;
  readonly externalId?: string | null;
  /** With an `externalId`: it is that of an identity that exists. */
  readonly mustExist?: boolean;
  readonly meta?: string | null;
  readonly environment?: string | null;
  readonly enabled?: boolean;
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
