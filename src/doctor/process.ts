import { isEncrypted, isOpenToAll } from '../config/describe.ts';
import type { Config } from '../config/variables.ts';
import { repeatable } from '../core/errors.ts';
import { CERTIFICATE_DUE_MS } from '../core/health.ts';
import { defineCheck, type Finding, lasting, quoted, some } from './check.ts';
import type { BackupFact } from './facts.ts';

export const backups = defineCheck({
  name: 'backups',
  meaning: 'Scheduled backups are made, and the newest one is recent.',
  severity: 'problem',
  needs: ['backups', 'nowMs'],
  find({ backups: state, nowMs }) {
    const { folder, everyMs, newestAtMs, failure, isRefused } = state;
    if (failure !== null && isRefused) {
      return {
        text: `The service does not start. ${failure}`,
        fix: 'Set KEYSTILE_BACKUP_FOLDER to a folder that is not in the data folder, on another disk if there is one: a backup must not be lost together with the data.',
        command: 'KEYSTILE_BACKUP_FOLDER=/mnt/backups keystile serve',
      };
    }
    if (failure !== null) {
      return {
        text: `Scheduled backups fail: ${failure} ${newestText(state, nowMs)}`,
        fix: 'Remove the cause. A running service tries again within 10 minutes. Meanwhile, keystile backup create makes one in another folder.',
        command: 'keystile backup create keystile.backup',
      };
    }
    const sinceMs = newestAtMs ?? state.firstAwaitedSinceMs;
    // A run that was missed is no problem; a second one is.
    if (sinceMs !== null && nowMs - sinceMs < 2 * everyMs + 60_000) return null;
    return {
      text: `A backup is due every ${lasting(everyMs)}. ${newestText(state, nowMs)}`,
      fix: `Check that the service runs, that nothing removes the files in ${folder}, that the right disk is mounted there, and that the clock of the machine is right.`,
      command: `ls -l ${quoted(folder)}`,
    };
  },
});

function newestText({ folder, newestAtMs, firstAwaitedSinceMs }: BackupFact, nowMs: number): string {
  if (newestAtMs !== null) return `The newest one is ${lasting(nowMs - newestAtMs)} old.`;
  return firstAwaitedSinceMs === null
    ? `No backup of this data folder was found in ${folder}.`
    : 'There is no backup yet.';
}

export const certificate = defineCheck({
  name: 'certificate',
  meaning: 'The certificate of the service is usable and valid for two more weeks, and its key is private.',
  severity: 'problem',
  needs: ['certificate', 'nowMs', 'config'],
  find({ certificate: state, nowMs, config }) {
    const { expiresAtMs, problem, keyMode } = state;
    const leftMs = expiresAtMs === null ? null : expiresAtMs - nowMs;
    if (problem !== null) return unusable(problem, leftMs, config);
    if (leftMs !== null && leftMs <= CERTIFICATE_DUE_MS) return due(leftMs, config);
    return keyMode !== null && (keyMode & 0o077) !== 0 ? open(keyMode, config) : null;
  },
});

/** `leftMs` of the certificate that is in use all the same; null = none is. */
function unusable(problem: string, leftMs: number | null, { tlsCert, tlsKey }: Config): Finding {
  const then =
    leftMs === null
      ? 'The service does not start with these files.'
      : `The previous certificate stays in use, and ${leftMs > 0 ? `expires in ${lasting(leftMs)}` : 'has expired'}.`;
  return {
    text: `${problem} ${then}`,
    fix: 'Correct the files. A running service takes them without a restart. Its log says so, or why not.',
    command: `ls -l ${quoted(tlsCert ?? '')} ${quoted(tlsKey ?? '')}`,
  };
}

function due(leftMs: number, { tlsCert }: Config): Finding {
  const text =
    leftMs > 0
      ? `The certificate of this node expires in ${lasting(leftMs)}. Clients then refuse to connect.`
      : `The certificate of this node expired ${lasting(-leftMs)} ago. Clients refuse to connect.`;
  return {
    text,
    fix: `Renew the certificate in ${tlsCert} (KEYSTILE_TLS_CERT). A running service takes the new files without a restart. Its log says so, or why not.`,
    command: `openssl x509 -noout -dates -in ${quoted(tlsCert ?? '')}`,
  };
}

