import { FFIType, ptr } from 'bun:ffi';

import { openCLibrary } from './cLibrary.ts';

/** Of Linux. */
const [SOL_SOCKET, SO_ATTACH_FILTER] = [1, 26];

/** Instructions of a packet filter, which reads a packet from its TCP header on: code, two jumps, a number. */
const WITHOUT_SYN: readonly (readonly [code: number, ifSo: number, ifNot: number, number: number])[] = [
  // The flags.
  [0x30, 0, 0, 13],
  // SYN is one of them: the next instruction, otherwise the one behind it.
  [0x45, 0, 1, 0x02],
  // Nothing of the packet is kept.
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xffff_ffff],
];

/**
 * From now on the system drops packets that ask this listener for a connection. Connections that are made already can still be taken: closing the
 * listener would reset those that wait, with the requests in them. Whoever asks meanwhile asks again after a second, and is refused then.
 *
 * False: this system cannot do that.
 */
export function ignoreNewcomers(descriptor: number): boolean {
  if (process.platform !== 'linux' || descriptor < 0) return false;
  const { i32, u32, ptr: pointer } = FFIType;
  const library = openCLibrary({ setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } });
  if (library === null) return false;
  const instructions = Buffer.concat(
    WITHOUT_SYN.map(([code, ifSo, ifNot, number]) => {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt16LE(code);
      bytes.set([ifSo, ifNot], 2);
      bytes.writeUInt32LE(number, 4);
      return bytes;
    }),
  );
  // How many there are, then where they are.
  const program = Buffer.alloc(16);
  program.writeUInt16LE(WITHOUT_SYN.length);
  program.writeBigUInt64LE(BigInt(ptr(instructions)), 8);
  return library.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), program.length) === 0;
}
