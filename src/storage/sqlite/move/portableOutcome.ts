import type { ChargeResult } from '../../../core/spend.ts';

interface Outcome {
  readonly charges: readonly ChargeResult[];
  readonly nowMs: number;
}

/** A remembered answer in the form of an export: the instant of the answer, then two numbers for each charge. */
export function toPortable(stored: string): string {
  const { charges, nowMs } = JSON.parse(stored) as Outcome;
  return [nowMs, ...charges.flatMap(({ left, resetAtMs }) => [left, resetAtMs])].join(',');
}

export function fromPortable(portable: string): string {
  const [nowMs = 0, ...numbers] = portable.split(',').map(Number);
  const charges: ChargeResult[] = [];
  for (let i = 0; i < numbers.length; i += 2) charges.push({ left: numbers[i] ?? 0, resetAtMs: numbers[i + 1] ?? 0 });
  return JSON.stringify({ charges, nowMs } satisfies Outcome);
}