function open(mode: number, { tlsKey }: Config): Finding {
  const who = (mode & 0o007) === 0 ? 'The group of the file' : 'Everyone on this machine';
  return {
    severity: 'advice',
    text: `${who} can read or change the private key ${tlsKey} (mode ${mode.toString(8)}).`,
    fix: 'Let only the user of the service read it.',
    command: `chmod 600 ${quoted(tlsKey ?? '')}`,
  };
}

export const defaultPlan = defineCheck({
  name: 'default-plan',
  meaning: 'The plan that new customers get exists.',
  severity: 'problem',
  needs: ['config', 'hasDefaultPlan'],
  find({ config, hasDefaultPlan }) {
    if (hasDefaultPlan) return null;
    return {
      text: `KEYSTILE_DEFAULT_PLAN names the plan ${repeatable(config.defaultPlan ?? '')}, which does not exist. No customer can be created.`,
      fix: 'Create that plan, or correct the setting.',
      command: 'keystile plan list',
    };
  },
});

/** Time enough to give a program another root key; and how long one that has ended is still told of. */
const SOON_MS = 7 * 24 * 3_600_000;

export const expiringRootKeys = defineCheck({
  name: 'expiring-root-keys',
  meaning: 'No root key expires within seven days.',
  severity: 'problem',
  needs: ['rootKeys', 'nowMs'],
  find({ rootKeys, nowMs }) {
    const ending = rootKeys.flatMap(({ id, name, revokedAtMs, expiresAtMs }) => {
      if (revokedAtMs !== null || expiresAtMs === null || Math.abs(expiresAtMs - nowMs) > SOON_MS) return [];
      const inMs = expiresAtMs - nowMs;
      return `${name ?? id} (${id}, ${inMs > 0 ? `expires in ${lasting(inMs)}` : `expired ${lasting(-inMs)} ago`})`;
    });
    if (ending.length === 0) return null;
    return {
      text: `Root keys expire: ${some(ending)}. Programs that use them are refused from then on.`,
      fix: 'Create another root key with the same rights for the program, and revoke the old one. Revoke it even when nobody uses it any more.',
      command: 'keystile root-key create --name NAME --right RIGHT && keystile root-key revoke ID',
    };
  },
});

export const openVerification = defineCheck({
  name: 'open-verification',
  meaning: 'Only your programs can verify keys and spend their credits.',
  severity: 'advice',
  needs: ['config'],
  find({ config }) {
    if (!isOpenToAll(config)) return null;
    return {
      text: `The service listens on ${config.host}, and verifying needs no root key: anyone who reaches it can try keys and spend their credits.`,
      fix: 'Set KEYSTILE_VERIFY_AUTH=required, and give your programs a root key with verify_key. If only machines that you trust reach it, set KEYSTILE_NETWORK=private.',
      command: 'KEYSTILE_VERIFY_AUTH=required keystile serve',
    };
  },
});

export const queue = defineCheck({
  name: 'queue',
  meaning: 'Spends and changes do not pile up while they wait for the database.',
  severity: 'problem',
  needs: ['waiting', 'config'],
  find({ waiting, config }) {
    if (waiting * 2 < config.maxWaiting) return null;
    return {
      text: `${waiting} spends and changes wait for the database; from ${config.maxWaiting} on, new ones are answered 503.`,
      fix: 'Look for a slow disk or a busy database. Limits that may be a little inexact can be local ("async": true): they need no commit.',
      command: `curl -s http://${config.metricsHost}:${config.metricsPort}/metrics | grep keystile_commit_seconds`,
    };
  },
});

export const readiness = defineCheck({
  name: 'readiness',
  meaning: 'The running service can answer.',
  severity: 'problem',
  needs: ['readiness'],
  find({ readiness: { reasons, command } }) {
    if (reasons.length === 0) return null;
    return {
      text: `The running service is not ready: ${reasons.join(' ')}`,
      fix: 'Look at the other problems in this list and at the log of the service. Restart a process that does not answer at all.',
      command,
    };
  },
});

