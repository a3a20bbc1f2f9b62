import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

const DEFAULT_MINUTES = '1';
const MAX_MINUTES = 24 * 60;
const MAX_SEED = 2 ** 31;

export const USAGE = `npm run fuzz -- [--minutes N] [--seed S]
  Sends generated HTTP input to Keystile's server (front) and to Bun's server (runtime), and compares the requests that they read.
  --minutes N   duration, up to ${MAX_MINUTES} (default ${DEFAULT_MINUTES})
  --seed S      a whole number below ${MAX_SEED}; the same seed makes the same inputs (default: random)
  --help        show this help`;

export interface Options {
  readonly isHelp: boolean;
  readonly minutes: number;
  readonly seed: number;
}

/** A wrong argument. The message names it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[]): Options {
  const { help, minutes, seed } = parse(args);
  return {
    isHelp: help,
    minutes: within('--minutes', minutes, MAX_MINUTES),
    seed: seed === undefined ? randomInt(MAX_SEED) : Math.floor(within('--seed', seed, MAX_SEED)),
  };
}

function parse(args: readonly string[]): { help: boolean; minutes: string; seed?: string | undefined } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        minutes: { type: 'string', default: DEFAULT_MINUTES },
        seed: { type: 'string' },
      },
    }).values;
  } catch (error) {
    const [first = ''] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\n/);
    throw new UsageError(`${first.replace(/\.$/, '')}. See --help.`);
  }
}

function within(name: string, text: string, greatest: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (value <= greatest) return value;
  throw new UsageError(`${name} must be a number from 0 to ${greatest}, got "${text}".`);
}
