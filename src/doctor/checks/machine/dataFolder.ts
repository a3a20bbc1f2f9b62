import { defineCheck, type Finding, quoted, some } from '../../check.ts';
import type { FolderEntry } from '../../facts.ts';

/** Users for whom the folder is not, and the bits of what they may do. */
interface Strangers {
  readonly name: string;
  readonly severity: 'problem' | 'advice';
  readonly enter: number;
  readonly write: number;
  readonly readOrWrite: number;
  /** What `chmod` takes from them. */
  readonly take: string;
}

const EVERYONE: Strangers = {
  name: 'Every user of this machine',
  severity: 'problem',
  enter: 0o001,
  write: 0o002,
  readOrWrite: 0o006,
  take: 'go-rwx',
};
/** A volume of a cluster may give its files to a group on purpose. */
const GROUP: Strangers = {
  name: 'The group of its files',
  severity: 'advice',
  enter: 0o010,
  write: 0o020,
  readOrWrite: 0o060,
  take: 'g-rwx',
};

export const dataFolder = defineCheck({
  name: 'data-folder',
  meaning: 'The data folder belongs to one user, who can write in it; others cannot read it.',
  severity: 'problem',
  needs: ['folder', 'config'],
  find({ folder, config: { data } }) {
    const [top, ...files] = folder ?? [];
    if (top === undefined)
      return {
        text: `There is no data folder ${data}.`,
        fix: 'Start the service, which makes it, or set KEYSTILE_DATA to the data folder of the service.',
        command: 'keystile serve',
      };
    return (
      ofOthers(data, top, files) ??
      inaccessible(data, [top, ...files]) ??
      open(data, top, files, EVERYONE) ??
      open(data, top, files, GROUP)
    );
  },
});

/** A command that was once run as another user, such as root, leaves files that the service cannot write. */
function ofOthers(data: string, top: FolderEntry, files: readonly FolderEntry[]): Finding | null {
  const found = files.filter(({ uid }) => uid !== top.uid);
  if (found.length === 0) return null;
  return {
    text: `These files in ${data} do not belong to the user of the folder (${top.uid}): ${some(namesOf(found))}. The service cannot write them.`,
    fix: 'Give them to the user of the folder, and run commands as that user.',
    command: `sudo chown -R ${top.uid} ${quoted(data)}`,
  };
}

function inaccessible(data: string, entries: readonly FolderEntry[]): Finding | null {
  const found = entries.filter(({ isAccessible }) => !isAccessible);
  if (found.length === 0) return null;
  return {
    text: `This user cannot read and write in ${data}: ${some(namesOf(found))}.`,
    fix: 'Run the service, and this command, as the user of the folder; that user needs to read and write it.',
    command:
      entries[0]?.isOwn === true ? `chmod -R u+rwX ${quoted(data)}` : `sudo -u '#${entries[0]?.uid}' keystile doctor`,
  };
}

function open(data: string, top: FolderEntry, files: readonly FolderEntry[], who: Strangers): Finding | null {
  const readable = files.filter(({ mode }) => (mode & who.readOrWrite) !== 0);
  const found = [
    ...((top.mode & who.write) === 0 ? [] : [top]),
    // Nobody reaches a file through a folder that only its user may enter.
    ...((top.mode & who.enter) === 0 ? [] : readable),
  ];
  if (found.length === 0) return null;
  return {
    severity: who.severity,
    text: `${who.name} can read or change ${data}: ${some(namesOf(found))}.`,
    fix: 'Take the permissions from them. The service makes its files for its own user alone.',
    command: `chmod -R ${who.take} ${quoted(data)}`,
  };
}

function namesOf(entries: readonly FolderEntry[]): string[] {
  return entries.map(({ name, mode }) => `${name === '.' ? 'the folder' : name} (mode ${mode.toString(8)})`);
}
