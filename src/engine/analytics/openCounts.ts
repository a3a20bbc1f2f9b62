import type { Reservation } from '../../core/reservation.ts';
import { CountColumns } from '../../core/verificationCounts.ts';
import type { TagList, TagLists } from './tagLists.ts';
import { type KeyCounts, OpenCount } from '../cache/keyCounts.ts';
import type { KeyEntry } from '../cache/entries.ts';
import type { Verdict } from '../verify/verdict.ts';
import type { VerifyRequest } from '../verify/request.ts';
import { startOfSpan } from '../../storage/port/analytics.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Open counts kept as objects. Beyond them a verification counts for its api only, without key and tags. */
export const MAX_OPEN_COUNTS = 200_000;
/** Further open counts of apis. Beyond them a verification counts in the last minute that its api has. */
export const MAX_API_COUNTS = 10_000;
/** When more counts than this wait at the end of a minute, the generation goes on. */
const MAX_WAITING = 1_000;
/** Packed counts that become objects at a time when a generation has to be freed. */
const FREE_STEP = 1_000;

/** Counts what reservations have charged, when they end. */
export interface ChargeCounts {
  countCharged(reservation: Reservation): void;
}

/** Whose count it is. */
type CountedKey = Pick<KeyEntry, 'id' | 'apiId'> & { readonly identity: { readonly id: string } | null };

/**
 * Counts every verification of this node in memory: by minute, api, key, identity, tags and outcome.
 *
 * A VALID is counted in the row of its key, unless it took more or fewer credits than the others there. The row is in the processor's
 * cache at that moment; a Map of 100,000 keys costs more than everything else together. All other counts are found through a Map.
 *
 * Two generations: verifications add to the running one, and the sealed one is taken in slices to be written. A generation is
 * sealed when a minute ends and when it is to be written. While too many sealed counts wait, the running generation goes on
 * past its minute, at most to the end of the hour: otherwise slow writing would make more to write.
 */
export class OpenCounts {
  readonly #keyCounts: KeyCounts;
  readonly #nowMs: () => number;
  /** The tag lists that verifications are counted under. */
  readonly tagLists: TagLists;
  /** Start and end of the running generation. */
  #minuteMs = 0;
  #untilMs = 0;
  #running: OpenCount[] = [];
  #sealed: OpenCount[] = [];
  /** Running counts by key without tags, and by api and tags. Those by key and tags are in their TagList. */
  readonly #byName = new Map<string, OpenCount>();
  /** The last count that was opened for each api alone. */
  readonly #ofApi = new Map<string, OpenCount>();
  readonly #asked = new AskedApis();
  /** Generations sealed until now. */
  seals = 0;

  constructor(keyCounts: KeyCounts, nowMs: () => number, tagLists: TagLists) {
    this.#keyCounts = keyCounts;
    this.#nowMs = nowMs;
    this.tagLists = tagLists;
    keyCounts.onDropped = (open, isSealed) => this.#keep(open, isSealed ? this.#sealed : this.#running);
  }

