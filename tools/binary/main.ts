import { parseArgs } from 'node:util';

import { VERSION } from '../../src/version.ts';
import { makeBinary } from './makeBinary.ts';
import { sha256 } from './sha256.ts';
import { fileName, HERE, type Target, TARGETS } from './targets.ts';

const USAGE = `npm run binary -- [--target PLATFORM] [--out FILE]

Makes the program as one executable file, with the runtime and all files that it needs.

  --target PLATFORM  ${TARGETS.join(', ')}. Default: this machine. npm's registry
                     must be reachable for another one.
  --out FILE         default: dist/keystile-VERSION-PLATFORM
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { target: { type: 'string' }, out: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const target = TARGETS.find((each) => each === values.target) ?? null;
  if (values.target !== undefined && target === null) {
    console.error(`--target must be one of ${TARGETS.join(', ')}, got "${values.target}".`);
    return 2;
  }
  const out = values.out ?? `dist/${fileName(VERSION, target ?? HERE)}`;
  await makeBinary(out, target === null ? null : `bun-${target satisfies Target}`);
  console.log(`${await sha256(out)}  ${out}`);
  return 0;
}

process.exit(
  await main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }),
);
