import { MAX_JSON_NAMES } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';

/** A member name of one body, as it is written there. */
export class JsonName {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** The first name that is written differently (with escapes) and means the same. */
  readonly first: JsonName;
  /** By depth: the number of the last object that has this member. */
  readonly objects: number[] = [];

  constructor(text: string, from: number, to: number, first: JsonName | null) {
    this.text = text;
    this.from = from;
    this.to = to;
    this.first = first ?? this;
  }

  /** False: the object has this member already. The object itself is not searched: that is slow when names share a hash. */
  enter(depth: number, object: number): boolean {
    const { objects } = this.first;
    if (objects[depth] === object) return false;
    objects[depth] = object;
    return true;
  }
}

/**
 * The member names of one body, each created once. They are found by a hash that no caller can predict. Their number is bounded,
 * because member names also enter tables of the runtime, whose hash everyone can predict.
 *
 * The fields are not private (#), for the reason that `Reading` gives.
 */
export class JsonNames {
  readonly bytes: Uint8Array;
  readonly noise: Uint32Array;
  readonly byHash = new Map<number, JsonName>();
  /** Set after the first name with an escape: it may be another spelling of a known name. */
  byText: Map<string, JsonName> | null = null;

  constructor(bytes: Uint8Array, noise: Uint32Array) {
    this.bytes = bytes;
    this.noise = noise;
  }

  find(from: number, to: number): JsonName | null {
    for (let hash = this.hashOf(from, to); ; hash = (hash + 1) | 0) {
      const name = this.byHash.get(hash);
      if (name === undefined) return null;
      if (this.isSame(name, from, to)) return name;
    }
  }

  /** Adds a name that was not found. */
  add(from: number, to: number, text: string, hasEscapes: boolean): JsonName {
    if (this.byHash.size === MAX_JSON_NAMES) {
      throw new AppError(
        'BAD_REQUEST',
        `The body has more than ${MAX_JSON_NAMES} different member names. Send it in smaller parts.`,
      );
    }
    if (hasEscapes) this.byText ??= new Map(Array.from(this.byHash.values(), (name) => [name.text, name]));
    const name = new JsonName(text, from, to, this.byText?.get(text) ?? null);
    if (name.first === name) this.byText?.set(text, name);
    let hash = this.hashOf(from, to);
    while (this.byHash.has(hash)) hash = (hash + 1) | 0;
    this.byHash.set(hash, name);
    return name;
  }

  hashOf(from: number, to: number): number {
    let hash = to - from;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (this.noise[this.bytes[i] ?? 0] ?? 0), 0x9e3779b1);
    return hash ^ (hash >>> 15);
  }

  isSame(name: JsonName, from: number, to: number): boolean {
    if (name.to - name.from !== to - from) return false;
    for (let i = 0; from + i < to; i++) if (this.bytes[name.from + i] !== this.bytes[from + i]) return false;
    return true;
  }
}
