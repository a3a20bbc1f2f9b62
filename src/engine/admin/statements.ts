import { METERED_ZERO } from '../../core/accountBook.ts';
import { MAX_COUNT } from '../../core/bounds.ts';
import { notFound } from '../../core/errors.ts';
import { heldRefill, runningEpoch } from '../../core/plan.ts';
import { holdsExpired } from '../../core/expiringCredits.ts';
import type { RefillRules } from '../../core/records.ts';
import { DAY_MS, dayStartOf, type StatementLine } from '../../core/statement.ts';
import {
  fitsAccount,
  isExact,
  type JoinedLines,
  requireExact,
  runningLines,
  type StatementRow,
  StatementRows,
  type StatementSpan,
} from '../../core/statementRows.ts';
import { type Actor, requireEverywhere, requireOn } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import { type IdentityReference, loadIdentity } from './identities.ts';
import { plansOf } from '../planOf.ts';
import type { RefillSchedules } from '../refillSchedules.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { AccountLine, Holder, LineCursor, LineSpan } from '../../storage/port/credits.ts';
import { type ReadAccount, type Storage, StorageUnavailable } from '../../storage/port/storage.ts';

/** Holders that are read together, and the most that one page looks at. */
const MAX_HOLDERS = 100;

/** Whose statement is read. */
export type StatementSubject =
  | { readonly keyId: string }
  | { readonly identity: IdentityReference }
  | { readonly planId: string }
  | { readonly all: true };

/** A position among rows: after this row of the holder, or after all its rows. */
export interface RowCursor {
  readonly holderId: string;
  readonly row: RowPosition | null;
}

interface StatementPage {
  readonly rows: readonly HolderRow[];
  /** Where the next page begins; null on the last page. */
  readonly cursor: RowCursor | null;
}

/** Where holders are listed, or the only holder; null = there is none. */
type Source = { readonly planId: string | null } | { readonly only: Holder | null };

/** Rows, or progress: the number of holders that were read completely, and the last of them. */
type Part = { readonly rows: readonly HolderRow[] } | { readonly holders: number; readonly lastId: string };

