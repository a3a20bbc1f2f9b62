import { protect } from '@keystile/sdk/next';

export const GET = protect({ cost: 2 }, (_request, verdict) => Response.json({ left: verdict.remaining ?? null }));
