/** Unpacks the browser of `@sparticuz/chromium` into TMPDIR. */
import chromium from '@sparticuz/chromium';

await chromium.executablePath();
