/** The options as the service reads them. */
export function toWire(key, options) {
  const { apiId, cost, permissions, tags, ratelimits, clientIp, idempotent, idempotencyKey } = options;
  return {
    key,
    ...(apiId === undefined ? {} : { apiId }),
    ...(cost === undefined ? {} : { remaining: { cost } }),
    ...(permissions === undefined ? {} : { authorization: { permissions } }),
    ...(tags === undefined ? {} : { tags }),
    ...(ratelimits === undefined ? {} : { ratelimits }),
    ...(clientIp === undefined ? {} : { clientIp }),
    ...(idempotencyKey !== undefined
      ? { idempotencyKey }
      : idempotent === true
        ? { idempotencyKey: newIdempotencyKey() }
        : {}),
  };
}
/** Not `randomUUID`, which pages have over https only. */
export function newIdempotencyKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
