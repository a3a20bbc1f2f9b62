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

const [POINTER_AT, HEAD_BYTES, INSTRUCTION_BYTES] = [8, 16, 8];

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
  // How many instructions there are, where they are, and then the instructions themselves.
  const program = Buffer.alloc(HEAD_BYTES + INSTRUCTION_BYTES * WITHOUT_SYN.length);
  program.writeUInt16LE(WITHOUT_SYN.length);
  program.writeBigUInt64LE(BigInt(ptr(program, HEAD_BYTES)), POINTER_AT);
  for (const [i, [code, ifSo, ifNot, number]] of WITHOUT_SYN.entries()) {
    const at = HEAD_BYTES + INSTRUCTION_BYTES * i;
    program.writeUInt16LE(code, at);
    program.set([ifSo, ifNot], at + 2);
    program.writeUInt32LE(number, at + 4);
  }
  return library.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, program, HEAD_BYTES) === 0;
}
