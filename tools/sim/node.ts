import type { NewReservation } from '../../src/core/reservation.ts';
import type { Spend } from '../../src/core/spend.ts';
import type { AuditEntry } from '../../src/storage/port/auditEntries.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { engineTasks } from '../../src/engine/engineTasks.ts';
import { Background } from '../../src/serve/background.ts';
import type { Freshness } from '../../src/storage/port/freshness.ts';
import {
  type Change,
  type Ledger,
  type LocalCount,
  type LocalCounts,
  type Storage,
  StorageOutcomeUnknown,
  StorageUnavailable,
} from '../../src/storage/port/storage.ts';
import { Durability } from '../../src/storage/postgres/connection/durability.ts';
import { LedgerClock } from '../../src/storage/postgres/connection/ledgerClock.ts';
import { PostgresFreshness, LastSeenChange } from '../../src/storage/postgres/freshness/freshness.ts';
import { engineOn } from '../../test/postgres/conformance/engineOn.ts';
import type { Primary } from './primary.ts';
import { Process, type Random, running, type VirtualTime } from './time.ts';

export const STALE_MAX_MS = 1_000;
/** How long a node waits for an answer of the database. */
const CALL_TIMEOUT_MS = 2_000;
const SYNC_EVERY_MS = 250;

/** What a link does to messages. */
export interface Weather {
  /** One in so many messages is lost with its connection; 0 = none. */
  readonly lostOnceIn: number;
  /** One in so many messages is late, by up to this. */
  readonly lateOnceIn: number;
  readonly lateMs: number;
  readonly usualMs: number;
}

/** What a call of a client has done to the database, as the database sees it. */
export type Effect =
  | { readonly kind: 'spend'; readonly outcome: Awaited<ReturnType<Ledger['spend']>> }
  | { readonly kind: 'reserve'; readonly outcome: Awaited<ReturnType<Ledger['reserve']>> }
  | { readonly kind: 'end'; readonly outcome: Awaited<ReturnType<Ledger['endReservation']>> }
  | { readonly kind: 'change'; readonly change: Change; readonly entries: readonly AuditEntry[] };

export interface Hears {
  /** In the order of commits, at the instant of each. */
  affected(call: unknown, effect: Effect): void;
}

interface NodeContext {
  readonly name: string;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly primary: Primary;
  readonly weather: Weather;
  readonly hears: Hears;
}

type Part = Exclude<keyof Storage, 'workspaceId' | 'warnings' | 'damage' | 'outage' | 'close' | 'freshness'>;

/** Methods that change nothing: without an answer it is certain that nothing was done. */
const READS = /^(find|list|read|count|load|sum|tagLists|lines|closed|peek)/;

/** A node of the service on a simulated network: the real engine, its real background work and its real freshness. */
export class SimNode {
  readonly process = new Process();
  readonly engine: Engine;
  readonly name: string;
  /** Messages to and from the database are lost. */
  isCut = false;
  /** By how much the clocks of this machine differ from true time. */
  wallOffsetMs = 0;
  /** How long the machine has slept: its monotonic clock stands still meanwhile. */
  sleptMs = 0;
  readonly #context: NodeContext;
  readonly #freshness: PostgresFreshness;
  readonly #clock: LedgerClock;
  #notified: () => void = () => {};
  readonly #background: Background;

