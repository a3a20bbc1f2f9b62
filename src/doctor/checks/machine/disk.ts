import { defineCheck, quoted } from '../../check.ts';

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
