import type { AuditEntry } from '../../../storage/port/auditEntries.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import type { Change } from '../../../storage/port/storage.ts';

/** A change that is being put together. */
export interface Draft {
  readonly writes: RecordWrite[];
  readonly accounts: Change['accounts'][number][];
  readonly entries: AuditEntry[];
}

export function emptyDraft(): Draft {
  return { writes: [], accounts: [], entries: [] };
}
