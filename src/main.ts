import { runCli } from './cli/cli.ts';
import { askLine, askSecret } from './cli/prompt.ts';
import { EXIT, exitAtOnce } from './serve/exit.ts';

/** Writes in order. `written` settles when the last text is written, which takes time on a pipe. */
function writer(stream: NodeJS.WriteStream): { write(text: string): void; written: Promise<void> } {
  // A reader that stops early (`| head -1`) must not end the process.
  stream.on('error', () => {});
  const self = {
    written: Promise.resolve(),
    write(text: string) {
      self.written = new Promise((done) => stream.write(text, () => done()));
    },
  };
  return self;
}

/**
 * What the settings are read from. The libraries of OpenTelemetry read variables beside what they are given: they would send headers that are
 * meant for another collector, so they do not find them.
 */
function takeEnvironment(): Record<string, string | undefined> {
  const taken = { ...process.env };
  for (const name of Object.keys(taken)) if (name.startsWith('OTEL_EXPORTER_OTLP_')) delete process.env[name];
  return taken;
}

async function main(): Promise<void> {
  const [out, err] = [writer(process.stdout), writer(process.stderr)];
  const exitCode = await runCli(process.argv.slice(2), {
    environment: takeEnvironment(),
    out: (text) => out.write(text),
    writeOut: (bytes) =>
      new Promise((done, failed) => process.stdout.write(bytes, (error) => (error ? failed(error) : done()))),
    err: (text) => err.write(text),
    isTerminal: process.stderr.isTTY,
    showsSecrets: process.stdout.isTTY,
    readStdin: () => Bun.stdin.text(),
    streamStdin: () => Bun.stdin.stream(),
    askSecret: process.stdin.isTTY ? askSecret : null,
    ask: process.stdin.isTTY ? askLine : null,
  });
  await Promise.all([out.written, err.written]);
  if (exitCode === EXIT.DISK_FAILED) exitAtOnce(exitCode);
  // No open handle may keep the process alive after its work is done.
  process.exit(exitCode);
}

void main();
