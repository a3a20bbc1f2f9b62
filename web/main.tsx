import { render } from 'preact';

import { App } from './app.tsx';
import { loadSession } from './client.ts';
import './style.css';

const place = document.getElementById('app');
if (place !== null) {
  place.replaceChildren();
  render(<App />, place);
  void loadSession().catch(() => setTimeout(() => location.reload(), 5_000));
}
