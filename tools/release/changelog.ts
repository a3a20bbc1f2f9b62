import { Refused } from './refused.ts';

const UNRELEASED = '## Unreleased';

interface Section {
  /** Of the text, with its heading, up to the next section. */
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
}

function sectionOf(text: string, isHeading: (line: string) => boolean): Section | null {
  let start = 0;
  for (const line of text.split('\n')) {
    const bodyStart = start + line.length + 1;
    if (isHeading(line)) {
      const next = text.indexOf('\n## ', bodyStart - 1);
      return { start, bodyStart, end: next < 0 ? text.length : next + 1 };
    }
    start = bodyStart;
  }
  return null;
}

const isUnreleased = (line: string): boolean => line.trimEnd() === UNRELEASED;

/** What the next version changes. Throws when nothing stands there. */
export function unreleasedNotes(text: string): string {
  const section = sectionOf(text, isUnreleased);
  if (section === null) {
    throw new Refused(`CHANGELOG.md has no section "${UNRELEASED}". Add it above the newest version.`);
  }
  const notes = text.slice(section.bodyStart, section.end).replaceAll('\r\n', '\n').trim();
  // Headings alone tell nobody what has changed.
  if (notes.split('\n').every((line) => line.trim() === '' || line.startsWith('#'))) {
    throw new Refused(`The section "${UNRELEASED}" of CHANGELOG.md is empty. Write down what the release changes.`);
  }
  return notes;
}

/** The changelog in which the unreleased changes are those of this version. An empty section for the next ones stays above. */
export function released(text: string, version: string, date: string): string {
  unreleasedNotes(text);
  if (sectionOf(text, (line) => line.startsWith(`## ${version} `)) !== null) {
    throw new Refused(`CHANGELOG.md has a section of version ${version} already. Choose a newer version.`);
  }
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  return text
    .split('\n')
    .map((line) =>
      isUnreleased(line) ? `${UNRELEASED}${lineEnd}${lineEnd}## ${version} - ${date}${lineEnd.slice(0, -1)}` : line,
    )
    .join('\n');
}
