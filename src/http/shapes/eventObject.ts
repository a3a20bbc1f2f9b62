import { Type } from 'typebox';

import { EVENT_TYPE_NAMES, EVENT_TYPES } from '../../core/events.ts';
import { component, field } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { strict, Text, Whole } from '../../model/schema/schemas.ts';

/** The type of an event in a request. */
export const EventTypeName = component(
  'EventType',
  Type.Enum([...EVENT_TYPE_NAMES]),
  `What happened. ${EVENT_TYPE_NAMES.map((name) => `\`${name}\`: ${EVENT_TYPES[name].when}`).join(' ')}`,
  'key.created',
);

const EventData = component(
  'EventData',
  Type.Object({}, { additionalProperties: true }),
  'The ids of the records, who made the change (`actor`, `requestId`), and the fields that differ in `before` and `after`, under their names in the API. With `truncated: true`, the fields were too long, and only the ids are kept.',
  { keyId: EXAMPLE.keyId },
);

export const EVENT_EXAMPLE = {
  id: EXAMPLE.eventId,
  type: 'key.updated',
  time: EXAMPLE.midnight,
  sequence: 1042,
  data: {
    keyId: EXAMPLE.keyId,
    apiId: EXAMPLE.apiId,
    actor: EXAMPLE.rootKeyId,
    requestId: EXAMPLE.requestId,
    before: { enabled: true },
    after: { enabled: false },
  },
};

export const EventObject = component(
  'Event',
  strict({
    id: field(Text, 'The id of the event. An event that is delivered twice has the same id.', EVENT_EXAMPLE.id),
    type: field(Text, 'What happened, such as `key.created`. Later versions add types.', EVENT_EXAMPLE.type),
    time: field(Whole, 'When it happened, in unix milliseconds.', EVENT_EXAMPLE.time),
    sequence: field(
      Whole,
      'The place of the event in the order of all events. Later events have higher numbers; numbers can be skipped.',
      EVENT_EXAMPLE.sequence,
    ),
    data: field(EventData, undefined, EVENT_EXAMPLE.data),
  }),
  'Something that happened. It never contains the secret of a key.',
  EVENT_EXAMPLE,
);
