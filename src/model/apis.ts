import type { DefaultLimit } from '../core/records.ts';
import {
  flag,
  key,
  number,
  numberFrom0,
  optionalJson,
  optionalNumber,
  optionalText,
  type RecordOf,
  recordTable,
  text,
} from './columns.ts';

export const APIS = recordTable('apis', {
  id: key('id'),
  name: text('name'),
  defaultPrefix: optionalText('default_prefix'),
  defaultByteLength: optionalNumber('default_byte_length'),
  defaultLimit: optionalJson('default_limit', (cell) => JSON.parse(cell) as DefaultLimit),
  isDeleteProtected: flag('delete_protected', { constraint: ' DEFAULT 0' }),
  /** Deleting all keys of an api raises it. Keys of earlier generations are deleted, and removed afterwards. */
  generation: numberFrom0('generation'),
  /** Keys of generations below this one are removed for good. */
  purgesBelow: numberFrom0('purges_below'),
  createdAtMs: number('created_at_ms'),
  updatedAtMs: optionalNumber('updated_at_ms'),
  deletedAtMs: optionalNumber('deleted_at_ms'),
  revision: numberFrom0('revision'),
});

export interface ApiRecord extends RecordOf<typeof APIS> {}

/** An api without any settings. */
export const BLANK_API: ApiRecord = {
  id: '',
  name: '',
  defaultPrefix: null,
  defaultByteLength: null,
  defaultLimit: null,
  isDeleteProtected: false,
  generation: 0,
  purgesBelow: 0,
  createdAtMs: 0,
  updatedAtMs: null,
  deletedAtMs: null,
  revision: 0,
};
