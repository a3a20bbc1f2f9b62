import { MAX_SHOWN_POLICIES } from '../../src/core/bounds.ts';
import { ERRORS } from '../../src/core/errors.ts';
import { VERDICT_CODES } from '../../src/core/verdictCodes.ts';
import { openApi, type Operation, isSdkList, sdkMethod } from '../../src/http/docs/openApi.ts';
import { VERDICTS } from '../../src/core/verdictCodes.ts';
import { VERDICT_STATUS } from '../../src/http/verify/verdictAnswer.ts';
import type { Schema } from './endpointFields.ts';

type Components = Readonly<Record<string, Schema>>;

interface Call {
  readonly group: string;
  /** The name in the group: `create` for keys.createKey. */
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly operation: Operation;
  readonly isRead: boolean;
}

const HEADER = `// Made by 'npm run docs' from the schemas of the service. Do not edit.\n`;

/** Types of all requests and answers. There is nothing else in the file, so it is its own declaration. */
export function sdkTypes(): string {
  const document = openApi(null);
  const calls = callsOf(document.paths);
  const components = document.components.schemas as Readonly<Record<string, Schema>>;
  const named = Object.entries(components).filter(([name]) => name !== 'Error');
  return [
    `${HEADER}import type { CallOptions } from '../call.ts';\n`,
    ...named.map(([name, schema]) => `${comment(schema.description)}export type ${name} = ${typeOf(schema)};\n`),
    ...Map.groupBy(calls, ({ group }) => group)
      .entries()
      .map(([group, ofGroup]) => groupInterface(group, ofGroup, components)),
    `export interface Groups {\n${[...new Set(calls.map(({ group }) => group))].map((group) => `  readonly ${group}: ${capital(group)};`).join('\n')}\n}\n`,
  ].join('\n');
}

/** The codes, their statuses, and the table of calls. */
export function sdkValues(): string {
  const document = openApi(null);
  const components = document.components.schemas as Readonly<Record<string, Schema>>;
  return [
    `${HEADER}import type { Call } from '../call.ts';\n`,
    `/** The HTTP status of each error code. */\nexport const ERROR_STATUS = ${JSON.stringify(statuses())} as const;`,
    `/** The HTTP status that the caller of a protected route gets. UNAVAILABLE: there is no verdict. */\nexport const VERDICT_STATUS = ${JSON.stringify(VERDICT_STATUS)} as const;`,
    `/** What the caller of a protected route is told. */\nexport const VERDICT_TOLD = ${JSON.stringify(toldOf())} as const;`,
    `/** Limits that RateLimit-Policy names. */\nexport const MAX_SHOWN_POLICIES = ${MAX_SHOWN_POLICIES};`,
    `export const VERDICT_CODES = ${JSON.stringify(VERDICT_CODES)} as const;\n`,
    callTable(callsOf(document.paths), components),
  ].join('\n');
}

function statuses(): Record<string, number> {
  return Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status]));
}

function callsOf(paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>): Call[] {
  return Object.entries(paths).flatMap(([path, methods]) => {
    const operation = methods['post'];
    const [group = '', name] = path.replace('/v1/', '').split('.');
    if (operation === undefined || name === undefined) return [];
    const isRead = methods['get'] !== undefined;
    // The document describes a call that reads by its GET form.
    const { summary } = methods['get'] ?? operation;
    return [{ group, method: sdkMethod(group, name), path, summary, operation, isRead }];
  });
}

function requestOf(operation: Operation): Schema {
  return operation.requestBody?.content['application/json'].schema as Schema;
}

function answerOf(operation: Operation): Schema {
  const [, success] = Object.entries(operation.responses).find(([status]) => status.startsWith('2')) ?? [];
  return (success as { content: { 'application/json': { schema: Schema } } }).content['application/json'].schema;
}

function followed(schema: Schema, components: Components): Schema {
  return schema.$ref === undefined ? schema : (components[typeOf(schema)] ?? {});
}

/** The type of one item of a list, and the field that contains the items; null: the call is no list. */
function listOf(
  { isRead, path, operation }: Call,
  components: Components,
): { item: Schema; field: string | null } | null {
  if (!isSdkList(path, isRead)) return null;
  const answer = followed(answerOf(operation), components);
  if (answer.type === 'array' && answer.items !== undefined) return { item: answer.items, field: null };
  const [field, list] = Object.entries(answer.properties ?? {}).find(([, { type }]) => type === 'array') ?? [];
  if (field === undefined || list?.items === undefined) throw new Error(`${path} lists nothing`);
  return { item: list.items, field };
}

function groupInterface(group: string, calls: readonly Call[], components: Components): string {
  const methods = calls.map((call) => {
    const list = listOf(call, components);
    const request = requestOf(call.operation);
    const isEmpty = (followed(request, components).required ?? []).length === 0;
    const parameters = `request${isEmpty ? '?' : ''}: ${typeOf(request)}, options?: CallOptions`;
    const answer =
      list === null ? `Promise<${typeOf(answerOf(call.operation))}>` : `AsyncIterable<${typeOf(list.item)}>`;
    return `${comment(call.summary, '  ')}  readonly ${call.method}: (${parameters}) => ${answer};`;
  });
  return `export interface ${capital(group)} {\n${methods.join('\n')}\n}\n`;
}

function callTable(calls: readonly Call[], components: Components): string {
  const rows = calls.map((call) => {
    const list = listOf(call, components);
    const items = list === null ? '' : `, items: ${JSON.stringify(list.field)}`;
    return `  { group: '${call.group}', method: '${call.method}', path: '${call.path}', isRead: ${call.isRead}${items} },`;
  });
  return `export const CALLS: readonly Call[] = [\n${rows.join('\n')}\n];\n`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' | ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly (${typeOf(schema.items ?? {})})[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'unknown';
  }
}

function objectType({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties);
  if (fields.length === 0) return 'Readonly<Record<string, unknown>>';
  const lines = fields.map(([name, schema]) => {
    const isOptional = !required.includes(name);
    return `${comment(schema.description)}readonly ${name}${isOptional ? '?' : ''}: ${typeOf(schema)}${isOptional ? ' | undefined' : ''};`;
  });
  return `{\n${lines.join('\n')}\n}`;
}

function comment(text: string | undefined, indent = ''): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '* /')} */\n`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function toldOf(): object {
  const told = Object.entries(VERDICTS).map(([code, facts]) => [code, facts.told] as const);
  return Object.fromEntries(told.filter(([, text]) => text !== ''));
}
