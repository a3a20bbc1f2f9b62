import type { Operation } from './rights.ts';

/** What a customer may do with its keys in the portal. */
export const PORTAL_ACTIONS = ['create', 'rotate', 'delete'] as const;
export type PortalAction = (typeof PORTAL_ACTIONS)[number];

/** What the root key behind a link must be allowed to do with keys of the api, for each action. */
export const ACTION_OPERATIONS: Readonly<Record<PortalAction, readonly Operation[]>> = {
  create: ['api.create_key'],
  rotate: ['api.create_key', 'api.update_key'],
  delete: ['api.delete_key'],
};

/** A link to the portal, and the browser that opened it. */
export interface PortalSessionRecord {
  /** `portal_...` */
  readonly id: string;
  /** Of the token in the link until it is opened, then of the secret in the browser's cookie. */
  readonly digest: string;
  /** The root key that made the link. The portal can do nothing that this root key may not do. */
  readonly rootKeyId: string;
  readonly identityId: string;
  /** The api whose keys the portal shows. */
  readonly apiId: string;
  readonly allow: readonly PortalAction[];
  /** Fields of keys.createKey that a new key gets, as JSON. */
  readonly keyDefaults: string | null;
  readonly returnUrl: string | null;
  readonly createdAtMs: number;
  /** null: the link was not opened yet. */
  readonly openedAtMs: number | null;
  readonly untilMs: number;
  /** How many changes the customer has made. */
  readonly changes: number;
}

/** A session ends when it was not used for this long. */
const SESSION_IDLE_MS = 12 * 3_600_000;
/** It ends at this age at the latest. */
export const SESSION_MAX_AGE_MS = 7 * 86_400_000;
/** How long the sign-in link that a start prints is valid. */
export const SIGN_IN_LINK_MS = 10 * 60_000;

/** A link to the portal must be opened within this time. */
export const PORTAL_LINK_MS = 15 * 60_000;
/** How long the portal can be used after that. */
export const PORTAL_SESSION_MS = 3_600_000;

/** When a session ends that was last used at this time. */
export function sessionEnd(createdAtMs: number, usedAtMs: number): number {
  return Math.min(usedAtMs + SESSION_IDLE_MS, createdAtMs + SESSION_MAX_AGE_MS);
}
