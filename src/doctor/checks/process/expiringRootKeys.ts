import { defineCheck, lasting, some } from '../../check.ts';

/** Time enough to give a program another root key; and how long one that has ended is still told of. */
const SOON_MS = 7 * 24 * 3_600_000;

export const expiringRootKeys = defineCheck({
  name: 'expiring-root-keys',
  meaning: 'No root key expires within seven days.',
  severity: 'problem',
  needs: ['rootKeys', 'nowMs'],
  find({ rootKeys, nowMs }) {
    const ending = rootKeys.flatMap(({ id, name, revokedAtMs, expiresAtMs }) => {
      if (revokedAtMs !== null || expiresAtMs === null || Math.abs(expiresAtMs - nowMs) > SOON_MS) return [];
      const inMs = expiresAtMs - nowMs;
      return `${name ?? id} (${id}, ${inMs > 0 ? `expires in ${lasting(inMs)}` : `expired ${lasting(-inMs)} ago`})`;
    });
    if (ending.length === 0) return null;
    return {
      text: `Root keys end: ${some(ending)}. Programs that use them are refused from then on.`,
      fix: 'Create another root key with the same rights for the program, and revoke the old one, also when nobody uses it any more.',
      command: 'keystile root-key create --name NAME --right RIGHT && keystile root-key revoke ID',
    };
  },
});
