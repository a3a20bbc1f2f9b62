import type { AnswerContext } from '../answer/answer.ts';
import { type Asset, ASSETS, readAsset } from './assets.ts';
import { GUIDES_PATH } from './guideHtml.ts';
import { guideFile, GUIDES, IMAGES } from './guideList.ts';
import { errorsPage, guidePage, guidesPage, homePage, referencePage } from './pages.ts';

const SHARED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Pages of text run no script at all. */
const TEXT_POLICY = `default-src 'none'; style-src 'self'; img-src 'self'; ${SHARED}`;
/** The viewer sets styles from its script. It sends requests to this service alone. */
const REFERENCE_POLICY = `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; font-src 'self'; ${SHARED}`;
/** An image may style itself, and do nothing else. */
const IMAGE_POLICY = `default-src 'none'; style-src 'unsafe-inline'; ${SHARED}`;

const KEPT_FOR_GOOD = 'public, max-age=31536000, immutable';

/** What is served at one address. */
interface Served {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The pages of /docs and the files that they load: a closed list of addresses, so that no path of a request becomes the name of a file.
 * Each is made on the first request for it, and kept.
 */
export class DocsSite {
  readonly #makers: ReadonlyMap<string, () => Promise<Served>>;
  readonly #served = new Map<string, Served>();

  /** `operations`: the ids that guides link to the reference. */
  constructor(operations: () => ReadonlySet<string>, hasDashboard: boolean) {
    this.#makers = new Map<string, () => Promise<Served>>([
      ['/', async () => html(homePage(hasDashboard))],
      ['/docs', async () => html(referencePage(), REFERENCE_POLICY)],
      ['/docs/errors', async () => html(errorsPage())],
      [GUIDES_PATH, async () => html(await guidesPage())],
      ...GUIDES.map((guide): [string, () => Promise<Served>] => [
        `${GUIDES_PATH}/${guide}`,
        async () => html(await guidePage(guide, operations())),
      ]),
      ...IMAGES.map((name): [string, () => Promise<Served>] => [`${GUIDES_PATH}/${name}`, () => image(name)]),
      ...Object.entries(ASSETS).map(([path, asset]): [string, () => Promise<Served>] => [path, () => loaded(asset)]),
    ]);
  }

  get paths(): Iterable<string> {
    return this.#makers.keys();
  }

  async answer(path: string, request: Request, { requestId }: AnswerContext): Promise<Response> {
    const served = this.#served.get(path) ?? (await this.#make(path));
    const { bytes } = served;
    const headers = { ...served.headers, 'x-content-type-options': 'nosniff', 'keystile-request-id': requestId };
    if (isAmong(request.headers.get('if-none-match'), served.headers['etag'])) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(bytes, { headers });
  }

  async #make(path: string): Promise<Served> {
    const made = await this.#makers.get(path)?.();
    if (made === undefined) throw new Error(`${path} is not in the list`);
    this.#served.set(path, made);
    return made;
  }
}

/** A browser asks each time whether it has the newest content. */
function checked(bytes: Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>>): Served {
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32);
  return { bytes, headers: { ...headers, 'cache-control': 'no-cache', etag: `"${hash}"` } };
}

function html(text: string, policy = TEXT_POLICY): Served {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy };
  return checked(new TextEncoder().encode(text), headers);
}

async function image(name: string): Promise<Served> {
  const headers = {
    'content-type': name.endsWith('.png') ? 'image/png' : 'image/svg+xml',
    'content-security-policy': IMAGE_POLICY,
  };
  return checked(await guideFile(name).bytes(), headers);
}

async function loaded(asset: Asset): Promise<Served> {
  const { type, isGzip, isFixed } = asset;
  const bytes = await readAsset(asset);
  if (!isFixed) return checked(bytes, { 'content-type': type });
  // Sent as it is on disk, whatever the request says: every browser takes gzip, and nobody can make the service unpack it.
  const coding = isGzip ? { 'content-encoding': 'gzip' } : {};
  return { bytes, headers: { 'content-type': type, 'cache-control': KEPT_FOR_GOOD, ...coding } };
}

/** If-None-Match (RFC 9110, 13.1.2). */
function isAmong(known: string | null, etag: string | undefined): boolean {
  return etag !== undefined && (known ?? '').split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}
