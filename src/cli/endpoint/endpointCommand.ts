import { type Ask, usingService } from '../ask.ts';
import { failed, misused } from '../cliError.ts';
import type { Call, Command } from '../command.ts';
import { answerText, recordsOf } from './answerText.ts';
import { isClearable, nameOf, toBody, valueName } from './body.ts';
import type { Endpoint, EndpointField, FieldKind } from './endpoint.ts';
import { findService } from '../findService.ts';
import type { FlagNames, Flags, FlagTable } from '../flags.ts';
import { jsonLine, visible } from '../output/print.ts';
import { readClientSettings } from '../profiles.ts';
import { confirm, serviceOf, YES_FLAG } from '../prompt.ts';
import { isKeyPiped, loadKey, loadRootKey } from '../secrets.ts';
import { KEY_VARIABLE, STDIN } from '../settings.ts';
import { userWord } from '../words.ts';
import { repeatable } from '../../core/errors.ts';
import { looksLikeId } from '../../core/ids.ts';
import { EXIT } from '../../serve/exit.ts';

/** The command of an endpoint, made from its fields. */
export function endpointCommand(endpoint: Endpoint): Command {
  const { path, command, fields } = endpoint;
  const named = fields.find(({ operand }) => operand !== undefined);
  return {
    name: command,
    endpoint: path,
    summary: endpoint.summary,
    operands: [],
    ...describedAs(endpoint),
    ...(named === undefined ? {} : { operands: [named.operand ?? ''], operandMeaning: named.meaning }),
    flags: flagsOf(endpoint),
    ...(endpoint.formerFlags === undefined ? {} : { formerFlags: endpoint.formerFlags }),
    examples: examplesOf(endpoint),
    ...(endpoint.asksFirst === 'always' ? { isDestructive: true } : {}),
    flagNames: flagNames(endpoint),
    run: (call) => runEndpoint(endpoint, call),
  };
}

const REFUSED = { valid: 'the key is not valid', success: 'the limit is reached' } as const;

function describedAs({ description, answer: { refuses } }: Endpoint): { description?: string } {
  const refusal = refuses === undefined ? [] : [`Exit code ${EXIT.NOT_VALID}: ${REFUSED[refuses]}.`];
  const sentences = [...(description === undefined ? [] : [description]), ...refusal];
  return sentences.length === 0 ? {} : { description: sentences.join(' ') };
}

/** A secret is piped in, or a variable. */
function examplesOf(endpoint: Endpoint): string[] {
  const words = ['keystile', endpoint.command, ...endpoint.example.map(quoted)].join(' ');
  return hasSecret(endpoint) ? [`printf %s "$key" | ${words}`, `${KEY_VARIABLE}=demo_... ${words} --json`] : [words];
}

async function runEndpoint(endpoint: Endpoint, call: Call): Promise<number> {
  const { io, flags, operands, isJson } = call;
  const [operand = ''] = hasSecret(endpoint) ? [] : operands;
  // The flags are checked before anything is asked for. A secret takes its place afterwards.
  const body = toBody(endpoint, { flags, operands, secret: '' });
  const { config, environment } = await readClientSettings(io, flags);
  const key = { operand: operands[0], variable: environment[KEY_VARIABLE] };
  if (hasSecret(endpoint) && flags.text('root-key') === STDIN && isKeyPiped(io, key))
    throw misused('Only one secret can come from standard input. Give the others as variables or files.');
  if (asksFirst(endpoint, body)) {
    const what = question(endpoint, [...(operand === '' ? [] : [operand]), ...givenFlags(endpoint, flags)]);
    await confirm(call, endpoint.command, what, serviceOf(config));
  }
  const secret = endpoint.fields.find(({ kind }) => kind === 'secret');
  if (secret !== undefined) body[secret.member] = await loadKey(io, { command: endpoint.command, ...key });
  const rootKey = endpoint.needsNoRootKey === true ? config.rootKey : await loadRootKey(io, config);
  const isAll = 'all' in flagsOf(endpoint) && flags.has('all');
  const answer = await usingService(await findService(config), rootKey, async (ask) => {
    if (rootKey === null) refuseNames(body);
    const request = rootKey === null ? body : await withIds(ask, await withOwnId(ask, endpoint, body));
    return isAll ? askAll(ask, endpoint, request) : ask<object>(endpoint.path, request);
  });
  io.out(isJson ? jsonLine(answer) : answerText(endpoint, answer, operand));
  if (!isJson && endpoint.answer.secret !== undefined) io.err('This secret is shown only once. Store it now.\n');
  return isRefusal(endpoint, answer) ? EXIT.NOT_VALID : EXIT.OK;
}

