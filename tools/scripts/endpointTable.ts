import { COMMANDS } from '../../src/cli/cli.ts';
import type { Endpoint, EndpointAnswer } from '../../src/cli/endpoint/endpoint.ts';
import { exampleWords } from './endpointExample.ts';
import { fieldsOf, nameIn, numberKind, type Schema } from './endpointFields.ts';
import { commandOf, DESCRIBED, type Described, OPEN } from './endpointNames.ts';

const BY_HAND = new Set(COMMANDS.flatMap(({ endpoint }) => endpoint ?? []));

/** Every endpoint that gets a command, except those whose command is written by hand. */
export function endpointTable(): Endpoint[] {
  return DESCRIBED.filter(({ path }) => !BY_HAND.has(withoutVersion(path))).map(toEndpoint);
}

function toEndpoint(route: Described): Endpoint {
  const path = withoutVersion(route.path);
  const { command: data = {} } = route;
  const command = commandOf(path);
  const fields = fieldsOf(command, route.request, data.flags);
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
    ...(OPEN.includes(route) ? { needsNoRootKey: true } : {}),
    ...(data.asksFirst === undefined ? {} : { asksFirst: data.asksFirst }),
    ...(data.formerFlags === undefined ? {} : { formerFlags: data.formerFlags }),
    fields,
    answer: answerOf(route),
    example: exampleWords(route.example.request, fields),
  };
}

function withoutVersion(path: string): string {
  return path.replace('/v1/', '');
}

const MAX_COLUMNS = 8;
const SCALAR = new Set(['string', 'integer', 'boolean']);
/** The same in every row. */
const CONSTANT = 'workspaceId';

function answerOf({ response, command = {} }: Described): EndpointAnswer {
  const { list, item } = recordIn(response);
  const { columns = list === undefined ? undefined : columnsOf(item) } = command;
  const labels = Object.entries(command.flags ?? {}).filter(
    ([name, flag]) => flag !== null && name in properties(item),
  );
  return {
    ...(list === undefined ? {} : { list }),
    ...(columns === undefined ? {} : { columns }),
    ...(command.columnsIfAny === undefined ? {} : { columnsIfAny: command.columnsIfAny }),
    ...(command.absent === undefined ? {} : { absent: command.absent }),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) as Record<string, string> }),
    ...(command.shownOnce === undefined ? {} : { secret: command.shownOnce }),
    ...(command.refuses === undefined ? {} : { refuses: command.refuses }),
    times: namesOf(item, (name, schema) => numbersOf(name, schema) === 'time'),
    durations: namesOf(item, (name, schema) => numbersOf(name, schema) === 'duration'),
    free: namesOf(item, (_, schema) => schema.type === 'object' && Object.keys(properties(schema)).length === 0),
  };
}

/** The member that holds the records, null where the answer itself is the list, and what a record is. */
function recordIn(response: Schema): { readonly list?: string | null; readonly item: Schema } {
  if (response.type === 'array') return { list: null, item: response.items ?? {} };
  const entries = Object.entries(properties(response));
  const [list] = entries.filter(([, { type, items }]) => type === 'array' && items?.properties !== undefined);
  const others = entries.filter(([name]) => !/^(?:total|cursor|namespaceId)$/.test(name));
  return list === undefined || others.length > 1 ? { item: response } : { list: list[0], item: list[1].items ?? {} };
}

function properties(schema: Schema): Readonly<Record<string, Schema>> {
  return schema.properties ?? {};
}

function columnsOf(item: Schema): string[] {
  const entries = Object.entries(properties(item)).filter(
    ([name, { type, enum: values }]) => name !== CONSTANT && (values !== undefined || SCALAR.has(type ?? '')),
  );
  return entries.slice(0, MAX_COLUMNS).map(([name]) => name);
}

/** The members for which this holds, at all depths. */
function namesOf(schema: Schema, holds: (name: string, schema: Schema) => boolean): string[] {
  const found = Object.entries(properties(schema)).flatMap(([name, member]) => {
    const inner = (member.anyOf ?? [member]).flatMap((each) => namesOf(each.items ?? each, holds));
    return holds(name, member) ? [name, ...inner] : inner;
  });
  return [...new Set(found)];
}

function numbersOf(name: string, { type, description = '' }: Schema): string {
  if (type !== 'integer') return '';
  return name.endsWith('At') ? 'time' : numberKind(name, description);
}
