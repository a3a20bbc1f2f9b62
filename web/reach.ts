import { signal } from '@preact/signals';

import { learnTime } from './clock.ts';

/** The node does not answer. Pages keep what they show, and ask again when it is back. */
export const isAway = signal(false);

/** A proxy answers for a node that it does not reach. */
const GATEWAY_FAILURES = [502, 504];

/** Asks the service, and notices whether it is there and what time it has. */
export async function reach(input: string, init: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(input, init);
    isAway.value = GATEWAY_FAILURES.includes(answer.status);
    learnTime(answer.headers.get('date'));
    return answer;
  } catch (error) {
    isAway.value = true;
    throw error;
  }
}
