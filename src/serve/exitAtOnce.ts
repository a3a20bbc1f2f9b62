import { FFIType } from 'bun:ffi';

import { openCLibrary } from './cLibrary.ts';

/**
 * Ends the process without any clean-up. `process.exit` closes the database, and closing it makes SQLite flush again. After
 * a failed flush the kernel may have dropped the pages, so a second flush would wrongly report success.
 */
export function exitAtOnce(code: number): never {
  openCLibrary({ _exit: { args: [FFIType.i32], returns: FFIType.void } })?.['_exit'](code);
  process.exit(code);
}
