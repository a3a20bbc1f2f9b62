import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

import manifest from '../../node_modules/@sparticuz/chromium/package.json';

const CACHE = join(import.meta.dir, '../../node_modules/.cache');
const UNPACKED = join(CACHE, `keystile-chromium-${manifest.version}`);

/** The package's own file looks for the fonts in /tmp. Without any font the browser ends at the first page. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(UNPACKED, 'fonts')}</dir>
  <cachedir>${join(UNPACKED, 'fonts-cache')}</cachedir>
</fontconfig>
`;

/**
 * The browser that npm installs, which is for Linux on x64. Other machines use their own Chrome. Nothing of what makes a browser safe for
 * pages is switched off but its sandbox, which needs more rights than a container has.
 */
export async function launchBrowser(): Promise<Browser> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return chromium.launch({ channel: 'chrome' });
  if (!existsSync(UNPACKED)) await unpack();
  return chromium.launch({
    executablePath: join(UNPACKED, 'chromium'),
    args: ['--no-sandbox', '--no-zygote', '--headless=shell'],
    env: {
      ...(process.env as Record<string, string>),
      LD_LIBRARY_PATH: join(UNPACKED, 'al2023/lib'),
      FONTCONFIG_FILE: join(UNPACKED, 'fonts.conf'),
    },
  });
}

/** Once, in a process of its own: the package looks at variables of the environment. A run that is cut short leaves nothing behind. */
async function unpack(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'unpacking-'));
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'unpackChromium.ts')], {
    // The package unpacks the libraries that a bare machine lacks only where it finds the runtime of AWS Lambda.
    env: { ...process.env, TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' },
    stderr: 'inherit',
  });
  if ((await child.exited) !== 0) throw new Error('Chromium could not be unpacked.');
  writeFileSync(join(folder, 'fonts.conf'), FONTS);
  if (!existsSync(UNPACKED)) renameSync(folder, UNPACKED);
}
