import { MAX_EVENT_BYTES } from '../../../core/bounds.ts';
import { eventTypeOf, type EventType } from '../../../core/events.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';
import type { NewEvent } from '../../../storage/port/events.ts';
import type { System } from '../../system.ts';

/** Makes events. */
export class EventMaker {
  readonly #system: System;

  constructor(system: System) {
    this.#system = system;
  }

  /** `ids` names the records that the event is about, `facts` says what happened. */
  make(type: EventType, ids: Readonly<Record<string, string>>, facts: object): NewEvent {
    const whole = JSON.stringify({ ...ids, ...facts });
    const isTooLong = new TextEncoder().encode(whole).length > MAX_EVENT_BYTES;
    return {
      id: makeId('evt', this.#system.nowMs(), this.#system.randomBytes(ID_RANDOM_BYTES)),
      type,
      data: isTooLong ? JSON.stringify({ ...ids, truncated: true }) : whole,
    };
  }

  /** What the audit log says of a change, as events. So no audited change of a key or an identity is without its event. */
  ofEntries(entries: readonly AuditEntry[]): NewEvent[] {
    return entries.flatMap((entry) => {
      const type = eventTypeOf(entry.action);
      return type === null ? [] : this.#ofEntry(type, entry);
    });
  }

  #ofEntry(type: EventType, { action, target, actor, requestId, before, after, ids, counter }: AuditEntry): NewEvent {
    const event = this.make(
      type,
      { [`${action.split('.')[0]}Id`]: target, ...ids },
      {
        actor,
        ...(requestId === null ? {} : { requestId }),
        ...(before === null ? {} : { before: JSON.parse(before) as object }),
        ...(after === null ? {} : { after: JSON.parse(after) as object }),
      },
    );
    return { ...event, ...(counter === undefined ? {} : { counter }) };
  }
}
