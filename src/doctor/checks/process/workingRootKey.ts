import { defineCheck } from '../../check.ts';

export const workingRootKey = defineCheck({
  name: 'working-root-key',
  meaning: 'At least one root key works.',
  severity: 'problem',
  needs: ['rootKeys', 'nowMs'],
  find({ rootKeys, nowMs }) {
    const working = rootKeys.filter(
      ({ revokedAtMs, expiresAtMs }) => revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs),
    );
    if (working.length > 0) return null;
    return {
      text: `None of the ${rootKeys.length} root keys works: each is revoked or has expired. Nobody can manage keys.`,
      fix: 'Create a root key on the machine of the service.',
      command: "keystile root-key create --name admin --right '*'",
    };
  },
});
