import { useEffect, useState } from 'preact/hooks';

/** The time, again every second while the page is visible. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNowMs(Date.now());
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
