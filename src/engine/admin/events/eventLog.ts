import type { EventQuery, Events, StoredEvent } from '../../../storage/port/events.ts';
import type { Actor } from '../change/actor.ts';
import { requireEverywhere } from '../change/requireRight.ts';

/** Reads the events. */
export class EventLog {
  readonly #events: Events;

  constructor(events: Events) {
    this.#events = events;
  }

  /** Oldest first. Events tell of all apis, so reading them needs the right on everything. */
  async list(actor: Actor, query: EventQuery): Promise<readonly StoredEvent[]> {
    requireEverywhere(actor, 'event.read_event');
    return this.#events.list(query);
  }
}
