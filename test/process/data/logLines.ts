/** The lines of a JSON log whose message matches, without time and level. */
export function linesAbout(log: string, about: RegExp): unknown[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { time?: string; level?: string; message: string })
    .filter(({ message }) => about.test(message))
    .map(({ time: _time, level: _level, ...rest }) => rest);
}
