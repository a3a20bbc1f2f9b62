import { parseBlock } from '../core/address.ts';
import { isTimeZone } from '../core/calendar.ts';
import { AddressError, parseAddress } from '../core/databaseUrl.ts';

/** A parsed value, or the problem of the text. `item` is the wrong item of a list. */
export type Parsed<T> = { readonly value: T } | { readonly problem: string; readonly item?: string };

export interface Kind<T> {
  /** The name of this kind of value in the documentation. */
  readonly label: string;
  parse(text: string): Parsed<T>;
  /** The value as a user would write it, if that is not its plain text. */
  show?(value: T): string;
}

const wrong = (problem: string): { readonly problem: string } => ({ problem });

export const text: Kind<string> = {
  label: 'text',
  parse: (value) => (value === '' ? wrong('must not be empty') : { value }),
};

/** A file by its path. If its content is given instead, the message does not repeat it: it may be a private key. */
export function fileOf(content: string): Kind<string> {
  return {
    label: 'file',
    parse(value) {
      if (value === '') return wrong('must not be empty');
      const isContent = value.includes('-----BEGIN') || value.includes('\n');
      return isContent ? { problem: `must name a file, but holds the ${content} itself`, item: '' } : { value };
    },
  };
}

export const port: Kind<number> = {
  label: 'port',
  parse(value) {
    const number = /^\d{1,5}$/.test(value) ? Number(value) : NaN;
    return number <= 65535 ? { value: number } : wrong('must be a port, 0 to 65535');
  },
};

export function count(min: number, max: number): Kind<number> {
  return {
    label: `${min} to ${max}`,
    parse(value) {
      const number = /^\d{1,16}$/.test(value) ? Number(value) : NaN;
      return number >= min && number <= max ? { value: number } : wrong(`must be a whole number from ${min} to ${max}`);
    },
  };
}

export function choice<const T extends string>(...values: T[]): Kind<T> {
  return {
    label: values.join(' or '),
    parse(value) {
      const found = values.find((known) => known === value);
      return found === undefined ? wrong(`must be one of ${values.join(', ')}`) : { value: found };
    },
  };
}

export const flag: Kind<boolean> = {
  label: 'on or off',
  parse(value) {
    if (['on', 'true', '1', 'yes'].includes(value.toLowerCase())) return { value: true };
    if (['off', 'false', '0', 'no'].includes(value.toLowerCase())) return { value: false };
    return wrong('must be on or off');
  },
  show: (isOn) => (isOn ? 'on' : 'off'),
};

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function duration(minMs: number, maxMs: number): Kind<number> {
  const range = `${showDuration(minMs)} to ${showDuration(maxMs)}`;
  return {
    label: `duration, ${range}`,
    parse(value) {
      const match = /^(\d{1,12})\s*(ms|s|m|h|d)?$/.exec(value);
      const milliseconds = match === null ? NaN : Number(match[1]) * (UNIT_MS[match[2] ?? 'ms'] ?? NaN);
      if (milliseconds >= minMs && milliseconds <= maxMs) return { value: milliseconds };
      return wrong(`must be a duration from ${range}, such as ${examplesOf(minMs, maxMs)}`);
    },
    show: showDuration,
  };
}

const EXAMPLES_MS = [250, 5_000, 3_600_000, 86_400_000, 30 * 86_400_000];

