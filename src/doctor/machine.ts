import { defineCheck, type Finding, lasting, quoted, some } from './check.ts';
import type { FolderEntry } from './facts.ts';

export const configuration = defineCheck({
  name: 'configuration',
  meaning: 'Every setting is known and has a valid value, and none was removed.',
  severity: 'problem',
  needs: ['settingProblems', 'removedSettings'],
  find({ settingProblems, removedSettings }) {
    const command = 'keystile serve --show-config';
    if (settingProblems.length > 0) {
      return {
        text: settingProblems.join(' '),
        fix: 'Correct the settings; docs/configuration.md lists them. The service does not start until they are right.',
        command,
      };
    }
    if (removedSettings.length === 0) return null;
    return {
      severity: 'advice',
      text: removedSettings.join(' '),
      fix: 'Remove them where they are set. The service runs without them.',
      command,
    };
  },
});

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
        fix: 'Start the service, which creates it, or set KEYSTILE_DATA to the data folder of the service.',
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
    fix: 'Remove these permissions. The service creates its files for its own user only.',
    command: `chmod -R ${who.take} ${quoted(data)}`,
  };
}

function namesOf(entries: readonly FolderEntry[]): string[] {
  return entries.map(({ name, mode }) => `${name === '.' ? 'the folder' : name} (mode ${mode.toString(8)})`);
}

const MIB = 2 ** 20;
const LOW_BYTES = 512 * MIB;
const LOW_PART = 0.05;

export const disk = defineCheck({
  name: 'disk',
  meaning: 'The disk of the data folder has space.',
  severity: 'problem',
  needs: ['disk', 'config'],
  find({ disk: { freeBytes, totalBytes }, config }) {
    // Of a small disk a part, of a large one a number of bytes that a busy day does not fill.
    if (freeBytes >= Math.min(LOW_BYTES, totalBytes * LOW_PART)) return null;
    return {
      text: `The disk of ${config.data} is nearly full: ${Math.floor(freeBytes / MIB)} MiB of ${Math.floor(totalBytes / MIB)} MiB are free. When it is full, every spend is answered 503.`,
      fix: 'Make space or enlarge the disk. KEYSTILE_ANALYTICS_DAYS and KEYSTILE_EVENT_RETENTION decide how long old counts and events are kept.',
      command: `du -ah ${quoted(config.data)} | sort -h | tail`,
    };
  },
});

const WRONG_BY_MS = 1_000;

export const machineClock = defineCheck({
  name: 'machine-clock',
  meaning: 'The clock of this machine agrees with the database.',
  severity: 'problem',
  needs: ['machineClockMs'],
  find({ machineClockMs }) {
    if (Math.abs(machineClockMs) <= WRONG_BY_MS) return null;
    return {
      text: `The clock of this machine is ${lasting(Math.abs(machineClockMs))} ${machineClockMs > 0 ? 'behind' : 'ahead of'} the database.`,
      fix: 'Let NTP set the clock. Expiry, windows and refills of the embedded database follow it; on PostgreSQL, the log and the metrics do.',
      command: 'sudo timedatectl set-ntp true',
    };
  },
});

export const metricsPort = defineCheck({
  name: 'metrics-port',
  meaning: 'The port of the metrics is free, or held by the service itself.',
  severity: 'advice',
  needs: ['metricsPort'],
  find({ metricsPort: { port, state, reason, free } }) {
    if (state === 'free' || state === 'ours') return null;
    return {
      text: `The metrics cannot listen on port ${port} (${reason}): the service runs without metrics.`,
      fix: 'Set KEYSTILE_METRICS_PORT to a free port.',
      command: `KEYSTILE_METRICS_PORT=${free} keystile serve`,
    };
  },
});

export const openFiles = defineCheck({
  name: 'open-files',
  meaning: 'The limit of open files allows KEYSTILE_MAX_CONNECTIONS.',
  severity: 'advice',
  needs: ['openFiles', 'config'],
  find({ openFiles: { limit, fitting, needed }, config: { maxConnections } }) {
    if (limit === null || fitting >= maxConnections) return null;
    const effect = fitting === 0 ? 'the service does not start' : `${fitting} connections are accepted`;
    return {
      ...(fitting === 0 ? { severity: 'problem' } : {}),
      text: `The limit of open files is ${limit}, and KEYSTILE_MAX_CONNECTIONS=${maxConnections} needs ${needed}: ${effect}.`,
      fix: `Raise the limit with ulimit -n, with LimitNOFILE=${needed} under systemd or with --ulimit nofile=${needed} of a container, or lower KEYSTILE_MAX_CONNECTIONS.`,
      command: `ulimit -n ${needed}`,
    };
  },
});

export const port = defineCheck({
  name: 'port',
  meaning: 'The port of the service is free, or held by the service itself.',
  severity: 'problem',
  needs: ['port', 'config'],
  find({ port: { port: number, state, reason, free }, config }) {
    if (state === 'free' || state === 'ours') return null;
    if (state === 'taken')
      return {
        text: `Port ${number} is in use by another program (${reason}).`,
        fix: 'Stop that program, or set KEYSTILE_PORT to a free port.',
        command: `KEYSTILE_PORT=${free} keystile serve`,
      };
    return {
      text: `This user cannot listen on ${config.host}:${number} (${reason}).`,
      fix: 'Set KEYSTILE_HOST to an address of this machine, and KEYSTILE_PORT to 1024 or above.',
      command: 'KEYSTILE_HOST=127.0.0.1 KEYSTILE_PORT=7878 keystile serve',
    };
  },
});
