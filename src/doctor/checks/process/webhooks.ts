import { defineCheck, lasting, some } from '../../check.ts';

/** A target may restart without anybody being told. */
const FAILING_MS = 60_000;

export const webhooks = defineCheck({
  name: 'webhooks',
  meaning: 'The targets of webhooks take their events.',
  severity: 'problem',
  needs: ['webhooks', 'nowMs'],
  find({ webhooks: all, nowMs }) {
    const paused = all.filter(({ pausedBecause }) => pausedBecause !== null);
    const failing = all.filter(
      ({ pausedBecause, failingSinceMs }) =>
        pausedBecause === null && failingSinceMs !== null && nowMs - failingSinceMs > FAILING_MS,
    );
    if (paused.length + failing.length === 0) return null;
    const named = [
      ...paused.map(({ host, pausedBecause }) => `${host} is paused (${pausedBecause})`),
      ...failing.map(
        ({ host, failingSinceMs }) => `${host} has failed for ${lasting(nowMs - (failingSinceMs ?? nowMs))}`,
      ),
    ];
    return {
      text: `Events are not delivered: ${some(named)}.`,
      fix: 'Mend the target, and send it an event to try it. Waiting events are then sent by themselves; a paused webhook has to be enabled again with webhooks.updateWebhook.',
      command: `keystile webhook test ${[...paused, ...failing][0]?.id ?? 'ID'}`,
    };
  },
});
