import { render } from 'preact';

import { PortalPage } from './page.tsx';
import '../style.css';

const place = document.getElementById('app');
if (place !== null) {
  place.replaceChildren();
  render(<PortalPage />, place);
}
