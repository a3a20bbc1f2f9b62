import type { Answer, CallOptions, TestService } from '../../support/service.ts';

export const FORWARD = '/v1/keys.forwardAuth';

export interface Forwarded extends CallOptions {
  /** The query that the gateway's configuration has. */
  readonly query?: string;
}

/** The subrequest of a gateway for a client that sends this key. */
export function forward(service: TestService, key: string | null, options: Forwarded = {}): Promise<Answer> {
  const { query = '', ...rest } = options;
  return service.call(FORWARD + query, undefined, { method: 'GET', rootKey: key, ...rest });
}

export const codeOf = ({ status, headers }: Answer): [number, string | null] => [status, headers.get('keystile-code')];
