import { DRAWN, GENERATED, regenerate } from './generatedDocs.ts';

for (const [path, make] of Object.entries(GENERATED)) {
  const file = Bun.file(path);
  await Bun.write(file, regenerate(await file.text(), make()));
}
for (const [path, make] of Object.entries(DRAWN)) await Bun.write(path, make());
