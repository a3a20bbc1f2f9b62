import { dlopen, type FFIFunction } from 'bun:ffi';

/** Names of the C library on the supported systems: glibc, musl, macOS. */
const C_LIBRARIES = ['libc.so.6', 'libc.so', 'libSystem.B.dylib'];

/** These functions of the C library; null where there is none of these names. */
export function openCLibrary<const Fns extends Record<string, FFIFunction>>(functions: Fns) {
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, functions).symbols;
    } catch {
      // This system has no library of that name.
    }
  }
  return null;
}
