import { MIN_KEY_BYTES } from '../../../core/bounds.ts';
import type { ApiRecord } from '../../../model/apis.ts';
import { makeSecret, shownStart } from '../../../core/secret.ts';
import type { System } from '../../system.ts';

export interface KeySecret {
  readonly digest: string;
  readonly start: string;
  /** null = the secret was made elsewhere. */
  readonly byteLength: number | null;
}

/** A secret as the request or the api of the key wants it, and what is stored of it. */
export function newSecret(
  system: System,
  api: ApiRecord,
  asked: { readonly prefix: string | null; readonly byteLength: number | null },
): { secret: string; stored: KeySecret } {
  const prefix = asked.prefix ?? api.defaultPrefix;
  const byteLength = byteLengthFor(api, asked.byteLength);
  const secret = makeSecret(prefix, system.randomBytes(byteLength));
  return { secret, stored: { digest: system.digestSecret(secret), start: shownStart(prefix, secret), byteLength } };
}

function byteLengthFor(api: ApiRecord, asked: number | null): number {
  return asked ?? api.defaultByteLength ?? MIN_KEY_BYTES;
}
