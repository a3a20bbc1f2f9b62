export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Of each kind of limited line, one is written in so long. */
const LIMITED_MS = 1000;
/** Kinds of limited lines that are told apart at one time. Further ones count as one kind. */
const MAX_KINDS = 100;
const OTHER_KINDS = '';

/** The lines of one kind that were not written yet. */
interface HeldBack {
  /** When the last line of this kind was written. */
  writtenAtMs: number;
  count: number;
  /** The latest of them; null = there is none. */
  latest: { readonly level: LogLevel; readonly message: string; readonly fields: LogFields } | null;
}

interface LogOptions {
  /** The lowest level that is written. */
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  nowMs(): number;
  write(line: string): void;
}

/** Structured messages: a constant text and fields. No value of a field can forge a line. */
export class Log {
  /** The lowest level that is written. */
  level: LogLevel;
  readonly #options: LogOptions;
  /** By kind. */
  readonly #heldBack = new Map<string, HeldBack>();

  constructor(options: LogOptions) {
    this.level = options.level;
    this.#options = options;
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#log('debug', message, fields);
  }

  info(message: string, fields: LogFields = {}): void {
    this.#log('info', message, fields);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#log('warn', message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#log('error', message, fields);
  }

  /**
   * Writes a line that strangers can cause as often as they like: the first one of its kind at once, then at most one in a second, for all
   * that came meanwhile: the latest of them, with the field `times`.
   */
  limited(level: LogLevel, message: string, fields: LogFields = {}, kind = message): void {
    if (RANK[level] < RANK[this.level]) return;
    const isKnown = this.#heldBack.has(kind) || this.#heldBack.size < MAX_KINDS;
    const held = this.#heldBackOf(isKnown ? kind : OTHER_KINDS);
    held.count++;
    held.latest = { level, message, fields };
    this.#writeIfDue(held);
  }

  /** Writes the lines that are due and that no other one has followed. Called once a second. */
  writeHeldBack(): void {
    for (const [kind, held] of this.#heldBack) {
      if (this.#writeIfDue(held)) continue;
      if (held.latest === null && this.#isDue(held)) this.#heldBack.delete(kind);
    }
  }

  /** Writes all lines that were held back, before the process ends. */
  close(): void {
    for (const held of this.#heldBack.values()) this.#write(held);
    this.#heldBack.clear();
  }

  #heldBackOf(kind: string): HeldBack {
    const known = this.#heldBack.get(kind);
    if (known !== undefined) return known;
    const made: HeldBack = { writtenAtMs: -Infinity, count: 0, latest: null };
    this.#heldBack.set(kind, made);
    return made;
  }

  #writeIfDue(held: HeldBack): boolean {
    return this.#isDue(held) && this.#write(held);
  }

  /** A clock that is set back holds back nothing. */
  #isDue({ writtenAtMs }: HeldBack): boolean {
    const sinceMs = this.#options.nowMs() - writtenAtMs;
    return sinceMs < 0 || sinceMs >= LIMITED_MS;
  }

  #write(held: HeldBack): boolean {
    const { latest, count } = held;
    if (latest === null) return false;
    this.#log(latest.level, latest.message, count === 1 ? latest.fields : { ...latest.fields, times: count });
    held.writtenAtMs = this.#options.nowMs();
    held.count = 0;
    held.latest = null;
    return true;
  }

  #log(level: LogLevel, message: string, fields: LogFields): void {
    if (RANK[level] < RANK[this.level]) return;
    const time = new Date(this.#options.nowMs()).toISOString();
    if (this.#options.format === 'json') {
      return this.#options.write(quoted({ time, level, message, ...fields }));
    }
    const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${toText(value)}`);
    this.#options.write(`${time} ${level.padEnd(5)} ${message}${shown.join('')}`);
  }
}

/** A plain word stays as it is. Anything else becomes JSON, which escapes line breaks and terminal codes. */
function toText(value: LogFields[string]): string {
  const text = String(value);
  if (/^[\w.:/@+-]+$/.test(text)) return text;
  return quoted(text);
}

/** JSON without control characters, so that a terminal cannot misread it. */
function quoted(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
