import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { EVENT_TYPE_NAMES } from '../../core/events.ts';
import { tellEvent } from '../../engine/admin/events.ts';
import { asList, oneOrMany } from '../shapes/analyticsFields.ts';
import { field, listOf, optional } from '../../model/schema/described.ts';
import { EVENT_EXAMPLE, EventObject, EventTypeName } from '../shapes/eventObject.ts';
import { PageLimit, toSequence } from '../shapes/schema/commonFields.ts';
import { Id, strict, Text } from '../../model/schema/schemas.ts';
import { defineRoute } from './route.ts';

/** What an event is about: the ids that its data can have. */
const SUBJECTS = ['keyId', 'apiId', 'identityId', 'planId', 'reservationId', 'webhookId'].map((id) => `data.${id}`);

export const listEvents = defineRoute({
  path: '/v1/events.listEvents',
  method: 'GET',
  summary: 'Read the events after a cursor, oldest first: the same events that webhooks deliver.',
  description:
    'Keep the `cursor` of the answer and send it with the next call: no event comes twice, and none is left out, even while new ones are written. Events are kept for `KEYSTILE_EVENT_RETENTION`.',
  rights: ['event.*.read_event'],
  command: {
    columns: ['time', 'type', ...SUBJECTS, 'id'],
    columnsIfAny: SUBJECTS,
  },
  request: strict({
    types: optional(
      oneOrMany(EventTypeName, EVENT_TYPE_NAMES.length),
      'Only events of this type, or of these types. All when absent.',
      ['key.created', 'key.deleted'],
    ),
    cursor: optional(
      Id,
      'The `cursor` of the last answer, which is the `sequence` of its last event. Without it, the answer begins with the oldest event that is kept.',
      '1042',
    ),
    limit: PageLimit,
  }),
  response: strict({
    events: listOf(EventObject, 'The events after the cursor. `[]` when there are none yet.'),
    cursor: field(
      Text,
      'Send it as `cursor` with the next call. It is there even when there are no further events.',
      '1042',
    ),
  }),
  example: {
    request: { types: ['key.updated'], cursor: '1041', limit: 10 },
    response: { events: [EVENT_EXAMPLE], cursor: '1042' },
  },
  errors: [],
  async handle(engine, actor, { types, cursor = '0', limit = MAX_PAGE_SIZE }) {
    const after = toSequence(cursor);
    const events = await engine.eventLog.list(actor, { after, types: asList(types), limit });
    return { events: events.map(tellEvent), cursor: String(events.at(-1)?.sequence ?? after) };
  },
});
