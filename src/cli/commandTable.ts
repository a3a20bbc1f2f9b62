import type { Command } from './command.ts';
import { audit, auditExport } from './commands/audit.ts';
import { health } from './commands/health.ts';
import { backupCreate } from './commands/backup/create.ts';
import { backupRestore } from './commands/backup/restore.ts';
import { backupVerify } from './commands/backup/verify.ts';
import { dataExport } from './commands/move/export.ts';
import { dataImport } from './commands/move/import.ts';
import { dataRelease } from './commands/move/release.ts';
import { doctor } from './commands/doctor.ts';
import { importKeys } from './commands/import.ts';
import { nodes, nodesForget } from './commands/nodes.ts';
import { rootKeyCreate } from './commands/rootKey.create.ts';
import { rootKeyList } from './commands/rootKey.list.ts';
import { rootKeyRevoke } from './commands/rootKey.revoke.ts';
import { rootKeyRotate } from './commands/rootKey.rotate.ts';
import { serve } from './commands/serve.ts';
import { top } from './commands/top.ts';
import { usage } from './commands/usage.ts';
import { profileList } from './profiles/list.ts';
import { login } from './profiles/login.ts';
import { logout } from './profiles/logout.ts';
import { profileUse } from './profiles/use.ts';
import { webhookListen } from './commands/webhook.listen.ts';

/** The commands that are written by hand, in the order of the help. Those of other endpoints are made: see allCommands.ts. */
export const COMMANDS: readonly Command[] = [
  serve,
  health,
  nodes,
  nodesForget,
  backupCreate,
  backupVerify,
  backupRestore,
  dataExport,
  dataImport,
  dataRelease,
  doctor,
  login,
  logout,
  profileList,
  profileUse,
  rootKeyCreate,
  rootKeyList,
  rootKeyRotate,
  rootKeyRevoke,
  importKeys,
  audit,
  auditExport,
  usage,
  top,
  webhookListen,
];
