import { join } from 'node:path';

import { launchBrowser } from '../../../test/browser/chromium.ts';
import { Child } from '../child.ts';
import { addRootKey, fillFolder, ROOT_KEY } from '../fill.ts';
import { compare, type Comparison, type Pace, type Side, warmUp } from '../pairs.ts';
import type { RequestPool } from '../requests.ts';

const DASHBOARDS = 10;
/** How long one real page is watched to learn what it asks for: as long as the pause of what it asks for most rarely. */
const WATCHED_MS = 60_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * The speed of a shared machine changes by a fifth from one minute to the next, and the cost to find is a fiftieth. Only many short pairs
 * find it: rounds of a minute were as noisy as those of a second.
 */
const MORE_ROUNDS = 20;
const TIMES = 2;

/** A request of a page, and when it was sent. */
interface Recorded {
  readonly atMs: number;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface DashboardsResult {
  /** With ten dashboards open on the service, against ten on another one. */
  readonly comparison: Comparison;
  /** Requests of one dashboard per second. */
  readonly asksPerSecond: number;
}

/**
 * What ten open dashboards cost the verifications of the same service. A real browser opens the overview once, and what it asks for is
 * recorded. Ten dashboards then send the same requests at the same pace, without a browser that would take the processors from both sides.
 * In every second round they ask another service that has nothing else to do: so the load generator has the same work in all rounds. The
 * pages do not begin anew with a round, so that all their requests fall into rounds of both kinds.
 */
export async function measureDashboards(folder: string, pool: RequestPool, pace: Pace): Promise<DashboardsResult> {
  const child = await startFilled(join(folder, 'asked'), pool.count);
  const other = await startFilled(join(folder, 'other'), pool.count);
  // One process is both sides: two processes of the same program differ by more than this cost.
  const side = { children: [child], pool, keys: pool.count, times: TIMES } satisfies Side;
  // Before a key is verified, the page shows the first steps and asks more often.
  for (const each of [child, other]) await warmUp({ ...side, children: [each] });
  const asks = await recordOverview(`http://127.0.0.1:${child.port}`);
  const asksOther = await recordOverview(`http://127.0.0.1:${other.port}`);
  let asked = asksOther;
  const stops = [asks, asksOther].map((recorded) => openDashboards(recorded, () => asked === recorded));
  const openOn = (recorded: readonly Recorded[]) => async () => {
    asked = recorded;
  };
  const baseline: Side = { ...side, whenResumed: openOn(asksOther) };
  const subject: Side = { ...side, whenResumed: openOn(asks) };
  const comparison = await compare(baseline, subject, { ...pace, rounds: pace.rounds * MORE_ROUNDS });
  for (const stop of stops) stop();
  await Promise.all([child.stop(), other.stop()]);
  return { comparison, asksPerSecond: asks.length / (WATCHED_MS / 1000) };
}

async function startFilled(folder: string, keys: number): Promise<Child> {
  fillFolder(folder, keys, 'credits');
  addRootKey(folder);
  return Child.startService({ folder, addedFlushMs: 0 });
}

async function recordOverview(url: string): Promise<readonly Recorded[]> {
  const browser = await launchBrowser();
  try {
    const page = await (await browser.newContext({ baseURL: url })).newPage();
    await page.goto('/dashboard');
    await page.getByLabel('Root key').fill(ROOT_KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    // What is asked only once, when a page is opened, is no part of the pace.
    await page.waitForTimeout(3_000);
    const beganAtMs = performance.now();
    const recorded: Promise<Recorded>[] = [];
    page.on('request', (request) => {
      const atMs = performance.now() - beganAtMs;
      const [method, body] = [request.method(), request.postData()];
      recorded.push(request.allHeaders().then((headers) => ({ atMs, url: request.url(), method, headers, body })));
    });
    await page.waitForTimeout(WATCHED_MS);
    const found = await Promise.all(recorded);
    if (found.length === 0) throw new Error('The overview asked for nothing while it was watched.');
    return found;
  } finally {
    await browser.close();
  }
}

/** A page that asks for the last hour asks from one minute later on after a minute. Here every `start` is a whole minute an hour ago. */
function startingNow(body: string | null): string | null {
  const start = Math.floor((Date.now() - HOUR_MS) / MINUTE_MS) * MINUTE_MS;
  return body === null ? null : body.replace(/"start":\d+/, `"start":${start}`);
}

/** Sends what was recorded again and again while `isAsked`, for each dashboard from another moment on. Answers what ends it. */
function openDashboards(recorded: readonly Recorded[], isAsked: () => boolean): () => void {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const ended = new AbortController();
  const send = async ({ url, method, headers, body }: Recorded): Promise<void> => {
    const kept = Object.entries(headers).filter(([name]) => !/^(?::|content-length|host|connection)/.test(name));
    const init = { method, headers: Object.fromEntries(kept), body: startingNow(body), signal: ended.signal };
    const answer = await fetch(url, init).catch(() => null);
    await answer?.arrayBuffer().catch(() => null);
    if (answer !== null && !answer.ok) throw new Error(`A dashboard was answered ${answer.status}.`);
  };
  const repeat = (request: Recorded, inMs: number): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (isAsked()) void send(request);
      repeat(request, WATCHED_MS);
    }, inMs);
    timers.add(timer);
  };
  for (let i = 0; i < DASHBOARDS; i++) {
    const offsetMs = (i * WATCHED_MS) / DASHBOARDS;
    for (const request of recorded) repeat(request, (request.atMs + offsetMs) % WATCHED_MS);
  }
  return () => {
    ended.abort();
    for (const timer of timers) clearTimeout(timer);
  };
}
