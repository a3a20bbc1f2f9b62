import { useEffect, useState } from 'preact/hooks';

import { nowMs } from '../clock.ts';

/** The time of the service, again every second while the page is visible. */
export function useNow(): number {
  const [shownMs, setShownMs] = useState(() => nowMs());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setShownMs(nowMs());
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return shownMs;
}
