import { CountColumns } from '../../core/verificationCounts.ts';
import { AskedApis } from './unknownKeyApis.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import { OpenCount } from './openCount.ts';
import type { KeyCounts } from '../cache/keyCounts.ts';
import type { TagList, TagLists } from './tagLists.ts';
import type { Verdict } from '../verify/verdict.ts';
import type { VerifyRequest } from '../verify/request.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Counts kept as objects at one time; what comes beyond them is counted for its api, without key and tags. */
export const MAX_OPEN_COUNTS = 200_000;
/** So many more may be those of apis; beyond them an api is counted in the last minute that it has. */
export const MAX_API_COUNTS = 10_000;
/** Counts that may wait to be written when a minute ends; with more of them the minute goes on. */
const MAX_WAITING = 1_000;
/** Counts that are made anew at a time where a generation has to be freed. */
const FREE_STEP = 1_000;

/**
 * Counts every verification of this node in memory: by minute, api, key, identity, tags and outcome.
 *
 * That a packed key was valid is counted in its row (packedCounts.ts), what happens to a key that is kept as an object in a
 * open that the object holds: both are in the processor's cache by then, and a Map of 100,000 keys was measured to cost
 * more than everything else together. The rest goes through a Map.
 *
 * The running generation is added to, what is sealed is taken out in slices and written down. A generation
 * is sealed when a minute ends and when it is to be written. Where very many keys are in use and the sealed one is not
 * written yet when a minute ends, the running one goes on, at most until the hour ends: otherwise there would be more to
 * write the longer it takes.
 */
export class OpenCounts {
  readonly #keyCounts: KeyCounts;
  readonly #nowMs: () => number;
  /** Which tags are counted by themselves. */
  readonly tagLists: TagLists;
  /** Of the running generation. */
  #minuteMs = 0;
  #untilMs = 0;
  #running: OpenCount[] = [];
  #sealed: OpenCount[] = [];
  /** Of this minute, by key without tags, or by api and tags; those by key and tags are found in their list. */
  readonly #byName = new Map<string, OpenCount>();
  /** Those that were opened last for an api alone. */
  readonly #ofApi = new Map<string, OpenCount>();
  readonly #asked = new AskedApis();
  /** How many generations were sealed until now. */
  seals = 0;

  constructor(keyCounts: KeyCounts, nowMs: () => number, tagLists: TagLists) {
    this.#keyCounts = keyCounts;
    this.#nowMs = nowMs;
    this.tagLists = tagLists;
    keyCounts.onDropped = (open, isSealed) => this.#keep(open, isSealed ? this.#sealed : this.#running);
  }

  count({ apiId, tags }: VerifyRequest, { code, key, atMs }: Verdict): void {
    // The clock is asked only where the verdict is not of the running generation, or of no known key.
    const nowMs = atMs >= this.#minuteMs && atMs < this.#untilMs ? atMs : this.#now();
    if (key === null) return this.#askedFor(apiId, tags)?.add(code, 1, nowMs);
    if (tags !== null) return this.#tagged(key, tags, code === 'VALID').add(code, 1, nowMs);
    if (code === 'VALID' && this.#keyCounts.count(key, nowMs)) return;
    (this.#keyCounts.keeps(key) ? this.#ofKept(key) : this.#named(key)).add(code, 1, nowMs);
  }

  /** Counts that are kept as objects. */
  get openSize(): number {
    return this.#sealed.length + this.#running.length;
  }

  /** Counts that are sealed and not taken yet. */
  get waiting(): number {
    return this.#sealed.length + this.#keyCounts.generations.sealedLength;
  }

  /** Nothing is left of the sealed generation. */
  get isSealedEmpty(): boolean {
    return this.waiting === 0 && this.asked.length === 0;
  }

  /** From now on nothing is added to what was counted until now. */
  seal(): void {
    this.#seal(minuteOf(this.#nowMs()));
  }

  /** At most so many of the sealed generation; they are the caller's from now on. */
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

  /** Sealed counts of apis of which it is not known whether they exist. */
  get asked(): readonly OpenCount[] {
    return this.#asked.sealed;
  }

  /** Of the apis that the first so many of these are about, these exist: their counts count, the others do not. */
  settleAsked(count: number, existing: ReadonlySet<string>): void {
    for (const open of this.#asked.settle(count, existing)) this.#keep(open, this.#sealed);
  }

  /** An api was changed or deleted; null = any may have been. */
  forgetApi(apiId: string | null): void {
    this.#asked.forget(apiId);
  }

  /** In the running generation. */
  #now(): number {
    const nowMs = this.#nowMs();
    if (nowMs < this.#minuteMs || nowMs >= this.#untilMs) this.#roll(nowMs);
    return nowMs;
  }

  #roll(nowMs: number): void {
    const minuteMs = minuteOf(nowMs);
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

  #ofKept(key: KeyEntry): OpenCount {
    const known = key.openCount;
    if (known !== null && known.minuteMs === this.#minuteMs) return known;
    const open = this.#open(key.apiId, key, null);
    if (open.keyId === '') return open;
    open.holder = key;
    key.openCount = open;
    return open;
  }

  #named(key: KeyEntry): OpenCount {
    const known = this.#known(key.id);
    if (known !== null) return known;
    const open = this.#open(key.apiId, key, null);
    if (open.keyId !== '') this.#byName.set(key.id, open);
    return open;
  }

  #tagged(key: KeyEntry, tags: readonly string[], isValid: boolean): OpenCount {
    const list = this.tagLists.find(key.apiId, tags, isValid);
    return list.openCounts.get(key.id) ?? this.#openTagged(key, this.tagLists.pay(key.apiId, list, key.id));
  }

  #openTagged(key: KeyEntry, list: TagList): OpenCount {
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

  /** Of an unknown key: counts for the api that the request names, if there is such an api. */
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
    if (!exists && !this.#asked.hasRoom) return null;
    const open = exists ? this.#open(apiId, null, list) : this.#newCount(apiId, null, list);
    if (!exists) this.#asked.add(open);
    // One that stands in for it, because there is no room, is not kept under a name that anyone can make up.
    if (list === null || open.tags !== '') this.#byName.set(name, open);
    return open;
  }

  #open(apiId: string, key: KeyEntry | null, list: TagList | null): OpenCount {
    if (this.openSize >= MAX_OPEN_COUNTS) return this.#openForApi(apiId, this.#minuteMs, this.#running);
    const open = this.#newCount(apiId, key, list);
    this.#running.push(open);
    return open;
  }

  #newCount(apiId: string, key: KeyEntry | null, list: TagList | null): OpenCount {
    return new OpenCount({
      minuteMs: this.#minuteMs,
      apiId,
      keyId: key?.id ?? '',
      identityId: key?.identity?.id ?? '',
      tags: list === null ? '' : list.text,
    });
  }

  /** There is one to run next: if not, what is left of the oldest is kept otherwise. */
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

function minuteOf(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS) * MINUTE_MS;
}
