import { compare } from './compare.ts';
import { type Input, makeInput } from './input.ts';
import { Random } from './random.ts';
import { shrink } from './shrink.ts';
import type { Target } from './targets.ts';

export interface Finding {
  readonly input: Input;
  readonly difference: string;
  /** The number of the input in this run, from 0 on. */
  readonly number: number;
}

export interface Campaign {
  readonly inputs: number;
  /** The number of requests that both servers have passed on. A run with few of them compares little. */
  readonly passedOn: number;
  /** How often each allowance was used. */
  readonly allowances: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
}

export interface CampaignOptions {
  readonly seed: number;
  readonly front: Target;
  readonly runtime: Target;
  /** The run ends after this many findings, which mostly have the same cause. */
  readonly maxFindings: number;
  /** Called before each input. */
  readonly isDone: (inputs: number) => boolean;
}

/** Compares one input after the other. */
export async function fuzz({ seed, front, runtime, maxFindings, isDone }: CampaignOptions): Promise<Campaign> {
  const random = new Random(seed);
  const allowances = new Map<string, number>();
  const findings: Finding[] = [];
  let inputs = 0;
  let passedOn = 0;
  for (; findings.length < maxFindings && !isDone(inputs); inputs++) {
    const input = makeInput(random);
    const outcome = await compare(front, runtime, input);
    passedOn += outcome.passedOn;
    if (outcome.allowance !== null) allowances.set(outcome.allowance, (allowances.get(outcome.allowance) ?? 0) + 1);
    if (outcome.difference === null) continue;
    const { kind } = outcome.difference;
    const small = await shrink(input, async (each) => (await compare(front, runtime, each)).difference?.kind === kind);
    const { difference } = await compare(front, runtime, small);
    const text = difference?.text ?? `seen only once: ${outcome.difference.text}`;
    findings.push({ input: small, difference: text, number: inputs });
  }
  return { inputs, passedOn, allowances, findings };
}
