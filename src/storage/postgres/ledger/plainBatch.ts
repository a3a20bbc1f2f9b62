import { type BatchOutcome, type BatchEnvelope, type Batch } from './batch.ts';
import type { ChargeRule } from '../../../core/account.ts';
import { MAX_COUNT } from '../../../core/bounds.ts';
import type { Charge, ChargeResult, Spend } from '../../../core/spend.ts';
import { int8List } from '../connection/binaryLists.ts';
import { IS_OWN_SESSION, sessionOf } from '../connection/ownSession.ts';
import type { BatchFences, FenceColumns } from './fences.ts';
import { NEEDS_GENERAL, STATUS } from '../schema/spendFunctions.ts';

const STATEMENT = {
  name: 'take',
  text: `SELECT ledger_take_v1($1::bigint, $2::bigint, $3::boolean, $4::bigint, $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::bigint[]) AS verdicts
    WHERE ${IS_OWN_SESSION}($16)`,
};

const [COMMA, ZERO, NINE] = [0x2c, 0x30, 0x39];

/** Spends of a plain batch by account. Those of one account are taken together, or a general batch decides them one by one. */
interface Groups {
  /** The charge of each group, in the order in which all batches lock rows, so that two batches never wait for each other. */
  readonly charges: readonly Charge[];
  /** The numbers of the spends in the batch, group after group. */
  readonly members: readonly number[];
  /** Where the members of each group begin; the last entry is where those of the last group end. */
  readonly starts: readonly number[];
}

/** A plain spend has one charge that takes something, and no idempotency key. */
export function isPlain({ charges, idempotency }: Spend): boolean {
  const [charge] = charges;
  return idempotency === null && charges.length === 1 && charge !== undefined && charge.amount > 0 && isWhole(charge);
}

/** Only a damaged record has other numbers. A general batch sends them as text, so that the database says what is wrong. */
function isWhole({ account, amount, revision, rule }: Charge): boolean {
  if (!Number.isSafeInteger(account) || !Number.isSafeInteger(amount) || !Number.isSafeInteger(revision)) return false;
  if (rule.kind === 'window') return Number.isSafeInteger(rule.limit) && Number.isSafeInteger(rule.durationMs);
  if (rule.refill === null) return true;
  const { startMs, nextMs } = rule.refill;
  return Number.isSafeInteger(startMs) && Number.isSafeInteger(nextMs);
}

/** Two charges of one account that can be taken together. */
export function isAlike(a: Charge, b: Charge): boolean {
  return a.amount === b.amount && a.revision === b.revision && (a.rule === b.rule || isSameRule(a.rule, b.rule));
}

function isSameRule(a: ChargeRule, b: ChargeRule): boolean {
  if (a.kind === 'window') return b.kind === 'window' && a.limit === b.limit && a.durationMs === b.durationMs;
  return b.kind === 'credits' && a.refill?.startMs === b.refill?.startMs && a.refill?.nextMs === b.refill?.nextMs;
}

/** Plain spends, those of one account alike (`isAlike`): one call of ledger_take_v1. */
export function plainBatchOf(spends: readonly Spend[], fences: BatchFences): Batch {
  const groups = groupByAccount(spends);
  return {
    size: spends.length,
    async ask(client, envelope) {
      const values = [...valuesOf(groups, fences.columns, envelope), sessionOf(client)];
      const { rows } = await client.query<{ verdicts: string }>({ ...STATEMENT, values });
      return rows[0]?.verdicts ?? '';
    },
    read(text) {
      const numbers = numbersOf(text);
      return fences.readBroken(numbers) ?? readAnswer(numbers, groups, spends.length);
    },
  };
}

function groupByAccount(spends: readonly Spend[]): Groups {
  const [charges, members, starts]: [Charge[], number[], number[]] = [[], [], []];
  // Spends of one account stay in the order in which they arrived.
  const accounts = spends.map(({ charges: [charge] }) => (charge as Charge).account);
  const order = accounts.map((_, i) => i).sort((a, b) => (accounts[a] as number) - (accounts[b] as number));
  let last: Charge | null = null;
  for (const index of order) {
    const charge = chargeOf(spends, index);
    if (last === null || last.account !== charge.account) {
      charges.push((last = charge));
      starts.push(members.length);
    } else if (!isAlike(charge, last)) throw new Error('spends of one account in a plain batch are not alike');
    members.push(index);
  }
  starts.push(members.length);
  return { charges, members, starts };
}

function chargeOf(spends: readonly Spend[], index: number): Charge {
  return (spends[index] as Spend).charges[0] as Charge;
}

function sizeOf({ starts }: Groups, group: number): number {
  return (starts[group + 1] as number) - (starts[group] as number);
}

