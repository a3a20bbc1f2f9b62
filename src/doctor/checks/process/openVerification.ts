import { isOpenToAll } from '../../../config/exposure.ts';
import { defineCheck } from '../../check.ts';

export const openVerification = defineCheck({
  name: 'open-verification',
  meaning: 'Only your programs can verify keys and spend their credits.',
  severity: 'advice',
  needs: ['config'],
  find({ config }) {
    if (!isOpenToAll(config)) return null;
    return {
      text: `The service listens on ${config.host}, and verifying needs no root key: everyone who reaches it can try keys and spend their credits.`,
      fix: 'Set KEYSTILE_VERIFY_AUTH=required, and give your programs a root key with verify_key. If only machines that you trust reach it, set KEYSTILE_NETWORK=private.',
      command: 'KEYSTILE_VERIFY_AUTH=required keystile serve',
    };
  },
});
