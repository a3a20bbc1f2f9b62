import type { SessionRecord } from '../../core/records.ts';
import { component, field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { RootKeyId } from './schema/commonFields.ts';
import { strict, Text, Whole } from '../../model/schema/schemas.ts';

export const SESSION_EXAMPLE = {
  id: 'ses_1Jm8ZtXg3kPp5FhJ9sQw2R',
  rootKeyId: EXAMPLE.rootKeyId,
  createdAt: 1773576000000,
  lastUsedAt: 1773579600000,
  endsAt: 1773622800000,
  origin: '203.0.113.7',
  browser: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/147.0',
};

export const SessionObject = component(
  'Session',
  strict({
    id: field(Text, 'The id of the session.', SESSION_EXAMPLE.id),
    rootKeyId: RootKeyId,
    createdAt: field(Whole, 'When the browser signed in, in unix milliseconds.', SESSION_EXAMPLE.createdAt),
    lastUsedAt: field(
      Whole,
      'When the session was last used, in unix milliseconds. The time can be up to ten minutes too early.',
      SESSION_EXAMPLE.lastUsedAt,
    ),
    endsAt: field(
      Whole,
      'When the session ends if it is not used again, in unix milliseconds.',
      SESSION_EXAMPLE.endsAt,
    ),
    origin: optional(Text, 'The address that signed in. Absent when it is not known.', SESSION_EXAMPLE.origin),
    browser: optional(Text, 'How the browser names itself. Absent when it does not.', SESSION_EXAMPLE.browser),
  }),
  'A browser that is signed in to the dashboard with a root key.',
  SESSION_EXAMPLE,
);

/** A session as it is shown: never its secret, and nothing made from it. */
export function toSessionObject({ id, rootKeyId, createdAtMs, usedAtMs, untilMs, origin, browser }: SessionRecord) {
  return {
    id,
    rootKeyId,
    createdAt: createdAtMs,
    lastUsedAt: usedAtMs,
    endsAt: untilMs,
    ...(origin === null ? {} : { origin }),
    ...(browser === null ? {} : { browser }),
  };
}
