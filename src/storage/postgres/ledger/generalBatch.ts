import type { AccountMark, ChargeRule, RefillStep } from '../../../core/account.ts';
import { MAX_COUNT, MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../core/bounds.ts';
import type { ChargeResult, Spend, SpendOutcome } from '../../../core/spend.ts';
import { IS_OWN_SESSION, sessionOf } from '../connection/ownSession.ts';
import type { Batch, BatchOutcome } from './batch.ts';
import type { BatchFences } from './fences.ts';
import { CHARGE_RULE, STATUS, STEP_MODE } from '../schema/generalSpendFunction.ts';

const STATEMENT = {
  name: 'spend',
  text: `SELECT ledger_spend_v1($1, $2, $3, $4, $5::bigint[], $6::int[], $7::int[], $8::bigint[], $9::bigint[], $10::int[],
    $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
    $16::int[], $17::bigint[], $18::bigint[], $19::bigint[],
    $20::int[], $21::int[], $22::text[], $23::text[], $24::text[], $25,
    $26::bigint[], $27::text[], $28::text[], $29::bigint[]) AS verdicts WHERE ${IS_OWN_SESSION}($30)`,
};

/** A batch of any spends: one call of ledger_spend_v1. */
export function batchOf(spends: readonly Spend[], fences: BatchFences): Batch {
  const { ids, spendCharges, charges, steps, spendIdem, idemScope, idemId, idemDigest, scopes } = writeBatch(spends);
  const written = [ids, spendCharges, ...charges, ...steps, spendIdem, idemScope, idemId, idemDigest, scopes];
  const { kinds, ids: fenceIds, names, revisions } = fences.columns;
  const asked = [kinds, fenceIds, names, revisions];
  return {
    size: spends.length,
    async ask(client, { committer, number, waits, givenMs }) {
      const begun = [committer, number, waits !== 'never', givenMs];
      const values = [...begun, ...written, MAX_LIVE_IDEMPOTENCY_KEYS, ...asked, sessionOf(client)];
      const { rows } = await client.query<{ verdicts: string }>({ ...STATEMENT, values });
      return rows[0]?.verdicts ?? '';
    },
    read(text) {
      const numbers = text.split(',').map(Number);
      return fences.readBroken(numbers) ?? readVerdicts(numbers, spends);
    },
  };
}

interface BatchText {
  readonly ids: string;
  readonly spendCharges: string;
  /** Columns of the charges: position, amount, revision, rule, and the five numbers of the rule. */
  readonly charges: readonly string[];
  /** Columns of the steps of refills: mode, amount, maximum, times. */
  readonly steps: readonly string[];
  readonly spendIdem: string;
  readonly idemScope: string;
  readonly idemId: readonly string[];
  readonly idemDigest: readonly string[];
  readonly scopes: readonly string[];
}

function writeBatch(spends: readonly Spend[]): BatchText {
  const ids = [...new Set(spends.flatMap(({ charges }) => charges.map(({ account }) => account)))].sort(
    (a, b) => a - b,
  );
  const positionOf = new Map(ids.map((id, i) => [id, i + 1]));
  const scopes: string[] = [];
  const scopePosition = new Map<string, number>();
  const [idemScope, idemId, idemDigest, spendIdem]: [number[], string[], string[], number[]] = [[], [], [], []];
  const columns: number[][] = Array.from({ length: CHARGE_COLUMNS }, () => []);
  const steps: RefillStep[] = [];
  for (const spend of spends) {
    for (const charge of spend.charges) {
      const numbers = [
        positionOf.get(charge.account) ?? 0,
        charge.amount,
        charge.revision,
        ...ruleNumbers(charge.rule, steps),
      ];
      for (let i = 0; i < CHARGE_COLUMNS; i++) columns[i]?.push(numbers[i] ?? 0);
    }
    const { idempotency } = spend;
    if (idempotency === null) {
      spendIdem.push(0);
      continue;
    }
    let position = scopePosition.get(idempotency.scope);
    if (position === undefined) scopePosition.set(idempotency.scope, (position = scopes.push(idempotency.scope)));
    idemScope.push(position);
    idemDigest.push(idempotency.requestDigest);
    spendIdem.push(idemId.push(idempotency.id));
  }
  return {
    ids: `{${ids.join(',')}}`,
    spendCharges: `{${spends.map(({ charges: { length } }) => length).join(',')}}`,
    charges: columns.map((column) => `{${column.join(',')}}`),
    steps: stepColumns(steps),
    spendIdem: `{${spendIdem.join(',')}}`,
    idemScope: `{${idemScope.join(',')}}`,
    idemId,
    idemDigest,
    scopes,
  };
}

/** Position, amount, revision, and the rule with its five numbers. */
const CHARGE_COLUMNS = 9;

/** Adds the steps of a refill to those of the batch. */
function ruleNumbers(rule: ChargeRule, steps: RefillStep[]): number[] {
  if (rule.kind === 'window') return [CHARGE_RULE.window, rule.limit, rule.durationMs, 0, 0, 0];
  if (rule.refill === null) return [CHARGE_RULE.credits, 0, 0, 0, 0, 0];
  const { fromMs, startMs, nextMs } = rule.refill;
  const first = steps.length + 1;
  steps.push(...rule.refill.steps);
  return [CHARGE_RULE.refill, fromMs, startMs, nextMs, first, steps.length];
}

function stepColumns(steps: readonly RefillStep[]): string[] {
  const column = (of: (step: RefillStep) => number): string => `{${steps.map(of).join(',')}}`;
  return [
    column(({ mode }) => STEP_MODE[mode]),
    column(({ amount }) => amount),
    column(({ max }) => max ?? MAX_COUNT),
    column(({ times }) => times),
  ];
}

/** The outcomes, in the order of the spends. */
function readVerdicts(numbers: readonly number[], spends: readonly Spend[]): BatchOutcome[] {
  const nowMs = numbers[0] ?? 0;
  const outcomes: BatchOutcome[] = [];
  for (let at = 1; at < numbers.length;) {
    const [status, second = 0, count = 0] = numbers.slice(at, at + 3);
    at += 3;
    const charges: ChargeResult[] = [];
    for (let i = 0; i < count; i++, at += 2) charges.push({ left: numbers[at] ?? 0, resetAtMs: numbers[at + 1] ?? 0 });
    const stale = status === STATUS.stale ? toStale(spends[outcomes.length], second, charges, nowMs) : null;
    outcomes.push(stale ?? toOutcome(status ?? -1, second, charges, nowMs));
  }
  return outcomes;
}

/** With the charge whose refill begins at another mark, or whose pockets have to be settled, if that is the reason. */
function toStale(
  spend: Spend | undefined,
  charge: number,
  [told]: readonly ChargeResult[],
  nowMs: number,
): SpendOutcome {
  const account = spend?.charges[charge]?.account;
  if (told === undefined || account === undefined) return { status: 'stale', nowMs, fence: null };
  if (told.resetAtMs === 1) return { status: 'stale', nowMs, fence: null, due: account };
  const mark: AccountMark = { account, markMs: told.left };
  return { status: 'stale', nowMs, fence: null, mark };
}

function toOutcome(status: number, second: number, charges: readonly ChargeResult[], nowMs: number): BatchOutcome {
  switch (status) {
    case STATUS.taken:
      return { status: 'taken', charges, nowMs, replayed: false };
    case STATUS.replayed:
      return { status: 'taken', charges, nowMs: second, replayed: true };
    case STATUS.refused:
      return { status: 'refused', by: second, charges, nowMs };
    case STATUS.conflict:
      return { status: 'conflict' };
    case STATUS.crowded:
      return { status: 'crowded' };
    case STATUS.busy:
      return 'busy';
    default:
      throw new Error(`the database answered the unknown status ${status}`);
  }
}
