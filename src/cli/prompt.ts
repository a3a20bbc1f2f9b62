const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f'];

/** The exit code of a process that SIGINT ends (128 + 2). */
const INTERRUPTED = 130;

/** Asks on standard error, so that the result of the command can be piped, and reads a line without showing it. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  // Raw mode starts before the question, so that a quick answer is not shown either.
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

/** Asks on standard error and reads a line. The terminal shows what is typed. Ctrl-D is an empty answer. */
export async function askLine(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stdin.setEncoding('utf8');
  stderr.write(question);
  const line = Promise.withResolvers<string>();
  const onText = (text: string): void => line.resolve(text.replace(/[\r\n]+$/, ''));
  const onEnd = (): void => line.resolve('');
  stdin.once('data', onText).once('end', onEnd);
  // An earlier question has paused it.
  stdin.resume();
  try {
    return await line.promise;
  } finally {
    stdin.off('data', onText).off('end', onEnd);
    stdin.pause();
  }
}

/** In raw mode the terminal does not handle editing keys, so this function handles those that matter. */
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
  // An earlier question has paused it.
  stdin.resume();
  return line.promise.finally(() => stdin.off('data', onText));
}
