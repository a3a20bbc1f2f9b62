const BACKSLASH = 0x5c;
const SMALL_U = 0x75;

/** The character that each letter after a backslash means. */
const ESCAPES = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
);

/** The length in bytes of the escape at this position; 0 = not a valid escape. */
export function escapeLength(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== SMALL_U) return ESCAPES.has(letter) ? 2 : 0;
  for (let i = at + 2; i < at + 6; i++) if (hexDigit(bytes[i] ?? 0) < 0) return 0;
  return 6;
}

/** Decodes UTF-8 with escapes, both already checked. Each unit is written once, however many escapes there are. */
export function unescapedText(bytes: Uint8Array, from: number, to: number): string {
  const units = new Uint16Array(to - from);
  let length = 0;
  for (let at = from; at < to;) {
    const byte = bytes[at] ?? 0;
    if (byte === BACKSLASH) {
      units[length++] = escapedUnit(bytes, at);
      at += bytes[at + 1] === SMALL_U ? 6 : 2;
    } else if (byte < 0x80) {
      units[length++] = byte;
      at++;
    } else {
      const size = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
      length += writeCharacter(units, length, codePoint(bytes, at, size));
      at += size;
    }
  }
  return Buffer.from(units.buffer).toString('ucs2', 0, length * 2);
}

function escapedUnit(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== SMALL_U) return ESCAPES.get(letter) ?? 0;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) unit = unit * 16 + hexDigit(bytes[i] ?? 0);
  return unit;
}

/** -1 = not a hexadecimal digit. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1;
}

/** The more bytes follow the first byte, the fewer bits of the character it has. */
function codePoint(bytes: Uint8Array, at: number, size: number): number {
  let code = (bytes[at] ?? 0) & (0xff >> (size + 1));
  for (let i = at + 1; i < at + size; i++) code = (code << 6) | ((bytes[i] ?? 0) & 0x3f);
  return code;
}

function writeCharacter(units: Uint16Array, at: number, code: number): number {
  if (code < 0x10000) {
    units[at] = code;
    return 1;
  }
  units[at] = 0xd800 + ((code - 0x10000) >> 10);
  units[at + 1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
  return 2;
}
