import { openApi } from '../../src/http/docs/openApi.ts';
import type { Schema } from './endpointFields.ts';

/**
 * The records of the Python and the Go client: the fields of requests and answers, from the schemas of the service. By hand stay, in each
 * client, the names of calls, and types whose values are not those of the wire, such as durations in Go.
 */

interface ClientRecord {
  readonly name: string;
  /** Its schema, by its name in /openapi.json. */
  readonly component: string;
  readonly words: string;
  /** Its fields are arguments of a Python function. */
  readonly isArguments?: true;
  /** Members that a call takes in another way. */
  readonly without?: readonly string[];
  /** A schema whose members this one shares. Those that it lacks may be absent here, where the schema requires them. */
  readonly alsoFor?: string;
}

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly words: string;
}

const LINE = 116;

function schemas(): Readonly<Record<string, Schema>> {
  return openApi(null).components.schemas;
}

function fieldsOf({ component, without = [], alsoFor }: Omit<ClientRecord, 'words'>): Field[] {
  const { properties = {}, required = [] } = schemas()[component] ?? {};
  const shared = alsoFor === undefined ? null : (schemas()[alsoFor]?.properties ?? {});
  return Object.entries(properties)
    .filter(([name, { deprecated }]) => deprecated !== true && !without.includes(name))
    .map(([name, schema]) => {
      const isRequired = required.includes(name) && (shared === null || name in shared);
      const { description = '' } = schema.description === undefined ? followed(schema) : schema;
      return { name, schema, isRequired, words: description };
    });
}

function referred({ $ref = '' }: Schema): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

function followed(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : (schemas()[referred(schema)] ?? {});
}

/** The schema without null. */
function withoutNull(schema: Schema): { readonly schema: Schema; readonly isNullable: boolean } {
  const choices = schema.anyOf ?? [];
  const [one, ...more] = choices.filter(({ type }) => type !== 'null');
  if (one === undefined || more.length > 0 || more.length + 1 === choices.length) return { schema, isNullable: false };
  return { schema: one, isNullable: true };
}