  count({ apiId, tags }: VerifyRequest, { code, key, creditsTaken, atMs }: Verdict): void {
    // Most verdicts are in the running generation: then the clock is not read.
    const nowMs = atMs >= this.#minuteMs && atMs < this.#untilMs ? atMs : this.#now();
    if (key === null) return this.#askedFor(apiId, tags)?.add(code, 0, nowMs);
    if (tags !== null) return this.#tagged(key, tags, code === 'VALID').add(code, creditsTaken, nowMs);
    if (code === 'VALID' && this.#keyCounts.count(key, creditsTaken, nowMs)) return;
    this.#named(key).add(code, creditsTaken, nowMs);
  }

  /** The verification was counted when it reserved; its credits count now. */
  countCharged({ keyId, apiId, charged, counted, createdAtMs }: Reservation): void {
    if (charged === 0) return;
    this.#now();
    const { tags, identityId } = counted;
    const key = { id: keyId, apiId, identity: identityId === null ? null : { id: identityId } };
    const open = tags === null ? this.#named(key) : this.#tagged(key, tags, true);
    open.addCharged(charged, createdAtMs);
  }

  /** Open counts kept as objects. */
  get openSize(): number {
    return this.#sealed.length + this.#running.length;
  }

  /** Sealed counts that are not taken yet. */
  get waiting(): number {
    return this.#sealed.length + this.#keyCounts.generations.sealedLength;
  }

  /** All counts that are not taken yet. */
  get length(): number {
    return this.waiting + this.#running.length + this.#keyCounts.generations.runningLength;
  }

  /** The sealed generation is taken completely. */
  get isSealedEmpty(): boolean {
    return this.waiting === 0 && this.asked.length === 0;
  }

  /** Ends the running generation and starts a new one. */
  seal(): void {
    this.#seal(startOfSpan('minute', this.#nowMs()));
  }

  /** Takes at most `limit` sealed counts out. */
  take(limit: number): CountColumns {
    const lists = new CountColumns();
    for (const open of this.#sealed.splice(-limit, limit)) {
      open.take();
      lists.add(open);
    }
    while (lists.length < limit && this.#keyCounts.takeSealed(lists, limit - lists.length));
    if (this.isSealedEmpty) this.#ofApi.clear();
    return lists;
  }

  /** Sealed counts of unknown keys whose api may not exist. */
  get asked(): readonly OpenCount[] {
    return this.#asked.sealed;
  }

  /** The first `count` of these are looked up: those of existing apis are kept, the others are dropped. */
  settleAsked(count: number, existing: ReadonlySet<string>): void {
    for (const open of this.#asked.settle(count, existing)) this.#keep(open, this.#sealed);
  }

  /** An api was changed or deleted; null = any api. */
  forgetApi(apiId: string | null): void {
    this.#asked.forget(apiId);
  }

  /** The time, in the running generation: a new one is started when needed. */
  #now(): number {
    const nowMs = this.#nowMs();
    if (nowMs < this.#minuteMs || nowMs >= this.#untilMs) this.#roll(nowMs);
    return nowMs;
  }

  #roll(nowMs: number): void {
    const minuteMs = startOfSpan('minute', nowMs);
    const isLaterInHour =
      nowMs > this.#minuteMs && Math.floor(nowMs / HOUR_MS) === Math.floor(this.#minuteMs / HOUR_MS);
    if (this.waiting > MAX_WAITING && isLaterInHour) this.#untilMs = minuteMs + MINUTE_MS;
    else this.#seal(minuteMs);
  }

  #seal(nextMinuteMs: number): void {
    this.#freeGeneration();
    this.#keyCounts.generations.swap(nextMinuteMs);
    if (this.#sealed.length === 0) this.#sealed = this.#running;
    else for (const open of this.#running) this.#sealed.push(open);
    this.#running = [];
    this.#asked.seal();
    this.#byName.clear();
    this.#minuteMs = nextMinuteMs;
    this.#untilMs = nextMinuteMs + MINUTE_MS;
    this.tagLists.turnTo(nextMinuteMs);
    this.seals++;
  }

  #named(key: CountedKey): OpenCount {
    const known = this.#known(key.id);
    if (known !== null) return known;
    const open = this.#open(key.apiId, key, null);
    if (open.keyId !== '') this.#byName.set(key.id, open);
    return open;
  }

  #tagged(key: CountedKey, tags: readonly string[], isValid: boolean): OpenCount {
    const list = this.tagLists.find(key.apiId, tags, isValid);
    return list.openCounts.get(key.id) ?? this.#openTagged(key, this.tagLists.pay(key.apiId, list, key.id));
  }

  #openTagged(key: CountedKey, list: TagList): OpenCount {
    const known = list.openCounts.get(key.id);
    if (known !== undefined) return known;
    const open = this.#open(key.apiId, key, list);
    if (open.keyId !== '') this.tagLists.keep(list, open);
    return open;
  }

