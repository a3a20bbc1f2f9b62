import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import type { AppliedLimit, LimitWire } from '../../engine/cache/appliedLimit.ts';
import type { LimitReport } from '../../engine/verify/limitReports.ts';

/** The limit that a verdict shows as its own: the one that refused, else the default one. Of two, the one with less left. */
export function shownLimit(limits: readonly LimitReport[]): LimitReport | undefined {
  let shown: LimitReport | undefined;
  for (const report of limits) {
    if (report.exceeded) return report;
    if (report.limit.name === DEFAULT_LIMIT_NAME && !(shown !== undefined && shown.remaining <= report.remaining))
      shown = report;
  }
  return shown;
}

/** The texts of a limit. Keys share their limits, so these are made once for each limit and kept with it. */
export function wireOf(limit: AppliedLimit): LimitWire {
  return (limit.wire ??= makeWire(limit));
}

function makeWire({ name, limit, durationMs, async, ofIdentity }: AppliedLimit): LimitWire {
  const json = JSON.stringify(name);
  // A structured header is ASCII only: other characters are replaced.
  const quoted = `"${name.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
  const policy = `${quoted};q=${limit};w=${Math.ceil(durationMs / 1000)}`;
  const rateLimitHead = `${quoted};r=`;
  const shared = ofIdentity ? ',"shared":true' : '';
  return {
    ownHead: `,"ratelimit":{"limit":${limit},"remaining":`,
    itemHead: `{"name":${json},"limit":${limit},"duration":${durationMs},"remaining":`,
    keptEnd: `,"async":${async},"exceeded":false${shared}}`,
    exceededEnd: `,"async":${async},"exceeded":true${shared}}`,
    isAscii: isAscii(json),
    policy,
    rateLimitHead,
    linesHead: `ratelimit-policy: ${policy}\r\nratelimit: ${rateLimitHead}`,
  };
}

export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