function hasSecret({ fields }: Endpoint): boolean {
  return fields.some(({ kind }) => kind === 'secret');
}

function asksFirst({ asksFirst: when }: Endpoint, body: Record<string, unknown>): boolean {
  return when === 'always' || (when === 'withoutOverlap' && body['overlapMs'] === 0);
}

function question({ summary, asksFirst: when }: Endpoint, given: readonly string[]): string {
  const what = summary.replace(/\.$/, '');
  const ending = when === 'withoutOverlap' ? ', and end the old one at once' : '';
  return given.length === 0 ? `${what}${ending}` : `${what}${ending}: ${given.join(' ')}`;
}

/** What the flags of the command line say: some decide how much is lost. */
function givenFlags(endpoint: Endpoint, flags: Flags): string[] {
  return Object.entries(flagsOf(endpoint)).flatMap(([name, { value, meaning }]) => {
    if (!flags.has(name) || name in YES_FLAG) return [];
    if (value === null) return [`--${name} (${firstSentence(meaning)})`];
    return flags.list(name).map((text) => `--${name} ${text}`);
  });
}

function firstSentence(text: string): string {
  const [first = ''] = text.split(/\.(?: |$)/);
  return `${first.charAt(0).toLowerCase()}${first.slice(1)}`;
}

/** Page after page. The list of events has a cursor on its last page too, which is empty. */
async function askAll(ask: Ask, endpoint: Endpoint, body: object): Promise<object> {
  const records: object[] = [];
  let page = await ask<{ readonly cursor?: string }>(endpoint.path, body);
  let found = recordsOf(endpoint, page);
  records.push(...found);
  while (page.cursor !== undefined && found.length > 0) {
    page = await ask<{ readonly cursor?: string }>(endpoint.path, { ...body, cursor: page.cursor });
    found = recordsOf(endpoint, page);
    records.push(...found);
  }
  const { cursor: _cursor, ...rest } = page;
  return { ...rest, [endpoint.answer.list ?? 'records']: records };
}

/** A key that is not valid, or a limit that is reached. */
function isRefusal({ answer: { refuses } }: Endpoint, answer: object): boolean {
  return refuses !== undefined && (answer as Record<string, unknown>)[refuses] === false;
}

/** How the short forms are written, for the help. */
const SYNTAX: Partial<Record<FieldKind, string>> = {
  rate: ' Such as 10/s, or 100/5m,strict.',
  namedRate: ' Such as requests=10/s, or uploads=100/5m,strict.',
  refill: ' Such as daily:100, or monthly:1000,day=15,timezone=Europe/Berlin,mode=add,max=5000 (weekday=1 is Monday).',
};

/** What a switch means, and its opposite. Some fields are described by what false means. */
function onAndOff({ flag, off, meaning }: EndpointField): [string, string] {
  const prefix = `--${off}: `;
  if (off === undefined || !meaning.startsWith(prefix)) return [meaning, `The opposite of --${flag}.`];
  const words = meaning.slice(prefix.length);
  return [`The opposite of --${off}.`, words.charAt(0).toUpperCase() + words.slice(1)];
}