/** The arguments of the function, in order. */
function valuesOf(groups: Groups, fences: FenceColumns, envelope: BatchEnvelope): unknown[] {
  const { ids, changes, revisions, mosts, durations, starts, nexts } = columnsOf(groups);
  const lists = [ids, changes, revisions, mosts, durations, starts, nexts].map(int8List);
  const ofFences = [int8List(fences.kinds), fences.ids, fences.names, int8List(fences.revisions)];
  return [envelope.committer, envelope.number, envelope.waits !== 'never', envelope.givenMs, ...lists, ...ofFences];
}

interface Columns {
  readonly ids: number[];
  readonly changes: number[];
  readonly revisions: number[];
  readonly mosts: number[];
  readonly durations: number[];
  /** Those for refills are empty if there are none. */
  readonly starts: (number | null)[];
  readonly nexts: (number | null)[];
}

function columnsOf(groups: Groups): Columns {
  const ids: number[] = [];
  const changes: number[] = [];
  const revisions: number[] = [];
  const mosts: number[] = [];
  const durations: number[] = [];
  let hasRefills = false;
  const { charges } = groups;
  for (let i = 0; i < charges.length; i++) {
    const { account, revision, rule, amount: each } = charges[i] as Charge;
    const amount = each * sizeOf(groups, i);
    ids.push(account);
    revisions.push(revision);
    if (rule.kind === 'window') {
      changes.push(amount);
      mosts.push(rule.limit);
      durations.push(rule.durationMs);
    } else {
      changes.push(-amount);
      mosts.push(MAX_COUNT);
      durations.push(0);
      hasRefills ||= rule.refill !== null;
    }
  }
  const refills = hasRefills ? charges.map(({ rule }) => (rule.kind === 'window' ? null : rule.refill)) : [];
  return {
    ids,
    changes,
    revisions,
    mosts,
    durations,
    starts: refills.map((refill) => refill?.startMs ?? null),
    nexts: refills.map((refill) => refill?.nextMs ?? null),
  };
}

/** Group numbers of the answer count from 1. */
function readAnswer(numbers: readonly number[], groups: Groups, size: number): BatchOutcome[] {
  const [nowMs = 0, taken = 0] = numbers;
  const outcomes: BatchOutcome[] = Array.from({ length: size });
  const groupsAt = 2;
  const values = groupsAt + taken;
  const marks = values + taken;
  for (let i = 0; i < taken; i++) {
    const group = (numbers[groupsAt + i] ?? 0) - 1;
    const value = numbers[values + i] ?? 0;
    const mark = numbers[marks + i] ?? 0;
    const { rule, amount } = groups.charges[group] as Charge;
    const step = rule.kind === 'window' ? -amount : amount;
    const end = groups.starts[group + 1] as number;
    for (let at = groups.starts[group] as number; at < end; at++) {
      // The value is the one after the whole group.
      const charges = [resultOf(rule, value + step * (end - 1 - at), mark)];
      outcomes[groups.members[at] as number] = { status: 'taken', charges, nowMs, replayed: false };
    }
  }
  for (let at = marks + taken; at < numbers.length; at += 4) {
    const [number = 0, status, value = 0, mark = 0] = numbers.slice(at, at + 4);
    const { rule, amount } = groups.charges[number - 1] as Charge;
    const result = resultOf(rule, value, mark);
    // There may be enough for some of the group. If there is not enough for one, all are refused.
    const isDecided = sizeOf(groups, number - 1) === 1 || result.left < amount;
    const outcome = status === STATUS.refused && !isDecided ? 'needs general' : notTaken(status, result, nowMs);
    for (const member of groups.members.slice(groups.starts[number - 1], groups.starts[number]))
      outcomes[member] = outcome;
  }
  // An answer that leaves a spend out is not the answer to this batch.
  return outcomes.includes(undefined as never) ? [] : outcomes;
}

/** Read by hand: splitting the text and parsing each part took a tenth of the ledger's time. */
function numbersOf(text: string): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === COMMA) {
      numbers.push(number);
      number = 0;
    } else if (code >= ZERO && code <= NINE) number = number * 10 + (code - ZERO);
    else return text.split(',').map(Number);
  }
  numbers.push(number);
  return numbers;
}

function notTaken(status: number | undefined, result: ChargeResult, nowMs: number): BatchOutcome {
  switch (status) {
    case STATUS.refused:
      return { status: 'refused', by: 0, charges: [result], nowMs };
    case STATUS.stale:
      return { status: 'stale', nowMs, fence: null };
    case STATUS.busy:
      return 'busy';
    case NEEDS_GENERAL:
      return 'needs general';
    default:
      throw new Error(`the database answered the unknown status ${status}`);
  }
}

function resultOf(rule: ChargeRule, value: number, mark: number): ChargeResult {
  if (rule.kind === 'window') return { left: Math.max(0, rule.limit - value), resetAtMs: mark };
  return { left: value, resetAtMs: rule.refill?.nextMs ?? 0 };
}
