import { Type } from 'typebox';

import {
  MAX_COUNT,
  MAX_ENVIRONMENT_LENGTH,
  MAX_EXTERNAL_ID_LENGTH,
  MAX_ID_LENGTH,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_KEY_BYTES,
  MAX_LIMIT_NAME_LENGTH,
  MAX_NAME_LENGTH,
  MAX_PERMISSION_LENGTH,
  MAX_WINDOW_MS,
  MIN_API_NAME_LENGTH,
  MIN_IDEMPOTENCY_KEY_LENGTH,
  MIN_KEY_BYTES,
  MIN_WINDOW_MS,
} from '../../core/bounds.ts';
import { idPattern } from '../../core/ids.ts';
import { PREFIX_PATTERN } from '../../core/secret.ts';
import { READABLE_PATTERN, TEXT_PATTERN, type TextFormat } from './textRules.ts';
import { component, EXPECTED } from './described.ts';

/** The pieces that schemas are made of. They validate, and they are what /openapi.json shows. */

export function strict<const P extends Type.TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}

export function words(minLength: number, maxLength: number, format?: TextFormat) {
  return Type.String({ minLength, maxLength, pattern: TEXT_PATTERN, ...(format === undefined ? {} : { format }) });
}

/** A page begins after the last record of the previous page, even if that record was deleted. */
export function cursorAt(prefix: 'key' | 'api' | 'id' | 'ovr' | 'plan' | 'rsv') {
  return Type.String({ pattern: idPattern(prefix), [EXPECTED]: 'the cursor of an earlier page' });
}

export function orNull<const S extends Type.TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export const Text = Type.String();
export const Whole = Type.Integer();
export const Flag = Type.Boolean();
export const Count = Type.Integer({ minimum: 0, maximum: MAX_COUNT });
export const Positive = Type.Integer({ minimum: 1, maximum: MAX_COUNT });
export const Id = words(1, MAX_ID_LENGTH);
export const Name = words(1, MAX_NAME_LENGTH);
export const ExternalId = words(1, MAX_EXTERNAL_ID_LENGTH);
export const Environment = words(1, MAX_ENVIRONMENT_LENGTH);
export const ApiName = Type.String({
  minLength: MIN_API_NAME_LENGTH,
  maxLength: MAX_NAME_LENGTH,
  pattern: READABLE_PATTERN,
});
/** An optional text of a key. An empty text counts as none. */
export const ExternalIdOrNone = words(0, MAX_EXTERNAL_ID_LENGTH);
export const EnvironmentOrNone = words(0, MAX_ENVIRONMENT_LENGTH);
export const UnixMs = Type.Integer({ minimum: 0, maximum: MAX_COUNT });
export const DurationMs = Type.Integer({ minimum: MIN_WINDOW_MS, maximum: MAX_WINDOW_MS });
export const LimitName = words(1, MAX_LIMIT_NAME_LENGTH);
export const PermissionName = words(1, MAX_PERMISSION_LENGTH);
export const ByteLength = Type.Integer({ minimum: MIN_KEY_BYTES, maximum: MAX_KEY_BYTES });
export const Prefix = Type.String({
  pattern: PREFIX_PATTERN,
  [EXPECTED]: '1 to 16 of the characters A-Z a-z 0-9 _ . -',
});

export const IDEMPOTENCY_PATTERN = `^[A-Za-z0-9_-]{${MIN_IDEMPOTENCY_KEY_LENGTH},${MAX_IDEMPOTENCY_KEY_LENGTH}}$`;
export const IDEMPOTENCY_WORDS = `${MIN_IDEMPOTENCY_KEY_LENGTH} to ${MAX_IDEMPOTENCY_KEY_LENGTH} of the characters A-Z a-z 0-9 _ -`;

export const Meta = component(
  'Meta',
  Type.Object({}, { additionalProperties: true }),
  'Metadata: a JSON object of your own, which the service stores and gives back unchanged. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels.',
  { plan: 'pro' },
);

export const Empty = component('Empty', strict({}), 'An empty object: the call was carried out.', {});
