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
  const names = Object.keys(fields).join();
  if (kind === 'reference' && (names === 'name' || names === 'id')) return String(Object.values(fields)[0]);
  if (kind === 'refill' && names === 'interval,amount')
    return `${String(fields['interval'])}:${String(fields['amount'])}`;
  const rate = `${String(fields['limit'])}/${showDuration(Number(fields['duration'])).replace(/^1(?=[a-z])/, '')}`;
  if (kind === 'namedRate' && names === 'name,limit,duration') return `${String(fields['name'])}=${rate}`;
  return kind === 'rate' && names === 'limit,duration' ? rate : JSON.stringify(value);
}
