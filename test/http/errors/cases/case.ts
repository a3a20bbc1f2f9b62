import type { CallOptions, TestService } from '../../../support/service.ts';
import type { Records } from '../records.ts';

/** The service that all cases share, with one of everything that a request can name. */
export interface CaseSetup extends Records {
  readonly service: TestService;
  /** Made like the others, then deleted. */
  readonly gone: Records;
}

export interface Request {
  readonly path: string;
  readonly body?: unknown;
  readonly options?: CallOptions;
}

type Ask = (setup: CaseSetup) => Request | Promise<Request>;

/** A request that is refused. Whatever it needs is made before it is returned: the request itself changes nothing. */
export type Case = readonly [title: string, ask: Ask];

export const post = (method: string, body: unknown, options: CallOptions = {}): Request => ({
  path: `/v1/${method}`,
  body,
  options,
});

/** A body that is sent as it is. */
export const raw = (method: string, content: string | Uint8Array, options: CallOptions = {}): Request => ({
  path: `/v1/${method}`,
  options: { raw: content, ...options },
});

export const get = (path: string): Request => ({ path, options: { method: 'GET' } });

export const create =
  (fields: object): Ask =>
  ({ apiId }) =>
    post('keys.createKey', { apiId, ...fields });

export const update =
  (fields: object): Ask =>
  ({ keyId }) =>
    post('keys.updateKey', { keyId, ...fields });

export const verify =
  (fields: object, options: CallOptions = {}): Ask =>
  ({ key }) =>
    post('keys.verifyKey', { key, ...fields }, options);
