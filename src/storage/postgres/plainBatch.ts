import type { LegRule } from '../../core/account.ts';
import { MAX_COUNT } from '../../core/bounds.ts';
import type { Leg, LegResult, Spend } from '../../core/spend.ts';
import { askPrepared } from './askPrepared.ts';
import type { Batch, BatchHead, BatchOutcome } from './batch.ts';
import { BindMessage, ROOM_FOR_NUMBER, roomForList } from './bindMessage.ts';
import { STATUS } from './functions.ts';
import { APART, TAKE_WAITS } from './takeFunction.ts';

const STATEMENT = {
  name: 'take',
  text: `SELECT ledger_take_v1($1::bigint, $2::bigint, $3::int, $4::bigint, $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[]) AS verdicts`,
};

/** Those of one account are taken together, or decided one by one elsewhere. */
interface Group {
  readonly leg: Leg;
  /** Their numbers in the batch. */
  readonly members: number[];
}

/** One leg from which something is taken, and nothing to remember it by. */
export function isPlain({ legs, idempotency }: Spend): boolean {
  const [leg] = legs;
  return idempotency === null && legs.length === 1 && leg !== undefined && leg.amount > 0 && isWhole(leg);
}

/** What is not can stand in a spoilt record only; as text it is refused by the database, in words that tell of it. */
function isWhole({ account, amount, revision, rule }: Leg): boolean {
  if (!Number.isSafeInteger(account) || !Number.isSafeInteger(amount) || !Number.isSafeInteger(revision)) return false;
  if (rule.kind === 'window') return Number.isSafeInteger(rule.limit) && Number.isSafeInteger(rule.durationMs);
  if (rule.refill === null) return true;
  const { epoch, startMs, nextMs } = rule.refill;
  return Number.isSafeInteger(epoch) && Number.isSafeInteger(startMs) && Number.isSafeInteger(nextMs);
}

/** Two legs of one account that can be taken together. */
export function isAlike(a: Leg, b: Leg): boolean {
  return a.amount === b.amount && a.revision === b.revision && (a.rule === b.rule || isSameRule(a.rule, b.rule));
}

function isSameRule(a: LegRule, b: LegRule): boolean {
  if (a.kind === 'window') return b.kind === 'window' && a.limit === b.limit && a.durationMs === b.durationMs;
  return b.kind === 'credits' && a.refill?.epoch === b.refill?.epoch && a.refill?.nextMs === b.refill?.nextMs;
}

/** Plain spends, those of one account alike (`isAlike`): one call of ledger_take_v1. */
export function plainBatchOf(spends: readonly Spend[]): Batch {
  const groups = groupByAccount(spends);
  return {
    size: spends.length,
    ask: (client, head) => askPrepared(client, STATEMENT, messageOf(groups, head)),
    read: (text) => readAnswer(text, groups, spends.length),
  };
}

/** In the order in which all lock rows: nobody waits for someone who waits for him. */
function groupByAccount(spends: readonly Spend[]): Group[] {
  const legs = spends.map(({ legs: [leg] }, place) => ({ leg: leg as Leg, place }));
  // Those of one account stay in the order in which they came.
  legs.sort((a, b) => a.leg.account - b.leg.account);
  const groups: Group[] = [];
  let last: Group | null = null;
  for (const { leg, place } of legs) {
    if (last === null || last.leg.account !== leg.account) groups.push((last = { leg, members: [place] }));
    else if (isAlike(leg, last.leg)) last.members.push(place);
    else throw new Error('spends of one account in a plain batch are not alike');
  }
  return groups;
}

function messageOf(groups: readonly Group[], { lane, number, waits, saidMs }: BatchHead): Buffer {
  const { ids, changes, revisions, mosts, durations, epochs, starts, nexts } = columnsOf(groups);
  const lists = [ids, changes, revisions, mosts, durations, epochs, starts, nexts];
  const room = 4 * ROOM_FOR_NUMBER + lists.length * roomForList(groups.length);
  const message = new BindMessage(STATEMENT.name, 4 + lists.length, room);
  message.int8(lane);
  message.int8(number);
  message.int4(TAKE_WAITS[waits]);
  message.int8(saidMs);
  for (const list of lists) message.int8s(list);
  return message.end();
}

