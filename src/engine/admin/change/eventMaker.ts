import { MAX_EVENT_BYTES } from '../../../core/bounds.ts';
import { eventTypeOf, type EventType } from '../../../core/events.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';
import type { NewEvent } from '../../../storage/port/events.ts';
import type { System } from '../../platform.ts';

/** Makes events. */
export class EventMaker {
  readonly #system: System;

  constructor(system: System) {
    this.#system = system;
  }

  /** `ids` names the records that the event is about, `facts` says what happened. */
  make(type: EventType, ids: Readonly<Record<string, string>>, facts: object): NewEvent {
    return this.#written(type, ids, JSON.stringify({ ...ids, ...facts }));
  }

  /** What the audit log says of a change, as events. So no audited change of a key or an identity is without its event. */
  ofEntries(entries: readonly AuditEntry[]): NewEvent[] {
    return entries.flatMap((entry) => {
      const type = eventTypeOf(entry.action);
      return type === null ? [] : this.#ofEntry(type, entry);
    });
  }

  #ofEntry(type: EventType, { action, target, actor, requestId, before, after, ids, counter }: AuditEntry): NewEvent {
    const subject = { [`${action.split('.')[0]}Id`]: target, ...ids };
    const facts = JSON.stringify({ ...subject, actor, ...(requestId === null ? {} : { requestId }) });
    // Both are JSON already. A change of a thousand records has as many of them.
    const beforeText = before === null ? '' : `,"before":${before}`;
    const afterText = after === null ? '' : `,"after":${after}`;
    const event = this.#written(type, subject, `${facts.slice(0, -1)}${beforeText}${afterText}}`);
    return { ...event, ...(counter === undefined ? {} : { counter }) };
  }

  #written(type: EventType, ids: Readonly<Record<string, string>>, whole: string): NewEvent {
    return {
      id: makeId('evt', this.#system.nowMs(), this.#system.randomBytes(ID_RANDOM_BYTES)),
      type,
      data: isTooLong(whole) ? JSON.stringify({ ...ids, truncated: true }) : whole,
    };
  }
}

/** A unit of a text has at most three bytes. */
function isTooLong(text: string): boolean {
  if (text.length * 3 <= MAX_EVENT_BYTES) return false;
  return text.length > MAX_EVENT_BYTES || new TextEncoder().encode(text).length > MAX_EVENT_BYTES;
}
