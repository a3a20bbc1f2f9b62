import type { AnswerContext } from '../answer/answer.ts';
import type { Peer } from '../service.ts';

/** A request, and what is known of it. */
export interface Asked {
  readonly request: Request;
  readonly peer: Peer;
  readonly context: AnswerContext;
}

/** What answers the requests to one path. */
export interface Endpoint {
  /** 'any': all of them, also OPTIONS, are answered in the same way. */
  readonly methods: readonly string[] | 'any';
  answer(request: Request, peer: Peer, context: AnswerContext): Promise<Response>;
}
