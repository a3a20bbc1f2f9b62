import { type Check, lasting, some } from '../check.ts';

/** A target may restart without anybody being told. */
const FAILING_MS = 60_000;

export const webhooks: Check = {
  name: 'webhooks',
  meaning: 'The targets of webhooks take their events.',
  severity: 'problem',
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
      fix: 'Mend the target. Waiting events are then sent by themselves; a paused webhook has to be enabled again with webhooks.updateWebhook.',
    };
  },
};
