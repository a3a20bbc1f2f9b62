import type { StoredEvent } from '../../../storage/port/events.ts';

/** An event as readers and webhooks get it. */
export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly time: number;
  readonly sequence: number;
  readonly data: object;
}

export function tellEvent({ id, type, atMs, sequence, data }: StoredEvent): ToldEvent {
  return { id, type, time: atMs, sequence, data: JSON.parse(data) as object };
}