  constructor(context: NodeContext) {
    this.#context = context;
    this.name = context.name;
    const clocks = { monotonicMs: () => this.#monotonicMs(), wallClockMs: () => this.#wallMs() };
    const random = context.random.next;
    this.#clock = new LedgerClock(clocks, false);
    const lastSeenChange = new LastSeenChange();
    const durability = new Durability(false);
    const options = { ...clocks, clock: this.#clock, durability, lastSeenChange, staleMaxMs: STALE_MAX_MS, random };
    this.#freshness = new PostgresFreshness(({ onOpen }) => this.#session(onOpen) as never, options);
    this.engine = makeSimEngine(this.#storage(), context.random);
    const log = { info() {}, warn() {}, error() {} };
    const { tasks } = engineTasks({ ...clocks, engine: this.engine, syncIntervalMs: SYNC_EVERY_MS, log });
    this.#background = new Background({ tasks, log, random, spreads: true, monotonicMs: clocks.monotonicMs });
  }

  /** It serves when it knows the database once. */
  start(): void {
    running.run({ process: this.process, call: null }, () => {
      void this.#freshness.start().catch(() => {});
      this.#background.start();
    });
  }

  /** A change was committed: the notification may be lost. */
  notify(): void {
    this.#send(() => this.process.run(() => this.#notified()));
  }

  get now(): number {
    return this.#clock.nowMs();
  }

  #monotonicMs(): number {
    return this.#context.time.nowMs - this.sleptMs;
  }

  #wallMs(): number {
    return this.#context.time.nowMs + this.wallOffsetMs;
  }

  /** One message, in one direction. */
  #send(deliver: () => void): void {
    const { time, random, weather } = this.#context;
    if (this.isCut || (weather.lostOnceIn > 0 && random.once(weather.lostOnceIn))) return;
    const isLate = weather.lateOnceIn > 0 && random.once(weather.lateOnceIn);
    const delayMs = isLate ? random.below(weather.lateMs) : random.below(weather.usualMs + 1);
    time.after(delayMs, () => {
      // What was under way when the link was cut is lost with it.
      if (!this.isCut) deliver();
    });
  }

