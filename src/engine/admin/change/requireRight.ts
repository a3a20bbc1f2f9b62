import { AppError, notFound } from '../../../core/errors.ts';
import { ALL_RIGHTS, type Operation, holdsRight, holdsRightSomewhere, rightTo } from '../../../core/rights.ts';
import type { Actor } from './actor.ts';

/** Operations that give a key an owner. */
export type OwnerOperation = 'api.create_key' | 'api.update_key';

/** Requires the right on all records of a kind, present and future. Creating a record needs it. */
export function requireEverywhere(actor: Actor, operation: Operation): void {
  if (!holdsRight(actor.rights, operation, ALL_RIGHTS)) throw lacksRight(operation);
}

/** Requires the right on at least one record. Checked before anything is looked up. */
export function requireSomewhere(actor: Actor, operation: Operation): void {
  if (!holdsRightSomewhere(actor.rights, operation)) throw lacksRight(operation);
}

/** Requires the right on one record; without it, the answer is NOT_FOUND. `owner`: the id in the right. `id`: what was asked for. */
export function requireOn(actor: Actor, operation: Operation, owner: string, what: string, id: string | null): void {
  requireSomewhere(actor, operation);
  if (!holdsRight(actor.rights, operation, owner)) throw notFound(what, id);
}

/** A root key that may do this in every api, or may create identities, may name any identity as the owner of a key. */
export function mayNameAnyOwner({ rights }: Pick<Actor, 'rights'>, operation: OwnerOperation): boolean {
  return holdsRight(rights, operation, ALL_RIGHTS) || holdsRight(rights, 'identity.create_identity', ALL_RIGHTS);
}

/**
 * Identities belong to no api, and a key of an identity reads its metadata and spends its credits. Therefore a root key of single
 * apis needs a right on identities to name one: to create any, or to change this one. `identityId` null: there is no identity with
 * that `externalId`. The refusal is the same in both cases, so that it reveals nothing about customers of other apis.
 */
export function requireOwner(actor: Actor, operation: OwnerOperation, identityId: string | null): void {
  if (mayNameAnyOwner(actor, operation)) return;
  if (identityId !== null && holdsRight(actor.rights, 'identity.update_identity', identityId)) return;
  throw lacksRight('identity.create_identity');
}

function lacksRight(operation: Operation): AppError {
  return new AppError('INSUFFICIENT_PERMISSIONS', `This root key lacks the right ${rightTo(operation, ALL_RIGHTS)}.`);
}
