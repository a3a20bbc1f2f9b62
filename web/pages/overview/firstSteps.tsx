import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { keystile, may, session } from '../../client.ts';
import { listApis, listKeys } from '../../paged.ts';
import { hrefOf } from '../../router.ts';
import { Copyable } from '../../ui/show.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { MAX_APIS } from './loadCounts.ts';

const EVERY_MS = 3_000;
/** Only the person knows whether a route is protected. Their tick is kept in this browser. */
const TICKED = 'keystile-protected';

interface Done {
  readonly hasApi: boolean;
  readonly hasKey: boolean;
  readonly hasVerified: boolean;
}

const isAllDone = ({ hasApi, hasKey, hasVerified }: Done): boolean => hasApi && hasKey && hasVerified;

async function loadDone(): Promise<Done> {
  const { apis } = await listApis({ limit: MAX_APIS });
  const [first] = apis;
  if (first === undefined) return { hasApi: false, hasKey: false, hasVerified: false };
  const perApi = await Promise.all(
    apis.map(async ({ id: apiId }) => ({
      keys: may('api.read_key', apiId) ? (await listKeys({ apiId, limit: 1 })).keys.length : 0,
      verified: may('api.read_analytics', apiId) ? await countVerified(apiId) : 0,
    })),
  );
  return {
    hasApi: true,
    hasKey: perApi.some(({ keys }) => keys > 0),
    hasVerified: perApi.some(({ verified }) => verified > 0),
  };
}

async function countVerified(apiId: string): Promise<number> {
  return (await keystile.analytics.getVerifications({ apiId })).reduce((sum, { total }) => sum + total, 0);
}

/** What a new user does first. It ticks itself off, and leaves when all is done. */
export function FirstSteps() {
  const [isProtected, setProtected] = useState(() => localStorage.getItem(TICKED) !== null);
  if (isProtected || !may('api.create_api') || !may('api.read_api')) return null;
  const tick = (): void => {
    localStorage.setItem(TICKED, 'yes');
    setProtected(true);
  };
  return <Steps tick={tick} />;
}

function Steps({ tick }: { readonly tick: () => void }) {
  const [everyMs, setEveryMs] = useState(EVERY_MS);
  const done = useLoaded(
    async () => {
      const loaded = await loadDone();
      if (isAllDone(loaded)) setEveryMs(0);
      return loaded;
    },
    [],
    everyMs,
  );
  if (done.value === null) return null;
  const { hasApi, hasKey, hasVerified } = done.value;
  // What the service hands out has its version.
  const version = session.value?.version ?? '';
  const packages = `${location.origin}/sdk/`;
  return (
    <section class="steps" aria-labelledby="steps">
      <h2 id="steps">First steps</h2>
      <ol>
        <Step isDone={hasApi}>
          <a href={hrefOf('/apis')}>Create an api</a>
        </Step>
        <Step isDone={hasKey}>
          <a href={hrefOf('/keys/new')}>Create a key</a>
        </Step>
        <Step isDone={hasVerified}>
          Verify it:{' '}
          <Copyable
            label="the command"
            text={`curl ${location.origin}/v1/keys.verifyKey -H 'Content-Type: application/json' -d '{"key":"YOUR_KEY"}'`}
          />
        </Step>
        <Step isDone={false}>
          Protect a route with the SDK. <a href="/docs/guides/protect-a-route">The guide</a> shows each step.
          <p>
            <Copyable
              label="the installation"
              text={`curl -fO ${packages}keystile-sdk-${version}.tgz && npm install ./keystile-sdk-${version}.tgz express`}
            />
          </p>
          <p>
            The packages for <a href={`${packages}keystile-${version}-py3-none-any.whl`}>Python</a> and{' '}
            <a href={`${packages}keystile-go-${version}.tar.gz`}>Go</a> are here too.
          </p>
          <p>
            <Copyable label="the example" text={EXAMPLE} isBlock />
          </p>
          <p>
            <button type="button" onClick={tick}>
              I have done this
            </button>
          </p>
        </Step>
      </ol>
    </section>
  );
}

const EXAMPLE = `import express from 'express';
import { Keystile } from '@keystile/sdk';
import { protect } from '@keystile/sdk/express';

const keystile = new Keystile({ url: '${location.origin}' });
const app = express();

app.get('/search', protect({ keystile }), (request, response) => {
  response.json({ found: [], remaining: request.keystile.remaining });
});
app.listen(3000);`;

function Step({ isDone, children }: { readonly isDone: boolean; readonly children: ComponentChildren }) {
  return (
    <li class={isDone ? 'done' : undefined}>
      <svg class="tick" viewBox="0 0 16 24" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
        {isDone ? <path d="M2 13l4 4 8-10" /> : <circle cx="8" cy="12" r="6" />}
      </svg>
      <div>
        <span class="hidden">{isDone ? 'Done: ' : 'To do: '}</span>
        {children}
      </div>
    </li>
  );
}
