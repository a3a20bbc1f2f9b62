import type { Operation } from './rights.ts';

/** What a customer may do with its keys on the customers' page. */
export const PORTAL_ACTIONS = ['create', 'rotate', 'delete'] as const;
export type PortalAction = (typeof PORTAL_ACTIONS)[number];

/** What the root key behind a link must be allowed to do with keys of the api, for each action. */
export const ACTION_OPERATIONS: Readonly<Record<PortalAction, readonly Operation[]>> = {
  create: ['api.create_key'],
  rotate: ['api.create_key', 'api.update_key'],
  delete: ['api.delete_key'],
};

/** A link to the customers' page, and the browser that opened it. */
export interface PortalSessionRecord {
  /** `portal_...` */
  readonly id: string;
  /** Of the token in the link until it is opened, then of the secret in the browser's cookie. */
  readonly digest: string;
  /** The root key that made the link. The page can do nothing that it may not do. */
  readonly rootKeyId: string;
  readonly identityId: string;
  /** Whose keys the page shows. */
  readonly apiId: string;
  readonly allow: readonly PortalAction[];
  /** Fields of keys.createKey that a new key gets, as JSON. */
  readonly keyDefaults: string | null;
  readonly returnUrl: string | null;
  readonly createdAtMs: number;
  /** null: the link was not opened yet. */
  readonly openedAtMs: number | null;
  readonly untilMs: number;
  /** What the customer has changed. */
  readonly changes: number;
}
