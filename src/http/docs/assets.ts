import { PROGRAM_FILES } from '../../programFiles.ts';
import origin from './viewer/scalar.json';

/** The files that pages load, beside the images of guides. */
const JAVASCRIPT = 'text/javascript; charset=utf-8';

export interface Asset {
  readonly file: string;
  readonly type: string;
  /** The file is compressed with gzip. */
  readonly isGzip: boolean;
  /** The address changes with the content, so a browser keeps it for good. */
  readonly isFixed: boolean;
}

/** The viewer of the reference. */
export const VIEWER_PATH = `/docs/assets/scalar-${origin.version}-${origin.sha256.slice(0, 16)}.js`;
/** Starts the viewer. */
export const START_PATH = '/docs/assets/reference.js';
export const STYLE_PATH = '/docs/assets/pages.css';
/** Browsers ask for it beside every page that names no icon. */
export const ICON_PATH = '/favicon.ico';

export const ASSETS: Readonly<Record<string, Asset>> = {
  [VIEWER_PATH]: { file: 'viewer/scalar.js.gz', type: JAVASCRIPT, isGzip: true, isFixed: true },
  [START_PATH]: { file: 'assets/reference.js', type: JAVASCRIPT, isGzip: false, isFixed: false },
  [STYLE_PATH]: { file: 'assets/pages.css', type: 'text/css; charset=utf-8', isGzip: false, isFixed: false },
  [ICON_PATH]: { file: 'assets/favicon.ico', type: 'image/x-icon', isGzip: false, isFixed: false },
};

export function readAsset({ file }: Asset): Promise<Uint8Array<ArrayBuffer>> {
  return Bun.file(new URL(file, PROGRAM_FILES.assets)).bytes();
}
