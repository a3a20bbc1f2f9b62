import { useEffect } from 'preact/hooks';

import { fetchAsPage } from '../client.ts';
import { clockOffsetMs } from '../clock.ts';
import { isAway } from '../reach.ts';
import { about } from './show.tsx';

const ASK_EVERY_MS = 2_000;
/** A smaller difference is nothing that a person would notice. */
const WORTH_TELLING_MS = 60_000;

/** Says that the node does not answer, and looks for it. The pages ask nothing meanwhile. */
export function Away({ onReturn }: { readonly onReturn: () => Promise<void> }) {
  useEffect(() => {
    if (!isAway.value) return;
    const timer = setInterval(() => void fetchAsPage('/v1/liveness').catch(() => {}), ASK_EVERY_MS);
    return () => {
      clearInterval(timer);
      // It may have come back as another version.
      void onReturn().catch(() => {});
    };
  }, [isAway.value]);
  if (!isAway.value) return null;
  return (
    <p class="notice wrong" role="alert">
      The service does not answer. This page keeps what it shows and continues by itself when the service is back.
    </p>
  );
}

/** Says that the clock of the browser is wrong. What the pages show goes by the clock of the service. */
export function WrongClock() {
  const offset = clockOffsetMs.value;
  if (Math.abs(offset) < WORTH_TELLING_MS) return null;
  return (
    <p class="notice" role="status">
      The clock of this computer is {about(Math.abs(offset))} {offset > 0 ? 'slow' : 'fast'}. “Ago” and “in” on these
      pages go by the clock of the service.
    </p>
  );
}