export class UsageAdmin {
  readonly #context: AdminContext;
  readonly #reader: StatementReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new StatementReader(context);
  }

  async getStatement(
    actor: Actor,
    subject: StatementSubject,
    query: RowQuery & { readonly limit: number; readonly cursor: RowCursor | null },
  ): Promise<StatementPage> {
    const { limit } = query;
    const rows: HolderRow[] = [];
    let holders = 0;
    const parts = this.#parts(await this.#source(actor, subject), query, query.cursor);
    for await (const part of parts) {
      if ('rows' in part) rows.push(...part.rows);
      else holders += part.holders;
      if (rows.length > limit) return cutAt(rows, limit);
      if ('lastId' in part && holders >= MAX_HOLDERS) return { rows, cursor: { holderId: part.lastId, row: null } };
    }
    return { rows, cursor: null };
  }

  /** All rows, in parts. The rights are checked before it answers. */
  async streamStatement(
    actor: Actor,
    subject: StatementSubject,
    query: RowQuery,
  ): Promise<AsyncIterable<readonly HolderRow[]>> {
    const parts = this.#parts(await this.#source(actor, subject), query, null);
    return (async function* () {
      for await (const part of parts) if ('rows' in part) yield part.rows;
    })();
  }

  async *#parts(source: Source, query: RowQuery, cursor: RowCursor | null): AsyncGenerator<Part> {
    if ('only' in source) {
      const isRead = cursor !== null && cursor.row === null;
      if (source.only !== null && !isRead) yield* this.#rowsOf([source.only], query, cursor?.row ?? null);
      return;
    }
    const { statements } = this.#context.storage;
    if (cursor !== null && cursor.row !== null) {
      yield* this.#rowsOf(await statements.findHolders([cursor.holderId]), query, cursor.row);
    }
    let after = cursor?.holderId ?? null;
    for (;;) {
      const holders = await statements.listHolders({ planId: source.planId, after, limit: MAX_HOLDERS });
      yield* this.#rowsOf(await this.#moved(holders, source.planId), query, null);
      const last = holders.at(-1);
      if (last === undefined || holders.length < MAX_HOLDERS) return;
      after = last.id;
      yield { holders: holders.length, lastId: last.id };
    }
  }

  async *#rowsOf(holders: readonly Holder[], query: RowQuery, after: RowPosition | null): AsyncGenerator<Part> {
    for await (const rows of this.#reader.read(holders, query, after)) yield { rows };
  }

  /** The holders on the plan that each is to have by now. `planId`: only those that are on this plan then. */
  async #moved(holders: readonly Holder[], planId: string | null): Promise<readonly Holder[]> {
    const { storage, dueCredits } = this.#context;
    const nowMs = storage.ledger.nowMs();
    const due = holders.filter(({ movesAtMs, isDeleted }) => movesAtMs !== null && nowMs >= movesAtMs && !isDeleted);
    if (due.length === 0) return holders;
    for (const { id } of due) await dueCredits.settle(id);
    const found = await storage.statements.findHolders(holders.map(({ id }) => id));
    return found.filter((holder) => planId === null || holder.planId === planId);
  }

  async #source(actor: Actor, subject: StatementSubject): Promise<Source> {
    if ('all' in subject) {
      requireEverywhere(actor, 'api.read_usage');
      requireEverywhere(actor, 'identity.read_usage');
      return { planId: null };
    }
    if ('planId' in subject) return this.#ofPlan(actor, subject.planId);
    return { only: await ('keyId' in subject ? this.#ofKey(actor, subject.keyId) : this.#ofIdentity(actor, subject)) };
  }

  async #ofPlan(actor: Actor, planId: string): Promise<Source> {
    requireOn(actor, 'plan.read_usage', planId, 'plan', planId);
    if ((await this.#context.storage.records.findPlan(planId)) === null) throw notFound('plan', planId);
    return { planId };
  }

  /** Of a key that was deleted for good the api is not known: reading it needs the right on all apis. */
  async #ofKey(actor: Actor, keyId: string): Promise<Holder | null> {
    const holder = isKeyId(keyId) ? await this.#find(keyId) : null;
    const found = holder === null ? await this.#context.storage.records.findAnyKey(keyId) : null;
    const apiId = found === null ? holder?.apiId : 'poisoned' in found ? found.apiId : found.key.apiId;
    requireOn(actor, 'api.read_usage', apiId ?? '', 'key', keyId);
    if (holder === null && found === null) throw notFound('key', keyId);
    return holder === null ? null : ((await this.#moved([holder], null))[0] ?? null);
  }

  async #ofIdentity(actor: Actor, { identity }: { identity: IdentityReference }): Promise<Holder | null> {
    const gone = 'id' in identity && !isKeyId(identity.id) ? await this.#find(identity.id) : null;
    if (gone?.isDeleted) {
      requireOn(actor, 'identity.read_usage', gone.id, 'customer', gone.id);
      return gone;
    }
    const { id } = await loadIdentity(this.#context, actor, 'identity.read_usage', identity);
    return this.#find(id);
  }

  async #find(id: string): Promise<Holder | null> {
    return (await this.#context.storage.statements.findHolders([id]))[0] ?? null;
  }
}

export function isKeyId(holderId: string): boolean {
  return holderId.startsWith('key_');
}

function cutAt(rows: readonly HolderRow[], limit: number): StatementPage {
  const last = rows[limit - 1];
  if (last === undefined) return { rows, cursor: null };
  const { holder, row, isPresent } = last;
  return { rows: rows.slice(0, limit), cursor: { holderId: holder.id, row: { startMs: row.startMs, isPresent } } };
}

/** Lines that are in memory at one time. */
const MAX_LINES = 5_000;

export interface HolderRow extends MadeRow {
  readonly holder: Holder;
}

/** Reads the statements of holders. */
export class StatementReader {
  readonly #storage: Storage;
  readonly #open: OpenHolders;

  constructor(context: StatementContext) {
    this.#storage = context.storage;
    this.#open = new OpenHolders(context);
  }

  /** The rows of holders, in their order and that of time, in parts. `after`: only rows after this one. */
  async *read(holders: readonly Holder[], query: RowQuery, after: RowPosition | null): AsyncGenerator<HolderRow[]> {
    const open = await this.#open.open(holders);
    yield* this.#readOpen(open, await this.#spans(open, query, after), query, after);
  }

  async *#readOpen(
    open: readonly OpenHolder[],
    spans: ReadonlyMap<number, number>,
    query: RowQuery,
    after: RowPosition | null,
  ): AsyncGenerator<HolderRow[]> {
    const accounts = open.flatMap((each) => each.accounts);
    const read = await this.#lines(accounts, spans, query, null, MAX_LINES + 1);
    const [first] = open;
    if (read.length <= MAX_LINES) yield rowsOf(open, read, query, after);
    else if (open.length === 1 && first !== undefined) yield* this.#readLong(first, spans, query, after);
    else {
      const half = Math.ceil(open.length / 2);
      yield* this.#readOpen(open.slice(0, half), spans, query, after);
      yield* this.#readOpen(open.slice(half), spans, query, after);
    }
  }

  /** One holder with many lines. */
  async *#readLong(
    of: OpenHolder,
    spans: ReadonlyMap<number, number>,
    query: RowQuery,
    after: RowPosition | null,
  ): AsyncGenerator<HolderRow[]> {
    const rows = new HolderRows(of, query, after);
    for (const accounts of [formerOf(of), presentOf(of)].filter((some) => some.length > 0)) {
      let position: LineCursor | null = null;
      do {
        const read: readonly AccountLine[] = await this.#lines(accounts, spans, query, position, MAX_LINES);
        yield withHolder(of, rows.add(read));
        const last = read.at(-1);
        position = last === undefined ? null : { account: last.account, startMs: last.line.startMs };
        if (read.length < MAX_LINES) break;
      } while (!rows.isPast);
    }
    yield withHolder(of, rows.finish());
  }

  #lines(
    accounts: readonly number[],
    fromOf: ReadonlyMap<number, number>,
    { per, endMs }: RowQuery,
    after: LineCursor | null,
    limit: number,
  ): Promise<readonly AccountLine[]> {
    const spans = accounts.map((account): LineSpan => ({ account, fromMs: fromOf.get(account) ?? 0 }));
    // A period that begins before the end is wanted as a whole.
    const untilMs = endMs === null || per === 'period' ? null : dayStartOf(endMs - 1) + DAY_MS;
    return this.#storage.statements.lines({ spans, untilMs, after, limit });
  }

  /** From where each account is read, so that the first row is whole. */
  async #spans(
    open: readonly OpenHolder[],
    { per, startMs }: RowQuery,
    after: RowPosition | null,
  ): Promise<ReadonlyMap<number, number>> {
    const wanted = per === 'day' ? dayStartOf(startMs ?? 0) : (startMs ?? 0);
    const spans = new Map<number, number>();
    for (const of of open) {
      for (const account of formerOf(of)) spans.set(account, after?.startMs ?? wanted);
      // After a row of a former account, all lines of the present one are still to come, whatever their time.
      const isBegun = after === null || after.isPresent;
      for (const account of presentOf(of)) spans.set(account, isBegun ? (after?.startMs ?? wanted) : wanted);
    }
    if (per === 'day' || startMs === null) return spans;
    const whole = [...spans].flatMap(([account, fromMs]) => (fromMs === wanted ? account : []));
    for (const { account, periodMs } of await this.#storage.statements.periodsBefore(whole, startMs)) {
      spans.set(account, Math.min(periodMs, startMs));
    }
    return spans;
  }
}