/** Up to three examples in the range: `250ms, 5s or 1h`. */
function examplesOf(minMs: number, maxMs: number): string {
  const fitting = EXAMPLES_MS.filter((example) => example >= minMs && example <= maxMs).slice(0, 3);
  const shown = (fitting.length === 0 ? [minMs] : fitting).map(showDuration);
  return shown.length === 1 ? `${shown[0]}` : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`;
}

export function showDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0';
  const unit = Object.keys(UNIT_MS).findLast((name) => milliseconds % (UNIT_MS[name] ?? 1) === 0) ?? 'ms';
  return `${milliseconds / (UNIT_MS[unit] ?? 1)}${unit}`;
}

function list(label: string, isItem: (item: string) => boolean, problem: string): Kind<readonly string[]> {
  return {
    label,
    parse(value) {
      const items = value.split(',').map((item) => item.trim());
      const bad = items.find((item) => !isItem(item));
      return bad === undefined ? { value: items } : { problem, item: bad };
    },
  };
}

export const addressBlocks = list(
  'addresses and CIDR blocks',
  (item) => parseBlock(item) !== null,
  'must list addresses and CIDR blocks such as 10.0.0.0/8',
);

export const origins = list(
  'origins',
  (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
  'must list origins such as https://app.example.com, or *',
);

export const color: Kind<string> = {
  label: 'colour',
  parse: (value) =>
    /^#[0-9a-fA-F]{6}$/.test(value) ? { value: value.toLowerCase() } : wrong('must be a colour such as #0b57d0'),
};

/** A picture by its file name. The extension names its format. */
export const pictureFile: Kind<string> = {
  label: 'file, .svg .png .jpg or .webp',
  parse: (value) =>
    /\.(?:svg|png|jpe?g|webp)$/i.test(value)
      ? { value }
      : wrong('must be a file that ends with .svg, .png, .jpg or .webp'),
};

export const publicUrl: Kind<string> = {
  label: 'URL',
  parse(value) {
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) return wrong('must be a URL with http or https');
    return { value: value.replace(/\/+$/, '') };
  },
};

/** Kept as it was written: the adapter parses it. Messages repeat no part of it, because it may hold a password. */
export const databaseUrl: Kind<string> = {
  label: 'postgres:// URL',
  parse(value) {
    try {
      parseAddress(value);
      return { value };
    } catch (error) {
      if (error instanceof AddressError) return wrong(error.problem);
      throw error;
    }
  },
};

export const timezone: Kind<string> = {
  label: 'time zone',
  parse: (value) => (isTimeZone(value) ? { value } : wrong('must be an IANA time zone such as Europe/Berlin')),
};

export interface Pepper {
  readonly version: string;
  readonly secret: string;
}

const MIN_PEPPER_LENGTH = 16;

export const peppers: Kind<readonly Pepper[]> = {
  label: 'version:secret, newest first',
  parse(value) {
    const found: Pepper[] = [];
    for (const part of value.split(',')) {
      const match = /^([A-Za-z0-9]{1,8}):([\x21-\x7e]+)$/.exec(part.trim());
      if (match === null || (match[2]?.length ?? 0) < MIN_PEPPER_LENGTH) {
        return wrong(
          `must be version:secret, newest first, separated by commas; a version has 1 to 8 letters or digits, a secret at least ${MIN_PEPPER_LENGTH} printable ASCII characters`,
        );
      }
      found.push({ version: match[1] ?? '', secret: match[2] ?? '' });
    }
    const isDoubled = found.some(({ version }, i) => found.findIndex((other) => other.version === version) !== i);
    return isDoubled ? wrong('must not name a version twice') : { value: found };
  },
};

const ENCRYPTION_KEY_BYTES = 32;

export const encryptionKeys: Kind<readonly Uint8Array[]> = {
  label: '32 bytes in base64, newest first',
  parse(value) {
    const keys = value.split(',').map((part) => part.trim());
    const isKey = (key: string): boolean => /^[A-Za-z0-9+/]{43}=$/.test(key);
    if (!keys.every(isKey)) {
      return wrong(
        `must be ${ENCRYPTION_KEY_BYTES} bytes in base64, 44 characters, such as \`openssl rand -base64 ${ENCRYPTION_KEY_BYTES}\` makes; several are separated by commas, newest first`,
      );
    }
    return { value: keys.map((key) => Uint8Array.from(atob(key), (character) => character.charCodeAt(0))) };
  },
};
