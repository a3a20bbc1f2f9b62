const INT8_BYTES = 8;
/** The type of the elements of a list. */
const INT8_TYPE = 20;
const TEXT_TYPE = 25;
const TWO_TO_32 = 2 ** 32;
/** Before each value: how many bytes it has. */
const LENGTH_BYTES = 4;
/** Dimensions, whether there are nulls, the type; then for one dimension its length and the number of its first element. */
const EMPTY_ARRAY_BYTES = 12;
const ARRAY_BYTES = 20;
/** Around the values: the kind of the message, its length, names and formats. */
const FRAME_BYTES = 32;
/** To run what was bound and to end it: Execute of the nameless portal for all its rows, and Sync. */
const EXECUTE_AND_SYNC = new Uint8Array([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);

/** Bytes that a list of so many numbers takes at the most. */
export function roomForList(count: number): number {
  return LENGTH_BYTES + ARRAY_BYTES + count * (LENGTH_BYTES + INT8_BYTES);
}

export function roomForTexts(texts: readonly string[]): number {
  let room = LENGTH_BYTES + ARRAY_BYTES;
  for (const text of texts) room += LENGTH_BYTES + Buffer.byteLength(text);
  return room;
}

export const ROOM_FOR_NUMBER = LENGTH_BYTES + INT8_BYTES;

/**
 * A prepared statement with its values, all of them whole numbers and lists of numbers or texts, as it goes over the wire. The
 * driver would write it as text, in four messages, and ask for the description of an answer that is known (docs/adr/0007).
 */
export class BindMessage {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #at: number;

  constructor(statement: string, values: number, room: number) {
    this.#bytes = Buffer.allocUnsafe(FRAME_BYTES + statement.length + room + EXECUTE_AND_SYNC.length);
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
    this.#bytes[0] = 0x42;
    // The portal has no name.
    this.#bytes[5] = 0;
    this.#bytes.write(statement, 6, 'latin1');
    const at = 6 + statement.length;
    this.#bytes[at] = 0;
    // One format for all of them: binary.
    this.#view.setInt16(at + 1, 1);
    this.#view.setInt16(at + 3, 1);
    this.#view.setInt16(at + 5, values);
    this.#at = at + 7;
  }

  bool(value: boolean): void {
    this.#view.setInt32(this.#at, 1);
    this.#bytes[this.#at + LENGTH_BYTES] = value ? 1 : 0;
    this.#at += LENGTH_BYTES + 1;
  }

  int8(value: number | null): void {
    if (value === null) {
      this.#view.setInt32(this.#at, -1);
      this.#at += LENGTH_BYTES;
      return;
    }
    const high = Math.floor(value / TWO_TO_32);
    this.#view.setInt32(this.#at, INT8_BYTES);
    this.#view.setInt32(this.#at + LENGTH_BYTES, high);
    this.#view.setUint32(this.#at + LENGTH_BYTES + 4, value - high * TWO_TO_32);
    this.#at += LENGTH_BYTES + INT8_BYTES;
  }

  int8s(values: readonly (number | null)[]): void {
    const start = this.#beginList(values.length, INT8_TYPE);
    for (let i = 0; i < values.length; i++) this.int8(values[i] as number | null);
    this.#endList(start);
  }

  texts(texts: readonly string[]): void {
    const start = this.#beginList(texts.length, TEXT_TYPE);
    for (const text of texts) {
      const bytes = this.#bytes.write(text, this.#at + LENGTH_BYTES, 'utf8');
      this.#view.setInt32(this.#at, bytes);
      this.#at += LENGTH_BYTES + bytes;
    }
    this.#endList(start);
  }

  /** With what runs it. */
  end(): Buffer {
    // The answer as text.
    this.#view.setInt16(this.#at, 0);
    this.#view.setInt32(1, this.#at + 1);
    this.#bytes.set(EXECUTE_AND_SYNC, this.#at + 2);
    return this.#bytes.subarray(0, this.#at + 2 + EXECUTE_AND_SYNC.length);
  }

  #beginList(count: number, type: number): number {
    const start = this.#at;
    const view = this.#view;
    view.setInt32(start + 4, count === 0 ? 0 : 1);
    // There may be nulls.
    view.setInt32(start + 8, 1);
    view.setInt32(start + 12, type);
    this.#at = start + LENGTH_BYTES + EMPTY_ARRAY_BYTES;
    if (count === 0) return start;
    view.setInt32(start + 16, count);
    view.setInt32(start + 20, 1);
    this.#at = start + LENGTH_BYTES + ARRAY_BYTES;
    return start;
  }

  #endList(start: number): void {
    this.#view.setInt32(start, this.#at - start - LENGTH_BYTES);
  }
}
