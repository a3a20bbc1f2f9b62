import { MAX_SHOWN_POLICIES } from '../../../core/bounds.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';

interface DescribedHeader {
  readonly name: string;
  readonly description: string;
  readonly example: string | number;
}

/** The headers of answers, with the words that /openapi.json shows. A test compares them with what is sent. */
export const ANSWER_HEADERS = {
  'keystile-request-id': {
    name: 'Keystile-Request-Id',
    description: 'The id of this request, which finds it in the log.',
    example: EXAMPLE.requestId,
  },
  'keystile-replayed': {
    name: 'Keystile-Replayed',
    description: 'Present when the answer repeats that of an earlier request with the same idempotency key.',
    example: 'true',
  },
  'ratelimit-policy': {
    name: 'RateLimit-Policy',
    description: `What each rate limit grants, at most ${MAX_SHOWN_POLICIES}: its name, the requests (\`q\`) and the seconds of its window (\`w\`). The limit that refused is the first, else the one named \`default\`. Absent without a limit, and with KEYSTILE_RATELIMIT_HEADERS=off.`,
    example: '"default";q=10;w=60',
  },
  ratelimit: {
    name: 'RateLimit',
    description: 'What is left of the first of these limits (`r`), and the seconds until its window ends (`t`).',
    example: '"default";r=9;t=42',
  },
  'retry-after': {
    name: 'Retry-After',
    description: 'The seconds after which another try can succeed.',
    example: 1,
  },
  'keystile-retryable': {
    name: 'Keystile-Retryable',
    description:
      'Present when the request was refused. `true`: it can pass later without any other change. `false`: repeating it does not help, even when the status is 429.',
    example: 'false',
  },
  'www-authenticate': {
    name: 'WWW-Authenticate',
    description: 'Asks for a key as `Authorization: Bearer`.',
    example: 'Bearer realm="keystile"',
  },
  allow: {
    name: 'Allow',
    description: 'The methods that the path accepts.',
    example: 'POST',
  },
  'cache-control': {
    name: 'Cache-Control',
    description: 'No gateway may keep a verdict for another request.',
    example: 'no-store',
  },
  'keystile-code': {
    name: 'Keystile-Code',
    description: 'The code of the verdict or of the error.',
    example: 'VALID',
  },
  'keystile-key-id': {
    name: 'Keystile-Key-Id',
    description: 'The id of the key. Absent when the key is unknown.',
    example: EXAMPLE.keyId,
  },
  'keystile-external-id': {
    name: 'Keystile-External-Id',
    description: 'Your own id of the customer, as percent-encoded UTF-8. Absent when the key has no customer.',
    example: 'user_1234',
  },
  'keystile-remaining': {
    name: 'Keystile-Remaining',
    description: 'The credits that are left. Absent for a key without credits.',
    example: 2,
  },
} as const satisfies Readonly<Record<string, DescribedHeader>>;

/** The name of a header as the service sends it. */
export type AnswerHeader = keyof typeof ANSWER_HEADERS;

/** Headers of one answer. */
export type AnswerHeaders = { readonly [H in AnswerHeader]?: string };
