import { isNotSent, send } from '../http.ts';
import type { Trust } from '../trust.ts';

/** A service that is well answers in less. */
export const ASK_WITHIN_MS = 2_000;

/** Who is at an address: Keystile, another program, one that accepts connections and says nothing, or nobody. */
export type AtAddress = 'keystile' | 'another' | 'silent' | 'nobody';

/** Asks without a secret, so that no other program receives one. */
export async function whoIsAt(url: string, trust: Trust | null): Promise<AtAddress> {
  const answer = await askJson(new Request(`${url}/v1/liveness`), trust);
  if (typeof answer === 'string') return answer;
  return answer.body['status'] === 'ok' ? 'keystile' : 'another';
}

/** Whether the metrics of Keystile are served there. */
export async function whoseMetricsAreAt(url: string): Promise<AtAddress> {
  try {
    const response = await send(new Request(`${url}/metrics`), null, ASK_WITHIN_MS);
    return /keystile_|KEYSTILE_METRICS_TOKEN/.test(await response.text()) ? 'keystile' : 'another';
  } catch (error) {
    return whyNoAnswer(error);
  }
}

export interface JsonAnswer {
  readonly status: number;
  readonly isOk: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The answer, or why there is none. */
export async function askJson(
  request: Request,
  trust: Trust | null,
): Promise<JsonAnswer | Exclude<AtAddress, 'keystile'>> {
  try {
    const response = await send(request, trust, ASK_WITHIN_MS);
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null) return 'another';
    return { status: response.status, isOk: response.ok, body: body as JsonAnswer['body'] };
  } catch (error) {
    return whyNoAnswer(error);
  }
}

function whyNoAnswer(error: unknown): Exclude<AtAddress, 'keystile'> {
  if (isNotSent(error)) return 'nobody';
  return (error as { name?: string }).name === 'TimeoutError' ? 'silent' : 'another';
}
