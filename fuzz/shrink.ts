import type { Input } from './input.ts';

const MAX_TRIES = 400;
/** An input on which a server waits takes seconds each time. */
const MAX_MS = 15_000;

/** Leaves out as many bytes as it can while the input still fails: halves first, single bytes last. */
export async function shrink(input: Input, isFailing: (input: Input) => Promise<boolean>): Promise<Input> {
  const endsAtMs = performance.now() + MAX_MS;
  let tries = 0;
  const isOver = (): boolean => tries >= MAX_TRIES || performance.now() > endsAtMs;
  const stillFails = async (smaller: Input): Promise<boolean> => {
    tries++;
    return isFailing(smaller);
  };
  let best = input;
  const whole = { ...best, pieces: [best.pieces.join('')] };
  if (best.pieces.length > 1 && (await stillFails(whole))) best = whole;
  if (best.isHalfClosed && (await stillFails({ ...best, isHalfClosed: false })))
    best = { ...best, isHalfClosed: false };
  for (let size = Math.ceil(lengthOf(best) / 2); size >= 1 && !isOver(); size >>= 1) {
    for (let at = 0; at < lengthOf(best);) {
      const smaller = without(best, at, size);
      if (await stillFails(smaller)) best = smaller;
      else at += size;
      if (isOver()) break;
    }
  }
  return best;
}

function lengthOf({ pieces }: Input): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/** The same cuts without these bytes. */
function without({ pieces, isHalfClosed }: Input, at: number, length: number): Input {
  let start = 0;
  const kept = pieces.flatMap((piece) => {
    const from = Math.max(0, at - start);
    const to = Math.max(0, at + length - start);
    start += piece.length;
    return piece.slice(0, from) + piece.slice(to) || [];
  });
  return { pieces: kept, isHalfClosed };
}
