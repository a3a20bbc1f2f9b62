import type { Ask } from '../ask.ts';
import { CliError } from '../cliError.ts';

/** The result of importing a key. */
export type Outcome = 'imported' | 'present' | { readonly failed: string };

type Key = Readonly<Record<string, unknown>>;

/** The problems that the service named, by the index of the key in the request. */
type KeyProblems = ReadonlyMap<number, string>;

/** Temporary errors. The batch is sent again, and the service recognises keys that it has already stored. */
const TEMPORARY = new Set<string | undefined>([undefined, 'UNAVAILABLE', 'OUTCOME_UNKNOWN', 'RATE_LIMITED']);
/** Errors that are about a key, when they name it or when the request has only one. */
const ABOUT_KEYS = new Set<string | undefined>([
  'BAD_REQUEST',
  'CONFLICT',
  'PAYLOAD_TOO_LARGE',
  'INTERNAL_SERVER_ERROR',
]);
const MAX_TRIES = 6;
const FIRST_PAUSE_MS = 250;

/** Imports every key that can be imported. Any other refusal (of the root key, of the api of --api, a quota) ends the import. */
export class KeySender {
  readonly #ask: Ask;
  /** The api of keys that do not name one. Null: each key names its api. */
  readonly #apiId: string | null;
  readonly #pause: (milliseconds: number) => Promise<void>;

  constructor(
    ask: Ask,
    apiId: string | null,
    pause: (milliseconds: number) => Promise<void> = (milliseconds) => Bun.sleep(milliseconds),
  ) {
    this.#ask = ask;
    this.#apiId = apiId;
    this.#pause = pause;
  }

  /** The results, in the order of the keys. */
  async send(keys: readonly Key[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = keys.map(() => 'imported');
    let waiting = keys.map((_, i) => i);
    while (waiting.length > 0) {
      const refusal = await this.#importOrRefusal(waiting.map((i) => keys[i] as Key));
      if (refusal === null) break;
      const problems = problemsOf(refusal);
      this.#stopWithoutApi(refusal, (index) => keys[waiting[index] ?? 0]);
      if (problems.size === 0) {
        const singly = await this.#sendSingly(
          waiting.map((i) => keys[i] as Key),
          refusal,
        );
        for (const [index, i] of waiting.entries()) outcomes[i] = singly[index] ?? 'imported';
        break;
      }
      for (const [index, message] of problems) outcomes[waiting[index] ?? 0] = toOutcome(refusal, message);
      waiting = waiting.filter((_, index) => !problems.has(index));
    }
    return outcomes;
  }

  /** Ends the import when the api of --api does not exist: every row would fail with the same message. */
  #stopWithoutApi({ exitCode, details }: CliError, keyAt: (index: number) => Key | undefined): void {
    if (details.code !== 'NOT_FOUND' || this.#apiId === null) return;
    for (const { path, message } of details.issues ?? []) {
      // A path into the key names what else is not there: its owner.
      const index = /^\[(\d+)\]$/.exec(path)?.[1];
      if (index !== undefined && keyAt(Number(index))?.['apiId'] === this.#apiId)
        throw new CliError(exitCode, [message], details);
    }
  }

  /** Sends the keys one by one, after an error that does not name the key that it is about. */
  async #sendSingly(keys: readonly Key[], refusal: CliError): Promise<Outcome[]> {
    if (!ABOUT_KEYS.has(refusal.details.code)) throw refusal;
    if (keys.length === 1) return [toOutcome(refusal, refusal.message)];
    const outcomes: Outcome[] = [];
    for (const key of keys) outcomes.push(...(await this.send([key])));
    return outcomes;
  }

  /** Returns null when all keys are imported. */
  async #importOrRefusal(keys: readonly Key[]): Promise<CliError | null> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#ask('migrations.createKeys', keys);
        return null;
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        if (!TEMPORARY.has(error.details.code)) return error;
        if (tries === MAX_TRIES) throw error;
        await this.#pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }
}

function problemsOf({ details }: CliError): KeyProblems {
  const problems = new Map<number, string>();
  for (const { path, message } of details.issues ?? []) {
    const index = /^\[(\d+)\]/.exec(path)?.[1];
    if (index === undefined) continue;
    const words = message.replace(/^\[\d+\](\.|: )?/, '');
    const before = problems.get(Number(index));
    problems.set(Number(index), before === undefined ? words : `${before}; ${words}`);
  }
  return problems;
}

function toOutcome({ details }: CliError, message: string): Outcome {
  return details.code === 'CONFLICT' ? 'present' : { failed: message };
}