export const rootKey = defineCheck({
  name: 'root-key',
  meaning: 'The configuration holds no root key.',
  severity: 'advice',
  needs: ['config'],
  find({ config: { origins } }) {
    if (origins.rootKey === 'default') return null;
    return {
      text: 'The configuration holds the first root key (KEYSTILE_ROOT_KEY). Whoever can read the configuration may do everything. Once this root key is revoked, the service does not start until the setting is removed.',
      fix: 'Create root keys with only the rights that each program needs, and remove the setting.',
      command: 'keystile root-key create --name NAME --right RIGHT',
    };
  },
});

export const tags = defineCheck({
  name: 'tags',
  meaning: 'Analytics count every verification under its own tags.',
  severity: 'advice',
  needs: ['otherTags'],
  find({ otherTags: { lists, bytes } }) {
    if (lists + bytes === 0) return null;
    return {
      text: `${lists + bytes} verifications since the start of this node were counted under the tag "other", because their api uses too many different tags.`,
      fix: 'Send tags with few values: a region or a route, not a user or a request. KEYSTILE_ANALYTICS_TAG_LISTS allows more lists in a day.',
      command: 'KEYSTILE_ANALYTICS_TAG_LISTS=10000 keystile serve',
    };
  },
});

export const tls = defineCheck({
  name: 'tls',
  meaning: 'Keys and root keys cross a network only in encrypted form.',
  severity: 'problem',
  needs: ['config'],
  find({ config }) {
    if (isEncrypted(config)) return null;
    return {
      text: `The service listens on ${config.host} without TLS: anyone on the network path can read keys and root keys.`,
      fix: 'Set KEYSTILE_TLS_CERT and KEYSTILE_TLS_KEY. Or put a proxy with TLS in front, list it in KEYSTILE_TRUSTED_PROXIES and set KEYSTILE_PUBLIC_URL to its https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.',
      command: 'KEYSTILE_HOST=127.0.0.1 keystile serve',
    };
  },
});

/** A target may restart without anybody being told. */
const FAILING_MS = 60_000;

export const webhooks = defineCheck({
  name: 'webhooks',
  meaning: 'The targets of webhooks accept their events.',
  severity: 'problem',
  needs: ['webhooks', 'nowMs'],
  find({ webhooks: all, nowMs }) {
    const paused = all.filter(({ pausedBecause }) => pausedBecause !== null);
    const failing = all.filter(
      ({ pausedBecause, failingSinceMs }) =>
        pausedBecause === null && failingSinceMs !== null && nowMs - failingSinceMs > FAILING_MS,
    );
    if (paused.length + failing.length === 0) return null;
    const named = [
      ...paused.map(({ host, pausedBecause }) => `${host} is paused (${pausedBecause})`),
      ...failing.map(
        ({ host, failingSinceMs }) => `${host} has failed for ${lasting(nowMs - (failingSinceMs ?? nowMs))}`,
      ),
    ];
    return {
      text: `Events are not delivered: ${some(named)}.`,
      fix: 'Repair the target, and test it with the command. Waiting events are then sent by themselves. A paused webhook must be enabled again: keystile webhook update ID --enable.',
      command: `keystile webhook test ${[...paused, ...failing][0]?.id ?? 'ID'}`,
    };
  },
});

export const workingRootKey = defineCheck({
  name: 'working-root-key',
  meaning: 'At least one root key works.',
  severity: 'problem',
  needs: ['rootKeys', 'nowMs'],
  find({ rootKeys, nowMs }) {
    const working = rootKeys.filter(
      ({ revokedAtMs, expiresAtMs }) => revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs),
    );
    if (working.length > 0) return null;
    return {
      text: `None of the ${rootKeys.length} root keys works: each is revoked or has expired. Nobody can manage keys.`,
      fix: 'Create a root key on the machine of the service.',
      command: "keystile root-key create --name admin --right '*'",
    };
  },
});
