import type { AccountState } from './account.ts';
import type { Booked } from './accountBook.ts';
import type { Pockets } from './pockets.ts';
import { joinedLine, type StatementLine } from './statement.ts';

/**
 * The account and its stored lines were read one after the other. They fit when nothing but spends happened in between: no later line has
 * begun, the running one is not closed, and it has all movements that the account has.
 */
export function fitsAccount(
  { base, segmentMs }: AccountState,
  pockets: Pockets | null,
  stored: readonly StatementLine[],
): boolean {
  const [line, ...later] = stored;
  if (line === undefined) return true;
  if (later.length > 0 || line.startMs !== segmentMs || line.spent > 0) return false;
  const { opening, granted, refilled, adjusted, expired } = line;
  return opening + granted + refilled + adjusted - expired === base + (pockets?.held ?? 0);
}

/** The lines of an account from its running one on, as they are at this instant: with what was spent, and with all that is due. */
export function runningLines(stored: readonly StatementLine[], { state, pockets, lines }: Booked): StatementLine[] {
  const running = [...stored];
  for (const line of lines) addTo(running, line);
  const { value, base, segmentMs, mark } = state;
  const held = pockets?.held ?? 0;
  if (base === value && held === 0 && running.at(-1)?.startMs !== segmentMs) return running;
  addTo(running, {
    startMs: segmentMs,
    periodMs: mark,
    opening: base + held,
    granted: 0,
    refilled: 0,
    adjusted: 0,
    spent: base - value,
    expired: 0,
    closing: value + held,
    held,
  });
  return running;
}

function addTo(lines: StatementLine[], line: StatementLine): void {
  const last = lines.at(-1);
  if (last?.startMs === line.startMs) lines.splice(-1, 1, joinedLine(last, line));
  else lines.push(line);
}
