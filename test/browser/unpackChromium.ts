/** Unpacks the browser of `@sparticuz/chromium` into TMPDIR, with the libraries and fonts that a bare machine lacks. */

// The package unpacks its libraries only where it finds the runtime of AWS Lambda.
process.env['AWS_LAMBDA_JS_RUNTIME'] = 'nodejs22.x';
const { default: chromium } = await import('@sparticuz/chromium');
await chromium.executablePath();

export {};
