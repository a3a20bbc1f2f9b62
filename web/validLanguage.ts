/**
 * The language of the browser. Where the system has none (LANG=C), Chromium calls it `en-US@posix`, which is no language tag, and the chart
 * library would end with it when it is loaded. So this file is imported before it.
 */
export const LANGUAGE = validLanguage();

function validLanguage(): string {
  try {
    return Intl.getCanonicalLocales(navigator.language)[0] ?? 'en-US';
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
    return 'en-US';
  }
}
