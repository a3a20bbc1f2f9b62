const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f'];

/** What a process ends with when SIGINT ends it (128 + 2). */
const INTERRUPTED = 130;

/** Asks on standard error, so that the answer of the command can be piped, and reads a line that is not shown. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  // Before the question: who answers at once must not be shown either.
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stderr.write(question);
  try {
    return await readLine(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

/** The terminal edits nothing in raw mode, so the few keys that matter are seen to here. */
function readLine(stdin: NodeJS.ReadStream): Promise<string> {
  const line = Promise.withResolvers<string>();
  let typed = '';
  const onText = (text: string): void => {
    for (const character of text) {
      if (character === '\r' || character === '\n' || character === CTRL_D) return line.resolve(typed);
      if (character === CTRL_C) {
        stdin.setRawMode(false);
        process.exit(INTERRUPTED);
      }
      typed = character === BACKSPACE || character === DELETE ? typed.slice(0, -1) : typed + character;
    }
  };
  stdin.on('data', onText);
  return line.promise.finally(() => stdin.off('data', onText));
}
