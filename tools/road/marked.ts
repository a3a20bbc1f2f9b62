import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { parseSync, Visitor } from 'oxc-parser';

/** A copy of the program in which every function of `src` marks its file in a table that processes and threads share. */
export interface MarkedProgram {
  readonly command: readonly string[];
  /** The files of `src`: the number of each is its place in the table. */
  readonly files: readonly string[];
  readonly table: Uint8Array;
}

const PROJECT = join(import.meta.dir, '../..');

export async function makeMarkedProgram(folder: string): Promise<MarkedProgram> {
  const files = (await readdir(join(PROJECT, 'src'), { recursive: true }))
    .filter((path) => path.endsWith('.ts'))
    .sort();
  const tablePath = join(folder, 'table');
  await mkdir(folder, { recursive: true });
  await writeFile(tablePath, new Uint8Array(files.length));
  for (const name of ['node_modules', 'package.json', 'web', 'sdk', 'docs', 'clients', 'bunfig.toml'])
    await symlink(join(PROJECT, name), join(folder, name));
  await cp(join(PROJECT, 'src'), join(folder, 'src'), { recursive: true });
  for (const [number, path] of files.entries()) {
    const text = await readFile(join(PROJECT, 'src', path), 'utf8');
    await writeFile(join(folder, 'src', path), marked(text, { path, number, tablePath }));
  }
  return {
    command: [process.execPath, join(folder, 'src/main.ts'), 'serve'],
    files,
    table: Bun.mmap(tablePath, { shared: true }),
  };
}

interface Mark {
  readonly path: string;
  readonly number: number;
  readonly tablePath: string;
}

interface Body {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** The source, with a mark at the start of every function. */
function marked(text: string, { path, number, tablePath }: Mark): string {
  const inserts: { readonly at: number; readonly text: string }[] = [];
  const mark = `__road[${number}] = 1`;
  const enter = ({ body }: { readonly body: Body | null }): void => {
    if (body === null) return;
    if (body.type === 'BlockStatement' || body.type === 'FunctionBody')
      inserts.push({ at: body.start + 1, text: ` ${mark};` });
    else inserts.push({ at: body.start, text: `(${mark}, ` }, { at: body.end, text: ')' });
  };
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  new Visitor({ FunctionDeclaration: enter, FunctionExpression: enter, ArrowFunctionExpression: enter }).visit(program);
  let result = '';
  let from = 0;
  for (const insert of inserts.sort((a, b) => a.at - b.at)) {
    result += text.slice(from, insert.at) + insert.text;
    from = insert.at;
  }
  const table = `const __road: Uint8Array = ((globalThis as { __road?: Uint8Array }).__road ??= Bun.mmap(${JSON.stringify(tablePath)}, { shared: true }));`;
  return `${table}\n${result}${text.slice(from)}\n`;
}
