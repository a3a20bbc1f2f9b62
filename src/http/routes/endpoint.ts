import type { AnswerContext } from '../answer/answer.ts';
import type { Peer } from '../service.ts';

/** What answers the requests to one path. */
export interface Endpoint {
  /** 'any': all of them, also OPTIONS, are answered in the same way. */
  readonly methods: readonly string[] | 'any';
  answer(request: Request, peer: Peer, context: AnswerContext): Promise<Response>;
}