interface Columns {
  readonly ids: number[];
  readonly changes: number[];
  readonly revisions: number[];
  readonly mosts: number[];
  readonly durations: number[];
  /** Those of refills are empty where there are none. */
  readonly epochs: (number | null)[];
  readonly starts: (number | null)[];
  readonly nexts: (number | null)[];
}

function columnsOf(groups: readonly Group[]): Columns {
  const ids: number[] = [];
  const changes: number[] = [];
  const revisions: number[] = [];
  const mosts: number[] = [];
  const durations: number[] = [];
  let hasRefills = false;
  for (let i = 0; i < groups.length; i++) {
    const { leg, members } = groups[i] as Group;
    const { account, revision, rule } = leg;
    const amount = leg.amount * members.length;
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
  const refills = hasRefills ? groups.map(({ leg: { rule } }) => (rule.kind === 'window' ? null : rule.refill)) : [];
  return {
    ids,
    changes,
    revisions,
    mosts,
    durations,
    epochs: refills.map((refill) => refill?.epoch ?? null),
    starts: refills.map((refill) => refill?.startMs ?? null),
    nexts: refills.map((refill) => refill?.nextMs ?? null),
  };
}

/** Places of the answer count from 1. */
function readAnswer(text: string, groups: readonly Group[], size: number): BatchOutcome[] {
  const numbers = text.split(',').map(Number);
  const [nowMs = 0, taken = 0] = numbers;
  const outcomes: BatchOutcome[] = Array.from({ length: size });
  const places = 2;
  const values = places + taken;
  const marks = values + taken;
  for (let i = 0; i < taken; i++) {
    const group = groups[(numbers[places + i] ?? 0) - 1] as Group;
    putTaken(outcomes, group, numbers[values + i] ?? 0, numbers[marks + i] ?? 0, nowMs);
  }
  for (let at = marks + taken; at < numbers.length; at += 4) {
    const [place = 0, status, value = 0, mark = 0] = numbers.slice(at, at + 4);
    const { leg, members } = groups[place - 1] as Group;
    const result = resultOf(leg.rule, value, mark);
    // Of several some may suffice; where not even one does, none does.
    const isDecided = members.length === 1 || result.left < leg.amount;
    const outcome = status === STATUS.refused && !isDecided ? 'apart' : notTaken(status, result, nowMs);
    for (const member of members) outcomes[member] = outcome;
  }
  // What leaves one out is not the answer to this.
  return outcomes.includes(undefined as never) ? [] : outcomes;
}

/** `value` is what all of the group together have left. */
function putTaken(outcomes: BatchOutcome[], { leg, members }: Group, value: number, mark: number, nowMs: number): void {
  const step = leg.rule.kind === 'window' ? -leg.amount : leg.amount;
  for (let i = 0; i < members.length; i++) {
    const legs = [resultOf(leg.rule, value + step * (members.length - 1 - i), mark)];
    outcomes[members[i] as number] = { status: 'taken', legs, nowMs, replayed: false };
  }
}

function notTaken(status: number | undefined, result: LegResult, nowMs: number): BatchOutcome {
  switch (status) {
    case STATUS.refused:
      return { status: 'refused', by: 0, legs: [result], nowMs };
    case STATUS.stale:
      return { status: 'stale', nowMs };
    case STATUS.busy:
      return 'busy';
    case APART:
      return 'apart';
    default:
      throw new Error(`the database answered the unknown status ${status}`);
  }
}

function resultOf(rule: LegRule, value: number, mark: number): LegResult {
  if (rule.kind === 'window') return { left: Math.max(0, rule.limit - value), resetAtMs: mark };
  return { left: value, resetAtMs: rule.refill?.nextMs ?? 0 };
}
