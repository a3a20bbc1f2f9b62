const VERDICT_LINE = /^\((?:pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/;
const AFTER_VERDICT_LINE = /^ {2}\^ /;

/**
 * @typedef {ReturnType<typeof splitByTest>} SplitOutput
 * @typedef {{ file: string | undefined, title: string | undefined, lines: string[] }} Section
 */

/**
 * Bun prints `path:` before the tests of a file and a verdict such as `(fail) title [1.00ms]` after
 * what each test wrote, so the lines up to a verdict belong to that test.
 *
 * @param {string} output
 * @param {string[]} files
 */
export function splitByTest(output, files) {
  const sections = readSections(output, new Set(files));
  return {
    sections,
    /**
     * @param {string} file
     * @param {string} title
     */
    ofTest(file, title) {
      const section = sections.find((candidate) => candidate.file === file && candidate.title === title);
      return section && textOf(section);
    },
    /** @param {string} file */
    outsideTests(file) {
      return sections
        .filter((section) => section.file === file && section.title === undefined)
        .map(textOf)
        .join('\n')
        .trim();
    },
  };
}

/**
 * Where a process that ended early was, and what it printed there.
 *
 * @param {SplitOutput} output
 */
export function lastWordsOf({ sections }) {
  const last = sections.findLast((section) => textOf(section) !== '') ?? sections.at(-1);
  return { file: sections.at(-1)?.file, text: last ? textOf(last) : '' };
}

/**
 * @param {string} output
 * @param {Set<string>} files
 */
function readSections(output, files) {
  /** @type {Section[]} */
  const sections = [];
  /** @type {Section} */
  let current = { file: undefined, title: undefined, lines: [] };
  const startSection = (/** @type {string | undefined} */ file) => {
    sections.push(current);
    current = { file, title: undefined, lines: [] };
  };
  for (const line of output.split('\n')) {
    const verdict = VERDICT_LINE.exec(line);
    if (line.endsWith(':') && files.has(line.slice(0, -1))) startSection(line.slice(0, -1));
    else if (AFTER_VERDICT_LINE.test(line) && current.lines.length === 0) sections.at(-1)?.lines.push(line);
    else current.lines.push(line);
    if (verdict) {
      current.title = verdict[1];
      startSection(current.file);
    }
  }
  return [...sections, current];
}

/** @param {Section} section */
function textOf(section) {
  return section.lines.join('\n').trim();
}
