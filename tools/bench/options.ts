import { parseArgs } from 'node:util';

import { COUNTER_ROWS } from './rows/counters.ts';
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
  'startup',
  'creating',
  'postgres',
  'plans',
  'dashboards',
];

/** Rows that two versions are compared by. */
const AGAINST_ROWS: readonly string[] = [...COUNTER_ROWS.map(({ name }) => name), 'plans', 'postgres'];

/** This row takes minutes, so it runs only when it is named. */
const ONLY_WHEN_NAMED = 'crash';

/** Many short rounds: noise that lasts for seconds then affects both sides of a pair. */
const DEFAULT_ROUNDS = '8';
const DEFAULT_SECONDS = '0.6';

export const USAGE = `npm run bench -- [--only ROW] [--rounds N] [--seconds S] [--publish | --against FOLDER]
  Measures this version of Keystile against yardsticks on the same machine. docs/benchmark.md explains the rows.
  --only ROW     measure only this row; can be repeated. Rows: ${ROW_NAMES.join(', ')}
                 (${ONLY_WHEN_NAMED} runs only when named)
  --rounds N     rounds of each side (default ${DEFAULT_ROUNDS})
  --seconds S    length of a round (default ${DEFAULT_SECONDS}); rounds of Keystile against a yardstick are ${SERVICE_TIMES} times as long
  --publish      add this run to docs/speed.json; \`npm run docs\` then draws the plot and the table of the README
  --against FOLDER  measure against another version of Keystile instead, in a checkout in which \`npm ci\` was run; rows: ${AGAINST_ROWS.join(', ')}
  --help         show this help`;

export interface Options {
  readonly isHelp: boolean;
  readonly pace: Pace;
  readonly isWanted: (row: string) => boolean;
  /** Adds the run to the published figures. */
  readonly isPublished: boolean;
  /** The folder of the version to measure against; null = yardsticks. */
  readonly against: string | null;
}

/** A wrong argument. The message names it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[]): Options {
  const { help, only, rounds, seconds, publish, against } = parse(args);
  const names = against === undefined ? ROW_NAMES : AGAINST_ROWS;
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--only must be one of ${names.join(', ')}, got ${JSON.stringify(unknown)}.`);
  if (publish && against !== undefined)
    throw new UsageError('--publish and --against exclude each other: only shares of the bare handler are published.');
  return {
    isHelp: help,
    pace: { rounds: atLeast(1, '--rounds', rounds), secondsPerRound: atLeast(0.1, '--seconds', seconds) },
    isWanted: (row) => (only === undefined ? row !== ONLY_WHEN_NAMED : only.includes(row)),
    isPublished: publish,
    against: against ?? null,
  };
}

interface Arguments {
  readonly help: boolean;
  readonly only?: string[] | undefined;
  readonly rounds: string;
  readonly seconds: string;
  readonly publish: boolean;
  readonly against?: string | undefined;
}

function parse(args: readonly string[]): Arguments {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true },
        rounds: { type: 'string', default: DEFAULT_ROUNDS },
        seconds: { type: 'string', default: DEFAULT_SECONDS },
        publish: { type: 'boolean', default: false },
        against: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function atLeast(least: number, name: string, text: string): number {
  const value = Number(text);
  if (!(value >= least))
    throw new UsageError(`${name} must be a number of at least ${least}, got ${JSON.stringify(text)}.`);
  return value;
}
