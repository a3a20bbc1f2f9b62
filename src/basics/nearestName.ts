/** The most edits between the name that was written and the one that was meant. */
const MAX_EDITS = 3;

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/**
 * The known name that was probably meant, or null when none is near. Each edit changes the length by one at most, so only names of
 * nearly the same length are compared. The written name may have any length.
 */
export function nearestName(
  written: string,
  known: readonly string[],
  maxEdits: number = Math.min(MAX_EDITS, Math.ceil(written.length / 2)),
): string | null {
  let best: string | null = null;
  let bestDistance = maxEdits + 1;
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= bestDistance) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** The same for short words, such as commands, most of which resemble another one: allows one mistake, or one for every four characters. */
export function nearestWord(written: string, known: readonly string[]): string | null {
  const maxEdits = Math.min(MAX_EDITS, Math.floor(written.length / 4));
  return known.find((word) => isOneEditAway(written, word)) ?? nearestName(written, known, maxEdits);
}

/** One character more, less, changed, or two neighbours swapped. */
export function isOneEditAway(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  let at = 0;
  while (at < long.length && short[at] === long[at]) at++;
  const rest = long.slice(at + 1);
  if (rest === short.slice(at)) return true;
  if (short.length !== long.length) return false;
  return (
    rest === short.slice(at + 1) ||
    (short[at] === long[at + 1] && short[at + 1] === long[at] && rest.slice(1) === short.slice(at + 2))
  );
}
