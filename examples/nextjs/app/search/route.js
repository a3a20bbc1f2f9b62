import { protect } from '@keystile/sdk/next';

export const GET = protect({ cost: 2 }, (request, verdict) => {
  const text = new URL(request.url).searchParams.get('text');
  return Response.json({ text, results: [], creditsLeft: verdict.remaining });
});
