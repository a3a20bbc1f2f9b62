import type { TestService } from '../../support/service.ts';

export interface ToldEvent {
  readonly action: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What the audit log tells of one thing, oldest first. */
export async function eventsAbout(service: TestService, target: string): Promise<ToldEvent[]> {
  const query = { limit: 100, before: null, actor: null, action: null, target, fromMs: null, untilMs: null };
  const { events } = await service.engine.storage.records.listEvents(query);
  return events
    .toReversed()
    .map(({ action, before, after }) => ({ action, before: parsed(before), after: parsed(after) }));
}

function parsed(text: string | null): unknown {
  return text === null ? null : (JSON.parse(text) as unknown);
}
