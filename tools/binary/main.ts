import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { parseArgs } from 'node:util';

import { VERSION } from '../../src/version.ts';
import { makeBinary } from './makeBinary.ts';

const TARGETS = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'windows-x64',
] as const;
type Target = (typeof TARGETS)[number];

const USAGE = `npm run binary -- [--target PLATFORM] [--out FILE]

Makes the program as one executable file, with the runtime and all files that it needs.

  --target PLATFORM  ${TARGETS.join(', ')}. Default: this machine. npm's registry
                     must be reachable for another one.
  --out FILE         default: dist/keystile-VERSION-PLATFORM
`;

const here = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

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
  const out =
    values.out ?? `dist/keystile-${VERSION}-${target ?? here}${(target ?? here).startsWith('windows') ? '.exe' : ''}`;
  await makeBinary(out, target === null ? null : `bun-${target satisfies Target}`);
  console.log(`${await sha256(out)}  ${out}`);
  return 0;
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer);
  return hash.digest('hex');
}

process.exit(
  await main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }),
);
