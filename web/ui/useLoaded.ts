import { useEffect, useRef, useState } from 'preact/hooks';

import { ask, isExpired } from '../client.ts';

export interface Loaded<T> {
  readonly value: T | null;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * Loads a value, again whenever one of `on` changes, and every `everyMs` while the page is visible. An answer to an earlier question is
 * ignored. After an error, the last value stays.
 */
export function useLoaded<T>(load: () => Promise<T>, on: readonly unknown[], everyMs = 0): Loaded<T> {
  const [state, setState] = useState<{ value: T | null; error: unknown; isLoading: boolean }>({
    value: null,
    error: null,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const question = useRef(0);
  const wasExpired = useRef(false);
  if (wasExpired.current && !isExpired.value) setTimeout(() => setTurn(turn + 1));
  wasExpired.current = isExpired.value;
  useEffect(() => {
    const number = ++question.current;
    setState((before) => ({ ...before, isLoading: true }));
    ask(load).then(
      (value) => number === question.current && setState({ value, error: null, isLoading: false }),
      (error: unknown) =>
        number === question.current && setState((before) => ({ value: before.value, error, isLoading: false })),
    );
  }, [...on, turn]);
  useEffect(() => {
    if (everyMs === 0) return;
    const timer = setInterval(() => {
      if (!document.hidden && !isExpired.peek()) setTurn((before) => before + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
