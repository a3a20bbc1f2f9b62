import { EXIT } from '../../serve/exitCodes.ts';
import type { Command } from '../command.ts';
import { jsonLine, table } from '../output/show.ts';
import { readProfiles } from './profileFile.ts';

export const profileList: Command = {
  name: 'profile list',
  summary: 'List the profiles, and which one is the current one. Root keys are not shown.',
  operands: [],
  flags: {},
  takesSettings: false,
  examples: ['keystile profile list'],
  async run({ io, isJson }) {
    const { current, profiles } = readProfiles(io);
    const listed = [...profiles].map(([name, { url }]) => ({ name, url, current: name === current }));
    const rows = listed.map((each) => [each.name, each.url, each.current ? 'yes' : 'no']);
    io.out(isJson ? jsonLine({ profiles: listed }) : table(['NAME', 'URL', 'CURRENT'], rows));
    return EXIT.OK;
  },
};
