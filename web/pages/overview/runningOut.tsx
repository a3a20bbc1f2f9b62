import { KeystileError } from '../../../sdk/src/errors.ts';
import type { Event } from '../../../sdk/src/generated/api.ts';
import { keystile, may, session } from '../../client.ts';
import { nowMs } from '../../clock.ts';
import { listEvents, listKeys } from '../../paged.ts';
import { customerPath, hrefOf, toPart } from '../../router.ts';
import { Ago, Badge, Count, Empty, Showing } from '../../ui/show.tsx';
import { Table } from '../../ui/table.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';

const DELETED = ['key.deleted', 'identity.deleted'] as const;
const TYPES = ['key.expiring', 'credits.low', 'credits.exhausted', 'credits.refilled', ...DELETED] as const;
const SHOWN = 10;
const EVERY_MS = 60_000;
const PAGE = 100;
/** Pages of one look. Older events are read once; what is not reached comes with the next look. */
const MAX_PAGES = 10;
/** Holders that are remembered. */
const MAX_HOLDERS = 1_000;

interface Notice {
  readonly holder: string;
  readonly type: string;
  readonly time: number;
  readonly data: {
    readonly keyId?: string;
    readonly apiId?: string;
    readonly externalId?: string;
    readonly remaining?: number;
    readonly expires?: number;
  };
}

/** What the events have told one root key so far: the last word about each holder, by kind of trouble. */
let known = begun('');

function begun(rootKeyId: string) {
  return { rootKeyId, cursor: undefined as string | undefined, notices: new Map<string, Notice>() };
}

/** Events are read from the oldest on, by a cursor, so that each is read once. */
async function loadNotices(): Promise<readonly Notice[]> {
  const rootKeyId = session.peek()?.rootKeyId ?? '';
  if (known.rootKeyId !== rootKeyId) known = begun(rootKeyId);
  const { notices } = known;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { events, cursor } = await listEvents({
      types: [...TYPES],
      limit: PAGE,
      ...(known.cursor === undefined ? {} : { cursor: known.cursor }),
    });
    known = { rootKeyId, cursor, notices };
    for (const event of events) note(notices, event);
    if (events.length < PAGE) break;
  }
  const newest = [...notices.values()].toSorted((a, b) => b.time - a.time).filter(isAhead);
  const current: Notice[] = [];
  for (const notice of newest.slice(0, 2 * SHOWN)) if (await isStillSo(notice)) current.push(notice);
  return current;
}

function isAhead({ data: { expires } }: Notice): boolean {
  return expires === undefined || expires > nowMs();
}

/** Events are of the past: credits may have been added since, or the expiry moved. Who may not read the record is shown what was told. */
async function isStillSo({ type, data }: Notice): Promise<boolean> {
  const { keyId, apiId = '', externalId } = data;
  if (keyId !== undefined && !(may('api.read_key', apiId) && may('api.read_api', apiId))) return true;
  if (keyId === undefined && (externalId === undefined || !may('identity.read_identity', '*'))) return true;
  const found = keyId === undefined ? await customerNow(externalId ?? '') : await keyNow(apiId, keyId);
  if (found === undefined) return false;
  if (type === 'key.expiring') return 'expires' in found && found.expires === data.expires;
  return found.remaining !== undefined && found.remaining <= (data.remaining ?? 0);
}

/** A search finds nothing where the key was deleted. To ask for it would be an error. */
async function keyNow(apiId: string, keyId: string) {
  return (await listKeys({ apiId, search: keyId, limit: 1 })).keys.find(({ id }) => id === keyId);
}

/** Events tell of deleted customers, too. Only one that is being deleted is asked for and not found. */
async function customerNow(externalId: string) {
  try {
    return await keystile.identities.get({ externalId });
  } catch (error) {
    if (error instanceof KeystileError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function note(notices: Map<string, Notice>, { type, time, data }: Event): void {
  const told = data as Notice['data'] & { readonly identityId?: string };
  const holder = told.identityId ?? told.keyId ?? '';
  const kind = type === 'key.expiring' ? 'expires' : 'credits';
  const name = `${kind} ${holder}`;
  notices.delete(name);
  const isDeleted = DELETED.some((each) => each === type);
  if (isDeleted) notices.delete(`expires ${holder}`);
  if (isDeleted || type === 'credits.refilled') return;
  notices.set(name, { holder, type, time, data: told });
  for (const oldest of notices.keys()) {
    if (notices.size <= MAX_HOLDERS) return;
    notices.delete(oldest);
  }
}

/** Keys and customers that are about to run out or expire, as far as alerts tell of them. */
export function RunningOut() {
  const notices = useLoaded(loadNotices, [], EVERY_MS);
  return (
    <section aria-labelledby="running-out">
      <h2 id="running-out">About to run out or expire</h2>
      <Showing loaded={notices}>
        {(all) => {
          const current = all.filter(isAhead);
          return current.length === 0 ? (
            <Empty>
              No key or customer is out of credits. Those with alerts are also listed when their credits run low or a
              key is about to expire. <a href="/docs/guides/credits">See the guide</a>.
            </Empty>
          ) : (
            <Table<Notice>
              caption="Keys and customers that are about to run out or expire"
              rows={current.slice(0, SHOWN)}
              keyOf={({ holder, type }) => `${type} ${holder}`}
              columns={[
                { title: 'Who', cell: ({ data }) => <Who of={data} /> },
                { title: 'What', cell: (notice) => <What of={notice} /> },
                { title: 'Reported', cell: ({ time }) => <Ago at={time} /> },
              ]}
            />
          );
        }}
      </Showing>
    </section>
  );
}

function Who({ of: { keyId, externalId } }: { readonly of: Notice['data'] }) {
  if (keyId !== undefined)
    return (
      <>
        Key <a href={hrefOf(`/keys/${toPart(keyId)}`)}>{keyId}</a>
      </>
    );
  if (externalId === undefined) return <>A customer</>;
  return (
    <>
      Customer{' '}
      <a href={hrefOf(customerPath(externalId))}>
        <bdi>{externalId}</bdi>
      </a>
    </>
  );
}

function What({ of: { type, data } }: { readonly of: Notice }) {
  if (type === 'key.expiring' && data.expires !== undefined)
    return (
      <>
        Expires <Ago at={data.expires} />
      </>
    );
  return (
    <>
      <Badge kind={type === 'credits.exhausted' ? 'bad' : 'plain'}>
        {type === 'credits.exhausted' ? 'Out of credits' : 'Credits run low'}
      </Badge>{' '}
      <Count of={data.remaining ?? 0} /> left at that time
    </>
  );
}
