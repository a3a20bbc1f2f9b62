import { rm } from 'node:fs/promises';

import { sdkFiles } from '../../src/http/clientPackages.ts';
import { PROGRAM_FILES } from '../../src/programFiles.ts';

/** Writes sdk/dist, which the package contains: JavaScript and types, file by file. */
const dist = new URL('dist/', PROGRAM_FILES.sdkPackage);
await rm(dist, { recursive: true, force: true });
for (const [path, bytes] of await sdkFiles())
  if (path.startsWith('dist/')) await Bun.write(new URL(path, PROGRAM_FILES.sdkPackage), bytes);
