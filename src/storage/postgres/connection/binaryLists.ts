const INT8_BYTES = 8;
/** The type of the elements. */
const INT8_TYPE = 20;
const TEXT_TYPE = 25;
const TWO_TO_32 = 2 ** 32;
/** Before each element: how many bytes it has. */
const LENGTH_BYTES = 4;
/** Dimensions, whether there are nulls, the type; then for one dimension its length and the number of its first element. */
const EMPTY_LIST_BYTES = 12;
const LIST_BYTES = 20;

/**
 * A list of whole numbers (`bigint[]`) in the binary format of the server. The driver sends a Buffer as it is. Its own way would be
 * to write each number as text, which the server then reads.
 */
export function int8List(values: readonly (number | null)[]): Buffer {
  const count = values.length;
  const bytes = Buffer.allocUnsafe(count === 0 ? EMPTY_LIST_BYTES : LIST_BYTES + count * (LENGTH_BYTES + INT8_BYTES));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  view.setInt32(0, count === 0 ? 0 : 1);
  // There may be nulls.
  view.setInt32(4, 1);
  view.setInt32(8, INT8_TYPE);
  if (count === 0) return bytes;
  view.setInt32(12, count);
  view.setInt32(16, 1);
  let at = LIST_BYTES;
  for (let i = 0; i < count; i++) {
    const value = values[i] as number | null;
    if (value === null) {
      view.setInt32(at, -1);
      at += LENGTH_BYTES;
      continue;
    }
    const high = Math.floor(value / TWO_TO_32);
    view.setInt32(at, INT8_BYTES);
    view.setInt32(at + LENGTH_BYTES, high);
    view.setUint32(at + LENGTH_BYTES + 4, value - high * TWO_TO_32);
    at += LENGTH_BYTES + INT8_BYTES;
  }
  return bytes.subarray(0, at);
}

/** A list of texts (`text[]`) in the same format. */
export function textList(texts: readonly string[]): Buffer {
  if (texts.length === 0) return EMPTY_TEXTS;
  let size = LIST_BYTES;
  for (const text of texts) size += LENGTH_BYTES + Buffer.byteLength(text);
  const bytes = Buffer.alloc(size);
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(TEXT_TYPE, 8);
  bytes.writeInt32BE(texts.length, 12);
  bytes.writeInt32BE(1, 16);
  let at = LIST_BYTES;
  for (const text of texts) {
    const length = bytes.write(text, at + LENGTH_BYTES, 'utf8');
    bytes.writeInt32BE(length, at);
    at += LENGTH_BYTES + length;
  }
  return bytes;
}

const EMPTY_TEXTS = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, TEXT_TYPE]);
