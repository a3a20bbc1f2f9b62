import type { Ask } from '../ask.ts';
import { Failure } from '../cliError.ts';

/** What became of a key. */
export type Outcome = 'imported' | 'present' | { readonly failed: string };

type Key = Readonly<Record<string, unknown>>;

/** By the place of a key in what was sent, what is wrong with it. */
type Told = ReadonlyMap<number, string>;

/** Trouble that passes: the batch is sent again, and what of it was stored meanwhile is recognised. */
const PASSING = new Set<string | undefined>([undefined, 'UNAVAILABLE', 'OUTCOME_UNKNOWN', 'RATE_LIMITED']);
/** Refusals that are about a key, when they tell which or when it is the only one. */
const ABOUT_KEYS = new Set<string | undefined>([
  'BAD_REQUEST',
  'CONFLICT',
  'PAYLOAD_TOO_LARGE',
  'INTERNAL_SERVER_ERROR',
]);
const MAX_TRIES = 6;
const FIRST_PAUSE_MS = 250;

/** Imports keys, each that can be. Whatever else is refused (the root key, the api that was said for all, a quota) ends the import. */
export class KeySender {
  readonly #ask: Ask;
  /** Of keys that name none; null = each names its own. */
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

  /** What became of the keys, in order. */
  async send(keys: readonly Key[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = keys.map(() => 'imported');
    let waiting = keys.map((_, i) => i);
    while (waiting.length > 0) {
      const refusal = await this.#importOrRefusal(waiting.map((i) => keys[i] as Key));
      if (refusal === null) break;
      const told = placesOf(refusal);
      this.#stopWithoutApi(refusal, told, (place) => keys[waiting[place] ?? 0]);
      if (told.size === 0) {
        const singly = await this.#sendSingly(
          waiting.map((i) => keys[i] as Key),
          refusal,
        );
        for (const [place, i] of waiting.entries()) outcomes[i] = singly[place] ?? 'imported';
        break;
      }
      for (const [place, message] of told) outcomes[waiting[place] ?? 0] = toOutcome(refusal, message);
      waiting = waiting.filter((_, place) => !told.has(place));
    }
    return outcomes;
  }

  /** Every row would be told the same of the api that was said for all of them. */
  #stopWithoutApi({ exitCode, details }: Failure, told: Told, keyAt: (place: number) => Key | undefined): void {
    if (details.code !== 'NOT_FOUND' || this.#apiId === null) return;
    for (const [place, message] of told) {
      if (keyAt(place)?.['apiId'] === this.#apiId) throw new Failure(exitCode, [message], details);
    }
  }

  /** After a refusal that does not tell which key it is about. */
  async #sendSingly(keys: readonly Key[], refusal: Failure): Promise<Outcome[]> {
    if (!ABOUT_KEYS.has(refusal.details.code)) throw refusal;
    if (keys.length === 1) return [toOutcome(refusal, refusal.message)];
    const outcomes: Outcome[] = [];
    for (const key of keys) outcomes.push(...(await this.send([key])));
    return outcomes;
  }

  /** null: all of them were imported. */
  async #importOrRefusal(keys: readonly Key[]): Promise<Failure | null> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#ask('migrations.createKeys', keys);
        return null;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (!PASSING.has(error.details.code)) return error;
        if (tries === MAX_TRIES) throw error;
        await this.#pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }
}

function placesOf({ details }: Failure): Told {
  const told = new Map<number, string>();
  for (const { path, message } of details.issues ?? []) {
    const place = /^\[(\d+)\]/.exec(path)?.[1];
    if (place === undefined) continue;
    const words = message.replace(/^\[\d+\](\.|: )?/, '');
    const before = told.get(Number(place));
    told.set(Number(place), before === undefined ? words : `${before}; ${words}`);
  }
  return told;
}

function toOutcome({ details }: Failure, message: string): Outcome {
  return details.code === 'CONFLICT' ? 'present' : { failed: message };
}
