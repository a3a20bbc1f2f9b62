import {
  flag,
  key,
  number,
  numberFrom0,
  optionalNumber,
  type RecordOf,
  recordTable,
  text,
  uniqueText,
} from './columns.ts';

/** A group of identifiers of standalone limits. The same identifier in two namespaces has separate counters. */
export const NAMESPACES = recordTable('namespaces', {
  id: key('id'),
  name: uniqueText('name'),
  /** Grows with every change of an override whose identifier is a pattern (core/fence.ts). */
  patternsRevision: numberFrom0('patterns_revision'),
  createdAtMs: number('created_at_ms'),
});

export interface NamespaceRecord extends RecordOf<typeof NAMESPACES> {}

/** Other numbers for one identifier, or for all identifiers that a pattern with `*` matches. */
export const OVERRIDES = recordTable('overrides', {
  id: key('id'),
  namespaceId: text('namespace_id'),
  identifier: text('identifier'),
  limit: number('max_count'),
  durationMs: number('duration_ms'),
  async: flag('async'),
  createdAtMs: number('created_at_ms'),
  updatedAtMs: optionalNumber('updated_at_ms'),
  revision: numberFrom0('revision'),
});

export interface OverrideRecord extends RecordOf<typeof OVERRIDES> {}
