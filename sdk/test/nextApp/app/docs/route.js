import { protect } from '@keystile/sdk/next';

export const GET = protect({ permissions: 'doc.read' }, (_request, verdict) =>
  Response.json({ left: verdict.remaining ?? null }),
);
