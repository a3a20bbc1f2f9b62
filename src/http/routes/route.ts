import type { Static, TSchema } from 'typebox';

import type { ErrorCode } from '../../core/errors.ts';
import type { Actor } from '../../engine/admin/change/actor.ts';
import type { Engine } from '../../engine/engine.ts';
import type { FieldRights } from '../shapes/fieldRights.ts';

/** One endpoint of the management API. A GET endpoint takes query parameters and answers POST with the same fields too. */
export interface Route {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly summary: string;
  /** The rights that a root key needs, for the documentation; they are checked in the engine, where the objects are known. */
  readonly rights: readonly string[];
  /** One of the rights is enough; otherwise all of them are needed. */
  readonly isOneRightEnough?: true;
  /** What some fields need beside. */
  readonly fieldRights?: readonly FieldRights[];
  readonly request: TSchema;
  readonly response: TSchema;
  readonly example: { readonly request: object; readonly response: object };
  readonly errors: readonly ErrorCode[];
  /** Of a success; 200 when not given. */
  readonly status?: number;
  /** 64 KiB when not given. */
  readonly maxBodyBytes?: number;
  handle(engine: Engine, actor: Actor, body: unknown): Promise<object>;
}

type TypedRoute<S extends TSchema> = Omit<Route, 'request' | 'handle'> & {
  readonly request: S;
  handle(engine: Engine, actor: Actor, body: Static<S>): Promise<object>;
};

/** Binds the handler to the type of its request: it is called with what the schema has passed. */
export function defineRoute<S extends TSchema>(route: TypedRoute<S>): Route {
  return { ...route, handle: (engine, actor, body) => route.handle(engine, actor, body as Static<S>) };
}
