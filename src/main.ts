import { runCli } from './cli/cli.ts';
import { askSecret } from './cli/prompt.ts';

// A reader that has seen enough (`| head -1`) is no error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit());

const exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  readStdin: () => Bun.stdin.text(),
  askSecret: process.stdin.isTTY === true ? askSecret : null,
});
// A pipe takes its time: what was written must be out before the process goes.
for (const stream of [process.stdout, process.stderr]) await new Promise((done) => stream.write('', done));
// Nothing may keep the process alive once its work is done.
process.exit(exitCode);
