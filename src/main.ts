import { runCli } from './cli/cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
  readStdin: () => Bun.stdin.text(),
});
// Nothing may keep the process alive once its work is done.
process.exit();
