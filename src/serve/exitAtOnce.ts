import { dlopen, FFIType } from 'bun:ffi';

/** Where the C library is on the systems that we run on: glibc, musl, macOS. */
const C_LIBRARIES = ['libc.so.6', 'libc.so', 'libSystem.B.dylib'];

/**
 * Ends the process with nothing done on the way out. `process.exit` closes the database, and closing it makes SQLite flush
 * once more: after a failed flush the kernel may have dropped the pages, and a second one would report success.
 */
export function exitAtOnce(code: number): never {
  for (const library of C_LIBRARIES) {
    try {
      dlopen(library, { _exit: { args: [FFIType.i32], returns: FFIType.void } }).symbols['_exit'](code);
    } catch {
      // Not this system's.
    }
  }
  process.exit(code);
}
