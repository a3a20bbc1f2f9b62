import type { EndpointField } from '../../src/cli/endpoint/endpoint.ts';
import { showDuration } from '../../src/config/kinds.ts';

/** The example of an endpoint as the words behind its command. */
export function exampleWords(request: object, fields: readonly EndpointField[]): string[] {
  const given = Object.entries(request as Record<string, unknown>).flatMap(([member, value]) => {
    const field = fields.find((each) => each.member === member || each.byId?.member === member);
    return field === undefined ? [] : [{ field, value }];
  });
  const isOperand = ({ field }: { field: EndpointField }): boolean => field.operand !== undefined;
  // A secret is piped in.
  const operands = given.filter(isOperand).filter(({ field }) => field.kind !== 'secret');
  return [
    ...operands.map(({ value }) => String(value)),
    ...given.filter((each) => !isOperand(each)).flatMap(({ field, value }) => flagWords(field, value)),
  ];
}

function flagWords(field: EndpointField, value: unknown): string[] {
  if (value === null) return ['--clear', field.flag];
  if (field.kind === 'switch') return [`--${value === true ? field.flag : (field.off ?? `no-${field.flag}`)}`];
  return [value].flat().flatMap((each) => [`--${field.flag}`, valueWord(field, each)]);
}

function valueWord({ kind }: EndpointField, value: unknown): string {
  if (kind === 'duration') return showDuration(value as number);
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = value as Record<string, unknown>;
  const short = kind in SHORT ? SHORT[kind]?.(fields) : undefined;
  return short ?? JSON.stringify(value);
}

/** The short ways to write an object. undefined: this one has none. */
const SHORT: Partial<Record<EndpointField['kind'], (fields: Record<string, unknown>) => string | undefined>> = {
  reference: (fields) => (isOf(fields, 'name') || isOf(fields, 'id') ? String(Object.values(fields)[0]) : undefined),
  refill: (fields) =>
    isOf(fields, 'interval', 'amount') ? `${String(fields['interval'])}:${String(fields['amount'])}` : undefined,
  rate: ({ async, ...fields }) =>
    isOf(fields, 'limit', 'duration') ? `${rateWords(fields)}${modeWord(async)}` : undefined,
  namedRate: ({ async, ...fields }) =>
    isOf(fields, 'name', 'limit', 'duration')
      ? `${String(fields['name'])}=${rateWords(fields)}${modeWord(async)}`
      : undefined,
};

function isOf(fields: object, ...names: readonly string[]): boolean {
  return Object.keys(fields).toSorted().join() === names.toSorted().join();
}

function rateWords({ limit, duration }: Record<string, unknown>): string {
  return `${String(limit)}/${showDuration(Number(duration)).replace(/^1(?=[a-z])/, '')}`;
}

function modeWord(async: unknown): string {
  return async === undefined ? '' : async === true ? ',local' : ',strict';
}
