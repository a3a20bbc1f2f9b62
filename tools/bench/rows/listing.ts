import { Child } from '../child.ts';
import { addRootKey, API_ID, fillFolder, ROOT_KEY } from '../fill.ts';
import { median } from '../statistics.ts';

const MANY = 1_000_000;
const PAGE = 100;
/** The number of pages near the beginning and the end whose median is reported. */
const SAMPLE = 100;
/** Calls before the first page: the first calls of a process are slow and would distort it. */
const WARM_UP = 50;

export interface ListingResult {
  readonly keys: number;
  readonly pages: number;
  /** The first page, which also counts all keys. */
  readonly firstMs: number;
  readonly earlyMs: number;
  readonly lateMs: number;
  readonly slowestMs: number;
}

/** Lists a million keys over HTTP, one page after the other. */
export async function measureListing(folder: string): Promise<ListingResult> {
  fillFolder(folder, MANY, 'credits');
  addRootKey(folder);
  const server = await Child.startService({ folder, addedFlushMs: 0 });
  const milliseconds: number[] = [];
  let cursor: string | undefined;
  let keys = 0;
  for (let i = 0; i < WARM_UP; i++) await readPage(server.port, undefined, 'nobody');
  do {
    const startedAtMs = performance.now();
    const page = await readPage(server.port, cursor);
    milliseconds.push(performance.now() - startedAtMs);
    if (page.total !== MANY) throw new Error(`The listing reports ${page.total} keys, expected ${MANY}.`);
    keys += page.keys.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  await server.stop();
  return {
    keys,
    pages: milliseconds.length,
    firstMs: milliseconds[0] ?? 0,
    earlyMs: median(milliseconds.slice(1, 1 + SAMPLE)),
    lateMs: median(milliseconds.slice(-SAMPLE)),
    slowestMs: Math.max(...milliseconds),
  };
}

async function readPage(port: number, cursor: string | undefined, externalId?: string) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/apis.listKeys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ROOT_KEY}` },
    // JSON.stringify leaves out undefined fields.
    body: JSON.stringify({ apiId: API_ID, limit: PAGE, cursor, externalId }),
  });
  return (await response.json()) as { keys: unknown[]; total: number; cursor?: string };
}
