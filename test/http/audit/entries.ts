import type { TestService } from '../../support/service.ts';

export interface ToldEntry {
  readonly action: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What the audit log tells of one thing, oldest first. */
export async function entriesAbout(service: TestService, target: string): Promise<ToldEntry[]> {
  const query = { limit: 100, before: null, actor: null, action: null, target, fromMs: null, untilMs: null };
  const { entries } = await service.engine.storage.records.listEntries(query);
  return entries
    .toReversed()
    .map(({ action, before, after }) => ({ action, before: parsed(before), after: parsed(after) }));
}

function parsed(text: string | null): unknown {
  return text === null ? null : (JSON.parse(text) as unknown);
}
