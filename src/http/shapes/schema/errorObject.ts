import { Type } from 'typebox';

import { type ErrorCode, ERRORS } from '../../../core/errors.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { RequestId } from './commonFields.ts';
import { strict, Text } from '../../../model/schema/schemas.ts';

/** The answer to a request that failed. */

export function errorExample(code: ErrorCode) {
  const requestId = 'req_1Jm8ZuAk6pTt8HlM9vVz4T1112';
  return { error: { code, message: ERRORS[code].when, docs: `/docs/errors#${code}`, requestId } };
}

const ISSUE = {
  path: 'refill.refillDay',
  message: 'refill.refillDay is allowed only with interval "monthly"',
};

const IssueObject = component(
  'Issue',
  strict({
    path: field(Text, 'Where the problem is in the request.', ISSUE.path),
    message: field(Text, 'What is wrong, and what is expected.', ISSUE.message),
  }),
  'One problem of a request.',
  ISSUE,
);

const Code = component(
  'ErrorCode',
  Type.Enum(Object.keys(ERRORS) as ErrorCode[]),
  `What kind of failure it is. ${Object.entries(ERRORS)
    .map(([code, { status, when }]) => `\`${code}\` (${status}): ${when}`)
    .join(' ')}`,
  'BAD_REQUEST',
);

export const ErrorObject = component(
  'Error',
  strict({
    error: field(
      strict({
        code: Code,
        message: field(Text, 'What is wrong and what to do, in words for a person.', ERRORS.NOT_FOUND.when),
        docs: field(
          Text,
          'Where this code is explained. A path on this server, unless KEYSTILE_PUBLIC_URL is set.',
          '/docs/errors#NOT_FOUND',
        ),
        requestId: RequestId,
        issues: optional(
          listOf(
            IssueObject,
            'The problems of the request, each with its place. With the code BAD_REQUEST at most 10. Other codes have it when the problem is one field, or some keys of a list.',
          ),
        ),
      }),
      'What went wrong.',
      errorExample('NOT_FOUND').error,
    ),
  }),
  'The answer to a request that failed. Its HTTP status is that of its code.',
  errorExample('NOT_FOUND'),
);
