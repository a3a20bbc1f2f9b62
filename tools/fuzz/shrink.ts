import type { Input } from './input.ts';

const MAX_TRIES = 2_000;
/** A time limit, because an input on which a server waits takes seconds for each try. */
const MAX_MS = 15_000;

/** Removes as much as possible while the input still fails: many lines at a time first, then single bytes. */
export async function shrink(input: Input, isFailing: (input: Input) => Promise<boolean>): Promise<Input> {
  const endsAtMs = performance.now() + MAX_MS;
  let best = input;
  let tries = 0;
  /** Returns whether the smaller input still fails and is kept. */
  const accepts = async (smaller: Input): Promise<boolean> => {
    if (++tries > MAX_TRIES || performance.now() > endsAtMs || !(await isFailing(smaller))) return false;
    best = smaller;
    return true;
  };
  if (input.pieces.length > 1) await accepts({ ...input, pieces: [input.pieces.join('')] });
  if (input.isHalfClosed) await accepts({ ...best, isHalfClosed: false });
  const pass = async (size: number, startsOf: (text: string) => number[]): Promise<void> => {
    for (let i = 0; ;) {
      const text = best.pieces.join('');
      const starts = startsOf(text);
      const [start, end] = [starts[i], starts[i + size] ?? text.length];
      if (start === undefined || start >= text.length) return;
      if (!(await accepts(without(best, start, end)))) i++;
    }
  };
  for (let lines = linesOf(best.pieces.join('')).length >> 1; lines >= 1; lines >>= 1) await pass(lines, linesOf);
  for (const bytes of [8, 2, 1]) await pass(bytes, (text) => Array.from(text, (_, i) => i));
  return best;
}

/** The positions where lines begin. */
function linesOf(text: string): number[] {
  return [0, ...text.matchAll(/\n/g).map(({ index }) => index + 1)];
}

/** The same pieces without the bytes from `start` to `end`. */
function without({ pieces, isHalfClosed }: Input, start: number, end: number): Input {
  let at = 0;
  const kept = pieces.flatMap((piece) => {
    const [from, to] = [Math.max(0, start - at), Math.max(0, end - at)];
    at += piece.length;
    return piece.slice(0, from) + piece.slice(to) || [];
  });
  return { pieces: kept, isHalfClosed };
}
