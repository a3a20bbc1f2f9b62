import { MAX_BODY_BYTES, MAX_VERIFY_BATCH_BODY_BYTES, MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { forwardAuth } from './keys.forwardAuth.ts';
import { verifyKey } from './keys.verifyKey.ts';
import { verifyKeys } from './keys.verifyKeys.ts';
import { createReservation } from './reservations.create.ts';
import { ROUTES } from './routeTable.ts';

const OTHERS: ReadonlyMap<string, number> = new Map([
  [verifyKey.path, MAX_VERIFY_BODY_BYTES],
  // Ignored. A longer one is not waited for: the answer closes the connection.
  [forwardAuth.path, MAX_VERIFY_BODY_BYTES],
  [createReservation.path, MAX_VERIFY_BODY_BYTES],
  [verifyKeys.path, MAX_VERIFY_BATCH_BODY_BYTES],
  ...ROUTES.flatMap(({ path, maxBodyBytes }) => (maxBodyBytes === undefined ? [] : [[path, maxBodyBytes] as const])),
]);

/** The longest body that the route of this path and query accepts. An unknown route has a limit too. */
export function maxBodyBytesOf(target: string): number {
  return OTHERS.get(pathOf(new URL(`http://keystile${target}`))) ?? MAX_BODY_BYTES;
}

/** The path that a route is found by. A base URL with a trailing slash gives //v1/... */
export function pathOf({ pathname }: URL): string {
  return pathname.replace(/^\/{2,}/, '/');
}
