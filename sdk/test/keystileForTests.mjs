import { FakeKeystile } from '@keystile/sdk/testing';

/** A fake service with the keys that the middleware tests use. Its semantics are those of the service (test/sdk/fake.test.ts). */
export async function startFake(options = {}) {
  const fake = new FakeKeystile({ startsAt: new Date(), ...options });
  const keys = {
    plain: (await fake.createKey()).key,
    reader: (await fake.createKey({ permissions: ['doc.read'] })).key,
    credits: (await fake.createKey({ remaining: 5 })).key,
    limited: (await fake.createKey({ ratelimit: { limit: 1, duration: 31_622_400_000 } })).key,
    disabled: (await fake.createKey({ enabled: false })).key,
  };
  return { fake, keystile: fake.keystile, keys };
}

const problem = { 'content-type': 'application/problem+json' };

/**
 * What every middleware must answer, as [title, path, headers, status, body, headers]. The app has three routes: /hello, /docs (permission doc.read)
 * and /render (cost 2). Each answers {"left": remaining of the verdict, or null}.
 */
export function expectations({ plain, reader, credits, limited, disabled }) {
  const bearer = (key) => ({ authorization: `Bearer ${key}` });
  return [
    ['a key passes', '/hello', bearer(plain), 200, { left: null }, {}],
    ['a key in X-API-Key passes', '/hello', { 'x-api-key': plain }, 200, { left: null }, {}],
    ['no key is 401', '/hello', {}, 401, { code: 'NOT_FOUND' }, { ...problem, 'www-authenticate': 'Bearer' }],
    ['an unknown key is 401', '/hello', bearer('nope'), 401, { code: 'NOT_FOUND', status: 401 }, problem],
    ['a disabled key is 401', '/hello', bearer(disabled), 401, { code: 'DISABLED' }, problem],
    ['a missing permission is 403', '/docs', bearer(plain), 403, { code: 'INSUFFICIENT_PERMISSIONS' }, problem],
    ['a permission passes', '/docs', bearer(reader), 200, { left: null }, {}],
    ['the cost of the route is taken', '/render', bearer(credits), 200, { left: 3 }, {}],
    ['credits that are used up are 429 (1)', '/render', bearer(credits), 200, { left: 1 }, {}],
    ['credits that are used up are 429 (2)', '/render', bearer(credits), 429, { code: 'USAGE_EXCEEDED' }, problem],
    [
      'a limit is shown',
      '/hello',
      bearer(limited),
      200,
      { left: null },
      { 'ratelimit-policy': '"default";q=1;w=31622400' },
    ],
    [
      'a limit that is reached is 429',
      '/hello',
      bearer(limited),
      429,
      { code: 'RATE_LIMITED' },
      { 'retry-after': /^\d+$/ },
    ],
  ];
}

/** Asks the app at `url`, and throws where it differs. */
export async function expectAll(test, url, keys) {
  const { deepStrictEqual, match, strictEqual } = await import('node:assert');
  for (const [title, path, headers, status, body, answered] of expectations(keys)) {
    await test(title, async () => {
      const response = await fetch(url + path, { headers });
      const seen = await response.json();
      strictEqual(response.status, status);
      deepStrictEqual(Object.fromEntries(Object.keys(body).map((name) => [name, seen[name]])), body);
      for (const [name, value] of Object.entries(answered)) {
        if (value instanceof RegExp) match(response.headers.get(name) ?? '', value);
        else strictEqual(response.headers.get(name)?.split('; charset')[0], value);
      }
    });
  }
}
