import { render } from 'preact';

import { App } from './app.tsx';
import { loadSession, startFailure } from './client.ts';
import './style.css';

const place = document.getElementById('app');
if (place !== null) {
  place.replaceChildren();
  render(<App />, place);
  void begin();
}

/** Until the service answers. */
async function begin(): Promise<void> {
  try {
    await loadSession();
    startFailure.value = null;
  } catch (error) {
    startFailure.value = error;
    setTimeout(() => void begin(), 2_000);
  }
}
