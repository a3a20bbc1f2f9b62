import { parseArgs } from 'node:util';

const DEFAULT_SECONDS = '60';
const DEFAULT_DELAYS = '5,40,120';
const MIN_SECONDS = 30;
const MAX_SECONDS = 3_600;
/** With a longer delay a node cannot keep its cache fresh. */
const MAX_DELAY_MS = 500;

export const LOCATIONS = ['eu-central', 'us-east', 'ap-south'] as const;

export const USAGE = `npm run regions -- [--seconds S] [--delays A,B,C]
  Starts PostgreSQL and three nodes on this machine as three regions, puts them under load, and checks what each kind of limit promises.
  --seconds S      approximate duration, ${MIN_SECONDS} to ${MAX_SECONDS} (default ${DEFAULT_SECONDS})
  --delays A,B,C   milliseconds added to a round trip from ${LOCATIONS.join(', ')} to the database, 0 to ${MAX_DELAY_MS} each (default ${DEFAULT_DELAYS})
  --help           show this help`;

export interface Options {
  readonly isHelp: boolean;
  /** Scales the length and the repetitions of all measurements. 1 takes about a minute. */
  readonly scale: number;
  readonly delaysMs: readonly number[];
}

/** A wrong argument. The message names it in one sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[]): Options {
  const { help, seconds, delays } = parse(args);
  return { isHelp: help, scale: readSeconds(seconds) / Number(DEFAULT_SECONDS), delaysMs: readDelays(delays) };
}

function parse(args: readonly string[]): { help: boolean; seconds: string; delays: string } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        seconds: { type: 'string', default: DEFAULT_SECONDS },
        delays: { type: 'string', default: DEFAULT_DELAYS },
      },
    }).values;
  } catch (error) {
    const [first = ''] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\n/);
    throw new UsageError(`${first.replace(/\.$/, '')}. See --help.`);
  }
}

function readSeconds(text: string): number {
  const seconds = toNumber(text);
  if (seconds >= MIN_SECONDS && seconds <= MAX_SECONDS) return seconds;
  throw new UsageError(`--seconds must be a number from ${MIN_SECONDS} to ${MAX_SECONDS}, got "${text}".`);
}

function readDelays(text: string): number[] {
  const delays = text.split(',').map(toNumber);
  if (delays.length === LOCATIONS.length && delays.every((ms) => ms >= 0 && ms <= MAX_DELAY_MS)) return delays;
  throw new UsageError(
    `--delays must be ${LOCATIONS.length} numbers of milliseconds from 0 to ${MAX_DELAY_MS} such as ${DEFAULT_DELAYS}, got "${text}".`,
  );
}

/** NaN for text that is not a plain number. */
function toNumber(text: string): number {
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : NaN;
}
