import { EXIT } from '../../serve/exitCodes.ts';
import { misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { jsonLine, visible } from '../output/show.ts';
import { findProfile, readProfiles, writeProfiles } from './profileFile.ts';

export const logout: Command = {
  name: 'logout',
  summary: 'Remove a profile and its root key from this machine. The root key itself stays valid.',
  operands: ['[NAME]'],
  operandMeaning: 'The name of the profile. The current one when absent.',
  flags: {},
  takesSettings: false,
  examples: ['keystile logout', 'keystile logout staging'],
  async run({ io, operands, isJson }) {
    const known = readProfiles(io);
    const name = operands[0] ?? known.current;
    if (name === null)
      throw misused('logout needs NAME: no profile is the current one. keystile profile list shows them all.');
    findProfile(known, name, null);
    const profiles = new Map([...known.profiles].filter(([each]) => each !== name));
    writeProfiles(io, { current: known.current === name ? null : known.current, profiles });
    io.out(isJson ? jsonLine({ profile: name }) : `Removed the profile ${visible(name)}.\n`);
    return EXIT.OK;
  },
};
