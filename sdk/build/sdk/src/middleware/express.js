import { decider } from './protect.js';
/** Middleware for Express 4 and 5. The handler finds the verdict in `request.keystile`. */
export function protect(options = {}) {
  const decide = decider(
    options,
    ({ headers }) =>
      (name) =>
        firstOf(headers[name]),
  );
  const answer = async (request, response) => {
    const { verdict, refusal, headers } = await decide(request);
    for (const [name, value] of Object.entries(refusal?.headers ?? headers)) response.setHeader(name, value);
    if (refusal === null) request.keystile = verdict;
    else response.status(refusal.status).send(JSON.stringify(refusal.body));
    return refusal === null;
  };
  return (request, response, next) => {
    answer(request, response).then((passes) => (passes ? next() : undefined), next);
  };
}
function firstOf(value) {
  return typeof value === 'string' ? value : value?.[0];
}
