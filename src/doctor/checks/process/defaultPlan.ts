import { defineCheck } from '../../check.ts';
import { repeatable } from '../../../core/errors.ts';

export const defaultPlan = defineCheck({
  name: 'default-plan',
  meaning: 'A plan that new customers are to get exists.',
  severity: 'problem',
  needs: ['config', 'hasDefaultPlan'],
  find({ config, hasDefaultPlan }) {
    if (hasDefaultPlan) return null;
    return {
      text: `KEYSTILE_DEFAULT_PLAN names the plan ${repeatable(config.defaultPlan ?? '')}, which does not exist. No customer can be created.`,
      fix: 'Create that plan, or correct the setting.',
      command: 'keystile plan list',
    };
  },
});
