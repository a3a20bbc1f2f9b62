/**
 * Where the system has no language (LANG=C), Chromium calls its own `en-US@posix`, which is no language tag. The chart library would end
 * with it when it is loaded. So this file is imported before it.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}

export {};
