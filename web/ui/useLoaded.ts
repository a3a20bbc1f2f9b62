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
 * Loads a value, again whenever one of `on` changes, and `everyMs` after the last answer while the page is visible. 0 = not again. It can
 * depend on the last value, which is null when there is none yet. An answer to an earlier question is ignored. After an error, the last value
 * stays, if it answers the same question.
 */
export function useLoaded<T>(
  load: () => Promise<T>,
  on: readonly unknown[],
  everyMs: number | ((value: T | null) => number) = 0,
): Loaded<T> {
  const question = JSON.stringify(on);
  const [state, setState] = useState<Loading<T>>({ value: null, error: null, isLoading: true, question });
  const [turn, setTurn] = useState(0);
  const last = useRef<{ readonly question: string; readonly value: T } | null>(null);
  const next = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const reload = (): void => setTurn((before) => before + 1);
  const isHeld = isExpired.value || isAway.value;
  useEffect(() => {
    // Asked again once somebody has signed in, and once the service is back.
    if (isHeld) return;
    let isCurrent = true;
    const settle = (settled: { value?: T; error: unknown }): void => {
      if (!isCurrent) return;
      if (settled.value !== undefined) last.current = { question, value: settled.value };
      const value = last.current?.question === question ? last.current.value : null;
      setState({ value, error: settled.error, isLoading: false, question });
      const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs(value);
      if (pauseMs > 0) reloadAfter(pauseMs);
    };
    const reloadAfter = (pauseMs: number): void => {
      next.current = setTimeout(() => (document.hidden ? reloadAfter(pauseMs) : reload()), pauseMs);
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
