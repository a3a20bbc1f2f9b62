import { readdirSync } from 'node:fs';

import { fromProjectRoot } from '../launch/project.mjs';
import { missingCurl, missingForGo, missingForPython, missingNginx } from './missing.mjs';
import { nodeTests } from './run.mjs';

/** What an example needs besides Node and npm. */
const MISSING = { curl: missingCurl, fastapi: missingForPython, go: missingForGo, nginx: missingNginx };

/** Every folder of examples/ is run as its README says. The last steps take what a service hands out. */
export const EXAMPLE_STEPS = [
  ...readdirSync(fromProjectRoot('examples')).map((name) => ({
    title: `Example: ${name}`,
    ...(name in MISSING ? { missing: MISSING[name] } : {}),
    run: () => nodeTests([`tools/examples/${name}.test.mjs`]),
  })),
  {
    title: 'clients/go/README.md from an empty folder',
    missing: missingForGo,
    run: () => nodeTests(['tools/examples/goReadme.test.mjs']),
  },
  {
    title: 'docs/protect-a-route.md from an empty folder',
    missing: missingCurl,
    run: () => nodeTests(['tools/examples/protectARoute.test.mjs']),
  },
];