function flagsOf({ fields, asksFirst: when }: Endpoint): FlagTable {
  const table: Record<string, FlagTable[string]> = {};
  for (const field of fields) {
    if (field.operand !== undefined) continue;
    const { flag, off, isRequired, isList, window } = field;
    const [meaning, offMeaning] = onAndOff(field);
    const required = isRequired === true && flag !== 'duration' ? ' (required)' : '';
    const words =
      field.kind === 'choice' && (field.choices ?? []).length > 6
        ? ` One of ${field.choices?.map(userWord).join(', ')}.`
        : '';
    const rate = window === undefined ? '' : ` 10/s is --${flag} 10 --${window} 1s.`;
    table[flag] = {
      value: valueName(field),
      meaning: `${meaning}${words}${SYNTAX[field.kind] ?? ''}${rate}${required}`,
      ...(isList === true ? { isRepeatable: true } : {}),
    };
    if (off !== undefined) table[off] = { value: null, meaning: offMeaning };
  }
  const clearable = fields.filter(isClearable).map(({ flag }) => flag);
  if (clearable.length > 0)
    table['clear'] = { value: 'FIELD', meaning: `Remove a field: ${clearable.join(', ')}.`, isRepeatable: true };
  if (fields.some(({ member }) => member === 'cursor')) table['all'] = { value: null, meaning: 'List all pages.' };
  return { ...table, ...(when === undefined ? {} : YES_FLAG) };
}

function flagNames({ fields }: Endpoint): FlagNames {
  return Object.fromEntries(
    fields.flatMap((field) => [
      [field.member, nameOf(field)],
      ...(field.byId === undefined ? [] : [[field.byId.member, nameOf(field)]]),
    ]),
  ) as FlagNames;
}

function quoted(word: string): string {
  return /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Records that a person knows by a name. The API wants their ids. */
const LISTS = {
  planId: { noun: 'plan', path: 'plans.listPlans', list: 'plans' },
  apiId: { noun: 'api', path: 'apis.listApis', list: 'apis' },
  apis: { noun: 'api', path: 'apis.listApis', list: 'apis' },
} as const;

/** The request with the ids of what it names. Of several records with one name that the root key may read, none is taken. */
async function withIds(ask: Ask, body: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = { ...body };
  for (const [member, list] of Object.entries(LISTS)) {
    const given = body[member];
    if (typeof given === 'string') found[member] = await idOf(ask, given, list);
    else if (Array.isArray(given))
      found[member] = await Promise.all(given.map((each) => idOf(ask, String(each), list)));
  }
  return found;
}

/** A customer by its id, in a request that takes only your own id of it. */
async function withOwnId(ask: Ask, { fields }: Endpoint, body: Record<string, unknown>): Promise<typeof body> {
  const field = fields.find(({ byId }) => byId?.isLookedUp === true && byId.member in body);
  if (field === undefined) return body;
  const { identityId, ...rest } = body;
  const { externalId } = await ask<{ readonly externalId: string }>('identities.getIdentity', { identityId });
  return { ...rest, [field.member]: externalId };
}

/** Without a root key no name can be looked up. */
function refuseNames(body: Readonly<Record<string, unknown>>): void {
  const { apiId } = body;
  if (typeof apiId !== 'string' || looksLikeId(apiId)) return;
  throw misused('--api must be an id here: without a root key, the names of apis cannot be read.');
}

interface List {
  readonly noun: string;
  readonly path: string;
  readonly list: string;
}

/** What looks like an id is one: the service says when there is none. */
async function idOf(ask: Ask, given: string, { noun, path, list }: List): Promise<string> {
  if (given === '' || looksLikeId(given)) return given;
  const named: Named[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask<Record<string, unknown>>(path, cursor === undefined ? {} : { cursor });
    const records = page[list] as Named[];
    named.push(...records.filter(({ name }) => name === given));
    cursor = records.length === 0 ? undefined : (page['cursor'] as string | undefined);
  } while (cursor !== undefined);
  const [first, ...others] = named;
  if (first === undefined) throw failed(`There is no ${noun} with the id or name ${repeatable(given)}.`);
  if (others.length === 0) return first.id;
  const ids = named.map(({ id }) => visible(id)).join(', ');
  throw failed(`${named.length} ${noun}s have the name ${repeatable(given)}: ${ids}. Give the id of one.`);
}