/** In lines of at most so many characters. */
function wrapped(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

const NOTE = "Made by 'npm run docs' from the schemas of the service. Do not edit.";

const PYTHON: readonly ClientRecord[] = [
  {
    name: 'NewKey',
    component: 'KeyToCreate',
    isArguments: true,
    words: 'The fields of a new key, beside its api.',
    without: ['apiId'],
  },
  {
    name: 'KeyChanges',
    component: 'KeysUpdateKeyRequest',
    isArguments: true,
    words: 'None clears a field. A field that is absent stays as it is.',
    without: ['keyId'],
  },
  {
    name: 'KeyFilter',
    component: 'ApisListKeysRequest',
    isArguments: true,
    words: 'Which keys of an api. `limit`: the keys of one page.',
    without: ['apiId', 'cursor'],
  },
  {
    name: 'NewIdentity',
    component: 'IdentitiesCreateIdentityRequest',
    isArguments: true,
    words: 'The fields of a new identity, beside its external id.',
    without: ['externalId'],
  },
  {
    name: 'IdentityChanges',
    component: 'IdentitiesUpdateIdentityRequest',
    isArguments: true,
    words: 'None clears a field. A field that is absent stays as it is.',
    without: ['identityId', 'externalId'],
  },
  { name: 'CreatedApi', component: 'ApisCreateApiAnswer', words: 'A new api.' },
  { name: 'CreatedKey', component: 'NewSecret', words: 'A new secret. No other answer contains it.' },
  { name: 'CreatedKeys', component: 'KeysCreateKeysAnswer', words: 'New keys, in the order of the request.' },
  { name: 'CreatedIdentity', component: 'IdentitiesCreateIdentityAnswer', words: 'A new identity.' },
  { name: 'Remaining', component: 'KeysUpdateRemainingAnswer', words: 'The credits of a key. None: unlimited.' },
  {
    name: 'KeyRecord',
    component: 'KeyDetails',
    words: 'A key as the service shows it. Times are Unix milliseconds.',
    alsoFor: 'Key',
  },
  {
    name: 'IdentityRecord',
    component: 'IdentityDetails',
    words: 'An identity as the service shows it. Times are Unix milliseconds.',
    alsoFor: 'Identity',
  },
];

const PYTHON_WORDS: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
const PYTHON_KEYWORDS = new Set(['async', 'class', 'from', 'in', 'is', 'not', 'or', 'and']);

/** clients/python/src/keystile/records.py. */
export function pythonRecords(): string {
  const named = new Map<string, string>();
  for (const { component, name, isArguments } of PYTHON) if (isArguments !== true) named.set(component, name);
  // Then come the records that these refer to. A class may stand below its use: Python looks it up later.
  const waiting: ClientRecord[] = [...PYTHON];
  const made: string[] = [];
  const refer = (component: string): string => {
    const known = named.get(component);
    if (known !== undefined) return known;
    named.set(component, component);
    waiting.push({ name: component, component, words: schemas()[component]?.description ?? '' });
    return component;
  };
  for (let record = waiting.shift(); record !== undefined; record = waiting.shift())
    made.push(pythonClass(record, refer));
  return `"""The fields of requests and answers. Answers are the JSON of the service, with its names.

${NOTE}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

${made.join('\n')}`;
}

/**
 * All members of a TypedDict are required, or none is. So a record with both kinds has a base class for the required ones. Members whose names are
 * words of Python have another base, which is written as a call.
 */
function pythonClass(record: ClientRecord, refer: (component: string) => string): string {
  const isArgument = record.isArguments === true;
  const argument = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const own = fieldsOf(record);
  // Words name members as the service does, and a caller writes arguments.
  const inWords = (words: string): string =>
    words.replaceAll(/`(\w+)`/g, (whole, name: string) =>
      own.some((field) => field.name === name) ? `\`${argument(name)}\`` : whole,
    );
  const fields = own.map((field) => ({
    ...field,
    name: isArgument ? argument(field.name) : field.name,
    words: isArgument ? inWords(field.words) : field.words,
    type: pythonType(field.schema, refer),
  }));
  type PythonField = (typeof fields)[number];
  const line = ({ name, type, words }: PythonField): string =>
    `    ${name}: ${type}\n${words === '' ? '' : pythonWords(words)}`;
  const parts: string[] = [];
  const bases: string[] = [];
  const base = (name: string, isTotal: boolean, these: readonly PythonField[]): void => {
    if (these.length === 0) return;
    bases.push(name);
    if (these.some((field) => PYTHON_KEYWORDS.has(field.name))) {
      const members = these.map((field) => `        "${field.name}": ${field.type},\n`).join('');
      parts.push(
        `\n${name} = TypedDict(\n    "${name}",\n    {\n${members}    },\n    total=${isTotal ? 'True' : 'False'},\n)\n`,
      );
    } else parts.push(`\nclass ${name}(TypedDict${isTotal ? '' : ', total=False'}):\n${these.map(line).join('')}`);
  };
  const isNamable = ({ name }: PythonField): boolean => !PYTHON_KEYWORDS.has(name);
  const [required, optional] = [fields.filter((each) => each.isRequired), fields.filter((each) => !each.isRequired)];
  const keywords = (of: readonly PythonField[]): PythonField[] => of.filter((each) => !isNamable(each));
  base(`_Keywords${record.name}`, true, keywords(required));
  base(`_OptionalKeywords${record.name}`, false, keywords(optional));
  const named = optional.filter(isNamable);
  if (named.length > 0) base(`_Required${record.name}`, true, required.filter(isNamable));
  const body = named.length > 0 ? named : required.filter(isNamable);
  const heads = [...(bases.length === 0 ? ['TypedDict'] : bases), ...(named.length > 0 ? ['total=False'] : [])];
  // In that call nothing can be said of a member, so the class says it.
  const unnamed = fields.filter((each) => !isNamable(each)).map(({ name, words }) => `\`${name}\`: ${words}`);
  const about = pythonWords([record.words, ...unnamed].join(' '));
  const text = `\nclass ${record.name}(${heads.join(', ')}):\n${about}\n${body.map(line).join('')}`;
  return [...parts, text].join('\n');
}

/** A text behind what it is about. */
function pythonWords(text: string): string {
  const inPython = text.replaceAll(/\b(?:true|false|null)\b/g, (word) => PYTHON_WORDS[word] ?? word);
  const lines = wrapped(inPython, LINE - 7);
  if (lines.length === 1) return `    """${inPython}"""\n`;
  return `    """${lines.join('\n    ')}\n    """\n`;
}

function pythonType(given: Schema, refer: (component: string) => string): string {
  const { schema, isNullable } = withoutNull(given);
  const type = pythonPlain(schema, refer);
  return isNullable ? `${type} | None` : type;
}

function pythonPlain(schema: Schema, refer: (component: string) => string): string {
  if (schema.$ref !== undefined) {
    const found = followed(schema);
    return Object.keys(found.properties ?? {}).length > 0 ? refer(referred(schema)) : pythonPlain(found, refer);
  }
  if (schema.enum !== undefined) return `Literal[${schema.enum.map((value) => JSON.stringify(value)).join(', ')}]`;
  if (schema.type === 'string') return 'str';
  if (schema.type === 'boolean') return 'bool';
  if (schema.type === 'integer' || schema.type === 'number') return 'int';
  if (schema.type === 'array') return `Sequence[${pythonType(schema.items ?? {}, refer)}]`;
  return 'Mapping[str, object]';
}

/** Schemas whose types are written by hand in Go, or are those of a schema of GO. */
const GO_TYPES: Readonly<Record<string, string>> = {
  Meta: 'map[string]any',
  RoleToGive: 'Reference',
  PermissionToGive: 'Reference',
  Alerts: 'Alerts',
  ...Object.fromEntries(
    [
      'Ratelimit',
      'RatelimitState',
      'NamedRatelimit',
      'NamedRatelimitState',
      'SharedRatelimit',
      'SharedRatelimitState',
      'UsedDefaultRatelimit',
      'UsedNamedRatelimit',
      'UsedRatelimit',
    ].map((name) => [name, 'Ratelimit']),
  ),
};

type GoKind = 'answer' | 'new' | 'changes';

const GO: readonly (ClientRecord & { readonly kind: GoKind })[] = [
  {
    name: 'CreateKeyRequest',
    component: 'KeysCreateKeyRequest',
    kind: 'new',
    words: 'describes a new key. Only APIID is needed.',
  },
  {
    name: 'Key',
    component: 'KeyDetails',
    alsoFor: 'Key',
    kind: 'answer',
    words: 'is a key as the service shows it, without its secret.',
  },
  {
    name: 'UpdateKeyRequest',
    component: 'KeysUpdateKeyRequest',
    kind: 'changes',
    words: 'changes the fields that are Set or Clear.',
  },
  {
    name: 'CreateIdentityRequest',
    component: 'IdentitiesCreateIdentityRequest',
    kind: 'new',
    words: 'describes a new identity. Its keys share its credits and limits.',
  },
  {
    name: 'Identity',
    component: 'IdentityDetails',
    alsoFor: 'Identity',
    kind: 'answer',
    words: 'is an identity as the service shows it.',
  },
  {
    name: 'UpdateIdentityRequest',
    component: 'IdentitiesUpdateIdentityRequest',
    kind: 'changes',
    words: 'names an identity by one of its two ids, and changes the fields that are Set or Clear.',
  },
  { name: 'Refill', component: 'Refill', kind: 'new', words: 'gives credits again on a schedule.' },
  { name: 'RefillState', component: 'RefillState', kind: 'answer', words: 'is a refill as the service shows it.' },
  {
    name: 'Alerts',
    component: 'AlertsInput',
    kind: 'new',
    words:
      'says when events tell in advance. A field that is zero is not set: it is that of the identity or the plan, and an update leaves it as it is. Clear removes both.',
  },
  { name: 'IdentityRef', component: 'IdentityReference', kind: 'answer', words: 'is the owner of a key.' },
  {
    name: 'PlanMove',
    component: 'PlanMove',
    kind: 'answer',
    words: 'is a move to another plan that waits for the next refill.',
  },
  { name: 'HeldPlan', component: 'HeldPlan', kind: 'answer', words: 'is a plan as it is for one of its holders.' },
  { name: 'Grant', component: 'Grant', kind: 'answer', words: 'is a part of the credits that was granted.' },
];

/** clients/go/records.go. */
export function goRecords(): string {
  const structs = GO.map((record) => {
    const fields = fieldsOf(record).map((field) => {
      const { type, isOmitted } = goField(field, record.kind);
      const tag = `json:"${field.name}${isOmitted ? ',omitempty' : ''}"`;
      // A field of a new record that is zero is left out, and cannot be null.
      const words = record.kind === 'new' ? field.words.replace(/ null removes it\./, '') : field.words;
      return `${goWords(words, '\t')}\t${goName(field.name)} ${type} \`${tag}\`\n`;
    });
    return `${goWords(`${record.name} ${record.words}`, '')}type ${record.name} struct {\n${fields.join('')}}\n`;
  });
  return `// ${NOTE.replace('Made', 'Code generated').replace(' Do not edit.', ' DO NOT EDIT.')}\n\npackage keystile\n\n${structs.join('\n')}`;
}

/** `apiId` is `APIID`: Go writes such short forms in capitals. */
function goName(name: string): string {
  const words = name.split(/(?=[A-Z])/);
  return words
    .map((word) => (/^(?:id|api|ip)$/i.test(word) ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
}

/** As comments. A comment before each field also spares the spaces with which gofmt aligns fields. */
function goWords(text: string, indent: string): string {
  return wrapped(text, LINE - 3)
    .map((line) => `${indent}// ${line}\n`)
    .join('');
}

function goField({ schema: given, isRequired, words }: Field, kind: GoKind): { type: string; isOmitted: boolean } {
  const { schema, isNullable } = withoutNull(given);
  const type = goType(schema, words);
  // A list, a map and the instant zero say by themselves that there is none.
  const saysNone = /^(?:\[\]|map|Time$)/.test(type);
  if (kind === 'answer') {
    const isPointed = !saysNone && (isNullable || !isRequired) && !['string', 'bool'].includes(type);
    return { type: isPointed || (isNullable && type === 'string') ? `*${type}` : type, isOmitted: false };
  }
  if (isRequired) return { type, isOmitted: false };
  if (kind === 'changes' && isNullable) return { type: `*Change[${type}]`, isOmitted: true };
  const isFalseToo = type === 'bool' && !/false (?:when|or) absent|null or absent/.test(words);
  const isZeroToo = type === 'int64' && !((schema.minimum ?? 0) > 0);
  const isPointed = isFalseToo || isZeroToo || type === 'Time' || /^[A-Z]/.test(type);
  return { type: isPointed ? `*${type}` : type, isOmitted: true };
}

function goType(schema: Schema, words: string): string {
  if (schema.$ref !== undefined) {
    const name = referred(schema);
    const found = followed(schema);
    const known = GO_TYPES[name] ?? GO.find(({ component }) => component === name)?.name;
    if (known === undefined && found.properties !== undefined) throw new Error(`GO has no record for ${name}`);
    return known ?? goType(found, words);
  }
  if (schema.type === 'boolean') return 'bool';
  if (schema.type === 'integer') return /unix milliseconds/.test(words) ? 'Time' : 'int64';
  if (schema.type === 'array') return `[]${goType(schema.items ?? {}, '')}`;
  return schema.type === 'object' ? 'map[string]any' : 'string';
}
