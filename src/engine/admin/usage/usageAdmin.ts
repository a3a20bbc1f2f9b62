import { notFound } from '../../../core/errors.ts';
import type { Holder } from '../../../storage/port/statements.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { requireEverywhere, requireOn } from '../change/requireRight.ts';
import { type IdentityReference, loadIdentity } from '../identities/loadIdentity.ts';
import type { RowPosition, RowQuery } from './holderRows.ts';
import { type HolderRow, StatementReader } from './statementReader.ts';

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

export interface StatementPage {
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
    const { storage, settle } = this.#context;
    const nowMs = storage.ledger.nowMs();
    const due = holders.filter(({ movesAtMs, isDeleted }) => movesAtMs !== null && nowMs >= movesAtMs && !isDeleted);
    if (due.length === 0) return holders;
    for (const { id } of due) await settle(id);
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
      requireOn(actor, 'identity.read_usage', gone.id, 'identity', gone.id);
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
