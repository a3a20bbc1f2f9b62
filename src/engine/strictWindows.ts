import { AppError } from '../core/errors.ts';
import type { Ledger } from '../storage/port.ts';

/** Accounts that are remembered, so that a counter is asked for by name once only. */
const MAX_KNOWN = 100_000;
/** Namespaces whose counters are counted at one time. */
const MAX_ROOMS = 10_000;
/** The database counts the counters of a namespace once in this time at the most. */
const COUNT_EVERY_MS = 1_000;
/** One that was found full is counted more seldom: a million takes SQLite 80 ms, in which nothing else is answered. */
const COUNT_FULL_EVERY_MS = 10_000;
/** Where others open counters too, it counts again when this node has taken such a part of the room that was left. */
const PART_OF_ROOM = 1 / 16;

export interface StrictWindow {
  readonly namespaceId: string;
  readonly identifier: string;
  readonly durationMs: number;
}

export interface StrictWindowsOptions {
  readonly ledger: Ledger;
  readonly maxPerNamespace: number;
  /** Other nodes open counters in the same database. */
  readonly isShared: boolean;
}

/**
 * The accounts of strict standalone limits, and how many there may be. What is remembered here can be removed from the
 * database when its window has ended: a spend on it is then stale, and it is forgotten and asked for again. A namespace that
 * is full goes on with the counters that it has.
 */
export class StrictWindows {
  readonly #options: StrictWindowsOptions;
  readonly #known = new Map<string, number>();
  readonly #opening = new Map<string, Promise<number>>();
  readonly #rooms = new Map<string, Room>();

  constructor(options: StrictWindowsOptions) {
    this.#options = options;
  }

  async account(window: StrictWindow): Promise<number> {
    const name = nameOf(window);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    let opening = this.#opening.get(name);
    if (opening === undefined) {
      opening = this.#open(window, name).finally(() => this.#opening.delete(name));
      this.#opening.set(name, opening);
    }
    return opening;
  }

  forget(window: StrictWindow): void {
    this.#known.delete(nameOf(window));
  }

  async #open({ namespaceId, identifier, durationMs }: StrictWindow, name: string): Promise<number> {
    const window = { owner: namespaceId, name: identifier, durationMs };
    const room = this.#roomOf(namespaceId);
    if (room.mustBeCounted()) await room.count();
    // 0: one that is there is found, and none is made.
    const account = await (room.hasPlace()
      ? room.taking(() => this.#options.ledger.openWindow(window, null))
      : this.#options.ledger.openWindow(window, 0));
    if (account === null) throw tooManyCounters(this.#options.maxPerNamespace);
    if (this.#known.size >= MAX_KNOWN) dropFirst(this.#known);
    this.#known.set(name, account);
    return account;
  }

  #roomOf(namespaceId: string): Room {
    const known = this.#rooms.get(namespaceId);
    if (known !== undefined) return known;
    if (this.#rooms.size >= MAX_ROOMS) dropFirst(this.#rooms);
    const room = new Room(namespaceId, this.#options);
    this.#rooms.set(namespaceId, room);
    return room;
  }
}

/** How many counters a namespace has: what the database counted, and what was opened here since. */
class Room {
  readonly #namespaceId: string;
  readonly #options: StrictWindowsOptions;
  #counted = 0;
  #countedAtMs: number | null = null;
  /** Since the last count began. */
  #opened = 0;
  #underWay = 0;
  #counting: Promise<void> | null = null;

  constructor(namespaceId: string, options: StrictWindowsOptions) {
    this.#namespaceId = namespaceId;
    this.#options = options;
  }

  hasPlace(): boolean {
    return this.#counted + this.#opened + this.#underWay < this.#options.maxPerNamespace;
  }

  mustBeCounted(): boolean {
    if (this.#countedAtMs === null) return true;
    const ageMs = this.#options.ledger.nowMs() - this.#countedAtMs;
    const wasLeft = this.#options.maxPerNamespace - this.#counted;
    // A clock that was set back makes the count old, too.
    if (ageMs >= 0 && ageMs < (wasLeft > 0 ? COUNT_EVERY_MS : COUNT_FULL_EVERY_MS)) return false;
    return !this.hasPlace() || (this.#options.isShared && this.#opened > wasLeft * PART_OF_ROOM);
  }

  /** Asked once for all who wait. */
  async count(): Promise<void> {
    this.#counting ??= this.#countNow().finally(() => (this.#counting = null));
    await this.#counting;
  }

  /** One that was there already is taken for a new one until the next count: that is never too little. */
  async taking(open: () => Promise<number | null>): Promise<number | null> {
    this.#underWay++;
    try {
      return await open();
    } finally {
      this.#underWay--;
      this.#opened++;
    }
  }

  /** What is opened while the database counts may be in the count or not: it is added. */
  async #countNow(): Promise<void> {
    const openedBefore = this.#opened;
    const startedAtMs = this.#options.ledger.nowMs();
    this.#counted = await this.#options.ledger.countWindows(this.#namespaceId, this.#options.maxPerNamespace);
    this.#opened -= openedBefore;
    this.#countedAtMs = startedAtMs;
  }
}

function nameOf({ namespaceId, identifier, durationMs }: StrictWindow): string {
  return `${namespaceId}:${durationMs}:${identifier}`;
}

function dropFirst(map: Map<string, unknown>): void {
  const first = map.keys().next();
  if (first.done !== true) map.delete(first.value);
}

function tooManyCounters(max: number): AppError {
  const bound = `${max} (KEYSTILE_MAX_LIMITS_PER_NAMESPACE)`;
  return new AppError(
    'UNAVAILABLE',
    `This namespace has as many strict counters as it may, ${bound}; try again later.`,
  );
}
