import { EXAMPLE } from '../../model/schema/examples.ts';

/** One way to make a call, in the form that viewers of OpenAPI documents show (`x-codeSamples`). */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

export interface SampledCall {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly needsRootKey: boolean;
  /** Also answers GET. */
  readonly isRead: boolean;
  /** The example of the request. */
  readonly request: object;
}

/** The call in curl and in TypeScript. The tests run both. */
export function samplesOf(call: SampledCall, url: string): CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(call, url) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
  ];
}

/** For a gateway there is no method in the SDK. */
export function forwardSamples(path: string, request: object, url: string): CodeSample[] {
  const target = `${path}${queryOf(request)}`;
  const source = `const answer = await fetch('${url}${target}', {
  headers: { authorization: 'Bearer ${EXAMPLE.secret}' },
});
console.log(answer.status, answer.headers.get('keystile-key-id'));`;
  return [
    {
      lang: 'Shell',
      label: 'curl',
      source: lines([`curl -i '${url}${target}'`, `-H 'Authorization: Bearer ${EXAMPLE.secret}'`]),
    },
    { lang: 'TypeScript', label: 'TypeScript', source },
  ];
}

function curl({ path, method, needsRootKey, request }: SampledCall, url: string): string {
  const rootKey = needsRootKey ? [`-H "Authorization: Bearer $KEYSTILE_ROOT_KEY"`] : [];
  if (method === 'GET') return lines([`curl '${url}${path}${queryOf(request)}'`, ...rootKey]);
  const body = JSON.stringify(request, null, 2).replaceAll("'", String.raw`'\''`);
  return lines([`curl '${url}${path}'`, ...rootKey, `-H 'Content-Type: application/json'`, `-d '${body}'`]);
}

function lines(parts: readonly string[]): string {
  return parts.join(' \\\n  ');
}

function queryOf(request: object): string {
  const pairs = Object.entries(request as Record<string, unknown>).flatMap(([name, value]) =>
    [value].flat().map((each) => `${name}=${encodeURIComponent(String(each))}`),
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

const CLIENT = `import { Keystile } from '@keystile/sdk';

// Reads KEYSTILE_URL and KEYSTILE_ROOT_KEY.
const keystile = new Keystile();
`;

function typescript({ path, request, isRead }: SampledCall): string {
  const [group = '', name] = path.replace('/v1/', '').split('.');
  if (name === undefined) return `${CLIENT}console.log(await keystile.call('${path}', {}));`;
  if (name === 'verifyKey') {
    const { key, ...options } = request as { readonly key: string };
    const asked = Object.keys(options).length === 0 ? '' : `, ${literal(options)}`;
    return `${CLIENT}const verdict = await keystile.verify(${literal(key)}${asked});
if (!verdict.valid) console.log('refused:', verdict.code);`;
  }
  const call = `keystile.${group}.${sdkMethod(group, name)}(${literal(request)})`;
  return isSdkList(path, isRead)
    ? `${CLIENT}for await (const each of ${call}) console.log(each);`
    : `${CLIENT}console.log(await ${call});`;
}

/** A value as TypeScript writes it: names without quotes where they need none, texts in single quotes. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((each) => literal(each, inner))
    : Object.entries(value).map(
        ([name, each]) => `${/^[a-z_$][\w$]*$/i.test(name) ? name : literal(name)}: ${literal(each, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return `${open}${close}`;
  const space = Array.isArray(value) ? '' : ' ';
  const short = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (short.length <= 60 && !short.includes('\n')) return short;
  return `${open}\n${parts.map((part) => `${inner}${part},`).join('\n')}\n${indent}${close}`;
}

/** The noun that a group's methods leave out: keys.createKey is `keys.create`. */
const NOUNS: Readonly<Record<string, string>> = {
  keys: 'Key',
  apis: 'Api',
  identities: 'Identity',
  plans: 'Plan',
  permissions: 'Permission',
  rootKeys: 'RootKey',
  portal: 'Portal',
  sessions: 'Session',
  events: 'Event',
  webhooks: 'Webhook',
};

/** The name of an endpoint in its group of the SDK. */
export function sdkMethod(group: string, name: string): string {
  const noun = NOUNS[group];
  if (noun === undefined) return name;
  const plural = noun.endsWith('y') && noun !== 'Key' && noun !== 'RootKey' ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  if (name === `list${plural}`) return 'list';
  return name.endsWith(noun) ? name.slice(0, -noun.length) : name;
}

/** Whether the method goes through all pages of a list. */
export function isSdkList(path: string, isRead: boolean): boolean {
  return isRead && /\.list(?:[A-Z]|$)/.test(path);
}
