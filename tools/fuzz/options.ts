import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

const DEFAULT_MINUTES = '1';
const MAX_MINUTES = 24 * 60;
const MAX_SEED = 2 ** 31;

export const USAGE = `npm run fuzz -- [--minutes N] [--seed S]
  Sends generated and mutated bytes to the front and to the runtime's own server, and compares which requests they see in them.
  --minutes N   how long, up to ${MAX_MINUTES} (${DEFAULT_MINUTES})
  --seed S      a whole number below ${MAX_SEED}: the same seed makes the same inputs (a random one)
  --help        this text`;

export interface Options {
  readonly isHelp: boolean;
  readonly minutes: number;
  readonly seed: number;
}

/** A wrong argument; the message says which. */
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
    throw new UsageError(`${first.replace(/\.$/, '')}; --help shows what there is.`);
  }
}

function within(name: string, text: string, greatest: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (value <= greatest) return value;
  throw new UsageError(`${name} must be a number from 0 to ${greatest}, got "${text}".`);
}