  /** Asks the database. Without an answer, nobody knows whether it has done what it was asked. */
  #ask<T>(method: string, work: () => Promise<T>): Promise<T> {
    const { time } = this.#context;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const isRead = READS.test(method);
    const timer = setTimeout(() => {
      const why = `The database does not answer (${method}).`;
      reject(isRead ? new StorageUnavailable(why) : new StorageOutcomeUnknown(why));
    }, CALL_TIMEOUT_MS);
    const answer = (settle: () => void): void =>
      this.#send(() =>
        this.process.run(() => {
          clearTimeout(timer);
          settle();
        }),
      );
    const now = running.getStore() ?? { process: null, call: null };
    this.#send(() => {
      const done = running.run(now, () => time.during(work()));
      done.then(
        (value) => answer(() => resolve(structuredClone(value))),
        (error: unknown) => answer(() => reject(error)),
      );
    });
    return promise;
  }

  /** A part of the storage port whose every method asks the database. */
  #remote<P extends Part>(part: P, own: object = {}): Storage[P] {
    const target = this.#context.primary.storage[part] as unknown as Record<string, (...args: unknown[]) => unknown>;
    return new Proxy(own, {
      get: (known, name) => {
        if (name in known) return (known as Record<string | symbol, unknown>)[name];
        const method = String(name);
        return (...args: unknown[]) => {
          const sent = structuredClone(args);
          return this.#ask(method, async () => target[method]?.(...sent));
        };
      },
    }) as Storage[P];
  }

  #storage(): Storage {
    const remote = <P extends Part>(part: P): Storage[P] => this.#remote(part);
    return {
      records: remote('records'),
      ledger: this.#ledger(),
      localCounts: this.#localCounts(),
      freshness: this.#freshness satisfies Freshness,
      analytics: remote('analytics'),
      imports: remote('imports'),
      auditEntries: remote('auditEntries'),
      events: remote('events'),
      webhooks: remote('webhooks'),
      reservations: remote('reservations'),
      statements: remote('statements'),
      told: remote('told'),
      workspaceId: this.#context.primary.storage.workspaceId,
      warnings: [],
      damage: null,
      outage: null,
      close: async () => {},
    };
  }

  /** What spends and changes is heard of when the database does it, not when its answer arrives. */
  #ledger(): Ledger {
    const { primary, hears } = this.#context;
    const { ledger } = primary.storage;
    const heard = async <T>(work: PromiseLike<T>, effect: (outcome: T) => Effect | null): Promise<T> => {
      const call = running.getStore()?.call ?? null;
      const outcome = await work;
      const done = effect(outcome);
      if (done !== null && call !== null) hears.affected(call, done);
      return outcome;
    };
    const observed = async <T>(asked: Promise<T>): Promise<T> => {
      const sentAtMs = this.#clock.startMs();
      const outcome = await asked;
      const decided = (outcome as { spend?: unknown }).spend ?? outcome;
      if (isDated(decided)) this.#clock.keepWithin(sentAtMs, decided.nowMs);
      return outcome;
    };
    return this.#remote('ledger', {
      nowMs: () => this.#clock.nowMs(),
      peek: () => undefined,
      waiting: 0,
      commitFailure: null,
      spend: (spend: Spend) => {
        const sent = structuredClone(plain(spend));
        const work = () => heard(ledger.spend(sent), (outcome) => ({ kind: 'spend', outcome }));
        return observed(this.#ask('spend', work));
      },
      reserve: (spend: Spend, wanted: NewReservation) => {
        const sent = structuredClone([plain(spend), wanted] as const);
        const work = () => heard(ledger.reserve(...sent), (outcome) => ({ kind: 'reserve', outcome }));
        return observed(this.#ask('reserve', work));
      },
      endReservation: (...args: Parameters<Ledger['endReservation']>) => {
        const sent = structuredClone(args);
        const work = () => heard(ledger.endReservation(...sent), (outcome) => ({ kind: 'end', outcome }));
        return this.#ask('endReservation', work);
      },
      apply: (change: Change) => {
        const sent = structuredClone(change);
        const entries = (sent.entries ?? []).filter(({ actor }) => actor !== 'system');
        const effect = ({ status }: { status: string }): Effect | null =>
          status === 'done' && entries.length > 0 ? { kind: 'change', change: sent, entries } : null;
        return observed(this.#ask('apply', () => heard(primary.apply(sent), effect)));
      },
    } satisfies Partial<Record<keyof Ledger, unknown>>);
  }

  #localCounts(): LocalCounts {
    const { localCounts } = this.#context.primary;
    return {
      isShared: true,
      load: (owner) => this.#ask('load', async () => localCounts.load(this.name, owner)),
      sync: (counts: readonly LocalCount[], isLast) => {
        const sent = structuredClone(counts);
        return this.#ask('sync', async () => localCounts.sync(this.name, sent, isLast));
      },
      onForgotten() {},
    };
  }

  /** A session with the database: it can be polled, and hears of changes. */
  #session(onOpen?: (client: never) => Promise<void>) {
    let opened: Promise<unknown> | null = null;
    const listener = {
      on: (event: string, heard: () => void) => {
        if (event === 'notification') this.#notified = heard;
      },
      query: () => this.#ask('listen', async () => ({ rows: [] })),
      connection: { stream: { destroy() {} } },
    };
    const query = (of: (session: string | null) => { readonly values?: readonly unknown[] }) => {
      const [seen = null] = of(null).values ?? [];
      return this.#ask('poll', async () => ({ rows: [this.#context.primary.poll(seen as number | null)] }));
    };
    return {
      query,
      queryTwo: (one: typeof query extends (of: infer Of) => unknown ? Of : never) => [
        query(one),
        this.#ask('beat', async () => ({ rows: [] })),
      ],
      client: () => (opened ??= onOpen?.(listener as never) ?? Promise.resolve()),
      close: async () => {},
    };
  }
}

/** The engine with randomness from the seed, and with secrets that are their own digests. */
export function makeSimEngine(storage: Storage, random: Random): Engine {
  return engineOn(storage, {
    randomBytes: (length) => random.bytes(length),
    maxCachedKeys: 1_000,
    maxLocalOwners: 1_000,
    maxLimitsPerNamespace: 1_000,
    eventRetentionMs: 90 * 86_400_000,
  });
}

/** What is sent of a spend. The last check of its records is for a ledger in the same process. */
function plain({ charges, fences, idempotency }: Spend): Spend {
  return { charges, fences, idempotency };
}

function isDated(outcome: unknown): outcome is { readonly nowMs: number } {
  const dated = outcome as { nowMs?: unknown; status?: unknown } | null;
  return typeof dated?.nowMs === 'number' && ['stale', 'otherMark', 'settleFirst'].includes(String(dated.status));
}
