export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  nowMs(): number;
  write(line: string): void;
}

/** Structured messages: a constant text and fields. A value can never forge a line, whatever it holds. */
export class Log {
  readonly #options: LogOptions;

  constructor(options: LogOptions) {
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
    if (RANK[level] < RANK[this.#options.level]) return;
    const time = new Date(this.#options.nowMs()).toISOString();
    if (this.#options.format === 'json') {
      return this.#options.write(quoted({ time, level, message, ...fields }));
    }
    const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${toText(value)}`);
    this.#options.write(`${time} ${level.padEnd(5)} ${message}${shown.join('')}`);
  }
}

/** Plain words as they are; anything else as JSON, where line breaks and terminal codes are escaped. */
function toText(value: LogFields[string]): string {
  const text = String(value);
  if (/^[\w.:/@+-]+$/.test(text)) return text;
  return quoted(text);
}

/** JSON in plain ASCII as far as a terminal is concerned: no control character is left as it is. */
function quoted(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
