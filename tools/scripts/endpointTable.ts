import { COMMANDS } from '../../src/cli/commandTable.ts';
import { createReservation } from '../../src/http/routes/reservations.create.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';
import type { Endpoint, EndpointAnswer } from '../../src/cli/endpoint/endpoint.ts';
import { exampleWords } from './endpointExample.ts';
import { fieldsOf, nameIn, numberKind, type Schema } from './endpointFields.ts';
import { commandOf } from './endpointNames.ts';

interface Described {
  readonly path: string;
  readonly method: string;
  readonly summary: string;
  readonly description?: string;
  readonly request: object;
  readonly response: object;
  readonly example: { readonly request: object };
}

const BY_HAND = new Set(COMMANDS.flatMap(({ endpoint }) => endpoint ?? []));

/** Every endpoint that gets a command, except those whose command is written by hand. */
export function endpointTable(): Endpoint[] {
  const described: readonly Described[] = [...ROUTES, createReservation];
  return described.filter(({ path }) => !BY_HAND.has(withoutVersion(path))).map(toEndpoint);
}

function toEndpoint(route: Described): Endpoint {
  const path = withoutVersion(route.path);
  const command = commandOf(path);
  const fields = fieldsOf(command, route.request);
  const words = (text: string): string =>
    text
      .replaceAll(/`([^`]+)`/g, (_, word: string) => nameIn(word, fields))
      .replaceAll(/\bnull clears\b/g, '--clear removes');
  return {
    path,
    command,
    summary: words(route.summary),
    ...(route.description === undefined ? {} : { description: words(route.description) }),
    isRead: route.method === 'GET' || command === 'key whoami',
    ...(path === 'reservations.create' ? { needsNoRootKey: true } : {}),
    ...asksFirst(command),
    fields,
    answer: { ...answerOf(route.response), ...COUNTS[path] },
    example: exampleWords(route.example.request, fields),
  };
}

function withoutVersion(path: string): string {
  return path.replace('/v1/', '');
}

function asksFirst(command: string): Pick<Endpoint, 'asksFirst'> {
  if (/ (?:delete|revoke|end)\b/.test(command)) return { asksFirst: 'always' };
  return / rotate/.test(command) ? { asksFirst: 'withoutOverlap' } : {};
}

const MAX_COLUMNS = 8;
const REFUSALS = ['rateLimited', 'usageExceeded', 'forbidden', 'disabled', 'expired', 'insufficientPermissions'];
/** Rows of counts: what a row stands for, then the sums, then the refusals. */
const COUNTS: Readonly<Record<string, Pick<EndpointAnswer, 'groups' | 'columns'>>> = {
  'analytics.getVerifications': {
    groups: ['time', 'keyId', 'identity', 'tag', 'tags'],
    columns: ['total', 'credits', 'valid', ...REFUSALS, 'notFound'],
  },
  'keys.getVerifications': { groups: ['time'], columns: ['credits', 'success', ...REFUSALS] },
};
const SCALAR = new Set(['string', 'integer', 'boolean']);
/** The same in every row. */
const CONSTANT = 'workspaceId';

function answerOf(response: Schema): EndpointAnswer {
  if (response.type === 'array') return { list: null, ...shapeOf(response.items ?? {}, true) };
  const lists = Object.entries(response.properties ?? {}).filter(
    ([, { type, items }]) => type === 'array' && items?.properties !== undefined,
  );
  const others = Object.keys(response.properties ?? {}).filter((name) => !/^(?:total|cursor|namespaceId)$/.test(name));
  const [list] = lists;
  if (list === undefined || others.length > 1) return shapeOf(response, false);
  return { list: list[0], ...shapeOf(list[1].items ?? {}, true) };
}

function shapeOf({ properties = {} }: Schema, isTable: boolean): EndpointAnswer {
  const entries = Object.entries(properties);
  const ofKind = (kind: string): string[] =>
    entries.flatMap(([name, { type, description = '' }]) =>
      type === 'integer' && shownKind(name, description) === kind ? [name] : [],
    );
  const columns = entries.filter(([name, { type, enum: values }]) => isColumn(name, type, values));
  const secret = entries.find(([, { description = '' }]) => /shown only|store it now/i.test(description))?.[0];
  return {
    ...(isTable ? { columns: columns.slice(0, MAX_COLUMNS).map(([name]) => name) } : {}),
    times: ofKind('time'),
    durations: ofKind('duration'),
    ...(secret === undefined ? {} : { secret }),
  };
}

function shownKind(name: string, description: string): string {
  return name.endsWith('At') ? 'time' : numberKind(name, description);
}

function isColumn(name: string, type: string | undefined, values: readonly unknown[] | undefined): boolean {
  return name !== CONSTANT && (values !== undefined || SCALAR.has(type ?? ''));
}
