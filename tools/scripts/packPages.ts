import { packClients } from '../../src/http/clientPackages.ts';
import { buildPages, digestOfSources, keep } from '../../src/http/webPages.ts';
import { PROGRAM_FILES } from '../../src/programFiles.ts';

/** Builds the dashboard and the packages of the clients into the package, so that an installed service builds nothing. `npm pack` runs it. */
await keep(PROGRAM_FILES.packedPages, await digestOfSources(), await buildPages());
await packClients();
