import type { AuditEvent } from '../../../storage/port/events.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import type { Change } from '../../../storage/port/storage.ts';

/** A change that is being put together. */
export interface Draft {
  readonly writes: RecordWrite[];
  readonly accounts: Change['accounts'][number][];
  readonly events: AuditEvent[];
}

export function emptyDraft(): Draft {
  return { writes: [], accounts: [], events: [] };
}
