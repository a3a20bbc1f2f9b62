export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface LogOptions {
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
