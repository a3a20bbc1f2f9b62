import type { Static, TSchema } from 'typebox';
import type { ErrorCode } from '../../core/errors.ts';
import type { Operation } from '../../core/rights.ts';
import type { Actor } from '../../engine/admin/change/requireRight.ts';
import type { Engine } from '../../engine/engine.ts';
import type { AnswerContext } from '../answer/answer.ts';
import type { StreamedBody } from '../answer/streamedAnswer.ts';
import type { Peer } from '../service.ts';
import type { FieldRights } from '../shapes/schema/commonFields.ts';

/** What the command of an endpoint has beside the fields of its request. */
export interface RouteCommand {
  /** Its words. Absent: those of the path, as `keys.rotateKey` is `key rotate`. */
  readonly name?: string;
  /** The command takes something away, so it asks before it runs: always, or only when the old secret ends at once. */
  readonly asksFirst?: 'always' | 'withoutOverlap';
  /**
   * Other names of fields, as flags and as labels in answers. null: the field has no flag. A deprecated field never has one.
   * `remaining.cost` makes the only member of an object a flag.
   */
  readonly flags?: Readonly<Record<string, string | null>>;
  /** Flags that the command had once, each with what to write now. */
  readonly formerFlags?: Readonly<Record<string, string>>;
  /** The columns of its table. Absent: its first fields but lists and objects. `identity.externalId` is a field of an object. */
  readonly columns?: readonly string[];
  /** Those of the columns that are shown only where a row has them. */
  readonly columnsIfAny?: readonly string[];
  /** The word that a person sees for a field that is absent. */
  readonly absent?: Readonly<Record<string, string>>;
  /** The member of the answer that is a secret, and is never shown again. */
  readonly shownOnce?: string;
  /** The member of the answer that is false when the service says no: the exit code is 3 then. */
  readonly refuses?: 'valid' | 'success';
}

/** One endpoint of the management API. A GET endpoint takes query parameters, and also accepts POST with the same fields. */
export interface Route {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** What the endpoint does, in one sentence. */
  readonly summary: string;
  /** What the summary does not say. */
  readonly description?: string;
  /**
   * The rights that a root key needs. A caller that has none of them on any record is refused before its body is read. Then the engine
   * checks them, because it knows the records.
   */
  readonly rights: readonly string[];
  /** One of the rights is enough; otherwise all of them are needed. */
  readonly isOneRightEnough?: true;
  /** With one of these, some requests need none of the rights. */
  readonly leastRights?: readonly string[];
  /** Further rights that some fields need. */
  readonly fieldRights?: readonly FieldRights[];
  /** The rights that are needed instead, with one of these fields. */
  readonly insteadRights?: readonly FieldRights[];
  readonly request: TSchema;
  readonly response: TSchema;
  readonly example: { readonly request: object; readonly response: object };
  /** Absent: its command is made from the fields alone. */
  readonly command?: RouteCommand;
  readonly errors: readonly ErrorCode[];
  /** The status of a success; 200 if absent. */
  readonly status?: number;
  /** 64 KiB if absent. */
  readonly maxBodyBytes?: number;
  /** Part of serving a customer, and as frequent as verifications: it does not count for the quotas of management. */
  readonly isUse?: true;
  handle(engine: Engine, actor: Actor, body: unknown): Promise<object>;
  /** Answers in other formats than JSON, which are sent while they are made. */
  readonly stream?: RouteStream<unknown>;
}

/** The operations of which a caller must be allowed at least one. */
export function operationsOf({ rights, leastRights = [], insteadRights = [] }: Route): readonly Operation[] {
  const all = [...rights, ...leastRights, ...insteadRights.flatMap((instead) => instead.rights)];
  return all.map((right) => {
    const [resource, , action] = right.split('.');
    return `${resource}.${action}` as Operation;
  });
}

interface RouteStream<B> {
  /** Their media types, each with an example. */
  readonly examples: Readonly<Record<string, string>>;
  /** null: the request asks for JSON. `accept`: the header. */
  open(engine: Engine, actor: Actor, body: B, accept: string | null): Promise<StreamedBody | null>;
}

type TypedRoute<S extends TSchema> = Omit<Route, 'request' | 'handle' | 'stream'> & {
  readonly request: S;
  handle(engine: Engine, actor: Actor, body: Static<S>): Promise<object>;
  readonly stream?: RouteStream<Static<S>>;
};

/** Gives the handler the type of its request: it is called only with values that the schema accepts. */
export function defineRoute<S extends TSchema>(route: TypedRoute<S>): Route {
  const { stream, ...rest } = route;
  const handle: Route['handle'] = (engine, actor, body) => route.handle(engine, actor, body as Static<S>);
  if (stream === undefined) return { ...rest, handle };
  const open: RouteStream<unknown>['open'] = (engine, actor, body, accept) =>
    stream.open(engine, actor, body as Static<S>, accept);
  return { ...rest, handle, stream: { examples: stream.examples, open } };
}

/** A request, and what is known of it. */
export interface Asked {
  readonly request: Request;
  readonly peer: Peer;
  readonly context: AnswerContext;
}

/** What answers the requests to one path. */
export interface Endpoint {
  /** 'any': all of them, also OPTIONS, are answered in the same way. */
  readonly methods: readonly string[] | 'any';
  answer(request: Request, peer: Peer, context: AnswerContext): Promise<Response>;
}
