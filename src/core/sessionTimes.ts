/** A session ends when it was not used for this long. */
export const SESSION_IDLE_MS = 12 * 3_600_000;
/** It ends at this age at the latest. */
export const SESSION_MAX_AGE_MS = 7 * 86_400_000;
/** How long the sign-in link that a start prints is valid. */
export const SIGN_IN_LINK_MS = 10 * 60_000;

/** A link to the customers' page must be opened within this time. */
export const PORTAL_LINK_MS = 15 * 60_000;
/** How long the customers' page can be used after that. */
export const PORTAL_SESSION_MS = 3_600_000;

/** When a session ends that was last used at this time. */
export function sessionEnd(createdAtMs: number, usedAtMs: number): number {
  return Math.min(usedAtMs + SESSION_IDLE_MS, createdAtMs + SESSION_MAX_AGE_MS);
}
