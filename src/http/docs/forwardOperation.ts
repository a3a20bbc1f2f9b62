import { FORWARD_HEADERS, forwardAuth } from '../routes/keys.forwardAuth.ts';
import type { AnswerHeader } from '../shapes/schema/answerHeaders.ts';
import { ErrorObject } from '../shapes/schema/errorObject.ts';
import { VERDICT_STATUS } from '../verify/verdictStatus.ts';
import type { Components } from './components.ts';
import { describedAs, type Operation, queryParameters } from './operations.ts';

const OF_VERDICT: readonly AnswerHeader[] = [
  'keystile-request-id',
  ...FORWARD_HEADERS,
  'ratelimit-policy',
  'ratelimit',
];
/** Beside those that every error of its status has. */
const OF_ERROR: readonly AnswerHeader[] = ['cache-control', 'keystile-code', 'keystile-retryable'];

/** With `deny=403`, a 403 has the headers of every refusal. */
const HEADERS = {
  200: OF_VERDICT,
  401: ['keystile-request-id', ...FORWARD_HEADERS, 'www-authenticate'],
  403: [...OF_VERDICT, 'retry-after'],
  429: [...OF_VERDICT, 'retry-after'],
} as const satisfies Readonly<Record<number, readonly AnswerHeader[]>>;

/** Every method is answered in the same way. The document names GET, which most gateways send. */
export function forwardOperation(components: Components): Operation {
  const { response, example } = forwardAuth;
  const answer = components.named('KeysForwardAuthAnswer', response, 'The answer of `keys.forwardAuth`.');
  const responses: Record<string, object> = {
    ...components.errorResponses(['BAD_REQUEST']),
    '500': components.errorResponse(['INTERNAL_SERVER_ERROR'], OF_ERROR),
    '503': components.errorResponse(['UNAVAILABLE', 'OUTCOME_UNKNOWN'], OF_ERROR),
    '200': {
      description: 'The request may pass.',
      headers: components.headersOf(HEADERS[200]),
      content: { 'application/json': { schema: answer, example: example.response } },
    },
  };
  for (const code of ['EXPIRED', 'INSUFFICIENT_PERMISSIONS', 'RATE_LIMITED'] as const) {
    const status = VERDICT_STATUS[code];
    const codes = Object.entries(VERDICT_STATUS).flatMap(([each, its]) => (its === status ? [each] : []));
    responses[String(status)] = {
      description: `${codes.join(', ')}, or an error. With \`deny=403\`, every refusal but 401 is a 403.`,
      headers: components.headersOf(HEADERS[status]),
      content: {
        'application/json': {
          schema: { anyOf: [answer, components.shown(ErrorObject)] },
          example: { ...example.response, valid: false, code },
        },
      },
    };
  }
  return { ...describedAs(forwardAuth), security: [], parameters: queryParameters(forwardAuth, components), responses };
}
