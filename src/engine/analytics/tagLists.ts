import { MAX_TAG_LIST_BYTES } from '../../core/bounds.ts';
import { OTHER_TAGS } from '../../core/verificationCounts.ts';
import type { OpenCount } from '../cache/keyCounts.ts';

const DAY_MS = 86_400_000;
/** Bytes of all tag lists that a node knows. In memory a text takes up to twice as many. */
export const MAX_KNOWN_BYTES = 16 * 1024 * 1024;
/** An api with more bytes than this is large. Large apis leave the last quarter of the bytes to the others. */
const LARGE_API_BYTES = 64 * 1024;
const MAX_LARGE_BYTES = (MAX_KNOWN_BYTES * 3) / 4;
/** Apis whose lists a node knows. */
export const MAX_TAGGED_APIS = 10_000;
/**
 * Each verification with tags earns its api this many bytes. Each new row (key, minute and list) costs the bytes of its list, so
 * a list of this length can always be paid. This bounds the bytes on disk for each verification: a list is stored up to 12
 * times (three spans, by key and by api, in table and index).
 */
export const EARNED_BYTES = 256;
/** What an api has at the start of a day, and at most: enough for a few long lists. */
export const MAX_ALLOWANCE_BYTES = 64 * 1024;
/** SQLite stores the rest of a longer row in a page of its own. */
const OWN_PAGE_FROM_BYTES = 800;
const PAGE_BYTES = 4_096;
/** Rows of long lists whose payment is remembered for a minute. Beyond them a row that is opened again is paid for again. */
const MAX_PAID_ROWS = 100_000;
/** Apis whose lists are read from the database in one run. */
const LEARN_APIS = 100;

const encoder = new TextEncoder();
const encoded = new Uint8Array(MAX_TAG_LIST_BYTES);

/** Why a verification counts under `other`: it was refused, its api has too many lists, or too few bytes. */
export type OtherReason = 'refused' | 'lists' | 'bytes';

/** All tags of a verification together. */
export interface TagList {
  /** Unique among all lists of this node. */
  readonly number: number;
  /** JSON of a sorted list. */
  readonly text: string;
  readonly bytes: number;
  readonly costBytes: number;
  /** Counts of the running generation by key id. */
  readonly openCounts: Map<string, OpenCount>;
}

/** The tag lists of one api, today. */
interface ApiTags {
  readonly lists: Map<string, TagList>;
  /** Bytes of its lists. */
  bytes: number;
  allowanceBytes: number;
  /** The database may have lists that this node does not know. */
  isBehind: boolean;
  /** The minute in which they were last read from the database. */
  learnedAtMs: number;
}

/**
 * The tag lists that verifications are counted under. Each day (UTC) starts without any. Callers choose tags freely, so the
 * lists are bounded: only a valid verification adds a list, an api has at most `maxLists`, and its new rows are paid for.
 * Everything else counts under `other`.
 *
 * Each node decides for itself. It reads from the database which lists other nodes, and this one before a restart, use.
 */
export class TagLists {
  readonly #maxLists: number;
  readonly #ofApi = new Map<string, ApiTags>();
  /** Verifications counted under `other` since the start. */
  readonly others: Record<OtherReason, number> = { refused: 0, lists: 0, bytes: 0 };
  readonly #other: TagList = { number: 0, text: OTHER_TAGS, bytes: 0, costBytes: 0, openCounts: new Map() };
  /** Lists with open counts. */
  #inUse: TagList[] = [];
  /** Rows of long lists that are paid for in this minute. */
  readonly #paidRows = new Set<string>();
  #minuteMs = 0;
  #dayMs = 0;
  #knownBytes = 0;
  #number = 0;

  constructor(maxLists: number) {
    this.#maxLists = maxLists;
  }

  get dayMs(): number {
    return this.#dayMs;
  }

