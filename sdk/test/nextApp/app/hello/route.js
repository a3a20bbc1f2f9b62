import { protect } from '@keystile/sdk/next';

export const GET = protect({}, (_request, verdict) => Response.json({ left: verdict.remaining ?? null }));
