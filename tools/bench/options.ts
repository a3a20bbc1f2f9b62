import { parseArgs } from 'node:util';

import { COUNTER_ROWS } from './counters.ts';
import { type Pace, SERVICE_TIMES } from './pairs.ts';

const ROW_NAMES: readonly string[] = [
  ...COUNTER_ROWS.map(({ name }) => name),
  'analytics',
  'crash',
  'overload',
  'pipelined',
  'million',
  'listing',
  'idle',
  'postgres',
];

/** Takes minutes by itself. */
const ONLY_WHEN_NAMED = 'crash';

/** Short rounds and many of them: noise that lasts for seconds then hits both sides of a pair. */
const DEFAULT_ROUNDS = '8';
const DEFAULT_SECONDS = '0.6';

export const USAGE = `npm run bench -- [--only ROW] [--rounds N] [--seconds S] [--publish]
  --only ROW     measure this row alone; may be given again. Rows: ${ROW_NAMES.join(', ')}
                 (${ONLY_WHEN_NAMED} only when named)
  --rounds N     rounds of each side (${DEFAULT_ROUNDS})
  --seconds S    length of a round (${DEFAULT_SECONDS}); ${SERVICE_TIMES} times that for a service against a yardstick
  --publish      add this run to docs/speed.json; \`npm run docs\` then draws the plot and the table of the README`;

export interface Options {
  readonly pace: Pace;
  readonly isWanted: (row: string) => boolean;
  /** Adds the run to the published figures. */
  readonly isPublished: boolean;
}

/** A wrong argument; the message says which. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[]): Options {
  const { only, rounds, seconds, publish } = parse(args);
  const unknown = only?.find((name) => !ROW_NAMES.includes(name));
  if (unknown !== undefined) throw new UsageError(`There is no row ${unknown}.`);
  return {
    pace: { rounds: atLeast(1, '--rounds', rounds), secondsPerRound: atLeast(0.1, '--seconds', seconds) },
    isWanted: (row) => (only === undefined ? row !== ONLY_WHEN_NAMED : only.includes(row)),
    isPublished: publish,
  };
}

interface Flags {
  readonly only?: string[] | undefined;
  readonly rounds: string;
  readonly seconds: string;
  readonly publish: boolean;
}

function parse(args: readonly string[]): Flags {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        rounds: { type: 'string', default: DEFAULT_ROUNDS },
        seconds: { type: 'string', default: DEFAULT_SECONDS },
        publish: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function atLeast(least: number, name: string, text: string): number {
  const value = Number(text);
  if (!(value >= least)) throw new UsageError(`${name} must be a number of at least ${least}.`);
  return value;
}
