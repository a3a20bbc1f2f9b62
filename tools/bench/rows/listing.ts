import { Child } from '../child.ts';
import { addRootKey, API_ID, keyIdOf, ROOT_KEY } from '../fill.ts';
import { COMMON_PLAN, cursorsOf, fillForListing, IDLE_PLAN, OWNER, RARE_PLAN } from '../fillListing.ts';
import { median } from '../statistics.ts';

const MANY = 1_000_000;
const PAGE = 100;
/** The number of pages near the beginning and the end whose median is reported. */
const SAMPLE = 100;
/** Calls before the first page: the first calls of a process are slow and would distort it. */
const WARM_UP = 50;

/** What is asked of the listing, beside all keys. */
const QUESTIONS: readonly (readonly [name: string, fields: object])[] = [
  ['state active', { state: 'active' }],
  ['state disabled', { state: 'disabled' }],
  ['state expired', { state: 'expired' }],
  ['owner', { externalId: OWNER }],
  ['owner and state', { externalId: OWNER, state: 'disabled' }],
  ['plan of most', { planId: COMMON_PLAN }],
  ['plan of few', { planId: RARE_PLAN }],
  ['plan without keys', { planId: IDLE_PLAN }],
  ['plan and state', { planId: COMMON_PLAN, state: 'expired' }],
  ['start of all', { search: 'demo_' }],
  ['word of one', { search: 'key77777' }],
  ['word of all', { search: 'common' }],
  ['beginnings of words of all', { search: 'key' }],
  ['two words', { search: 'common second' }],
  ['word and state', { search: 'common', state: 'disabled' }],
];

export interface ListingResult {
  readonly keys: number;
  readonly pages: number;
  /** The first page, which also counts all keys. */
  readonly firstMs: number;
  readonly earlyMs: number;
  readonly lateMs: number;
  readonly slowestMs: number;
  /** The first page, one in the middle and the last of each filter and search. */
  readonly questions: readonly { readonly name: string; readonly milliseconds: readonly number[] }[];
}

/** Lists a million keys over HTTP, one page after the other, and then by filters and searches. */
export async function measureListing(folder: string): Promise<ListingResult> {
  fillForListing(folder, MANY);
  addRootKey(folder);
  const server = await Child.startService({ folder, addedFlushMs: 0 });
  for (let i = 0; i < WARM_UP; i++) await readPage(server.port, { externalId: 'nobody' });
  const milliseconds = await listAll(server.port);
  const questions = [];
  for (const [name, fields] of QUESTIONS) questions.push({ name, milliseconds: await askFor(server.port, fields) });
  await server.stop();
  return {
    keys: MANY,
    pages: milliseconds.length,
    firstMs: milliseconds[0] ?? 0,
    earlyMs: median(milliseconds.slice(1, 1 + SAMPLE)),
    lateMs: median(milliseconds.slice(-SAMPLE)),
    slowestMs: Math.max(...milliseconds),
    questions,
  };
}

async function listAll(port: number): Promise<number[]> {
  const milliseconds: number[] = [];
  let cursor: string | undefined;
  let keys = 0;
  do {
    const startedAtMs = performance.now();
    const page = await readPage(port, { cursor });
    milliseconds.push(performance.now() - startedAtMs);
    if (page.total !== MANY) throw new Error(`The listing reports ${page.total} keys, expected ${MANY}.`);
    keys += page.keys.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  if (keys !== MANY) throw new Error(`The listing has ${keys} keys, expected ${MANY}.`);
  return milliseconds;
}

/** Something was changed before each page, so that no total is remembered. */
async function askFor(port: number, fields: object): Promise<number[]> {
  const milliseconds: number[] = [];
  for (const cursor of cursorsOf(MANY, PAGE)) {
    await call(port, 'keys.updateKey', { keyId: keyIdOf(1), environment: String(performance.now()) });
    const startedAtMs = performance.now();
    await readPage(port, { ...fields, cursor });
    milliseconds.push(performance.now() - startedAtMs);
  }
  return milliseconds;
}

interface KeyPage {
  readonly keys: readonly unknown[];
  readonly total: number;
  readonly cursor?: string;
}

async function readPage(port: number, fields: object): Promise<KeyPage> {
  return (await call(port, 'apis.listKeys', { apiId: API_ID, limit: PAGE, ...fields })) as KeyPage;
}

async function call(port: number, name: string, body: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ROOT_KEY}` },
    // JSON.stringify leaves out undefined fields.
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${name} answers ${response.status}: ${await response.text()}`);
  return response.json();
}
