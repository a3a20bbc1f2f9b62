import { defineCheck } from '../../check.ts';

export const tags = defineCheck({
  name: 'tags',
  meaning: 'Analytics count every verification under its own tags.',
  severity: 'advice',
  needs: ['otherTags'],
  find({ otherTags: { lists, bytes } }) {
    if (lists + bytes === 0) return null;
    return {
      text: `${lists + bytes} verifications since the start of this node were counted under the tag "other", because their api uses too many different tags.`,
      fix: 'Send tags with few values: a region or a route, not a user or a request. KEYSTILE_ANALYTICS_TAG_LISTS allows more lists in a day.',
      command: 'KEYSTILE_ANALYTICS_TAG_LISTS=10000 keystile serve',
    };
  },
});
