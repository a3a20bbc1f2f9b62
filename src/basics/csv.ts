/** One line of CSV (RFC 4180). */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map((cell) => (typeof cell === 'number' ? String(cell) : csvText(cell))).join(',')}\r\n`;
}

/**
 * Where a spreadsheet would begin a formula: at the beginning of a text, and after the characters that separate cells in languages other
 * than English. There a quotation mark in the middle of a line does not prevent a split, and spaces and quotation marks before a formula
 * may be left out. The signs of double width count in Asian languages.
 */
const FORMULA = /(^|[;|\t\r\n])([ "]*)([=+\-@\uff1d\uff0b\uff0d\uff20])/g;
/** Some spreadsheets leave these out and then read what follows. */
const LEFT_OUT = /^[\t\r\n]/;

/** Puts an apostrophe before each formula, which makes it a text. */
function withoutFormulas(text: string): string {
  const safe = text.replaceAll(FORMULA, "$1$2'$3");
  return LEFT_OUT.test(safe) ? `'${safe}` : safe;
}

function csvText(text: string): string {
  const safe = withoutFormulas(text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