function rowsOf(
  open: readonly OpenHolder[],
  read: readonly AccountLine[],
  query: RowQuery,
  after: RowPosition | null,
): HolderRow[] {
  const linesOf = Map.groupBy(read, ({ account }) => account);
  return open.flatMap((of) => {
    const rows = new HolderRows(of, query, after);
    const former = formerOf(of).flatMap((account) => linesOf.get(account) ?? []);
    const present = presentOf(of).flatMap((account) => linesOf.get(account) ?? []);
    const sorted = [...former.toSorted((a, b) => a.line.startMs - b.line.startMs), ...present];
    return withHolder(of, [...rows.add(sorted), ...rows.finish()]);
  });
}

function presentOf({ running }: OpenHolder): readonly number[] {
  return running === null ? [] : [running.account];
}

/** They were closed before the present one was opened, whatever their clock said. */
function formerOf({ accounts, running }: OpenHolder): readonly number[] {
  return accounts.filter((account) => account !== running?.account);
}

function withHolder({ holder }: OpenHolder, rows: readonly MadeRow[]): HolderRow[] {
  return rows.map((made) => ({ holder, ...made }));
}

/** Which rows are wanted: those that share an instant with the time from `startMs` to before `endMs`. */
export interface RowQuery {
  readonly per: StatementSpan;
  readonly startMs: number | null;
  readonly endMs: number | null;
}

/** A row, and whether it has lines of the account that the holder has now. */
interface MadeRow {
  readonly row: StatementRow;
  readonly isPresent: boolean;
}

/** A position among the rows of a holder: after the row that begins then. */
interface RowPosition {
  readonly startMs: number;
  readonly isPresent: boolean;
}

/**
 * Makes the rows of one holder from its lines, which come in the order of time. Those of the account that it has now come last, also when an
 * account before it was counted by a clock that ran ahead.
 */
class HolderRows {
  readonly #of: OpenHolder;
  readonly #query: RowQuery;
  readonly #after: RowPosition | null;
  readonly #rows: StatementRows;
  /** The line before, and its account. */
  #last: { readonly account: number; readonly closing: number } | null = null;
  /** Of the row that is being made. */
  #isPresent = false;

