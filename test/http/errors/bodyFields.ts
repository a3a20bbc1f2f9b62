import type { CallOptions } from '../../support/service.ts';
import { type Endpoint, ENDPOINTS } from '../docs/endpoints.ts';
import { ABSENT, realRequest } from './records.ts';
import type { Node } from './wrongValues.ts';

interface Asked {
  readonly path: string;
  readonly body?: unknown;
  readonly options?: CallOptions;
}

/** Fields that keep what they are given, when all else is right: a name is a name, also when it looks like a secret. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  '/v1/apis.createApi': ['name'],
  '/v1/identities.createIdentity': ['externalId', 'name', 'meta'],
  '/v1/plans.createPlan': ['name', 'meta'],
  '/v1/permissions.createPermission': ['name', 'slug', 'description'],
  '/v1/permissions.createRole': ['name', 'description'],
  '/v1/rootKeys.createRootKey': ['name'],
  '/v1/ratelimits.limit': ['namespace', 'identifier', 'meta', 'resources'],
  '/v1/ratelimits.setOverride': ['namespaceName', 'identifier'],
};

/**
 * Requests to every endpoint that hold a secret in every place where a mistake could put it. `share`: each field gets one value of so
 * many, another one from field to field.
 */
export function* placesFor(secret: string, share = 1): Generator<Asked> {
  for (const endpoint of ENDPOINTS) {
    yield* placesOf(endpoint, secret, share);
  }
}

function* placesOf(endpoint: Endpoint, secret: string, share: number): Generator<Asked> {
  const { path, request } = endpoint;
  const { items, properties = items?.properties ?? {} } = request as Node;
  const base = (): unknown => realRequest(endpoint, ABSENT);
  const withField = (name: string, value: unknown): unknown => {
    const body = base();
    return Array.isArray(body) ? [{ ...(body[0] as object), [name]: value }] : { ...(body as object), [name]: value };
  };
  yield { path, body: base() };
  yield { path, body: base(), options: { rootKey: secret } };
  yield { path, body: base(), options: { rootKey: null, headers: { authorization: secret } } };
  const names = Object.keys(properties).filter((each) => !KEPT[path]?.includes(each));
  for (const [place, name] of names.entries()) {
    const values = [secret, [secret], [{ [secret]: secret }], { [secret]: secret }, { name: secret }];
    for (const [i, value] of values.entries())
      if ((place + i + secret.length) % share === 0) yield { path, body: withField(name, value) };
  }
  yield { path, body: withField(secret, 1) };
  yield { path, options: { raw: `{"a":"${secret}` } };
  yield { path, options: { raw: `{"${secret}":1,"${secret}":1}` } };
  for (const headers of [
    { 'content-type': secret },
    { 'idempotency-key': secret, 'x-forwarded-for': secret, 'user-agent': secret },
  ]) {
    yield { path, body: base(), options: { headers } };
  }
  yield { path: `${path}?key=${encodeURIComponent(secret)}`, body: base() };
  yield { path: `${path}?keyId=${encodeURIComponent(secret)}`, options: { method: 'GET' } };
  yield { path: `${path}/${encodeURIComponent(secret)}`, body: base() };
  yield { path, body: base(), options: { method: 'PUT' } };
}
