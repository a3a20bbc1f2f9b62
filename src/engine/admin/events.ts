import { type Actor, requireEverywhere } from './change/requireRight.ts';
import type { EventQuery, Events, StoredEvent } from '../../storage/port/events.ts';

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

/** An event as readers and webhooks get it. */
interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly time: number;
  readonly sequence: number;
  readonly data: object;
}

export function tellEvent({ id, type, atMs, sequence, data }: StoredEvent): ToldEvent {
  return { id, type, time: atMs, sequence, data: JSON.parse(data) as object };
}
