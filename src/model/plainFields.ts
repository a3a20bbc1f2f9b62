import type { TSchema } from 'typebox';

import { MAX_META_BYTES, MAX_META_MEMBERS } from '../core/bounds.ts';
import { field, optional } from './schema/described.ts';
import { Flag, Meta, orNull, Text, words } from './schema/schemas.ts';
import { flag, optionalText, type Since, type Stored } from './columns.ts';
import { metaField } from './columnsOfFields.ts';

/**
 * Plain fields: a caller sets them with a creation, an import or a change, and sees them as they were set. All that is known of one is said
 * where it is declared: its column, its schema in each place, and its words. What decides more (rights, counters, owners, rules over several
 * fields) is no plain field, and is written by hand.
 */
export interface Plain {
  /** A line of text is shown in a row of its own, and edited in a line of a form. */
  readonly kind: 'line' | 'metadata' | 'switch';
  readonly stored: Stored<unknown>;
  /** In a record without any settings. */
  readonly blank: unknown;
  /** In the request that makes the record. */
  readonly created: TSchema;
  /** In a request that changes it. */
  readonly changed: TSchema;
  /** In an answer. */
  readonly shown: TSchema;
  /** From a request to the record. `add` tells a problem that a schema cannot see. */
  readonly parse: (value: never, add: (problem: string) => void) => unknown;
  /** To an answer; undefined: the field is left out. */
  readonly show: (value: never) => unknown;
}

const STAYS = 'It stays when absent.';

interface LineFacts {
  /** What it is, without its length. */
  readonly words: string;
  /** 0: an empty text counts as none. */
  readonly min: 0 | 1;
  readonly max: number;
  /** What else a person who sets it should know. */
  readonly more?: string;
  readonly example: string;
  /** The schema versions that bring its column. Absent: those of the table. */
  readonly since?: Since;
}

/** A line of text. */
export function line(column: string, { words: what, min, max, more, example, since }: LineFacts) {
  const schema = words(min, max);
  const [length, asNone, orEmpty] =
    min === 0 ? [`at most ${max}`, ' An empty text counts as absent.', ' or an empty text'] : [`1 to ${max}`, '', ''];
  const description = `${what}, ${length} characters.${more === undefined ? '' : ` ${more}`}`;
  return {
    kind: 'line' as const,
    stored: optionalText(column, since === undefined ? {} : { since }),
    blank: null,
    created: optional(schema, `${description}${asNone}`, example),
    changed: optional(orNull(schema), `${description} null${orEmpty} removes it. ${STAYS}`, example),
    shown: optional(Text, `${what}. Absent when none is set.`, example),
    parse: (value: string | null) => value || null,
    show: (value: string | null) => value ?? undefined,
  };
}

/** Metadata of the user's own. `{}` counts as none. */
export function metadata({ words: what, example }: { readonly words: string; readonly example: object }) {
  const bounds = 'At most 16 KiB of JSON, 256 members at all depths together, and 32 levels.';
  return {
    kind: 'metadata' as const,
    stored: metaField,
    blank: null,
    created: optional(Meta, `${what}. ${bounds}`, example),
    changed: optional(
      orNull(Meta),
      `${what}. It replaces the old metadata as a whole. null removes it. ${STAYS}`,
      example,
    ),
    shown: field(Meta, `${what}. \`{}\` when none is set.`, example),
    parse: toMetaText,
    show: toMeta,
  };
}

/** A switch that is on in a new record. */
export function onUnlessSaid(column: string, { off }: { readonly off: string }) {
  return {
    kind: 'switch' as const,
    stored: flag(column),
    blank: true,
    created: optional(Flag, `false: ${off}. true when absent.`, true),
    changed: optional(Flag, `false: ${off}. ${STAYS}`, false),
    shown: field(Flag, `false: ${off}.`, true),
    parse: (value: boolean) => value,
    show: (value: boolean) => value,
  };
}

type PlainFields = Readonly<Record<string, Plain>>;
type Place = 'stored' | 'blank' | 'created' | 'changed' | 'shown';

/** What all these fields have in one place, such as their schemas in a request. */
export function part<F extends PlainFields, P extends Place>(
  fields: F,
  place: P,
): { readonly [K in keyof F]: F[K][P] } {
  const entries = Object.entries(fields).map(([name, each]) => [name, each[place]]);
  return Object.fromEntries(entries) as { readonly [K in keyof F]: F[K][P] };
}

/** What a request sets of them. `add` gets each problem with the name of its field. */
export function parsePlain<R>(
  fields: PlainFields,
  request: object,
  add: (name: string, problem: string) => void,
): Partial<R> {
  const given = request as Readonly<Record<string, unknown>>;
  const entries = Object.entries(fields).flatMap(([name, { parse }]) =>
    given[name] === undefined ? [] : [[name, parse(given[name] as never, (problem) => add(name, problem))]],
  );
  return Object.fromEntries(entries) as Partial<R>;
}

/** The part of a patch that sets them. A field that the patch leaves out is left out. */
export function plainOf<F extends PlainFields, R extends { readonly [K in keyof F]?: unknown }>(
  fields: F,
  patch: R,
): Pick<R, keyof F & keyof R> {
  const entries = Object.keys(fields).flatMap((name) =>
    patch[name as keyof R] === undefined ? [] : [[name, patch[name as keyof R]]],
  );
  return Object.fromEntries(entries) as Pick<R, keyof F & keyof R>;
}

/** As an answer shows them. Those that are not set are left out. */
export function showPlain(fields: PlainFields, record: object): Record<string, unknown> {
  const values = record as Readonly<Record<string, unknown>>;
  const entries = Object.entries(fields).map(([name, { show }]) => [name, show(values[name] as never)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** As the audit log shows them: null is none. */
export function auditPlain(fields: PlainFields, record: object): Record<string, unknown> {
  const shown = showPlain(fields, record);
  return Object.fromEntries(Object.keys(fields).map((name) => [name, shown[name] ?? null]));
}

/** `{}` counts as no metadata. */
export function toMetaText(meta: object | null, add: (problem: string) => void): string | null {
  if (meta === null || Object.keys(meta).length === 0) return null;
  const text = JSON.stringify(meta);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > MAX_META_BYTES) add(`must be at most ${MAX_META_BYTES} bytes of JSON, got ${bytes}`);
  const found = { members: 0, isInexact: false, isBroken: false };
  inspect(meta, found);
  if (found.members > MAX_META_MEMBERS) add(`must have at most ${MAX_META_MEMBERS} members, got ${found.members}`);
  if (found.isInexact) add('contains a number that cannot be stored exactly; send it as a string');
  if (found.isBroken) add('contains text that is not valid Unicode (a lone surrogate)');
  return text;
}

function inspect(value: unknown, found: { members: number; isInexact: boolean; isBroken: boolean }): void {
  if (typeof value === 'number') {
    found.isInexact ||= !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  } else if (typeof value === 'string') found.isBroken ||= !value.isWellFormed();
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      found.members++;
      found.isBroken ||= !name.isWellFormed();
      inspect(member, found);
    }
  }
}

export function toMeta(text: string | null): object {
  return text === null ? {} : (JSON.parse(text) as object);
}
