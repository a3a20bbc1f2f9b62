import { endpointTable } from './endpointTable.ts';
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

// The formatter of the project gives them their form.
const FORMATTED = {
  'sdk/src/generated/api.ts': sdkTypes(),
  'src/cli/endpoint/endpoints.json': JSON.stringify(endpointTable()),
};
for (const [path, text] of Object.entries(FORMATTED)) await Bun.write(path, text);
await Bun.spawn([process.execPath, 'node_modules/oxfmt/bin/oxfmt', ...Object.keys(FORMATTED)], { stdout: 'ignore' })
  .exited;
