import type { AuditEvent } from '../../../storage/port/events.ts';
import type { Actor } from '../change/actor.ts';

type Facts = Readonly<Record<string, unknown>>;

interface EventInput {
  /** `key.create`, `api.update`, ... */
  readonly action: string;
  readonly target: string;
  /** null: there was nothing, or there is nothing left. */
  readonly before: Facts | null;
  readonly after: Facts | null;
  /** Both are told as they are, not what differs. */
  readonly isWhole?: true;
  /** Place of the counter whose balance is told. */
  readonly counter?: number;
}

/** One entry of the audit log. Of a change only what differs is written down, before and after. */
export function auditEvent(actor: Actor, { action, target, before, after, isWhole, counter }: EventInput): AuditEvent {
  const isChange = isWhole !== true && before !== null && after !== null;
  return {
    actor: actor.id,
    action,
    target,
    before: before === null ? null : JSON.stringify(isChange ? differing(before, after) : membersSet(before)),
    after: after === null ? null : JSON.stringify(isChange ? differing(after, before) : membersSet(after)),
    origin: actor.origin,
    requestId: actor.requestId,
    ...(counter === undefined || counter < 0 ? {} : { counter }),
  };
}

/** The members that are not the same in the other. */
function differing(facts: Facts, other: Facts): Facts {
  const entries = Object.entries(facts).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(other[name]),
  );
  return Object.fromEntries(entries);
}

/** Of a whole thing what is not set is left out. */
function membersSet(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => !isNothing(value)));
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
