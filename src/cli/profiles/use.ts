import { EXIT } from '../../serve/exitCodes.ts';
import type { Command } from '../command.ts';
import { jsonLine, visible } from '../output/show.ts';
import { findProfile, readProfiles, writeProfiles } from './profileFile.ts';

export const profileUse: Command = {
  name: 'profile use',
  summary: 'Make a profile the current one: commands that name none use it.',
  operands: ['NAME'],
  flags: {},
  takesSettings: false,
  examples: ['keystile profile use staging'],
  async run({ io, operands: [name = ''], isJson }) {
    const known = readProfiles(io);
    const { url } = findProfile(known, name, null);
    writeProfiles(io, { ...known, current: name });
    io.out(isJson ? jsonLine({ profile: name, url }) : `Commands now go to ${visible(url)}.\n`);
    return EXIT.OK;
  },
};
