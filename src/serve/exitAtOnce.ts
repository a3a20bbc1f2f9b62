import { dlopen, FFIType } from 'bun:ffi';

/** Names of the C library on the supported systems: glibc, musl, macOS. */
const C_LIBRARIES = ['libc.so.6', 'libc.so', 'libSystem.B.dylib'];

/**
 * Ends the process without any clean-up. `process.exit` closes the database, and closing it makes SQLite flush again. After
 * a failed flush the kernel may have dropped the pages, so a second flush would wrongly report success.
 */
export function exitAtOnce(code: number): never {
  for (const library of C_LIBRARIES) {
    try {
      dlopen(library, { _exit: { args: [FFIType.i32], returns: FFIType.void } }).symbols['_exit'](code);
    } catch {
      // This system has no library of that name.
    }
  }
  process.exit(code);
}
