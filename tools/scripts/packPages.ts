import { buildPages } from '../../src/http/web/build.ts';
import { digestOfSources, keep } from '../../src/http/web/keptBuild.ts';
import { PROGRAM_FILES } from '../../src/programFiles.ts';

/** Builds the dashboard into the package, so that an installed service builds nothing. `npm pack` runs it. */
await keep(PROGRAM_FILES.packedPages, await digestOfSources(), await buildPages());