  constructor(of: OpenHolder, query: RowQuery, after: RowPosition | null) {
    this.#of = of;
    this.#query = query;
    this.#after = after;
    this.#rows = new StatementRows(query.per, (lines, nextMs) => periodEnd(of, lines, nextMs));
  }

  /** No further line can be in a row that is wanted. */
  get isPast(): boolean {
    const { endMs } = this.#query;
    return endMs !== null && (this.#rows.openMs ?? 0) >= endMs;
  }

  add(read: readonly AccountLine[]): MadeRow[] {
    const { running } = this.#of;
    return read.flatMap(({ account, line }) => {
      // These were read together with the account.
      if (account === running?.account && line.startMs >= running.fromMs) return [];
      return this.#add(account, line);
    });
  }

  finish(): MadeRow[] {
    const { running } = this.#of;
    const before = running?.lines.flatMap((line) => this.#add(running.account, line)) ?? [];
    return [...before, ...this.#wanted(this.#rows.finish(), this.#isPresent)];
  }

  #add(account: number, line: StatementLine): MadeRow[] {
    const shown = this.#joined(account, this.#of.metered.has(account) ? withoutZero(line) : line);
    this.#last = { account, closing: shown.closing };
    const wasPresent = this.#isPresent;
    this.#isPresent = account === this.#of.running?.account;
    return this.#wanted(this.#rows.add(shown), wasPresent);
  }

  /** What was metered stays in the account that counted it. The next account begins without it: an adjustment of the holder. */
  #joined(account: number, line: StatementLine): StatementLine {
    const last = this.#last;
    if (last === null || last.account === account || last.closing === line.opening) return line;
    return { ...line, opening: last.closing, adjusted: line.adjusted + line.opening - last.closing };
  }

  #wanted(row: StatementRow | null, isPresent: boolean): MadeRow[] {
    if (row === null || !this.#isAfter(row, isPresent)) return [];
    const { startMs, endMs } = this.#query;
    if (endMs !== null && row.startMs >= endMs) return [];
    if (startMs !== null && row.endMs !== null && row.endMs <= startMs) return [];
    requireExact(this.#of.holder.id, row.startMs, row);
    return [{ row, isPresent }];
  }

  #isAfter({ startMs }: StatementRow, isPresent: boolean): boolean {
    if (this.#after === null) return true;
    return isPresent === this.#after.isPresent ? startMs > this.#after.startMs : isPresent;
  }
}

/** The balance of what is metered: what was used, as a negative number. */
function withoutZero(line: StatementLine): StatementLine {
  return { ...line, opening: line.opening - METERED_ZERO, closing: line.closing - METERED_ZERO };
}

/** The boundary that ends a period is known from the rules, if they are those of that time. Otherwise the next lines tell. */
function periodEnd({ rules, running }: OpenHolder, lines: JoinedLines, nextMs: number | null): number | null {
  const { startMs, lastMs, sum } = lines;
  if (nextMs === null && running !== null && sum.periodMs === running.markMs) return running.nextMs;
  const epoch = rules === null ? null : runningEpoch(rules, startMs);
  const boundaryMs = epoch?.startMs === sum.periodMs ? epoch.nextMs : MAX_COUNT;
  if (nextMs !== null) return Math.min(boundaryMs, nextMs);
  if (boundaryMs < MAX_COUNT) return boundaryMs;
  return running !== null && running.markMs > startMs ? running.markMs : dayStartOf(lastMs) + DAY_MS;
}

/** How often an account is read that changes while it is read. */
const MAX_TRIES = 10;
/** Lines from the running one on. There is more than one only of an account that changes while it is read. */
const MAX_RUNNING_LINES = 10_000;

/** The account that a holder has now, and its lines from the running one on, as they are at this instant. */
interface RunningAccount {
  readonly account: number;
  /** Stored lines before this instant do not change any more. */
  readonly fromMs: number;
  readonly lines: readonly StatementLine[];
  /** The refill period that runs. */
  readonly markMs: number;
  /** When it ends; null = never. */
  readonly nextMs: number | null;
}

/** A holder with all accounts that it has and had. */
interface OpenHolder {
  readonly holder: Holder;
  readonly rules: RefillRules | null;
  readonly running: RunningAccount | null;
  /** The last one runs, if one does. */
  readonly accounts: readonly number[];
  /** Those of them that count without a balance. */
  readonly metered: ReadonlySet<number>;
}

type StatementContext = Pick<AdminContext, 'storage' | 'refills' | 'dueCredits'>;

/** Reads the accounts of holders so that they fit the lines of their statements. */
export class OpenHolders {
  readonly #storage: Storage;
  readonly #refills: RefillSchedules;
  readonly #dueCredits: StatementContext['dueCredits'];

  constructor({ storage, refills, dueCredits }: StatementContext) {
    this.#storage = storage;
    this.#refills = refills;
    this.#dueCredits = dueCredits;
  }

  async open(holders: readonly Holder[]): Promise<OpenHolder[]> {
    const { records, statements } = this.#storage;
    const plans = await plansOf(records, holders);
    const ruled = holders.map((holder) => ({ holder, rules: rulesOf(holder, plans.get(holder.planId ?? '') ?? null) }));
    const found = await this.#readRunning(ruled);
    // After the running ones: an account that was closed meanwhile is among these.
    const closed = await statements.closedAccountsOf(holders.map(({ id }) => id));
    const closedOf = Map.groupBy(closed, ({ owner }) => owner);
    return ruled.map((each) => {
      const present = found.get(each.holder.id) ?? null;
      const former = (closedOf.get(each.holder.id) ?? []).filter(({ account }) => account !== present?.account);
      const isMetered = each.holder.credits?.metered === true;
      const running = present === null ? [] : [{ account: present.account, metered: isMetered }];
      const all = [...former, ...running];
      const metered = new Set(all.flatMap((one) => (one.metered ? [one.account] : [])));
      return { ...each, running: present, accounts: all.map(({ account }) => account), metered };
    });
  }

  async #readRunning(ruled: readonly Pick<OpenHolder, 'holder' | 'rules'>[]): Promise<Map<string, RunningAccount>> {
    const found = new Map<string, RunningAccount>();
    let waiting = ruled.filter(({ holder }) => holder.credits !== null);
    for (let tries = 0; waiting.length > 0; tries++) {
      const [first] = waiting;
      if (tries === MAX_TRIES) {
        throw new StorageUnavailable(
          `The credits of ${first?.holder.id} keep changing while they are read. Try again.`,
        );
      }
      waiting = await this.#tryRunning(waiting, found);
    }
    return found;
  }

  /** Answers those that have changed meanwhile, or have just been settled. */
  async #tryRunning<T extends Pick<OpenHolder, 'holder' | 'rules'>>(
    waiting: readonly T[],
    found: Map<string, RunningAccount>,
  ): Promise<T[]> {
    const { ledger, statements } = this.#storage;
    const accounts = waiting.map(({ holder }) => holder.credits?.account ?? 0);
    const states = await ledger.read(accounts);
    const expired = waiting.filter((_, i) => holdsExpired(states[i]?.pockets, ledger.nowMs()));
    for (const { holder } of expired) await this.#dueCredits.settle(holder.id);
    if (expired.length > 0) return [...waiting];
    const spans = accounts.flatMap((account, i) => {
      const state = states[i];
      return state === undefined ? [] : [{ account, fromMs: state.segmentMs }];
    });
    const read = await statements.lines({ spans, untilMs: null, after: null, limit: MAX_RUNNING_LINES });
    const linesOf = Map.groupBy(read, ({ account }) => account);
    const nowMs = ledger.nowMs();
    return waiting.filter(({ holder, rules }, i) => {
      const state = states[i];
      if (state === undefined) return false;
      const account = accounts[i] ?? 0;
      const stored = (linesOf.get(account) ?? []).map(({ line }) => line);
      // Sums that are not exact fit nothing. Whoever asks for their row is told.
      if (stored.every(isExact) && !fitsAccount(state, state.pockets ?? null, stored)) return true;
      found.set(holder.id, { account, ...this.#running(state, stored, rules, nowMs) });
      return false;
    });
  }

  #running(
    state: ReadAccount,
    stored: readonly StatementLine[],
    rules: RefillRules | null,
    nowMs: number,
  ): Omit<RunningAccount, 'account'> {
    const booked = this.#refills.brought(state, rules, nowMs);
    const nextMs = rules === null ? MAX_COUNT : this.#refills.epoch(rules, nowMs).nextMs;
    return {
      fromMs: state.segmentMs,
      lines: runningLines(stored, booked),
      markMs: booked.state.mark,
      nextMs: nextMs === MAX_COUNT ? null : nextMs,
    };
  }
}

/** Nothing refills the credits of a deleted key. If it is restored, the boundaries that have passed do. */
function rulesOf({ credits, isDeleted }: Holder, plan: PlanRecord | null): RefillRules | null {
  return isDeleted ? null : heldRefill(credits, plan);
}
