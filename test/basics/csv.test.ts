import { expect, test } from 'bun:test';

import { csvLine } from '../../src/basics/csv.ts';

const SIGNS = ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20'];
/** What separates cells, in spreadsheets of one language or another, beside the comma. */
const SEPARATORS = [';', '\t', '|', '\r\n', '\n'];

/** The cells of a line as a program reads them that splits at every separator, in quotes or not, and leaves quotes and blanks out. */
const cellsOf = (line: string): string[] =>
  line
    .replace(/\r\n$/, '')
    .split(/[;|\t\r\n]/)
    .map((cell) => cell.replace(/^[ "]+/, ''));

test('no cell begins a formula, wherever a spreadsheet splits the line', () => {
  for (const sign of SIGNS) {
    for (const separator of SEPARATORS) {
      for (const before of ['', ' ', '"', ' "" ']) {
        const id = `a${separator}${before}${sign}1+1${separator}${sign}2`;
        for (const cell of cellsOf(csvLine([id]))) expect([id, cell.startsWith(sign)]).toEqual([id, false]);
      }
    }
    expect(csvLine([`${sign}1`])).toBe(`'${sign}1\r\n`);
    for (const leftOut of ['\t', '\r', '\n']) expect(csvLine([`${leftOut}a`])).toMatch(/^"?'/);
  }
});

test('a text stays as it is where it begins no formula', () => {
  for (const text of ['user-1', 'a=b', '1+1', 'ann@example.com', 'a;b', "it's", 'x | y', 'a - b']) {
    expect(csvLine([text])).toBe(`${text}\r\n`);
  }
  expect(csvLine(['a,-b', -5, 'say "hi"'])).toBe('"a,-b",-5,"say ""hi"""\r\n');
});
