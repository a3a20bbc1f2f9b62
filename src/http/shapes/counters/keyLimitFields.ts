import { Type } from 'typebox';

import { MAX_LIMITS_PER_KEY } from '../../../core/bounds.ts';
import { component, field, former, formerField, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { DurationMs, Flag, LimitName, Positive, strict, Text, Whole } from '../../../model/schema/schemas.ts';

export const LIMIT_WORDS = 'How many requests may pass in a window, each counted with its cost.';
export const DURATION_WORDS =
  'The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute.';
export const DURATION_BOUNDS = 'From 1000 (a second) to 31622400000 (366 days).';
export const ASYNC_WORDS =
  'true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere.';
const KEPT_MODE = 'When absent, an existing limit keeps its mode, and a new one is local.';

const NOTIFY_WORDS =
  'true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long.';
const NotifyOfRequest = optional(
  Flag,
  `${NOTIFY_WORDS} When absent, an existing limit stays as it is, and a new one has false.`,
  true,
);
const ShownNotify = optional(Flag, `${NOTIFY_WORDS} Absent otherwise.`, true);

const LimitOfRequest = field(Positive, `${LIMIT_WORDS} At least 1.`, 100);
const DurationOfRequest = field(DurationMs, `${DURATION_WORDS} ${DURATION_BOUNDS}`, 60000);

/** The limit named `default`. The older names of its fields are accepted too; the newer ones take precedence. */
export const Ratelimit = component(
  'Ratelimit',
  strict({
    async: optional(Flag, `${ASYNC_WORDS} ${KEPT_MODE} In an import, it is strict.`, true),
    limit: optional(Positive, `${LIMIT_WORDS} At least 1. Required, unless \`refillRate\` is given.`, 10),
    duration: optional(
      DurationMs,
      `${DURATION_WORDS} ${DURATION_BOUNDS} Required, unless \`refillInterval\` is given.`,
      1000,
    ),
    type: former(
      Type.Enum(['fast', 'consistent']),
      'Older form of `async`: `fast` is `async: true`, `consistent` is `async: false`. `async` takes precedence.',
      'fast',
    ),
    refillRate: former(Positive, 'Older name of `limit`, which takes precedence.', 10),
    refillInterval: former(DurationMs, 'Older name of `duration`, which takes precedence.', 1000),
    notify: NotifyOfRequest,
  }),
  'The rate limit of a key, which has the name `default`. It applies to every verification.',
  { limit: 10, duration: 1000, async: true },
);

const NamedRatelimit = component(
  'NamedRatelimit',
  strict({
    name: field(
      LimitName,
      'The name of the limit, 1 to 128 characters, once in the list. A verification names the limit by it.',
      'requests',
    ),
    limit: LimitOfRequest,
    duration: DurationOfRequest,
    async: optional(Flag, `${ASYNC_WORDS} ${KEPT_MODE}`, true),
    notify: NotifyOfRequest,
  }),
  'A rate limit with a name of your choice.',
  { name: 'requests', limit: 100, duration: 60000 },
);

export const NamedRatelimits = Type.Array(NamedRatelimit, { maxItems: MAX_LIMITS_PER_KEY });

const AUTO_APPLY_WORDS =
  'true: the limit applies to every verification of a key of the customer. false: only to verifications that name it.';

/** A limit that the keys of a customer share. */
const SharedRatelimit = component(
  'SharedRatelimit',
  strict({
    ...NamedRatelimit.properties,
    autoApply: optional(
      Flag,
      `${AUTO_APPLY_WORDS} When absent, an existing limit stays as it is, and a new one has true.`,
      true,
    ),
  }),
  'A rate limit that all keys of a customer share.',
  { name: 'requests', limit: 100, duration: 60000 },
);

export const SharedRatelimits = Type.Array(SharedRatelimit, { maxItems: MAX_LIMITS_PER_KEY });

/** The limit that new keys of an api get. */
export const DefaultRatelimit = component(
  'DefaultRatelimit',
  strict({
    limit: LimitOfRequest,
    duration: DurationOfRequest,
    async: optional(Flag, `${ASYNC_WORDS} true when absent.`, true),
  }),
  'The rate limit of new keys of the api that are created without one.',
  { limit: 100, duration: 60000 },
);

const ShownLimit = field(Whole, LIMIT_WORDS, 100);
const ShownDuration = field(Whole, DURATION_WORDS, 60000);
const ShownMode = field(Flag, ASYNC_WORDS, true);

export const DefaultRatelimitObject = component(
  'DefaultRatelimitState',
  strict({ limit: ShownLimit, duration: ShownDuration, async: ShownMode }),
  'The rate limit of new keys of the api that are created without one.',
  { limit: 100, duration: 60000, async: true },
);

export const RatelimitObject = component(
  'RatelimitState',
  strict({
    async: ShownMode,
    limit: ShownLimit,
    duration: ShownDuration,
    refillRate: formerField(Whole, 'The same number as `limit`, for older programs.', 100),
    refillInterval: formerField(Whole, 'The same number as `duration`, for older programs.', 60000),
    notify: ShownNotify,
  }),
  'The rate limit of a key with the name `default`.',
  { async: true, limit: 100, duration: 60000, refillRate: 100, refillInterval: 60000 },
);

const NamedRatelimitObject = component(
  'NamedRatelimitState',
  strict({
    name: field(Text, 'The name of the limit.', 'requests'),
    limit: ShownLimit,
    duration: ShownDuration,
    async: ShownMode,
    notify: ShownNotify,
  }),
  'A rate limit of a key or a customer, by its name.',
  { name: 'requests', limit: 100, duration: 60000, async: true },
);

const SHOWN_SHARED = { ...NamedRatelimitObject.properties, autoApply: field(Flag, AUTO_APPLY_WORDS, true) };

export const SharedRatelimitObject = component(
  'SharedRatelimitState',
  strict(SHOWN_SHARED),
  'A rate limit that all keys of a customer share.',
  { name: 'requests', limit: 100, duration: 60000, async: true, autoApply: true },
);

export const USED_EXAMPLE = {
  name: 'requests',
  limit: 100,
  duration: 60000,
  async: true,
  autoApply: true,
  used: 7,
  reset: EXAMPLE.midnight + 60000,
};

/** What has passed of a limit. */
const USED_FIELDS = {
  used: field(
    Whole,
    'How much has passed in the running window. The count of a local limit is saved in the background and lags by some seconds.',
    7,
  ),
  reset: field(Whole, 'When the running window ends, in unix milliseconds.', EXAMPLE.midnight + 60000),
};

export const UsedRatelimitObject = component(
  'UsedRatelimit',
  strict({ ...SHOWN_SHARED, ...USED_FIELDS }),
  'A rate limit that all keys of a customer share, and what was used of it.',
  USED_EXAMPLE,
);

export const UsedDefaultRatelimit = component(
  'UsedDefaultRatelimit',
  strict({ ...RatelimitObject.properties, ...USED_FIELDS }),
  'The rate limit of a key with the name `default`, and what was used of it.',
  {
    async: true,
    limit: 100,
    duration: 60000,
    refillRate: 100,
    refillInterval: 60000,
    used: 7,
    reset: EXAMPLE.midnight + 60000,
  },
);

export const UsedNamedRatelimit = component(
  'UsedNamedRatelimit',
  strict({ ...NamedRatelimitObject.properties, ...USED_FIELDS }),
  'A rate limit of a key, by its name, and what was used of it.',
  { name: 'requests', limit: 100, duration: 60000, async: true, used: 7, reset: EXAMPLE.midnight + 60000 },
);

export const ShownRatelimits = listOf(NamedRatelimitObject, 'The rate limits with names of your choice.');

/** What a call left of a limit. */
export const LIMIT_RESULT = {
  limit: field(Whole, 'How much may pass in the window.', 10),
  remaining: field(Whole, 'How much may still pass in the window, after this call.', 9),
  reset: field(Whole, 'When the window ends and the next one begins, in unix milliseconds.', 1783036801000),
};

export const RatelimitResult = component(
  'RatelimitResult',
  strict(LIMIT_RESULT),
  'What a verification left of a rate limit.',
  { limit: 10, remaining: 9, reset: EXAMPLE.midnight + 1000 },
);

export const NamedRatelimitResult = component(
  'NamedRatelimitResult',
  strict({
    name: field(Text, 'The name of the limit. `default` is the `ratelimit` of the key.', 'default'),
    ...LIMIT_RESULT,
    duration: field(Whole, 'The window, in milliseconds.', 1000),
    async: ShownMode,
    exceeded: field(Flag, 'true: this limit refused the verification.', false),
    shared: optional(
      Flag,
      'true: all keys of the customer share this limit. Absent for a limit of the key itself.',
      true,
    ),
  }),
  'What a verification left of a rate limit, by its name.',
  {
    name: 'default',
    limit: 10,
    duration: 1000,
    remaining: 9,
    reset: EXAMPLE.midnight + 1000,
    async: true,
    exceeded: false,
  },
);
