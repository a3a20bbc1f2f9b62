/** The files of an archive, by their paths with `/`. */
export type Files = ReadonlyMap<string, Uint8Array>;

/**
 * The same files give the same bytes, on every machine and at every time: lock files of users hold the digests of these archives. So times
 * and owners are fixed, and libdeflate compresses, whose result does not depend on the processor.
 */
const COMPRESSION = { library: 'libdeflate', level: 6 } as const;

const BLOCK = 512;
const MAX_NAME_BYTES = 100;

/** A tar file (POSIX.1-1988, ustar), compressed with gzip. */
export function tarGz(files: Files): Uint8Array<ArrayBuffer> {
  const parts = [...files].flatMap(([path, bytes]) => [
    header(path, bytes.length),
    bytes,
    new Uint8Array(padding(bytes.length)),
  ]);
  return Bun.gzipSync(joined([...parts, new Uint8Array(2 * BLOCK)]), COMPRESSION);
}

function padding(length: number): number {
  return (BLOCK - (length % BLOCK)) % BLOCK;
}

function header(path: string, size: number): Uint8Array {
  if (Buffer.byteLength(path) > MAX_NAME_BYTES) throw new Error(`the name ${path} is too long for an archive`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): unknown =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  block.write(path, 0);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  // The checksum is taken with blanks in its place.
  block.write('        0', 148, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** 1980-01-01, the first day that a zip file knows. */
const DOS_DATE = 0x21;
const IS_UTF8 = 0x800;
const DEFLATED = 8;
const MADE_ON_UNIX = 0x0314;

/** A zip file (PKWARE APPNOTE 6.3), for which no file may be as large as 4 GiB. */
export function zip(files: Files): Uint8Array<ArrayBuffer> {
  const local: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let offset = 0;
  for (const [path, bytes] of files) {
    const name = Buffer.from(path);
    const packed = Bun.deflateSync(Uint8Array.from(bytes), COMPRESSION);
    const common = Buffer.alloc(26);
    for (const [at, value] of [20, IS_UTF8, DEFLATED, 0, DOS_DATE].entries()) common.writeUInt16LE(value, 2 * at);
    for (const [at, value] of [Bun.hash.crc32(bytes), packed.length, bytes.length].entries())
      common.writeUInt32LE(value, 10 + 4 * at);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(MADE_ON_UNIX, 4);
    common.copy(entry, 6);
    // A regular file that everybody may read.
    entry.writeUInt32LE(0o100644 * 0x10000, 38);
    entry.writeUInt32LE(offset, 42);
    local.push(signed(0x04034b50), common, name, packed);
    central.push(entry, name);
    offset += 4 + common.length + name.length + packed.length;
  }
  const directory = joined(central);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.size, 8);
  end.writeUInt16LE(files.size, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return joined([...local, directory, end]);
}

function signed(signature: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(signature);
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.concat(parts));
}
