import { sdkTypes } from './sdkTypes.ts';
import { takeViewer } from './viewer.ts';
import { DRAWN, GENERATED, regenerate } from './generatedDocs.ts';

const [what, version] = process.argv.slice(2);
if (what === 'viewer' && version !== undefined) await takeViewer(version);

for (const [path, make] of Object.entries(GENERATED)) {
  const file = Bun.file(path);
  await Bun.write(file, regenerate(await file.text(), make()));
}
for (const [path, make] of Object.entries(DRAWN)) await Bun.write(path, make());

// The formatter of the project gives it its form.
await Bun.write('sdk/src/generated/api.ts', sdkTypes());
await Bun.spawn([process.execPath, 'node_modules/oxfmt/bin/oxfmt', 'sdk/src/generated/api.ts'], { stdout: 'ignore' })
  .exited;
