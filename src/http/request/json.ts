import { MAX_JSON_DEPTH } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;

/**
 * Parses the JSON body of one verification (MAX_VERIFY_BODY_BYTES) strictly. Besides the grammar, nesting is bounded, because
 * deeper values can be parsed but not serialized. A member must not appear twice: JSON.parse keeps the last one, other parsers
 * the first. `readJson` does the same for all other bodies, which may be too large for JSON.parse.
 */
export function parseJson(text: string): unknown {
  const problem = inspect(text);
  if (problem !== null) throw new AppError('BAD_REQUEST', problem);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message quotes the body, and the body may hold a secret.
    throw new AppError(
      'BAD_REQUEST',
      text.trim() === '' ? 'The body is empty. Send a JSON object.' : 'The body is not valid JSON.',
    );
  }
}

/** One pass over a text whose grammar JSON.parse has checked. */
function inspect(text: string): string | null {
  /** Names seen in each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const end = endOfString(text, i);
      const names = open.at(-1);
      if (names != null && isName(text, end)) {
        const name = text.slice(i + 1, end);
        // Escaped names are rare. They are decoded before they are compared, because one name can be written in two ways.
        const plain = name.includes('\\') ? unescaped(name) : name;
        if (names.has(plain)) return `The member ${repeatable(plain)} appears twice in one object.`;
        names.add(plain);
      }
      i = end;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      open.push(code === OPEN_BRACE ? new Set() : null);
      if (open.length > MAX_JSON_DEPTH) return `The body is nested more than ${MAX_JSON_DEPTH} levels deep.`;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open.pop();
  }
  return null;
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === QUOTE) return i;
  }
  return text.length;
}

function isName(text: string, end: number): boolean {
  for (let i = end + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x20) return code === COLON;
  }
  return false;
}

function unescaped(name: string): string {
  try {
    return JSON.parse(`"${name}"`) as string;
  } catch {
    return name;
  }
}