  #known(name: string): OpenCount | null {
    const known = this.#byName.get(name);
    return known === undefined || known.isTaken ? null : known;
  }

  /** An unknown key counts for the api that the request names. */
  #askedFor(apiId: string | null, tags: readonly string[] | null): OpenCount | null {
    if (apiId === null) return null;
    const list = tags === null ? null : this.tagLists.findForUnknown(apiId, tags);
    const known = this.#known(nameOfApi(apiId, list));
    if (known !== null) return known;
    return this.#openAsked(apiId, list === null ? null : this.tagLists.pay(apiId, list, ''));
  }

  #openAsked(apiId: string, list: TagList | null): OpenCount | null {
    const name = nameOfApi(apiId, list);
    const known = this.#known(name);
    if (known !== null) return known;
    const exists = this.#asked.exists(apiId);
    if (!exists && !this.#asked.takesOneMore) return null;
    const open = exists ? this.#open(apiId, null, list) : this.#newCount(apiId, null, list);
    if (!exists) this.#asked.add(open);
    // When no tags fit, this is the count of the whole api. It must not be kept under a name that callers can invent.
    if (list === null || open.tags !== '') this.#byName.set(name, open);
    return open;
  }

  #open(apiId: string, key: CountedKey | null, list: TagList | null): OpenCount {
    if (this.openSize >= MAX_OPEN_COUNTS) return this.#openForApi(apiId, this.#minuteMs, this.#running);
    const open = this.#newCount(apiId, key, list);
    this.#running.push(open);
    return open;
  }

  #newCount(apiId: string, key: CountedKey | null, list: TagList | null): OpenCount {
    return new OpenCount({
      minuteMs: this.#minuteMs,
      apiId,
      keyId: key?.id ?? '',
      identityId: key?.identity?.id ?? '',
      tags: list === null ? '' : list.text,
    });
  }

  /** Frees a packed generation for the next minute: what is left of the oldest one becomes objects. */
  #freeGeneration(): void {
    while (!this.#keyCounts.generations.canSwap) {
      const lists = new CountColumns();
      this.#keyCounts.takeSealed(lists, FREE_STEP);
      for (const open of lists.rows()) this.#keep(OpenCount.of(open), this.#sealed);
    }
  }

  #keep(open: OpenCount, generation: OpenCount[]): void {
    if (this.openSize < MAX_OPEN_COUNTS) generation.push(open);
    else this.#openForApi(open.apiId, open.minuteMs, generation).addAll(open);
  }

  #openForApi(apiId: string, minuteMs: number, generation: OpenCount[]): OpenCount {
    const known = this.#ofApi.get(apiId);
    const isCrowded = this.openSize >= MAX_OPEN_COUNTS + MAX_API_COUNTS;
    if (known !== undefined && !known.isTaken && (known.minuteMs === minuteMs || isCrowded)) return known;
    const open = new OpenCount({ minuteMs, apiId, keyId: '', identityId: '', tags: '' });
    this.#ofApi.set(apiId, open);
    generation.push(open);
    return open;
  }
}

function nameOfApi(apiId: string, list: TagList | null): string {
  return `\0${apiId}\0${list === null ? '' : list.number}`;
}

/** Open counts of apis that may not exist. */
export const MAX_ASKED_COUNTS = 1_000;
/** Apis that are known to exist. */
const MAX_KNOWN_APIS = 10_000;

/** A request with an unknown key may name any api. It counts once the database has confirmed that the api exists. */
class AskedApis {
  readonly #known = new Set<string>();
  #running: OpenCount[] = [];
  readonly #sealed: OpenCount[] = [];

  exists(apiId: string): boolean {
    return this.#known.has(apiId);
  }

  get takesOneMore(): boolean {
    return this.#running.length + this.#sealed.length < MAX_ASKED_COUNTS;
  }

  add(count: OpenCount): void {
    this.#running.push(count);
  }

  seal(): void {
    this.#sealed.push(...this.#running);
    this.#running = [];
  }

  get sealed(): readonly OpenCount[] {
    return this.#sealed;
  }

  /** The first `count` sealed counts are looked up: `existing` are the apis that exist. Answers the counts of these. */
  settle(count: number, existing: ReadonlySet<string>): OpenCount[] {
    const settled = this.#sealed.splice(0, count);
    if (this.#known.size >= MAX_KNOWN_APIS) this.#known.clear();
    for (const apiId of existing) this.#known.add(apiId);
    return settled.filter(({ apiId }) => existing.has(apiId));
  }

  /** An api was changed or deleted; null = any api. */
  forget(apiId: string | null): void {
    if (apiId === null) this.#known.clear();
    else this.#known.delete(apiId);
  }
}
