import { AppError, notFound } from '../../../core/errors.ts';
import {
  ALL_RIGHTS,
  holdsRight,
  holdsRightSomewhere,
  mayNameAnyOwner,
  mayNameOwner,
  type Operation,
  type OwnerOperation,
  rightTo,
} from '../../../core/rights.ts';

/** Requires the right on all records of a kind, present and future. Creating a record needs it. */
export function requireEverywhere(actor: Actor, operation: Operation): void {
  if (!holdsRight(actor.rights, operation, ALL_RIGHTS)) throw lacksRight(operation);
}

/** Requires the right on at least one record. Checked before anything is looked up. */
export function requireSomewhere(actor: Actor, operation: Operation): void {
  if (!holdsRightSomewhere(actor.rights, operation)) throw lacksRight(operation);
}

/** Requires one of the rights, on at least one record. Without any of them, nothing that the caller sends can succeed. */
export function requireAny(actor: Actor, operations: readonly Operation[]): void {
  const [first] = operations;
  if (first === undefined || operations.some((each) => holdsRightSomewhere(actor.rights, each))) return;
  throw lacksRight(first);
}

/** Requires the right on one record; without it, the answer is NOT_FOUND. `owner`: the id in the right. `id`: what was asked for. */
export function requireOn(actor: Actor, operation: Operation, owner: string, what: string, id: string | null): void {
  requireSomewhere(actor, operation);
  if (!holdsRight(actor.rights, operation, owner)) throw notFound(what, id);
}

/**
 * Requires the right to read all events that something tells of: whoever chooses where it tells them, or how many, reads them. null: events
 * of all apis, present and future.
 */
export function requireEventsOf(actor: Actor, apiIds: readonly string[] | null): void {
  const operation = 'event.read_event';
  const mayRead = (apiIds ?? [ALL_RIGHTS]).every((apiId) => holdsRight(actor.rights, operation, apiId));
  if (!mayRead) throw lacksRight(operation);
}

/**
 * Requires the right to name the identity as the owner of a key. null: there is none with that `externalId`. The refusal is the same
 * in both cases, so that it reveals nothing about customers of other apis.
 */
export function requireOwner({ rights }: Actor, operation: OwnerOperation, identityId: string | null): void {
  const mayName =
    identityId === null ? mayNameAnyOwner(rights, operation) : mayNameOwner(rights, operation, identityId);
  if (!mayName) throw lacksRight('identity.create_identity');
}

function lacksRight(operation: Operation): AppError {
  return new AppError('INSUFFICIENT_PERMISSIONS', `This root key lacks the right ${rightTo(operation, ALL_RIGHTS)}.`);
}

/** Who makes a change: a root key, the command line, or the service itself. */
export interface Actor {
  /** Id of the root key, or `cli` or `system`. */
  readonly id: string;
  readonly rights: readonly string[];
  /** When its rights end; null = never. An actor cannot create a root key that is valid for longer. */
  readonly untilMs: number | null;
  /** The address that the request came from. */
  readonly origin: string | null;
  readonly requestId: string | null;
  /** It acts for this identity: keys of others do not exist for it. Absent = for nobody in particular. */
  readonly onlyFor?: string;
  /** Where it makes the change; absent = by the API, the command line or the service itself. */
  readonly via?: 'dashboard' | 'portal';
}

/** The service itself, at its start and in the background. */
export const SYSTEM: Actor = { id: 'system', rights: ['*'], untilMs: null, origin: null, requestId: null };

/** The owner of the data folder, who uses the command line. */
export const COMMAND_LINE: Actor = { id: 'cli', rights: ['*'], untilMs: null, origin: null, requestId: null };
