import { AppError } from '../../core/errors.ts';
import type { ClosedWindows, Ledger, WindowName, WindowPlace } from '../../storage/port/storage.ts';
import { dropFirst } from '../dropFirst.ts';

/** Accounts that are remembered, so that a counter is asked for by name once only. */
const MAX_KNOWN = 100_000;
/** Namespaces whose counters are counted at one time. */
const MAX_ROOMS = 10_000;
/** The database counts the counters of a namespace once in this time at the most. */
const COUNT_EVERY_MS = 1_000;
/** One that was found full is counted more seldom: a million takes SQLite 80 ms, in which nothing else is answered. */
const COUNT_FULL_EVERY_MS = 10_000;
/** Counters that are looked at in one step when there is no place for a new one. */
const CLOSE_STEP = 1_000;
/** A step that found less than half of them ended is the last one for this time. */
const CLOSE_EVERY_MS = 1_000;
/** How often a place that was made is tried for: others may take it first. */
const MAX_TRIES = 3;
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
 * is full goes on with the counters that it has, and those whose window has ended make place for new ones.
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
    let account = await this.#openIn(room, window);
    for (let tries = 0; account === null && tries < MAX_TRIES && (await room.makePlace()); tries++) {
      account = await this.#openIn(room, window);
    }
    if (account === null) throw tooManyCounters(this.#options.maxPerNamespace);
    if (this.#known.size >= MAX_KNOWN) dropFirst(this.#known);
    this.#known.set(name, account);
    return account;
  }

  /** 0: one that is there is found, and none is made. */
  #openIn(room: Room, window: WindowName): Promise<number | null> {
    const { ledger } = this.#options;
    return room.hasPlace() ? room.taking(() => ledger.openWindow(window, null)) : ledger.openWindow(window, 0);
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

/** How many counters a namespace has: what the database counted, what was opened here since, and what was closed here. */
class Room {
  readonly #namespaceId: string;
  readonly #options: StrictWindowsOptions;
  #counted = 0;
  #countedAtMs: number | null = null;
  /** Since the last count began. */
  #opened = 0;
  #underWay = 0;
  #counting: Promise<void> | null = null;
  #counts = 0;
  /** Since the last count. Others may close and open as well: who opens no more than it closed adds nothing. */
  #closed = 0;
  #closing: Promise<void> | null = null;
  #nextCloseAtMs = 0;
  /** Where the next step begins. */
  #closedTo: WindowPlace | null = null;

  constructor(namespaceId: string, options: StrictWindowsOptions) {
    this.#namespaceId = namespaceId;
    this.#options = options;
  }

  hasPlace(): boolean {
    return this.#counted + this.#opened + this.#underWay - this.#closed < this.#options.maxPerNamespace;
  }

  mustBeCounted(): boolean {
    if (this.#countedAtMs === null) return true;
    const ageMs = this.#options.ledger.nowMs() - this.#countedAtMs;
    const wasLeft = this.#options.maxPerNamespace - this.#counted;
    // Alone it need not be counted to know what is left, and what ends keeps it nearly full for as long as it is flooded.
    const wasFull = wasLeft <= (this.#options.isShared ? 0 : this.#options.maxPerNamespace * PART_OF_ROOM);
    // A clock that was set back makes the count old, too.
    if (ageMs >= 0 && ageMs < (wasFull ? COUNT_FULL_EVERY_MS : COUNT_EVERY_MS)) return false;
    return !this.hasPlace() || (this.#options.isShared && this.#opened > wasLeft * PART_OF_ROOM);
  }

  /** Asked once for all who wait. */
  async count(): Promise<void> {
    this.#counting ??= this.#countNow().finally(() => (this.#counting = null));
    await this.#counting;
  }

  /** Removes ended counters, once for all who wait; true when there is a place now. */
  async makePlace(): Promise<boolean> {
    if (this.hasPlace()) return true;
    const waitMs = this.#nextCloseAtMs - this.#options.ledger.nowMs();
    // A clock that was set back does not make it wait for longer.
    if (this.#closing === null && waitMs > 0 && waitMs <= CLOSE_EVERY_MS) return false;
    this.#closing ??= this.#closeSome().finally(() => (this.#closing = null));
    await this.#closing;
    return this.hasPlace();
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
    this.#closed = 0;
    this.#counts++;
    this.#countedAtMs = startedAtMs;
  }

  /**
   * One step, and another one from the beginning when it came to the end without having found any. As long as half of those
   * that are looked at have ended, a counter that is opened pays for two; otherwise it is not looked again for a while.
   */
  async #closeSome(): Promise<void> {
    const from = this.#closedTo;
    let step = await this.#closeStep();
    if (step.closed === 0 && from !== null && this.#closedTo === null) step = await this.#closeStep();
    if (step.closed * 2 < step.looked) this.#nextCloseAtMs = this.#options.ledger.nowMs() + CLOSE_EVERY_MS;
  }

  async #closeStep(): Promise<ClosedWindows> {
    const counts = this.#counts;
    const step = await this.#options.ledger.closeEndedWindows(this.#namespaceId, CLOSE_STEP, this.#closedTo);
    this.#closedTo = step.last;
    // A count that ended meanwhile may know of it already. And there may be more than were counted: the bound was lowered.
    if (counts === this.#counts) this.#closed = Math.min(this.#closed + step.closed, this.#counted + this.#opened);
    return step;
  }
}

function nameOf({ namespaceId, identifier, durationMs }: StrictWindow): string {
  return `${namespaceId}:${durationMs}:${identifier}`;
}

function tooManyCounters(max: number): AppError {
  const bound = `${max} (KEYSTILE_MAX_LIMITS_PER_NAMESPACE)`;
  return new AppError(
    'UNAVAILABLE',
    `This namespace has as many strict counters as it may, ${bound}; try again later.`,
  );
}
