import type { Issue } from '../../core/errors.ts';
import { defineRoute } from './route.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { LimitAnswer, LimitRequest, toLimitAnswer, toStandaloneRequest } from '../shapes/ratelimitFields.ts';

export const limit = defineRoute({
  path: '/v1/ratelimits.limit',
  method: 'POST',
  summary: 'Limit anything by your own identifier, without a key.',
  description:
    'The limit is exact unless `async` is true. `success` says whether the request may pass; a refusal costs nothing.',
  rights: ['ratelimit.<namespaceId>.limit', 'ratelimit.*.create_namespace'],
  command: { name: 'limit take', refuses: 'success' },
  request: LimitRequest,
  response: LimitAnswer,
  example: {
    request: { namespace: 'email.outbound', identifier: 'user_1234', limit: 10, duration: 60000, async: true },
    response: { success: true, limit: 10, remaining: 9, reset: 1767225660000 },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  isUse: true,
  async handle(engine, actor, body) {
    const issues: Issue[] = [];
    const request = toStandaloneRequest(body, '', issues);
    if (issues.length > 0) throw badFields(issues);
    const [result] = await engine.ratelimits.limits.limit(actor, [request]);
    if (result === undefined) throw new Error('a limit was not decided');
    return toLimitAnswer(result);
  },
});