  /** A new generation has no open counts; a new day has no lists. */
  turnTo(minuteMs: number): void {
    for (const list of this.#inUse) list.openCounts.clear();
    this.#inUse = [];
    if (minuteMs !== this.#minuteMs) this.#paidRows.clear();
    this.#minuteMs = minuteMs;
    const dayMs = minuteMs - (minuteMs % DAY_MS);
    if (dayMs === this.#dayMs) return;
    this.#dayMs = dayMs;
    this.#ofApi.clear();
    this.#knownBytes = 0;
  }

  /** The list that a verification of a known key counts under. */
  find(apiId: string, tags: readonly string[], isValid: boolean): TagList {
    const api = this.#ofApi.get(apiId) ?? this.#begin(apiId);
    return api === null ? this.#toOther('lists') : this.#findIn(api, tags, isValid);
  }

  /** The list that a verification of an unknown key counts under. Its api may not exist. */
  findForUnknown(apiId: string, tags: readonly string[]): TagList {
    const api = this.#ofApi.get(apiId);
    return api === undefined ? this.#toOther('refused') : this.#findIn(api, tags, false);
  }

  /**
   * Pays for a new row of this list. A row is paid for once a minute, however often it is written. Answers the list to count
   * under: `other` when the api cannot pay.
   */
  pay(apiId: string, list: TagList, keyId: string): TagList {
    if (list === this.#other) return list;
    const isLong = list.costBytes > EARNED_BYTES;
    const row = isLong ? `${keyId}\0${list.number}` : '';
    if (isLong && this.#paidRows.has(row)) return list;
    const api = this.#ofApi.get(apiId);
    if (api === undefined || api.allowanceBytes < list.costBytes) return this.#toOther('bytes');
    api.allowanceBytes -= list.costBytes;
    if (isLong && this.#paidRows.size < MAX_PAID_ROWS) this.#paidRows.add(row);
    return list;
  }

  /** Until the next generation, verifications of this key with these tags use this count. */
  keep(list: TagList, count: OpenCount): void {
    if (list.openCounts.size === 0) this.#inUse.push(list);
    list.openCounts.set(count.keyId, count);
  }

  /** Apis whose lists have to be read from the database. Each is read at most once a minute. */
  behind(): string[] {
    const found: string[] = [];
    for (const [apiId, { isBehind, learnedAtMs }] of this.#ofApi) {
      if (isBehind && learnedAtMs !== this.#minuteMs) found.push(apiId);
      if (found.length === LEARN_APIS) break;
    }
    return found;
  }

  /** Takes over the lists of the day that the database has. */
  learn(apiId: string, dayMs: number, texts: readonly string[]): void {
    const api = this.#ofApi.get(apiId);
    if (api === undefined || dayMs !== this.#dayMs) return;
    api.isBehind = false;
    api.learnedAtMs = this.#minuteMs;
    for (const text of texts) {
      if (text === OTHER_TAGS || api.lists.has(text) || !this.#takesOneMore(api)) continue;
      const list = this.#make(text);
      if (list !== null) this.#put(api, list);
    }
  }

  get maxLists(): number {
    return this.#maxLists;
  }

  #findIn(api: ApiTags, tags: readonly string[], isValid: boolean): TagList {
    api.allowanceBytes = Math.min(api.allowanceBytes + EARNED_BYTES, MAX_ALLOWANCE_BYTES);
    const text = JSON.stringify(tags);
    const known = text === OTHER_TAGS ? this.#other : api.lists.get(text);
    if (known !== undefined) return known;
    if (isValid) return this.#add(api, text);
    api.isBehind = true;
    return this.#toOther('refused');
  }

  #begin(apiId: string): ApiTags | null {
    if (this.#ofApi.size >= MAX_TAGGED_APIS) return null;
    const api = {
      lists: new Map<string, TagList>(),
      bytes: 0,
      allowanceBytes: MAX_ALLOWANCE_BYTES,
      isBehind: true,
      learnedAtMs: -1,
    };
    this.#ofApi.set(apiId, api);
    return api;
  }

  #add(api: ApiTags, text: string): TagList {
    if (!this.#takesOneMore(api)) return this.#toOther('lists');
    const list = this.#make(text);
    // A list that cannot be paid for is not added.
    if (list === null || list.costBytes > api.allowanceBytes) return this.#toOther('bytes');
    this.#put(api, list);
    return list;
  }

  #takesOneMore({ lists, bytes }: ApiTags): boolean {
    const maxBytes = bytes > LARGE_API_BYTES ? MAX_LARGE_BYTES : MAX_KNOWN_BYTES;
    return lists.size < this.#maxLists && this.#knownBytes + MAX_TAG_LIST_BYTES <= maxBytes;
  }

  /** null: the list is too long. */
  #make(text: string): TagList | null {
    const { written: bytes, read } = encoder.encodeInto(text, encoded);
    if (read < text.length) return null;
    const costBytes = bytes < OWN_PAGE_FROM_BYTES ? bytes : bytes + PAGE_BYTES;
    return { number: ++this.#number, text, bytes, costBytes, openCounts: new Map() };
  }

  #put(api: ApiTags, list: TagList): void {
    api.lists.set(list.text, list);
    api.bytes += list.bytes;
    this.#knownBytes += list.bytes;
  }

  #toOther(reason: OtherReason): TagList {
    this.others[reason]++;
    return this.#other;
  }
}
