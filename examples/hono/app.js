// The request names the limits that it counts against, so that a key needs none of its own.
import { serve } from '@hono/node-server';
import { protect } from '@keystile/sdk/hono';
import { Hono } from 'hono';

const DAY_MS = 86_400_000;
const reports = { name: 'reports', limit: 3, duration: DAY_MS };
const pages = { name: 'pages', limit: 100, duration: DAY_MS };

const app = new Hono();

app.get('/reports/short', protect({ ratelimits: [reports, pages] }), (context) =>
  context.json({ report: 'one page', keyId: context.get('keystile').keyId }),
);

// A long report has 20 pages.
app.get('/reports/long', protect({ ratelimits: [reports, { ...pages, cost: 20 }] }), (context) =>
  context.json({ report: 'twenty pages', keyId: context.get('keystile').keyId }),
);

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });
