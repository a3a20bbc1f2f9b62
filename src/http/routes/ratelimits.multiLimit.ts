import { MAX_BATCH_ITEMS, MAX_IMPORT_BODY_BYTES } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import { defineRoute } from './route.ts';
import { field, listOf } from '../../model/schema/described.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { LimitAnswer, LimitRequest, toLimitAnswer, toStandaloneRequest } from '../shapes/ratelimitFields.ts';
import { Flag, strict } from '../../model/schema/schemas.ts';

export const multiLimit = defineRoute({
  path: '/v1/ratelimits.multiLimit',
  method: 'POST',
  summary: 'Take up to 100 limits together, all or nothing.',
  description: 'The results say which limits refused.',
  rights: ['ratelimit.<namespaceId>.limit', 'ratelimit.*.create_namespace'],
  command: { name: 'limit take-many', refuses: 'success' },
  request: strict({
    limits: listOf(LimitRequest, 'The limits to take, 1 to 100, over any namespaces and in both modes.', {
      minItems: 1,
      maxItems: MAX_BATCH_ITEMS,
    }),
  }),
  response: strict({
    success: field(Flag, 'true: all limits were taken. false: at least one refused, and nothing was taken.', false),
    results: listOf(LimitAnswer, 'What became of each limit, in the order of the request.'),
  }),
  example: {
    request: {
      limits: [
        { namespace: 'email.outbound', identifier: 'user_1234', limit: 10, duration: 60000 },
        { namespace: 'email.outbound', identifier: 'org_77', limit: 1000, duration: 86400000, cost: 3 },
      ],
    },
    response: {
      success: false,
      results: [
        { success: true, limit: 10, remaining: 4, reset: 1767225660000 },
        { success: false, limit: 1000, remaining: 2, reset: 1767312000000 },
      ],
    },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  isUse: true,
  maxBodyBytes: MAX_IMPORT_BODY_BYTES,
  async handle(engine, actor, { limits }) {
    const issues: Issue[] = [];
    const requests = limits.map((each, i) => toStandaloneRequest(each, `limits[${i}].`, issues));
    if (issues.length > 0) throw badFields(issues);
    const results = await engine.ratelimits.limits.limit(actor, requests);
    return { success: results.every(({ success }) => success), results: results.map(toLimitAnswer) };
  },
});
