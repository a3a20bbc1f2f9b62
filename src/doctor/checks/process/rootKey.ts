import { defineCheck } from '../../check.ts';

export const rootKey = defineCheck({
  name: 'root-key',
  meaning: 'No root key stands in the configuration.',
  severity: 'advice',
  needs: ['config'],
  find({ config: { origins } }) {
    if (origins.rootKey === 'default') return null;
    return {
      text: 'The first root key stands in the configuration (KEYSTILE_ROOT_KEY). Who can read the configuration may do everything. Once this root key is revoked, the service does not start until the setting is removed.',
      fix: 'Create root keys with only the rights that each program needs, and remove the setting.',
      command: 'keystile root-key create --name NAME --right RIGHT',
    };
  },
});
