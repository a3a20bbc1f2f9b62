import type { Io } from '../../../src/cli/io.ts';
import { exportData } from '../../../src/cli/move/exportData.ts';
import { readConfig } from '../../../src/config/read.ts';

/** A move to a pipe that is closed when `closes` says so of what is written. */
export async function failingMove(
  environment: Readonly<Record<string, string>>,
  closes: (text: string) => Promise<boolean>,
): Promise<{ readonly failure: string; readonly shown: readonly string[] }> {
  const { config } = readConfig({ environment, flags: {}, readFile: () => '' });
  if (config === null) throw new Error('no configuration');
  const shown: string[] = [];
  const writeOut = async (bytes: Uint8Array): Promise<void> => {
    if (await closes(Buffer.from(bytes).toString())) throw Object.assign(new Error(), { code: 'EPIPE' });
  };
  const io = { err: (text: string) => void shown.push(text), isTerminal: false, writeOut } as unknown as Io;
  const failure = await exportData(io, { config, file: null, replaces: false, moves: true }).then(
    () => 'none',
    (error: unknown) => (error as Error).message,
  );
  return { failure, shown };
}
