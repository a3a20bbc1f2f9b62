import { forwardAuth } from '../routes/keys.forwardAuth.ts';
import { ErrorObject } from '../shapes/errorObject.ts';
import { VERDICT_STATUS } from '../verify/verdictStatus.ts';
import type { Components } from './components.ts';
import { describedAs, type Operation, queryParameters } from './operations.ts';

const headerOf = (description: string, example: string): object => ({
  description,
  example,
  schema: { type: 'string' },
});

const HEADERS: Readonly<Record<string, object>> = {
  'Keystile-Code': headerOf('The code of the verdict or of the error.', 'VALID'),
  'Keystile-Key-Id': headerOf('The id of the key. Absent when the key is unknown.', 'key_1Jm8ZtYh4mRr6GjK8uTx3S'),
  'Keystile-External-Id': headerOf(
    'The external id of the owner, percent-encoded. Absent without an owner.',
    'user_1234',
  ),
  'Keystile-Remaining': headerOf('The credits that are left. Absent for a key without credits.', '2'),
};

/** Every method is answered in the same way. The document names GET, which most gateways send. */
export function forwardOperation(components: Components): Operation {
  const { response, example } = forwardAuth;
  const answer = components.named('KeysForwardAuthAnswer', response, 'The answer of `keys.forwardAuth`.');
  const responses: Record<string, object> = {
    ...components.errorResponses(['BAD_REQUEST', 'INTERNAL_SERVER_ERROR', 'UNAVAILABLE', 'OUTCOME_UNKNOWN']),
    '200': {
      description: 'The request may pass.',
      headers: HEADERS,
      content: { 'application/json': { schema: answer, example: example.response } },
    },
  };
  for (const code of ['EXPIRED', 'INSUFFICIENT_PERMISSIONS', 'RATE_LIMITED'] as const) {
    const status = VERDICT_STATUS[code];
    const codes = Object.entries(VERDICT_STATUS).flatMap(([each, its]) => (its === status ? [each] : []));
    responses[String(status)] = {
      description: `${codes.join(', ')}, or an error. With \`deny=403\`, every refusal but 401 is a 403.`,
      headers: HEADERS,
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
