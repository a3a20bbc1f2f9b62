import { expect, test } from 'bun:test';

import { DEMO_TAKES, demoSettings } from '../../src/config/demoSettings.ts';
import { readConfig } from '../../src/config/read.ts';
import { type Config, type Setting, VARIABLES } from '../../src/config/variables.ts';

const SETTINGS = Object.keys(VARIABLES) as Setting[];

function withAll<V>(value: (setting: Setting) => V): Record<Setting, V> {
  return Object.fromEntries(SETTINGS.map((setting) => [setting, value(setting)])) as Record<Setting, V>;
}

test('a demo takes what is about this machine, and has the default of every other setting', () => {
  const given = { ...withAll((setting) => `given ${setting}`), origins: withAll(() => 'environment') };
  const defaults = readConfig({ environment: {}, flags: {}, readFile: () => '' }).config;
  const demo = demoSettings(given as unknown as Config);
  const isTaken = (setting: Setting): boolean => (DEMO_TAKES as readonly Setting[]).includes(setting);
  expect(demo as unknown).toEqual({
    ...withAll((setting) => (isTaken(setting) ? `given ${setting}` : defaults?.[setting])),
    origins: withAll((setting) => (isTaken(setting) ? 'environment' : 'default')),
  });
});

test('what a demo takes bounds and changes nothing that it fills itself with', () => {
  const ofInstallation = SETTINGS.filter((setting) =>
    /^(max(?!Connections)|identities|default|verify|timezone|analytics|pepper|encryption|data|.*retention)/i.test(
      setting,
    ),
  );
  expect(ofInstallation.length).toBeGreaterThan(20);
  expect(ofInstallation.filter((setting) => (DEMO_TAKES as readonly Setting[]).includes(setting))).toEqual([]);
});
