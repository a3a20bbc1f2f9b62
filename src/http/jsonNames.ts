import { MAX_JSON_NAMES } from '../core/bounds.ts';
import { AppError } from '../core/errors.ts';

interface Name {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * The member names of one body, each made once. They are found by a hash that no caller can foresee, and there are not many
 * of them: as names of members they get into tables of the runtime, whose hash everyone can foresee.
 */
export class JsonNames {
  readonly bytes: Uint8Array;
  readonly noise: Uint32Array;
  readonly byHash = new Map<number, Name>();

  constructor(bytes: Uint8Array, noise: Uint32Array) {
    this.bytes = bytes;
    this.noise = noise;
  }

  find(from: number, to: number): string | null {
    for (let hash = this.hashOf(from, to); ; hash = (hash + 1) | 0) {
      const name = this.byHash.get(hash);
      if (name === undefined) return null;
      if (this.isSame(name, from, to)) return name.text;
    }
  }

  add(from: number, to: number, text: string): string {
    if (this.byHash.size === MAX_JSON_NAMES) {
      throw new AppError(
        'BAD_REQUEST',
        `The body has more than ${MAX_JSON_NAMES} different member names. Send it in smaller parts.`,
      );
    }
    let hash = this.hashOf(from, to);
    while (this.byHash.has(hash)) hash = (hash + 1) | 0;
    this.byHash.set(hash, { from, to, text });
    return text;
  }

  hashOf(from: number, to: number): number {
    let hash = to - from;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (this.noise[this.bytes[i] ?? 0] ?? 0), 0x9e3779b1);
    return hash ^ (hash >>> 15);
  }

  isSame(name: Name, from: number, to: number): boolean {
    if (name.to - name.from !== to - from) return false;
    for (let i = 0; from + i < to; i++) if (this.bytes[name.from + i] !== this.bytes[from + i]) return false;
    return true;
  }
}
