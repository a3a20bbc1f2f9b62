import { AppError } from '../../core/errors.ts';
import type { Service } from '../service.ts';
import { type AnswerContext, errorAnswer } from './answer.ts';
import { type FailedRequest, reportFailure } from './reportFailure.ts';

/** The route does not accept this method. The answer lists the methods that it accepts. */
export class MethodNotAllowed extends AppError {
  readonly allow: string;

  constructor(path: string, method: string, allow: string) {
    super('METHOD_NOT_ALLOWED', `${path} takes ${allow}, not ${method}.`);
    this.allow = allow;
  }
}

/** Counts and logs the failure of a request, and answers it. Without a context the answer has a new request id. */
export function answerFailure(
  service: Service,
  failure: unknown,
  request: FailedRequest,
  context: AnswerContext = newContext(service),
): Response {
  reportFailure(service, failure, request, context.requestId);
  return errorAnswer(failure, context, failure instanceof MethodNotAllowed ? { allow: failure.allow } : {});
}

function newContext({ requestIds, config }: Service): AnswerContext {
  return { requestId: requestIds.next(), isPretty: false, linkBase: config.publicUrl ?? '' };
}
