import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Takes the viewer of /docs from npm: `npm run docs -- viewer VERSION`. Only its one file for browsers is kept, compressed. Its package
 * would install some 300 others, which it needs for other uses.
 */

const PACKAGE = '@scalar/api-reference';
const TARGET = 'src/http/docs/viewer';

export async function takeViewer(version: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-viewer-'));
  try {
    const [packed] = JSON.parse(await run(['npm', 'pack', '--json', `${PACKAGE}@${version}`], folder)) as {
      filename: string;
      integrity: string;
    }[];
    if (packed === undefined) throw new Error(`npm has no ${PACKAGE}@${version}`);
    const member = 'package/dist/browser/standalone.js';
    await run(['tar', '-xzf', packed.filename, member], folder);
    const script = await Bun.file(join(folder, member)).bytes();
    const sha256 = new Bun.CryptoHasher('sha256').update(script).digest('hex');
    await Bun.write(join(TARGET, 'scalar.js.gz'), Bun.gzipSync(script, { level: 9 }));
    const origin = { package: PACKAGE, version, integrity: packed.integrity, file: member, sha256 };
    await Bun.write(join(TARGET, 'scalar.json'), `${JSON.stringify(origin, null, 2)}\n`);
    console.log(`${PACKAGE} ${version}: ${script.length} bytes`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(command: string[], cwd: string): Promise<string> {
  const child = Bun.spawn(command, { cwd, stderr: 'inherit' });
  const output = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`);
  return output;
}
