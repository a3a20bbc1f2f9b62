import { describe, expect, test } from 'bun:test';

import { Log, type LogLevel } from '../../src/log.ts';

function logTo(format: 'text' | 'json', level: LogLevel = 'debug'): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const nowMs = () => Date.parse('2026-03-15T12:00:00Z');
  return { log: new Log({ level, format, nowMs, write: (line) => lines.push(line) }), lines };
}

const FORGERIES = [
  'a\r\n2026-03-15T12:00:00.000Z info  forged',
  'a\nb',
  'a\u2028b\u2029c',
  '\u001b[2J\u001b[31mred',
  '\u009b31mred',
  'a\u0007\u0008\u007f\u0000',
  'a" level=error x="',
  '\ud800',
  'name=value level=error',
];

/** Breaks a line or steers a terminal. */
// oxlint-disable-next-line no-control-regex -- these are the characters that must not get through
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

describe('log', () => {
  test.each(['text', 'json'] as const)('%s: no value can begin a new line or steer a terminal', (format) => {
    const { log, lines } = logTo(format);
    for (const value of FORGERIES) log.info('a message', { value });
    expect(lines.length).toBe(FORGERIES.length);
    expect(lines.filter((line) => UNSAFE.test(line))).toEqual([]);
  });

  test('text: no value can be taken for another field', () => {
    const { log, lines } = logTo('text');
    for (const value of FORGERIES) log.info('a message', { value, last: 1 });
    for (const line of lines) {
      expect(line).toMatch(/^2026-03-15T12:00:00\.000Z info {2}a message value="(?:[^"\\]|\\.)*" last=1$/);
    }
  });

  test('json: a line is one object, and the values come back as they were', () => {
    const { log, lines } = logTo('json');
    for (const value of FORGERIES) log.warn('a message', { value, n: 1, is: true, none: null });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      FORGERIES.map((value) => ({
        time: '2026-03-15T12:00:00.000Z',
        level: 'warn',
        message: 'a message',
        value,
        n: 1,
        is: true,
        none: null,
      })),
    );
  });

  test('text: plain words stand as they are, everything else in quotes', () => {
    const { log, lines } = logTo('text');
    log.error('stopped', {
      code: 'EIO',
      file: '/data/keystile.db',
      n: -1.5,
      is: false,
      none: null,
      name: 'two words',
      empty: '',
    });
    expect(lines).toEqual([
      '2026-03-15T12:00:00.000Z error stopped code=EIO file=/data/keystile.db n=-1.5 is=false none=null name="two words" empty=""',
    ]);
  });

  test('what is less important than the level is not written', () => {
    const levels = ['debug', 'info', 'warn', 'error'] as const;
    for (const [i, level] of levels.entries()) {
      const { log, lines } = logTo('json', level);
      for (const each of levels) log[each]('message');
      expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(levels.slice(i));
    }
  });
});
