import { useEffect, useRef, useState } from 'preact/hooks';

import { ask, isExpired } from '../client.ts';
import { isAway } from '../reach.ts';

interface Loading<T> {
  readonly value: T | null;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** What the value answers. */
  readonly question: string;
}

export interface Loaded<T> {
  readonly value: T | null;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * Loads a value, again whenever one of `on` changes, and `everyMs` after the last answer while the page is visible (0 = not again; a function
 * says it for each value). An answer to an earlier question is ignored. After an error, the last value stays, if it answers the same question.
 */
export function useLoaded<T>(
  load: () => Promise<T>,
  on: readonly unknown[],
  everyMs: number | ((value: T) => number) = 0,
): Loaded<T> {
  const question = JSON.stringify(on);
  const [state, setState] = useState<Loading<T>>({ value: null, error: null, isLoading: true, question });
  const [turn, setTurn] = useState(0);
  const pauseMs = useRef(0);
  const next = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const reload = (): void => setTurn((before) => before + 1);
  const isHeld = isExpired.value || isAway.value;
  useEffect(() => {
    // Asked again once somebody has signed in, and once the service is back.
    if (isHeld) return;
    let isCurrent = true;
    const settle = (settled: { value?: T; error: unknown }): void => {
      if (!isCurrent) return;
      if (typeof everyMs === 'number') pauseMs.current = everyMs;
      else if (settled.value !== undefined) pauseMs.current = everyMs(settled.value);
      setState((before) => {
        const kept = before.question === question ? before.value : null;
        return { value: settled.value ?? kept, error: settled.error, isLoading: false, question };
      });
      if (pauseMs.current > 0) reloadLater();
    };
    const reloadLater = (): void => {
      next.current = setTimeout(() => (document.hidden ? reloadLater() : reload()), pauseMs.current);
    };
    setState((before) => ({ ...before, isLoading: true }));
    ask(load).then(
      (value) => settle({ value, error: null }),
      (error: unknown) => settle({ error }),
    );
    return () => {
      isCurrent = false;
      clearTimeout(next.current);
    };
  }, [...on, turn, isHeld]);
  const { value, error, isLoading } = state;
  return { value, error, isLoading, reload };
}
